"""Count: how many."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.kinds import Single


class Count(Single):
    """The number of rows, nulls included; with a column, of its values that are not null.

    >>> from windrow import aggregator
    >>> rows, loads = aggregator(Count()), aggregator(Count("load"))
    >>> for load in (2.5, None):
    ...     rows.insert({"load": load}); loads.insert({"load": load})
    >>> rows.query(), loads.query()
    (2, 1)
    """

    column_optional = True
    commutative = True
    invertible = True
    result = "int64"
    empty = 0
    fields = {"count": "int64"}
    kernel = "windrow.kernels.named:counts"
    spark_fields = {"count": "count({0})"}

    @property
    def counts_nulls(self) -> bool:
        return not self.columns

    def skips(self, value: Any) -> bool:
        return not self.counts_nulls and super().skips(value)

    @staticmethod
    def unit(value: Any) -> Any:
        return (1,)

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return (a[0] + b[0],)

    @staticmethod
    def minus(total: Any, old: Any) -> Any:
        return (total[0] - old[0],)

    def is_empty(self, state: Any) -> bool:
        return bool(state[0] == 0)
