"""Count: how many."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.base import Aggregation


class Count(Aggregation):
    """The number of rows, nulls included; with a column, of its values that are not null.

    >>> from windrow import aggregator
    >>> rows, loads = aggregator(Count()), aggregator(Count("load"))
    >>> for load in (2.5, None):
    ...     rows.insert({"load": load}); loads.insert({"load": load})
    >>> rows.query(), loads.query()
    (2, 1)
    """

    commutative = True
    invertible = True
    identity = 0

    def skips(self, value: Any) -> bool:
        return bool(self.columns) and super().skips(value)

    def unit(self, value: Any) -> int:
        return 1

    def combine(self, a: int, b: int) -> int:
        return a + b

    def inverse(self, total: int, old: int) -> int:
        return total - old

    def lower(self, state: int) -> int:
        return state
