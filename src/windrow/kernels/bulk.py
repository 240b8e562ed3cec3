"""Windows of sketches that another library keeps: values go in in bulk, a block of rows at a time.

    rows      · · · · ┃· · · · ┃· · · · ┃· · · · ┃· · · ·
    window        ├── ┃ ------ ┃ ------ ┃ ------ ┃───┤
                  rows          blocks             rows

Blocks are the stretches between the edges of windows where these are long, as slices are, and so
many rows each where windows begin and end everywhere. Their sketches are put together as
Two-Stacks does, and the rows at both ends are added to the window's own sketch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import BulkAlgebra
from windrow.aggregations.base import Aggregation
from windrow.kernels.interpreted import packed
from windrow.kernels.results import ResultArray, lists


def bulk_results(
    aggregation: Aggregation,
    values: NDArray[Any],
    nulls: NDArray[np.uint8] | None,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
) -> ResultArray:
    """The results of the windows [lo, hi), which never fall, over the values that are not null."""
    bulk = aggregation.bulk()
    assert bulk is not None, f"{aggregation!r} takes no values in bulk"
    if nulls is not None:
        kept = nulls == 0
        before = np.concatenate([[0], np.cumsum(kept)])
        values, lo, hi = values[kept], before[lo], before[hi]
    edges = _edges(lo, hi, bulk.block, len(values))
    blocks = _Blocks(bulk, values, edges)
    begin, end = np.searchsorted(edges, lo), np.searchsorted(edges, hi, "right") - 1
    bounds = zip(*(each.tolist() for each in (lo, hi, begin, end)), strict=True)
    results = [
        aggregation.empty if first == past else bulk.answer(blocks.sketch(first, past, i, j))
        for first, past, i, j in bounds
    ]
    if aggregation.result == "list of float64":
        return _lists(results)
    return packed(aggregation, results)


def _edges(lo: NDArray[np.int64], hi: NDArray[np.int64], block: int, n: int) -> NDArray[np.int64]:
    """Where blocks begin and end.

    >>> _edges(np.array([0, 50]), np.array([100, 150]), 10, 200)
    array([  0,  50, 100, 150])
    >>> _edges(np.arange(15), np.arange(15) + 15, 10, 30)
    array([ 0, 10, 20, 30])
    """
    ends = np.unique(np.concatenate([lo, hi]))
    if ends.size and (ends.size - 1) * block <= ends[-1] - ends[0]:
        return ends
    return np.arange(0, n + 1, block)


class _Blocks:
    """The sketches of blocks: those before `split` are put together from the right, in `front`.

    `back` has those from `split` to `end`, and `since` is the sketch of all of them.
    """

    def __init__(self, bulk: BulkAlgebra, values: NDArray[Any], edges: NDArray[np.int64]) -> None:
        self.bulk, self.values = bulk, bulk.read(values)
        self.edges = edges.tolist()
        self.split = self.end = 0
        self.front: list[Any] = []
        self.back: list[Any] = []
        self.since: Any = None

    def sketch(self, first: int, past: int, i: int, j: int) -> Any:
        """The sketch of a window that is not empty, in which the blocks i to j lie."""
        values = self.values
        if i >= j:
            parts, rows = [], [(first, past)]
        else:
            parts, ends = self._between(i, j), ((first, self.edges[i]), (self.edges[j], past))
            rows = [(a, b) for a, b in ends if a < b]
        if len(parts) == 1 and not rows:
            return parts[0]
        return self._joined(parts, [values[a:b] for a, b in rows])

    def _between(self, i: int, j: int) -> list[Any]:
        """At most two sketches that have the blocks i to j between them."""
        if i >= self.end:
            self.front, self.back, self.since = [], [], None
            self.split = self.end = i
        for block in range(self.end, j):
            new = self.sketch(self.edges[block], self.edges[block + 1], 0, 0)
            self.back.append(new)
            self.since = new if self.since is None else self._joined([self.since, new])
        self.end = max(self.end, j)
        if i >= self.split:
            self.front = []
            for older in reversed(self.back[i - self.split :]):
                self.front.append(self._joined([self.front[-1], older]) if self.front else older)
            self.split, self.back, self.since = self.end, [], None
        del self.front[self.split - i :]
        return [self.front[-1]] + ([] if self.since is None else [self.since])

    def _joined(self, sketches: list[Any], rows: Sequence[Any] = ()) -> Any:
        """Return the sketch of these sketches and of the values of rows."""
        builder = self.bulk.start()
        for sketch in sketches:
            self.bulk.join(builder, sketch)
        for values in rows:
            self.bulk.add(builder, values)
        return self.bulk.done(builder)


def _lists(results: list[Any]) -> ResultArray:
    """Results that are as many numbers each, or null."""
    width = max((len(each) for each in results if each is not None), default=0)
    items = np.array([each or [0.0] * width for each in results], np.float64)
    missing = np.array([each is None for each in results], np.bool_)
    values = lists(items.reshape(len(results), width), np.where(missing, 0, width))
    return ResultArray(values, missing if missing.any() else None)
