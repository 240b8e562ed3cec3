"""How a window's aggregate is kept up to date: one module an algorithm, chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.aggregations.together import Together
from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument, choice

_HOMES = {
    "recalculate": ("recalculate", "Recalculate"),
    "subtract_on_evict": ("subtract_on_evict", "SubtractOnEvict"),
    "two_stacks": ("two_stacks", "TwoStacks"),
    "two_stacks_lite": ("two_stacks_lite", "TwoStacksLite"),
    "daba": ("daba", "Daba"),
    "daba_lite": ("daba_lite", "DabaLite"),
    "foa": ("foa", "Foa"),
    "ioa": ("ioa", "Ioa"),
    "flatfat": ("reactive", "ReactiveAggregator"),
    "fiba": ("fiba", "Fiba"),
    "b_int": ("b_int", "BInt"),
    "flatfit": ("flatfit", "FlatFit"),
    "slick_deque": ("slick_deque", "SlickDeque"),
    "sba": ("sba", "Sba"),
    "pba": ("pba", "Pba"),
    "log_mta": ("log_mta", "LogMta"),
    "amta": ("amta", "Amta"),
}
_STORED = {"amta": ("stored", "StoredAmta"), "log_mta": ("stored", "StoredLogMta")}
ALGORITHMS = tuple(_HOMES)

__all__ = ["ALGORITHMS", "Aggregator", "aggregator", "algorithm_class", "choose"]


def algorithm_class(name: str, stored: bool = False) -> type[Aggregator]:
    """Return the class of an algorithm; with `stored`, of its form with the window in a store."""
    choice("algorithm", name, (*ALGORITHMS, "auto"))
    if stored and name not in _STORED:
        raise InvalidArgument(
            f"{name} keeps its window in this process; with a store= take {' or '.join(_STORED)}"
        )
    module, cls = (_STORED if stored else _HOMES)[name]
    kind: type[Aggregator] = getattr(import_module(f"{__name__}.{module}"), cls)
    return kind


def choose(
    aggregation: Aggregation,
    *,
    out_of_order: bool = False,
    several_ranges: bool = False,
    stored: bool = False,
) -> tuple[str, str]:
    """Return the algorithm that `auto` takes, and why.

    >>> from windrow import Count, Mean
    >>> choose(Count())[0], choose(Mean())[0], choose(Mean(), out_of_order=True)[0]
    ('subtract_on_evict', 'daba', 'fiba')
    """
    if stored:
        return "amta", "its window lies in a store: a constant number of entries a value on average"
    if out_of_order:
        return "fiba", "values may come late: O(log d) ⊕ for one that d newer ones came before"
    if several_ranges:
        return "flatfit", "several ranges are asked for, and each reuses the others' work"
    if not aggregation.bounded:
        return "recalculate", "its states grow with the window, so building one is the whole cost"
    if aggregation.invertible and aggregation.exact:
        return "subtract_on_evict", "it is invertible and exact: one subtraction an evict"
    if aggregation.selective:
        return "slick_deque", "its result is always one of the values: fewer than 2 ⊕ a value"
    return "daba", "an associative ⊕ is all it offers: never more than 4 ⊕ an operation"


def aggregator(
    aggregation: Aggregation | Mapping[str, Aggregation],
    algorithm: str = "auto",
    *,
    out_of_order: bool = False,
    several_ranges: bool = False,
    **options: Any,
) -> Aggregator:
    """Return a window that is kept aggregated: `insert`, `evict`, `query`, `len`.

    `aggregation` may be a dict of named ones: they then share the window. With `auto` the
    algorithm follows from the aggregation's algebra and from what it must be able to do: take
    values `out_of_order`, or answer for `several_ranges`; `explain()` says why. `options` go to the
    algorithm (`chunk=` of sba and pba). With `store=` the window lies there, under the name
    `window=` ("main"), and is opened again by it: amta and log_mta, with `buffer=` nodes written
    and `cache=` nodes a level read at once (512 each).

    >>> from windrow import Max, Sum
    >>> swag = aggregator({"peak": Max(), "total": Sum()}, algorithm="two_stacks")
    >>> for v in (3, 5, 4): swag.insert(v)
    >>> swag.evict(2)
    >>> swag.query()
    {'peak': 4, 'total': 4}
    """
    if isinstance(aggregation, Mapping):
        aggregation = Together(**aggregation)
    check_aggregation(aggregation, "aggregator")
    why, stored = "it was asked for by name", "store" in options
    if algorithm == "auto":
        algorithm, why = choose(
            aggregation,
            out_of_order=out_of_order,
            several_ranges=several_ranges,
            stored=stored,
        )
    cls = algorithm_class(algorithm, stored)
    abilities = {"out_of_order": out_of_order, "several_ranges": several_ranges}
    needed = [name for name, is_needed in abilities.items() if is_needed]
    if stored:
        _check_abilities(cls, needed, aggregation)  # before the store holds the window for it
    try:
        swag = cls.make(aggregation, **options)
    except TypeError as error:
        unknown = [name for name in options if repr(name) in str(error)]
        if not unknown:
            raise
        raise InvalidArgument(f"{algorithm} has no option {unknown[0]!r}") from None
    _check_abilities(swag, needed, aggregation)
    swag.why = why
    return swag


def _check_abilities(
    algorithm: Aggregator | type[Aggregator], needed: list[str], aggregation: Aggregation
) -> None:
    """Raise unless an algorithm has each of these abilities."""
    for name in needed:
        if not getattr(algorithm, name):
            able = ", ".join(a for a in ALGORITHMS if getattr(algorithm_class(a), name))
            raise InvalidArgument(
                f"{algorithm.algorithm} of {aggregation!r} has no {name}; take one of {able}"
            )
