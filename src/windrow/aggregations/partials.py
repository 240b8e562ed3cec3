"""Partials: several aggregations lowered from as few states as they need.

Compatible aggregations share what they keep (paper 002, section 2.3): the state of a sum has its
count, so Sum, Mean and Count of one column need one state; that of a Range has both extremes. What
can be derived from another state is not kept.

Nothing is shared that would change an answer: a mean could be had from the state of a variance,
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
    """The function from a state of `source` to one of `wanted`; None if there is none.

    The fields of a state are named by what they hold, so a state tells another one if it has all
    of that one's fields, of the same columns.

    >>> from windrow import Count, Max, Mean
    >>> derivation(Mean("load"), Count("load"))((7.5, 0, 2, 0, 0, 0))
    (2,)
    >>> derivation(Max("load"), Mean("load")), derivation(Mean("load"), Mean("volt"))
    (None, None)
    """
    if source == wanted:
        return _whole
    arity = wanted.arity if wanted.columns else source.arity
    if source.columns[:arity] != wanted.columns or arity != wanted.arity or wanted.counts_nulls:
        return None
    if wanted.takes not in ("any", source.takes, *_NARROWER.get(source.takes, ())):
        return None  # it would refuse what the other takes
    held, asked = _fields(source), _fields(wanted)
    if held == asked and asked:
        return _whole
    places = [held.index(field) for field in asked if field in held]
    if not asked or len(places) < len(asked):
        return None
    return lambda state: None if state is None else tuple(state[place] for place in places)


# What takes the first has taken all that the others would.
_NARROWER = {"ordered pair": ("ordered",), "measurable": ("ordered",)}


def _fields(aggregation: Aggregation) -> list[str]:
    """The names of what the interpreter's state holds."""
    home = aggregation.state_names
    algebra = aggregation.algebra("float64", subtracting=True)
    if algebra is not None:
        return [home + name for name, _ in algebra.fields]
    if aggregation.listing is not None:
        return [home + aggregation.listing.field]
    rows = aggregation.rows("float64")
    return [] if rows is None else [f"{home}{rows.unit}{rows.constants}"]


def _whole(state: State) -> State:
    return state


class Partials(Together):
    """Aggregations over one window, lowered from the states that all others derive from.

    >>> from windrow import Count, Max, Mean, Range, Sum, aggregator
    >>> both = Partials(Mean("load"), Sum("load"), Count("load"), Max("load"), Range("load"))
    >>> list(both.parts.values())
    [Mean('load'), Range('load')]
    >>> swag = aggregator(both)
    >>> swag.extend([{"load": 2}, {"load": 4}])
    >>> swag.query()
    (3.0, 6, 2, 4, 2)
    """

    def __init__(self, *asked: Aggregation) -> None:
        for one in asked:
            check_aggregation(one, "Partials")
        if not asked:
            raise InvalidArgument("Partials needs at least one aggregation")
        self.asked = asked
        kept = _kept(asked)
        super().__init__(**{f"partial{i}": partial for i, partial in enumerate(kept)})
        self._sources = tuple(_source(kept, one) for one in asked)

    def lower(self, state: State) -> Any:
        return tuple(self.answer(i, state) for i in range(len(self.asked)))

    def answer(self, i: int, state: State) -> Any:
        """The answer of the i-th aggregation that was asked for."""
        k, derive = self._sources[i]
        return self.asked[i].lower(derive(state[k]))

    def __repr__(self) -> str:
        return f"Partials({', '.join(map(repr, self.asked))})"

    def _key(self) -> Hashable:
        return type(self), self.asked


def _kept(asked: Sequence[Aggregation]) -> list[Aggregation]:
    """The aggregations that cannot be derived from another one's state."""
    kept: list[Aggregation] = []
    for one in asked:
        if any(derivation(other, one) for other in kept):
            continue
        kept = [other for other in kept if derivation(one, other) is None]
        kept.append(one)
    return kept


def _source(kept: Sequence[Aggregation], one: Aggregation) -> tuple[int, Derive]:
    """Which state `one` is derived from, and how."""
    for k, other in enumerate(kept):
        derive = derivation(other, one)
        if derive is not None:
            return k, derive
    raise AssertionError(f"{one} cannot be derived from {kept}")
