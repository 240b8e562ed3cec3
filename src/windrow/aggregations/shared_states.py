"""SharedStates: the results of several aggregations from as few states as they need.

Compatible aggregations share what they keep (paper 002, section 2.3). The state of a mean has a sum
and a count, so Sum, Mean and Count of one column need one state; that of a Range has both extremes.
A state that can be derived from another one is not kept.

Nothing is shared that would change a result: a mean could be computed from the state of a variance,
but integers are added exactly for a Mean and in floats for a Variance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from windrow.aggregations.base import Aggregation, State, check_aggregation
from windrow.aggregations.together import Together
from windrow.errors import InvalidArgument

Derive = Callable[[State], State]


def derivation(source: Aggregation, wanted: Aggregation) -> Derive | None:
    """Return the function from a state of `source` to one of `wanted`; None if there is none.

    The fields of a state are named after what they hold. So one state can be derived from another
    that has all of its fields, of the same columns.

    >>> from windrow import Count, Max, Mean
    >>> derivation(Mean("load"), Count("load"))((7.5, 0, 2, 0, 0, 0))
    (2,)
    >>> derivation(Max("load"), Mean("load")), derivation(Mean("load"), Mean("volt"))
    (None, None)
    """
    if source == wanted:
        return _unchanged
    arity = wanted.arity if wanted.columns else source.arity
    if source.columns[:arity] != wanted.columns or arity != wanted.arity or wanted.counts_nulls:
        return None
    if wanted.takes not in ("any", source.takes, *_NARROWER.get(source.takes, ())):
        return None  # it would refuse what the other takes
    held, needed = _fields(source), _fields(wanted)
    if held == needed and needed:
        return _unchanged
    places = [held.index(field) for field in needed if field in held]
    if not needed or len(places) < len(needed):
        return None
    return lambda state: None if state is None else tuple(state[place] for place in places)


# Values of the first kind are also of the others.
_NARROWER = {"ordered pair": ("ordered",), "measurable": ("ordered",)}


def _fields(aggregation: Aggregation) -> list[str]:
    """Return the names of the fields of the interpreter's state."""
    origin = aggregation.state_names
    algebra = aggregation.algebra("float64", subtracting=True)
    if algebra is not None:
        return [origin + name for name, _ in algebra.fields]
    if aggregation.listing is not None:
        return [origin + aggregation.listing.field]
    rows = aggregation.rows("float64")
    return [] if rows is None else [f"{origin}{rows.unit}{rows.constants}"]


def _unchanged(state: State) -> State:
    return state


class SharedStates(Together):
    """Aggregations over one window that keeps only the states from which all others are derived.

    >>> from windrow import Count, Max, Mean, Range, Sum, aggregator
    >>> several = SharedStates(Mean("load"), Sum("load"), Count("load"), Max("load"), Range("load"))
    >>> list(several.parts.values())
    [Mean('load'), Range('load')]
    >>> swag = aggregator(several)
    >>> swag.extend([{"load": 2}, {"load": 4}])
    >>> swag.query()
    (3.0, 6, 2, 4, 2)
    """

    def __init__(self, *aggregations: Aggregation) -> None:
        for one in aggregations:
            check_aggregation(one, "SharedStates")
        if not aggregations:
            raise InvalidArgument("SharedStates needs at least one aggregation")
        self.aggregations = aggregations
        kept = _kept(aggregations)
        super().__init__(**{f"state{i}": aggregation for i, aggregation in enumerate(kept)})
        self._sources = tuple(_source(kept, one) for one in aggregations)

    def lower(self, state: State) -> Any:
        return tuple(self.result_of(i, state) for i in range(len(self.aggregations)))

    def result_of(self, i: int, state: State) -> Any:
        """Return the result of the i-th aggregation."""
        k, derive = self._sources[i]
        return self.aggregations[i].lower(derive(state[k]))

    def __repr__(self) -> str:
        return f"SharedStates({', '.join(map(repr, self.aggregations))})"

    def _key(self) -> Hashable:
        return type(self), self.aggregations


def _kept(aggregations: Sequence[Aggregation]) -> list[Aggregation]:
    """Return the aggregations that cannot be derived from another one's state."""
    kept: list[Aggregation] = []
    for one in aggregations:
        if any(derivation(other, one) for other in kept):
            continue
        kept = [other for other in kept if derivation(one, other) is None]
        kept.append(one)
    return kept


def _source(kept: Sequence[Aggregation], one: Aggregation) -> tuple[int, Derive]:
    """Return which of the kept states `one` is derived from, and how."""
    ways = ((k, derivation(other, one)) for k, other in enumerate(kept))
    return next((k, derive) for k, derive in ways if derive is not None)
