"""Partials: several aggregations lowered from as few states as they need.

Compatible aggregations share what they keep (paper 002, section 2.3): the state of a sum has its
count, so Sum, Mean and Count of one column need one state; that of a Range has both extremes. What
one state tells of another is a table here, and whatever another one tells is not kept.

Nothing is shared that would change an answer: a mean could be had from the state of a variance,
but integers are added exactly for a Mean and in floats for a Variance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from windrow.aggregations.base import Aggregation, State, check_aggregation
from windrow.aggregations.together import Together
from windrow.errors import InvalidArgument

Tell = Callable[[State], State]


def _whole(state: State) -> State:
    return state


def _first(state: State) -> State:
    return None if state is None else state[0]


def _second(state: State) -> State:
    return None if state is None else state[1]


def _number(state: State) -> State:
    return 0 if state is None else state[0]


# By the names of the windrow aggregations: the sketches among them are not imported for this.
_TELLS: dict[tuple[str, str], Tell] = {
    ("Sum", "Mean"): _whole,
    ("Mean", "Sum"): _whole,
    ("Sum", "Count"): _number,
    ("Mean", "Count"): _number,
    ("GeometricMean", "Count"): _number,
    ("Variance", "Variance"): _whole,
    ("Variance", "StdDev"): _whole,
    ("Variance", "Count"): _number,
    ("StdDev", "StdDev"): _whole,
    ("StdDev", "Variance"): _whole,
    ("StdDev", "Count"): _number,
    ("Range", "Min"): _first,
    ("Range", "Max"): _second,
    ("MaxCount", "Max"): _first,
    ("MinCount", "Min"): _first,
    ("ArgMax", "Max"): _first,
    ("ArgMin", "Min"): _first,
    ("CollectDistinct", "CountDistinct"): _whole,
    ("CountDistinct", "CollectDistinct"): _whole,
    ("Concat", "Concat"): _whole,
    ("Concat", "Collect"): _whole,
    ("MomentSketch", "MomentSketch"): _whole,
}


def tells(teller: Aggregation, asked: Aggregation) -> Tell | None:
    """The function from a state of `teller` to that of `asked`; None if there is none.

    >>> from windrow import Count, Max, Mean
    >>> tells(Mean("load"), Count("load"))((2, 7.5, 0.0, 0, 0, 0))
    2
    >>> tells(Max("load"), Mean("load")), tells(Mean("load"), Mean("volt"))
    (None, None)
    """
    if teller == asked:
        return _whole
    name = _name(asked)
    tell = _TELLS.get((_name(teller), name))
    if tell is None or teller.columns[: asked.arity] != asked.columns:
        return None
    if not asked.columns and (name == "Count" or teller.arity != asked.arity):
        return None  # Count() counts nulls as well, and ArgMax() takes pairs
    if getattr(teller, "order", None) != getattr(asked, "order", None):
        return None  # a sketch of other moments
    return tell


def _name(aggregation: Aggregation) -> str:
    """The name of an aggregation of windrow's own; a user's subclass may keep other states."""
    cls = type(aggregation)
    return cls.__name__ if cls.__module__.startswith("windrow.aggregations.") else ""


class Partials(Together):
    """Aggregations over one window, lowered from those of them that tell all others.

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
        k, tell = self._sources[i]
        return self.asked[i].lower(tell(state[k]))

    def __repr__(self) -> str:
        return f"Partials({', '.join(map(repr, self.asked))})"

    def _key(self) -> Hashable:
        return type(self), self.asked


def _kept(asked: Sequence[Aggregation]) -> list[Aggregation]:
    """The aggregations that no other one tells. What tells a teller tells what it tells."""
    kept: list[Aggregation] = []
    for one in asked:
        if any(tells(other, one) for other in kept):
            continue
        kept = [other for other in kept if tells(one, other) is None]
        kept.append(one)
    return kept


def _source(kept: Sequence[Aggregation], one: Aggregation) -> tuple[int, Tell]:
    """Which state tells `one`, and how."""
    for k, other in enumerate(kept):
        tell = tells(other, one)
        if tell is not None:
            return k, tell
    raise AssertionError(f"nothing of {kept} tells {one}")
