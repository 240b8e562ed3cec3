"""Several queries that ask for the same aggregation share its slices and one FlatFIT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.kernels.aggregate import aggregate
from windrow.kernels.results import Answers
from windrow.kernels.shared import aggregate_shared, worth_sharing
from windrow.queries.query import Query
from windrow.windows.positions import Windows


class Pool:
    """Aggregates over the windows of several queries, computed together where that is faster."""

    def __init__(self, asked: Sequence[tuple[Query, Windows]]) -> None:
        self._asked = asked
        self._made: dict[tuple[Aggregation, int], Answers] = {}

    def aggregate(
        self,
        aggregation: Aggregation,
        columns: Sequence[Any],
        windows: Windows,
        *,
        nulls: Any,
        threads: int,
    ) -> Answers:
        """As `aggregate` of the compiled path; the other queries' answers are kept for them."""
        key = aggregation, id(windows)
        if key in self._made:
            return self._made.pop(key)
        others = [w for query, w in self._asked if aggregation in query.parts.values()]
        total = sum(len(w) for w in others)
        mine = any(w is windows for w in others)
        worth = len(others) > 1 and worth_sharing(aggregation, len(others), windows.n, total)
        if not (mine and worth):
            return aggregate(aggregation, columns, windows, nulls=nulls, threads=threads)
        made = aggregate_shared(aggregation, columns, [w.bounds() for w in others], nulls=nulls)
        for each, answers in zip(others, made, strict=True):
            self._made[aggregation, id(each)] = answers
        return self._made.pop(key)
