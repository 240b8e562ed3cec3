"""Aggregations whose result is null until a window has enough values: `min_rows=` of `window`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import LAWS, Record, Together


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
        for law in LAWS:
            setattr(self, law, getattr(aggregation, law))

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
    """The result that a policy sees, and the one that a push returns: None for too few values."""

    seen: Any
    returned: Any


class AtLeastSeen(AtLeast):
    """`AtLeast` for windows of a policy, which sees all results: each is a `BothResults`."""

    def lower(self, state: Any) -> Any:
        return BothResults(self.aggregation.lower(state[0]), super().lower(state))


def at_least(
    aggregation: Aggregation, least: int | None, kind: type[AtLeast] = AtLeast
) -> Aggregation:
    """Return an aggregation that is null for windows of fewer values, or each of several."""
    if least is None:
        return aggregation
    if aggregation.parts is not None:
        return Together(**{n: kind(part, least) for n, part in aggregation.parts.items()})
    return kind(aggregation, least)


def one_of(result: Any, which: str) -> Any:
    """Return what is "seen", or "returned", of the `BothResults` of one aggregation or several."""
    if isinstance(result, BothResults):
        return getattr(result, which)
    return Record((name, getattr(both, which)) for name, both in result.items())
