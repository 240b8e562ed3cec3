"""An aggregation with null until a window has so many values: `min_rows=` of a push window."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import Record, Together


class AtLeast(Aggregation):
    """Another aggregation, whose result is None until the window has `least` values.

    >>> from windrow import Max, aggregator
    >>> swag = aggregator(AtLeast(Max(), 2))
    >>> for load in (3, None, 5): swag.insert(load); print(swag.query())
    None
    None
    5
    """

    def __init__(self, aggregation: Aggregation, least: int) -> None:
        super().__init__()
        self.aggregation, self.least_values = aggregation, least
        self.identity = aggregation.identity, 0
        for name in ("commutative", "invertible", "exact", "exact_on_integers", "bounded"):
            setattr(self, name, getattr(aggregation, name))

    def parameters(self) -> dict[str, Any]:
        return {"aggregation": self.aggregation, "least": self.least_values}

    def lift(self, value: Any) -> Any:
        inner = self.aggregation
        return inner.lift(value), int(not inner.skips(inner.pick(value)))

    unit = lift

    def combine(self, a: Any, b: Any) -> Any:
        return self.aggregation.combine(a[0], b[0]), a[1] + b[1]

    def inverse(self, total: Any, old: Any) -> Any:
        return self.aggregation.inverse(total[0], old[0]), total[1] - old[1]

    def lower(self, state: Any) -> Any:
        return None if state[1] < self.least_values else self.aggregation.lower(state[0])

    def families(self, value: Any) -> tuple[Hashable, ...]:
        return self.aggregation.families(value)


class BothResults(NamedTuple):
    """The result of a window that a policy is asked of, and what is told of it."""

    seen: Any
    told: Any


class AtLeastTold(AtLeast):
    """The same for a policy, which is asked of every window: the result, and None or the result."""

    def lower(self, state: Any) -> Any:
        return BothResults(self.aggregation.lower(state[0]), super().lower(state))


def at_least(
    aggregation: Aggregation, least: int | None, kind: type[AtLeast] = AtLeast
) -> Aggregation:
    """The same aggregation with null for windows of fewer values; of several, for each of them."""
    if least is None:
        return aggregation
    if aggregation.parts is not None:
        return Together(**{n: kind(part, least) for n, part in aggregation.parts.items()})
    return kind(aggregation, least)


def one_of(result: Any, which: str) -> Any:
    """The results that are `seen`, or `told`, of one aggregation or of several."""
    if isinstance(result, BothResults):
        return getattr(result, which)
    return Record((name, getattr(each, which)) for name, each in result.items())
