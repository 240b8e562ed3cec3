"""Rank and PercentRank: where the newest value stands among those of its window."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.algebra import Listing, SqlName
from windrow.aggregations.base import Aggregation
from windrow.aggregations.collections import Collect
from windrow.aggregations.kinds import Ordered
from windrow.aggregations.ordering import less, same
from windrow.errors import choice

METHODS = ("min", "max", "average")


class Rank(Ordered, Collect):
    """The place of the newest value in the order of the window's values, the smallest at 1.

    Equal values share a place: their lowest with ``method="min"``, as SQL's RANK, their highest
    with "max", the mean with "average", as pandas has it. A NaN is larger than any number. A null
    has no place: the newest value is the newest that is not null.

    >>> from windrow import aggregator
    >>> swag = aggregator(Rank())
    >>> swag.extend([5, 1, 9, 5])
    >>> swag.query()
    2
    """

    result = "int64"
    sql_names = {}
    listing = Listing()
    kernel = "windrow.kernels.ranked:places"

    def __init__(self, *columns: str, method: str = "min") -> None:
        super().__init__(*columns)
        self.method = choice("Rank: method", method, METHODS)
        self.result = "float64" if method == "average" else "int64"

    def placed(self, smaller: Any, equal: Any, count: Any) -> Any:
        """Return the rank of a value: so many of `count` are smaller, and so many equal to it.

        They may be arrays.
        """
        if self.method == "average":
            return smaller + (equal + 1) / 2
        return smaller + (1 if self.method == "min" else equal)

    def lower(self, state: Any) -> Any:
        if not state:
            return None
        newest = state[-1]
        smaller, equal = (sum(test(value, newest) for value in state) for test in (less, same))
        return self.placed(smaller, equal, len(state))

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(), cls(method="average")]


class PercentRank(Rank):
    """The share of the other values of the window that the newest one exceeds: SQL's PERCENT_RANK.

    That is (rank − 1) / (n − 1), and 0 for a single value.

    >>> from windrow import aggregator
    >>> swag = aggregator(PercentRank())
    >>> swag.extend([5, 1, 9, 5])
    >>> round(swag.query(), 3)
    0.333
    """

    sql_names = {"PERCENT_RANK": SqlName()}

    def __init__(self, *columns: str) -> None:
        super().__init__(*columns)
        self.result = "float64"

    def placed(self, smaller: Any, equal: Any, count: Any) -> Any:
        return smaller / (count - (count > 1))

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls()]
