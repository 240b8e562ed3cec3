"""A stream in batches: the values that windows to come may reach, in front of each new batch.

        batch 1                     batch 2
        ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒            ▒▒▒▒▒▒▒▒▒▒
                └─ tail ─┘──────────┘           `aggregate` over both answers for batch 2

Floats are added up in an order that depends on where windows begin and end, and on nothing else:
kernels go by blocks from the first value on, loops by the places at which Two-Stacks flips. The
tail begins at such a place, so the results have the same bits however the stream is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.compiled import compiled
from windrow.kernels.aggregate import Inputs, aggregate
from windrow.kernels.columns import Column, column
from windrow.kernels.interpreted import name_failure, without_columns
from windrow.kernels.results import ResultArray, with_arguments
from windrow.kernels.routes import Route, route_over
from windrow.kernels.stream_loop import Batch, check_count, check_no_nulls, measured_arrays
from windrow.windows.arrays import Positions
from windrow.windows.positions import Windows

# Of a run of Two-Stacks: the split before the last flip (−1: none), and the split; then where the
# window begins at which it flipped, and the end of what has come in.
_BEFORE, _SPLIT = 0, 1


class Tail:
    """One aggregation over the batches of a stream, by `aggregate`."""

    def __init__(
        self,
        aggregation: Aggregation,
        columns: Sequence[Column | None],
        rows: int | None,
        ahead: int,
        threads: int,
        nulls: bool,
    ) -> None:
        check_count(aggregation, columns)
        self.aggregation, self.rows, self.threads = aggregation, rows, threads
        self.inputs = measured_arrays(aggregation, len(columns))
        measured = columns[: self.inputs]
        self.way = route_over(aggregation, measured, nulls=nulls)
        self.nulls, self.ahead = nulls, ahead  # so far behind the current row its window goes
        self.arrays: list[NDArray[Any]] = []
        self.masks: list[NDArray[np.bool_] | None] = []
        self.oldest = 0  # the position of the first value here
        if rows is None or self.way.kernel is None:
            self.run = np.array([-1, 0, 0, 0])

    def roll(self, batch: Batch) -> ResultArray:
        """The results of the rows that the batch asks for."""
        if self.way.kernel is not None and not self.way.kernel.nulls:
            check_no_nulls(self.aggregation, [c for c in batch.columns if c is not None])
        self._join(batch)
        windows, extra = self._windows(batch)
        made = self._placed(self._aggregate(windows, extra, self.way))
        if self.ahead > 0:
            made = self._of_rows_before(batch, made)
        elif self.ahead < 0:
            made = self._of_rows_behind(batch, made)
        if not batch.last:
            self._forget(batch.stop, batch.reached)
        return made

    @property
    def by_last_rows(self) -> bool:
        """Whether windows of the last rows are faster than others: bounds have to be written."""
        kernel = self.way.kernel
        return kernel is not None and (kernel.in_blocks or kernel.positional)

    def _of_rows_before(self, batch: Batch, made: ResultArray) -> ResultArray:
        """The same results as those of the rows that they lie ahead of, and at the end the rest."""
        assert self.rows is not None
        skip = min(batch.stop - batch.row, max(0, self.ahead - batch.row))
        if not batch.last:
            return made.since(skip)
        past = np.arange(max(0, batch.stop - self.ahead), batch.stop) + self.ahead + 1
        end = self.arrays[0].size
        lo = np.minimum(np.maximum(past - self.rows, 0) - self.oldest, end)
        rest = self._between(lo, np.full(lo.size, end))
        if batch.row or made.values.dtype != rest.values.dtype:
            return made.since(skip).followed_by(rest)
        return made.moved(skip, rest)

    def _of_rows_behind(self, batch: Batch, made: ResultArray) -> ResultArray:
        """The same results as those of the rows that lie behind them; the first have no values."""
        n = batch.stop - batch.row
        none = min(n, max(0, -self.ahead - batch.row))
        made = made.until(n - none)
        if not none:
            return made
        nowhere = np.zeros(none, np.int64)
        return made.preceded_by(self._between(nowhere, nowhere))

    def _between(self, lo: Positions, hi: Positions) -> ResultArray:
        """The results of windows that have these bounds among the values here."""
        windows = Windows(np.array([0, self.arrays[0].size]), lo=lo, hi=hi)
        pairs = zip(self.arrays[: self.inputs], self.masks, strict=False)
        columns = [column(array, mask, "value") for array, mask in pairs]
        way = route_over(self.aggregation, columns, nulls=self.nulls)
        return self._placed(self._aggregate(windows, 0, way))

    def _aggregate(self, windows: Windows, extra: int, way: Route) -> ResultArray:
        """The results of windows, behind so many that lead up to them."""
        arrays, masks = self.arrays[: self.inputs], self.masks[: self.inputs]
        try:
            answers = aggregate(
                self.aggregation, arrays, windows, nulls=masks, threads=self.threads, way=way
            )
        except Exception as error:
            if self.aggregation.functions is not None:
                values = Inputs(self.aggregation, arrays, masks, windows.n).values()
                plain = without_columns(self.aggregation)
                name_failure(error, plain, values, *windows.bounds(), self.oldest)
            raise
        return answers.since(extra)

    def _join(self, batch: Batch) -> None:
        """Put the batch behind what is here."""
        arrays = [np.asarray(array) for array in batch.arrays]
        masks = [
            None if c is None or c.nulls is None else c.nulls.view(np.bool_) for c in batch.columns
        ]
        if not self.arrays:
            self.arrays, self.masks = arrays, masks
            return
        for i, (array, mask) in enumerate(zip(arrays, masks, strict=True)):
            old, was = self.arrays[i], self.masks[i]
            if mask is not None or was is not None:
                pair = ((old, was), (array, mask))
                self.masks[i] = np.concatenate(
                    [np.zeros(a.size, np.bool_) if m is None else m for a, m in pair]
                )
            self.arrays[i] = np.concatenate([old, array])

    def _windows(self, batch: Batch) -> tuple[Windows, int]:
        """The windows of the rows that are asked for, behind so many that lead up to them."""
        n = self.arrays[0].size
        ends = np.array([0, n])
        if self.rows is None:
            assert batch.lo is not None and batch.hi is not None
            lo, hi = batch.lo, batch.hi
        elif self.way.kernel is not None or not batch.row:
            first = max(0, batch.row + min(self.ahead, 0))
            return Windows(ends, rows=self.rows, first=first - self.oldest), 0
        else:
            hi = np.arange(batch.row, batch.stop) + 1
            lo = np.maximum(hi - self.rows, 0)
        if batch.reached is not None:
            return Windows(ends, lo=lo - self.oldest, hi=hi - self.oldest, go_back=True), 0
        before = self._leading()
        if self.rows is None and not batch.last:
            _advance(lo, hi, self.run)
        if before or self.oldest:
            lead = np.array(before, np.int64).reshape(-1, 2)
            lo, hi = (np.concatenate([lead[:, i], b]) - self.oldest for i, b in enumerate((lo, hi)))
        return Windows(ends, lo=lo, hi=hi), len(before)

    def _leading(self) -> list[tuple[int, int]]:
        """Windows after which Two-Stacks, begun anew, stands where it stood."""
        before, split, first, end = self.run.tolist()
        if before >= 0:
            return [(before, split), (first, end)]
        return [(split, end)] if end > split else []

    def _placed(self, answers: ResultArray) -> ResultArray:
        """Results with arguments, or positions in the stream, where they are positions here."""
        if len(self.arrays) > self.inputs:
            return with_arguments(self.aggregation, answers, self.arrays[1], self.masks[1])
        if not self.oldest:
            return answers
        result, values, missing = self.aggregation.result, answers.values, answers.missing
        there = True if missing is None else ~missing
        if result == "argument":
            return ResultArray(values + self.oldest * there, missing)
        if isinstance(result, Mapping):
            for name in (name for name, kind in result.items() if kind == "argument"):
                values[name] += self.oldest * there
        return answers

    def _forget(self, stop: int, reached: int | None) -> None:
        """Drop what neither a later window nor the grouping of its values reaches back to."""
        if reached is not None:
            first = reached
        elif self.rows is not None and self.way.kernel is not None:
            grid = self.way.kernel.grid(self.rows)
            first = ((stop + min(self.ahead, 0)) // grid - 2) * grid
        else:
            if self.rows is not None and stop:  # flips are at every so-many rows
                flips = (stop - 1) // self.rows
                split, head = flips * self.rows, max(0, stop - self.rows)
                self.run[:] = (split - self.rows if flips else -1), split, head, stop
            first = int(self.run[_SPLIT] if self.run[_BEFORE] < 0 else self.run[_BEFORE])
        gone = max(0, first - self.oldest)
        self.arrays = [array[gone:].copy() for array in self.arrays]
        self.masks = [None if mask is None else mask[gone:].copy() for mask in self.masks]
        self.oldest += gone


@compiled
def _advance(lo: Positions, hi: Positions, run: Positions) -> None:
    """Note where Two-Stacks stands after these windows."""
    before, split, first, end = run[0], run[1], run[2], run[3]
    for i in range(lo.size):
        if lo[i] > split:
            before = split
            split = end
            first = lo[i]
            if first >= split:
                before = -1
                split = end = first
        end = max(end, hi[i])
    run[0], run[1], run[2], run[3] = before, split, first, end
