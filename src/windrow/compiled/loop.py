"""Run an algorithm's compiled loop over the batches of a stream."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.algorithms.sba import optimal_chunk
from windrow.compiled.answers import Answers, Riding, finished
from windrow.compiled.batch import Batch, Roller
from windrow.compiled.bounds import flips_after
from windrow.compiled.columns import NO_NULLS, Column, joined
from windrow.compiled.generate import CURSORS, dtype_of, kernel
from windrow.compiled.monoids import Monoid
from windrow.compiled.rows import Rows
from windrow.errors import InvalidValue, Unsupported

NO_BOUNDS = np.empty(0, np.int64)
# A thread is worth starting for this many values; below, the call itself is faster.
PIECE = 1 << 16
# Half of how many lcs may lie ready: with small chunks the threads then meet less often.
_AHEAD = 1 << 16


def loop_name(aggregation: Aggregation, algorithm: str, rows: int | None) -> str:
    """The loop that runs; `auto` is the boundary aggregator on whole windows: Two-Stacks.

    PBA's chunks are those of a window of fixed length; by time, it runs as SBA.
    """
    if algorithm == "auto":
        return "two_stacks"
    if algorithm == "pba" and rows is None:
        return "sba"
    if algorithm == "slick_deque" and not aggregation.selective:
        return "subtract_on_evict"
    return algorithm


class Loop(Roller):
    """An algorithm's compiled loop, with its buffers and cursors carried from batch to batch."""

    def __init__(
        self,
        aggregation: Aggregation,
        compiled: Monoid | Rows,
        columns: list[Column],
        arrays: list[Any],
        rows: int | None,
        algorithm: str,
        threads: int,
        nulls: bool,
    ) -> None:
        self.aggregation, self.rows, self.algorithm = aggregation, rows, algorithm
        self.name = loop_name(aggregation, algorithm, rows)
        self.threads = threads if algorithm == "auto" else 1
        # Count() counts rows, so nothing is null to it
        self.nulls = nulls and not (
            type(aggregation).__name__ == "Count" and not aggregation.columns
        )
        self.inputs = compiled.unit_columns
        dtypes = tuple(str(c.data.dtype) for c in columns[: self.inputs])
        self.kernel = kernel(
            self.name, compiled, dtypes, "rows" if rows else "range", self.nulls,
            aggregation.commutative,
        )  # fmt: skip
        # a ring by positions can be laid out anew in a larger one
        self.grows = set(self.kernel.states) == {"ring", "spare"} and not self.kernel.indices
        self.cursors = np.zeros(CURSORS, np.int64)
        self.buffers: list[Any] | None = None
        self.waiting: list[Column] = []  # values that came and are in no answered window yet
        self.waiting_from = 0
        self.riding = Riding(arrays, aggregation)
        self.column = columns[0].nothing()

    def roll(self, batch: Batch) -> Answers:
        columns = self._columns(batch)
        lo, hi = batch.lo, batch.hi
        trash = None
        if lo is not None and hi is not None and self.name != "two_stacks":
            lo, hi, trash = _without_gaps(lo, hi, int(self.cursors[1]))
        n = batch.stop - batch.row if lo is None else lo.size
        out = tuple(np.empty(n, dtype_of(output)) for output in self.kernel.monoid.outputs)
        valid = np.ones(n, np.uint8)
        if n:
            self._check_overflow(columns, lo, hi)
            self._run(batch, columns, lo, hi, out, valid)
        if trash is not None:
            out, valid = tuple(np.delete(o, trash) for o in out), np.delete(valid, trash)
        end = int(self.cursors[1])
        at = end - self.waiting_from
        self.waiting = [c.since(at) for c in columns if at < c.data.size]
        self.waiting_from = end
        answers = finished(self.aggregation, self.column, self.riding, out, valid)
        self.riding.forget(int(self.cursors[0]))
        return answers

    def _columns(self, batch: Batch) -> list[Column]:
        """This batch's values behind those that still wait to be inserted."""
        came = [c for c in batch.columns[: self.inputs] if c is not None]
        self.riding.take(batch.arrays)
        if self.waiting:
            return list(map(joined, self.waiting, came))
        self.waiting_from = batch.base
        return came

    def _run(
        self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any
    ) -> None:
        data = tuple(c.data for c in columns)
        self._make_room(self._longest(batch, lo, hi))
        nulls = self._nulls(columns)
        begin = batch.row

        def run(
            row: int, stop: int, cursors: Any, buffers: Any, out: Any, valid: Any, lo: Any = lo
        ) -> None:
            here = slice(row - begin, stop - begin)
            bounds = (NO_BOUNDS, NO_BOUNDS) if self.rows else (lo[here], hi[here])
            self.kernel.run(
                row, stop, self.waiting_from, self.rows or 0, *bounds, data, nulls, cursors,
                *buffers, out, valid,
            )  # fmt: skip

        end = begin + out[0].size
        cuts = self._cuts(batch, lo, hi, end)
        stops = [row for row, _ in cuts] + [end]

        def piece(k: int) -> None:
            """The rows from the k-th cut on, of which a flip is the first: no ⊕ reaches back."""
            row, split = cuts[k - 1]
            cursors = self.cursors.copy()
            cursors[[0, 1, 3]] = split
            buffers = self.kernel.buffers(int(cursors[2]))
            nowhere = tuple(np.empty(1, o.dtype) for o in out)
            inside = lo if lo is None else np.maximum(lo, split)  # nothing before is there to read
            run(row - 1, row, cursors, buffers, nowhere, np.empty(1, np.uint8), inside)
            here = slice(row - begin, stops[k] - begin)
            run(row, stops[k], cursors, buffers, tuple(o[here] for o in out), valid[here])

        if not cuts:
            run(begin, end, self.cursors, self.buffers, out, valid)
            return
        with ThreadPoolExecutor(len(cuts)) as pool:
            others = [pool.submit(piece, k) for k in range(1, len(cuts) + 1)]
            here = slice(0, stops[0] - begin)
            run(
                begin,
                stops[0],
                self.cursors,
                self.buffers,
                tuple(o[here] for o in out),
                valid[here],
            )
            for other in others:
                other.result()

    def _cuts(self, batch: Batch, lo: Any, hi: Any, end: int) -> list[tuple[int, int]]:
        """Where other threads may begin: rows that flip, and the split before it."""
        pieces = min(self.threads, (end - batch.row) // PIECE)
        if pieces < 2 or not batch.last or batch.base:
            return []
        wanted = [end * k // pieces for k in range(1, pieces)]
        if self.rows:
            flips = [max(1, round(row / self.rows)) * self.rows for row in wanted]
            return [(row, row - self.rows) for row in dict.fromkeys(flips) if row < end]
        rows, splits = flips_after(lo, hi, np.array(wanted))
        found = dict(zip(rows.tolist(), splits.tolist(), strict=True))
        return [(row, split) for row, split in found.items() if row < end]

    def _nulls(self, columns: list[Column]) -> NDArray[np.uint8]:
        """Which values are null; nothing where the loop does not ask."""
        if not self.nulls:
            check_no_nulls(self.aggregation, columns)
            return NO_NULLS
        masks = [c.nulls for c in columns if c.nulls is not None]
        return np.bitwise_or.reduce(masks) if masks else np.zeros(columns[0].data.size, np.uint8)

    def _longest(self, batch: Batch, lo: Any, hi: Any) -> int:
        """The longest window to make room for: no longer than all that came, if that may grow."""
        if self.rows is None:
            return int((hi - lo).max())
        return min(self.rows, batch.stop) if batch.last or self.grows else self.rows

    def _make_room(self, longest: int) -> None:
        """Buffers for windows of `longest` values; a ring of positions can grow on the way."""
        capacity = max(4, 1 << (longest - 1).bit_length())
        old = int(self.cursors[2])
        if capacity <= old:
            return
        if self.buffers is not None and not self.grows:
            raise Unsupported(
                f"{self.algorithm} with range= and a state: the window has outgrown its buffers; "
                f"take algorithm='auto', or rows="
            )
        buffers = self.kernel.buffers(capacity)
        if self.buffers is not None:
            head, end = int(self.cursors[0]), int(self.cursors[1])
            places = np.arange(head, end)
            for new, was in zip(_arrays(buffers[0]), _arrays(self.buffers[0]), strict=True):
                new[places & (capacity - 1)] = was[places & (old - 1)]
            buffers[1] = self.buffers[1]
        self.buffers = buffers
        self.cursors[2] = capacity

    def _check_overflow(self, columns: list[Column], lo: Any, hi: Any) -> None:
        """An integer sum is exact: refuse one that int64 might not hold."""
        if (
            type(self.aggregation).__name__ not in ("Sum", "Mean")
            or columns[0].data.dtype != np.int64
        ):
            return
        data = columns[0].data
        if data.size:
            largest = max(abs(int(data.max())), abs(int(data.min())))
            longest = self.rows or int((hi - lo).max())
            if largest * longest >= 2**63:
                raise OverflowError(
                    f"{self.aggregation!r}: {longest} values of up to {largest} may exceed int64; "
                    f"convert them to float64"
                )


class Pba(Loop):
    """PBA's two threads, on an array: the loop is entered twice, once for each role.

    A batch is put behind the chunks before it, from a boundary on, so that its chunks are those of
    the whole stream.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        assert self.rows is not None
        self.chunk = optimal_chunk(self.rows)
        self.tail: list[Column] = []
        self.tail_from = 0

    def roll(self, batch: Batch) -> Answers:
        self.riding.take(batch.arrays)
        came = [c for c in batch.columns[: self.inputs] if c is not None]
        columns = list(map(joined, self.tail, came)) if self.tail else came
        out = tuple(np.empty(came[0].data.size, dtype_of(o)) for o in self.kernel.monoid.outputs)
        valid = np.ones(out[0].size, np.uint8)
        if out[0].size:
            self._check_overflow(columns, None, None)
            self._two_threads(batch, columns, out, valid)
        end = self.tail_from + columns[0].data.size
        oldest = max(self.tail_from, (end // self.chunk - 2) * self.chunk)
        if not batch.last:
            at = oldest - self.tail_from
            self.tail = [c.since(at) for c in columns]
            self.tail_from = oldest
        answers = finished(self.aggregation, came[0], self.riding, out, valid)
        self.riding.forget(oldest)
        return answers

    def _two_threads(self, batch: Batch, columns: list[Column], out: Any, valid: Any) -> None:
        data = tuple(c.data for c in columns)
        row, stop = batch.row - self.tail_from, batch.stop - self.tail_from
        progress = np.zeros(2, np.int64)
        progress[1] = max(row // self.chunk, 1) - 1
        ahead = 2 * max(1, _AHEAD // self.chunk)
        cursors = np.array([self.chunk, self.tail_from, ahead], np.int64)
        lcs, mine = self.kernel.buffers(self.chunk * ahead // 2)
        others = self.kernel.buffers(1)[1]
        rest = (progress, NO_BOUNDS, data, self._nulls(columns), cursors, lcs)

        def enter(role: int, spare: Any) -> None:
            try:
                self.kernel.run(row, stop, role, self.rows, *rest, spare, out, valid)
            except BaseException:
                progress[:] = np.iinfo(np.int64).max  # the other thread must not wait for this one
                raise

        with ThreadPoolExecutor(1) as second:
            done = second.submit(enter, 1, others)
            enter(0, mine)
            done.result()


def _arrays(buffer: Any) -> tuple[NDArray[Any], ...]:
    """The arrays of a buffer: one a field, or one of rows."""
    return buffer if isinstance(buffer, tuple) else (buffer,)


def check_no_nulls(aggregation: Aggregation, columns: list[Column]) -> None:
    """Refuse nulls in a stream that began without: its kernel does not look for them."""
    if type(aggregation).__name__ != "Count" and any(c.nulls is not None for c in columns):
        raise InvalidValue(
            f"{aggregation!r}: a batch after the first brings nulls; give nulls= from the first on"
        )


def _without_gaps(lo: NDArray[np.int64], hi: NDArray[np.int64], end: int) -> tuple[Any, Any, Any]:
    """Bounds in which no window begins behind the end of the one before.

    Where one does, a row is put between that takes in what no window holds; the third result tells
    where these rows stand, so that their answers can be thrown away.
    """
    before = np.concatenate([[end], hi[:-1]])
    gaps = np.flatnonzero(lo > before)
    if not gaps.size:
        return lo, hi, None
    where = gaps + np.arange(gaps.size)
    return np.insert(lo, gaps, before[gaps]), np.insert(hi, gaps, lo[gaps]), where
