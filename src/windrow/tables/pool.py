"""Several queries that ask for the same aggregation share its slices and one FlatFIT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.kernels.aggregate import aggregate
from windrow.kernels.results import ResultArray
from windrow.kernels.routes import FLATFIT, Route
from windrow.kernels.shared import aggregate_shared
from windrow.queries.plan import Plan
from windrow.windows.positions import Windows


class Pool:
    """Results over the windows of several queries: those that share slices are made together."""

    def __init__(self, asked: Sequence[tuple[Plan, Windows]]) -> None:
        self._asked = [(plan, windows) for plan, windows in asked if plan.slicing is not None]
        self._made: dict[tuple[Aggregation, int], ResultArray] = {}

    def aggregate(
        self,
        aggregation: Aggregation,
        columns: Sequence[Any],
        windows: Windows,
        *,
        nulls: Any,
        threads: int,
        way: Route,
    ) -> ResultArray:
        """As `aggregate` of the kernels; the other queries' results are kept for them."""
        key = aggregation, id(windows)
        if key in self._made:
            return self._made.pop(key)
        others = [w for plan, w in self._asked if aggregation in plan.query.parts.values()]
        if way.name != FLATFIT or not any(w is windows for w in others):
            return aggregate(aggregation, columns, windows, nulls=nulls, threads=threads, way=way)
        made = aggregate_shared(aggregation, columns, [w.bounds() for w in others], nulls=nulls)
        for each, results in zip(others, made, strict=True):
            self._made[aggregation, id(each)] = results
        return self._made.pop(key)
