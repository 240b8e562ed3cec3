"""The algorithms by name over the batches of a stream: a compiled loop, or the interpreter."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class
from windrow.algorithms.pba import workers
from windrow.algorithms.sba import Cuts
from windrow.errors import InvalidArgument, InvalidValue, Unsupported
from windrow.kernels.columns import NO_NULLS, Column, any_null, joined
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.generate import CURSORS, loop_of
from windrow.kernels.growth import grown
from windrow.kernels.interpreted import name_failure, objects, packed, without_columns
from windrow.kernels.loops import fiba, pba
from windrow.kernels.results import ResultArray, finished, with_arguments
from windrow.kernels.routes import compiled_or_warned, numbers_of
from windrow.kernels.window_loop import (
    capacity_for,
    output_arrays,
    result_arrays,
    row_results,
    rows_at_once,
    without_gaps,
)

NO_BOUNDS = np.empty(0, np.int64)
_FAILED = np.iinfo(np.int64).max
# Compiled, Two-Stacks lies in one ring, which is what its Lite form is.
_SAME_LOOP = {"two_stacks_lite": "two_stacks"}
_FEW = 1024  # rows that a window of late ones has room for at first
_helpers: WeakSet[Future[None]] = WeakSet()  # threads that may be at work for PBA
if hasattr(os, "register_at_fork"):  # a forked process has no threads, and must find all done
    os.register_at_fork(before=lambda: wait(list(_helpers)))


@dataclass
class Batch:
    """Values that came, and the rows that are to be answered now.

    `base` is the position in the stream of the first value; rows `row` … `stop` − 1 are wanted,
    and by time, row r has the window [lo, hi) of positions. If the rows come `late`, the time of
    row r is hi, and what is before lo leaves with it. Nothing comes after the `last` batch. `at`
    has the times of the values, if they are known. Where windows may go back, later ones reach
    back to the position `reached`.
    """

    columns: list[Column | None]
    base: int
    arrays: list[Any]
    last: bool
    row: int = 0
    stop: int = 0
    lo: NDArray[np.int64] | None = None
    hi: NDArray[np.int64] | None = None
    late: bool = False
    at: NDArray[Any] | None = None
    reached: int | None = None


def check_count(aggregation: Aggregation, columns: Sequence[Column | None]) -> None:
    """Refuse more or fewer arrays than the aggregation takes.

    Pairs may come without their arguments, and functions of the user's own take what they take.
    """
    if aggregation.takes == "ordered pair" or aggregation.functions is not None:
        return
    if len(columns) != aggregation.arity:
        takes = "one array" if aggregation.arity == 1 else f"a tuple of {aggregation.arity} arrays"
        raise InvalidArgument(f"{aggregation!r} takes {takes} of values, got {len(columns)}")


def measured_arrays(aggregation: Aggregation, arrays: int) -> int:
    """How many of so many arrays an aggregation takes values of; an argument only rides along."""
    return 1 if aggregation.takes == "ordered pair" else arrays


def roller(
    aggregation: Aggregation,
    columns: list[Column | None],
    arrays: list[Any],
    rows: int | None,
    algorithm: str,
    nulls: bool,
    cuts: Cuts,
    late: bool = False,
) -> Loop | Interpreted:
    """What runs `algorithm` over batches of such columns; None stands for one of objects.

    `cuts` is where the boundary aggregators cut the window. With `late`, rows come in any order of
    time.
    """
    refusal = algorithm_class(algorithm).refuses(aggregation)
    if refusal:
        raise Unsupported(refusal)
    check_count(aggregation, columns)
    measured = columns[:1] if aggregation.takes == "ordered pair" else columns
    name = loop_name(algorithm, aggregation)
    known, compiled = numbers_of(aggregation, measured), None
    if known is not None:
        dtypes = [str(c.data.dtype) for c in known]
        compiled = compiled_or_warned(aggregation, dtypes, name == "subtract_on_evict")
    if known is None or compiled is None:
        return Interpreted(aggregation, rows, algorithm, cuts)
    nulls = nulls or any(c.nulls is not None for c in known)
    arguments = aggregation, compiled, known, arrays, rows, name, nulls
    if algorithm == "pba":
        return PbaLoop(*arguments, cuts=cuts)
    return (LateLoop if late else Loop)(*arguments)


def loop_name(algorithm: str, aggregation: Aggregation) -> str:
    """The name of the loop that runs an algorithm."""
    if algorithm == "slick_deque" and not aggregation.selective:
        return "subtract_on_evict"
    return _SAME_LOOP.get(algorithm, algorithm)


class Interpreted:
    """The algorithm in the interpreter: for strings, lists, and functions that do not compile."""

    def __init__(
        self, aggregation: Aggregation, rows: int | None, algorithm: str, cuts: Cuts
    ) -> None:
        self.aggregation, self.rows = aggregation, rows
        kind = algorithm_class(algorithm)
        self.swag = kind.make(aggregation, **kind.options_for(cuts))
        self.waiting: deque[Any] = deque()
        self.times: deque[Any] = deque()  # of those, if the algorithm is told them
        self.head = 0

    def roll(self, batch: Batch) -> ResultArray:
        """Return the results of the rows that the batch wants."""
        nulls = [None if c is None else c.nulls for c in batch.columns]
        self.waiting.extend(objects(batch.arrays, nulls))
        if self.swag.cuts_by_time and batch.at is not None:
            self.times.extend(batch.at.tolist())
        answers = []
        if batch.late and batch.lo is not None and batch.hi is not None:
            rows = zip(batch.lo.tolist(), batch.hi.tolist(), strict=True)
            return packed(self.aggregation, [self._late(*row) for row in rows])
        for row in range(batch.row, batch.stop):
            if batch.lo is None or batch.hi is None:
                first, past = max(0, row + 1 - (self.rows or 0)), row + 1
            else:
                first, past = int(batch.lo[row - batch.row]), int(batch.hi[row - batch.row])
            try:
                while self.head + len(self.swag) < past:
                    at = self.times.popleft() if self.times else None
                    self.swag.insert(self.waiting.popleft(), at)
                gone = min(first, past) - self.head
                self.swag.evict(gone)
                self.head += gone
                answers.append(self.swag.query())
            except Exception as error:
                newest = self.head + len(self.swag)
                error.add_note(f"in {self.aggregation!r}, at row {min(newest, past - 1)}")
                raise
        return packed(self.aggregation, answers)

    def _late(self, first: int, at: int) -> Any:
        """Insert the next value at its time, evict what is before `first`; return the result."""
        swag: Any = self.swag
        value = self.waiting.popleft()
        if at >= first:
            swag.insert(value, at=at)
        swag.evict(swag.count_older(lambda t: t < first))
        return swag.query()


class Loop:
    """An algorithm's compiled loop, with its buffers and cursors carried from batch to batch.

    A sketch's loop runs slice by slice: the rows that it writes become results before it goes on.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        compiled: Compiled,
        columns: list[Column],
        arrays: list[Any],
        rows: int | None,
        algorithm: str,
        nulls: bool,
    ) -> None:
        self.aggregation, self.rows, self.algorithm = aggregation, rows, algorithm
        self.nulls = nulls and not aggregation.counts_nulls
        self.inputs = 1 if isinstance(compiled, RowAlgebra) else compiled.columns
        dtypes = [str(c.data.dtype) for c in columns[: self.inputs]]
        bounds = "rows" if rows else "range"
        self.kernel = loop_of(algorithm, aggregation, compiled, dtypes, bounds, self.nulls)
        self.cursors = np.zeros(CURSORS, np.int64)
        self.buffers: list[Any] = []
        self.waiting: list[Column] = []  # values of earlier batches, from `waiting_from` on
        self.waiting_from = 0
        # the arguments that came with measures, from position `oldest` on, if there are any
        self.has_arguments = aggregation.takes == "ordered pair" and len(arrays) > 1
        self.arguments: Column | None = None
        self.oldest = 0
        self.column = columns[0].since(columns[0].data.size)

    def roll(self, batch: Batch) -> ResultArray:
        """Return the results of the rows that the batch wants."""
        columns = self._columns(batch)
        lo, hi = batch.lo, batch.hi
        extras = None
        if lo is not None and hi is not None and self.algorithm != "two_stacks" and not batch.late:
            lo, hi, extras = without_gaps(lo, hi, int(self.cursors[1]))
        n = batch.stop - batch.row if lo is None else lo.size
        out, valid = result_arrays(self.kernel.monoid, n), np.ones(n, np.uint8)
        if n:
            self._check_sums(columns[0].data, lo, hi)
            self._make_room(batch, lo, hi)
            try:
                self._run(batch, columns, lo, hi, out, valid)
            except Exception as error:
                if self.aggregation.functions is not None:
                    self._name_failure(error, batch, columns)
                raise
        if extras is not None:
            out, valid = tuple(np.delete(o, extras) for o in out), np.delete(valid, extras)
        wanted, head = self._wanted(columns)
        at = wanted - self.waiting_from
        self.waiting = [c.since(at) for c in columns if at < c.data.size]
        self.waiting_from = wanted
        answers = finished(self.aggregation, self.column, out, valid)
        if self.arguments is None:
            return answers
        given = self.arguments
        nulls = None if given.nulls is None else given.nulls.view(np.bool_)
        answers = with_arguments(self.aggregation, answers, given.data, nulls, self.oldest)
        self.arguments, self.oldest = given.since(head - self.oldest), head
        return answers

    def _name_failure(self, error: Exception, batch: Batch, columns: list[Column]) -> None:
        """Note which functions failed, and where, if all values of the stream are here."""
        if batch.base:
            error.add_note(f"in {self.aggregation!r}, at a row from {batch.base} on")
            return
        values = objects([c.data for c in columns], [c.nulls for c in columns])
        past = np.arange(batch.row, batch.stop) + 1
        lo = np.maximum(past - (self.rows or 0), 0) if batch.lo is None else batch.lo
        hi = past if batch.hi is None else batch.hi
        name_failure(error, without_columns(self.aggregation), values, lo, hi)

    def _wanted(self, columns: list[Column]) -> tuple[int, int]:
        """The positions from which values, and arguments, are kept for the next batch."""
        return int(self.cursors[1]), int(self.cursors[0])

    def _columns(self, batch: Batch) -> list[Column]:
        """This batch's values behind those that are kept of earlier ones."""
        came = [c for c in batch.columns[: self.inputs] if c is not None]
        if self.has_arguments:
            values, column = np.asarray(batch.arrays[1]), batch.columns[1]
            more = Column(values, None if column is None else column.nulls, values.dtype)
            self.arguments = more if self.arguments is None else joined(self.arguments, more)
        if self.waiting:
            return list(map(joined, self.waiting, came))
        self.waiting_from = batch.base
        return came

    def _run(
        self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any
    ) -> None:
        """Enter the loop for rows from `batch.row` on."""
        compiled, nulls = self.kernel.monoid, self._nulls(columns)
        data = tuple(c.data for c in columns)
        sketch = compiled if isinstance(compiled, RowAlgebra) else None
        step = valid.size if sketch is None else rows_at_once(sketch)
        for start in range(0, valid.size, step):
            here = slice(start, min(start + step, valid.size))
            bounds = (NO_BOUNDS, NO_BOUNDS) if self.rows else (lo[here], hi[here])
            results = tuple(o[here] for o in out)
            into = results if sketch is None else output_arrays(sketch, here.stop - start)
            self._enter(batch.row + start, bounds, data, nulls, into, valid[here])
            if sketch is not None:
                row_results(self.aggregation, sketch, into[0], results, valid[here])

    def _enter(self, row: int, bounds: Any, data: Any, nulls: Any, into: Any, valid: Any) -> None:
        """Run the loop for the rows from `row` on, one for each of `valid`."""
        self.kernel.run(
            row, row + valid.size, self.waiting_from, self.rows or 0,
            *bounds, data, nulls, self.cursors, *self.buffers, into, valid,
        )  # fmt: skip

    def _nulls(self, columns: list[Column]) -> NDArray[np.uint8]:
        """Which values are null; nothing where the loop does not ask."""
        mask = any_null(columns)
        if isinstance(self.kernel.monoid, RowAlgebra):
            return NO_NULLS if mask is None else mask
        if not self.nulls:
            check_no_nulls(self.aggregation, columns)
            return NO_NULLS
        return np.zeros(columns[0].data.size, np.uint8) if mask is None else mask

    def _make_room(self, batch: Batch, lo: Any, hi: Any) -> None:
        """Buffers for the longest window so far."""
        longest = int((hi - lo).max()) if self.rows is None else min(self.rows, batch.stop)
        longest, old = max(1, longest), int(self.cursors[2])
        if longest <= old:
            return
        if self.kernel.rounded:
            capacity = capacity_for(longest)
        else:  # what grows, grows by a quarter at least; but no rows are ever more than `rows`
            capacity = max(longest, min(old + old // 4, self.rows or 2 * longest))
        self._grow(capacity)

    def _grow(self, capacity: int) -> None:
        """Larger buffers, or the first ones."""
        if self.buffers:
            grown(self.kernel, self.buffers, self.cursors, capacity)
        else:
            self.buffers = self.kernel.buffers(capacity)
            self.cursors[2] = capacity

    def _check_sums(self, values: NDArray[Any], lo: Any, hi: Any) -> None:
        """An integer sum is exact: refuse one that int64 might not hold."""
        if not self.aggregation.summed or values.dtype != np.int64 or not values.size:
            return
        largest = max(abs(int(values.max())), abs(int(values.min())))
        longest = self.rows or int((hi - lo).max())
        if largest * longest >= 2**63:
            raise OverflowError(
                f"{self.aggregation!r}: {longest} values of up to {largest} may exceed int64; "
                f"convert them to float64"
            )


class LateLoop(Loop):
    """FiBA's loop over rows that come in any order of time; its nodes may grow in number."""

    def _wanted(self, columns: list[Column]) -> tuple[int, int]:
        return self.waiting_from + columns[0].data.size, 0

    def _make_room(self, batch: Batch, lo: Any, hi: Any) -> None:
        if not self.buffers:
            self.cursors[fiba.KEYED] = 1
            self.cursors[2] = capacity_for(min(hi.size, _FEW))
            self.buffers = self.kernel.buffers(int(self.cursors[2]))

    def _enter(self, row: int, bounds: Any, data: Any, nulls: Any, into: Any, valid: Any) -> None:
        done = 0
        while done < valid.size:
            rest = slice(done, None)
            outputs = tuple(o[rest] for o in into)
            ends = tuple(b[rest] for b in bounds)
            super()._enter(row + done, ends, data, nulls, outputs, valid[rest])
            done = int(self.cursors[fiba.REACHED]) - row
            if done < valid.size:
                grown(self.kernel, self.buffers, self.cursors, 2 * int(self.cursors[2]))

    def _check_sums(self, values: NDArray[Any], lo: Any, hi: Any) -> None:
        everything = self.waiting_from + values.size
        super()._check_sums(values, np.zeros(1, np.int64), np.array([everything]))

    def _name_failure(self, error: Exception, batch: Batch, columns: list[Column]) -> None:
        error.add_note(f"in {self.aggregation!r}, at a row from {batch.base} on")


class PbaLoop(Loop):
    """PBA's loop in two threads: the caller's, and one that does what the caller hands to it.

    The second one is started when a long chunk may be closed, and goes on when the call is over:
    what it does is needed half a window later.
    """

    def __init__(self, *arguments: Any, cuts: Cuts) -> None:
        super().__init__(*arguments)
        self.cuts = cuts
        self.cursors[pba.EDGE], self.cursors[pba.STEP] = cuts.first, cuts.step
        self.newest: NDArray[Any] | None = None  # time so far
        self.edges = NO_BOUNDS  # boundaries from the end of the window on
        self.helper: Future[None] | None = None

    def _run(
        self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any
    ) -> None:
        progress, past = self.buffers[2], batch.stop if lo is None else int(hi[-1])
        self.buffers[3] = self.edges
        edge = int(self.cursors[pba.EDGE]) if self.cuts.step else _first(self.edges)
        helped = edge < past and min(self.cuts.step or past, int(self.cursors[2])) >= pba.FEW
        self.cursors[pba.HELPED] = helped
        try:
            if helped:
                self._settle()
                progress[pba.OVER] = 0
                self._ask_for_help(columns)
            super()._run(batch, columns, lo, hi, out, valid)
        finally:
            progress[pba.OVER] = 1
        if progress[pba.DONE] == _FAILED:
            self._settle()
        self.edges = self.edges[np.searchsorted(self.edges, self.cursors[1]) :]

    def _columns(self, batch: Batch) -> list[Column]:
        self._find_edges(batch)
        return super()._columns(batch)

    def _find_edges(self, batch: Batch) -> None:
        """Note where the values of this batch begin another stretch of time."""
        span, at = self.cuts.span, batch.at
        if at is None or span is None or not at.size:
            return
        before = at[:1] if self.newest is None else self.newest
        self.newest = at[-1:].copy()
        if isinstance(span, int) and (int(at[-1]) - int(before[0])) // span < at.size // 8:
            borders = np.arange(before[0] // span + 1, at[-1] // span + 1) * span
            found = np.unique(np.searchsorted(at, borders))
        else:
            with np.errstate(over="ignore"):
                times = np.concatenate([before, at])
                stretches = times // span if isinstance(span, int) else np.floor(times / span)
            found = np.flatnonzero(stretches[1:] != stretches[:-1])
        self.edges = np.concatenate([self.edges, found + batch.base])

    def _ask_for_help(self, columns: list[Column]) -> None:
        """Let another thread do the jobs of this call, and those that are left when it is over."""
        cursors, progress = self.cursors.copy(), self.buffers[2]
        cursors[pba.HELPS] = 1
        nothing = (0, 0, 0, 0, NO_BOUNDS, NO_BOUNDS, tuple(c.data[:0] for c in columns), NO_NULLS)
        into = output_arrays(self.kernel.monoid, 0), NO_NULLS
        buffers = list(self.buffers)

        def help() -> None:
            try:
                self.kernel.run(*nothing, cursors, *buffers, *into)
            except BaseException:
                progress[pba.DONE] = _FAILED  # the caller must not wait for this thread
                raise

        self.helper = workers().submit(help)
        _helpers.add(self.helper)

    def _settle(self) -> None:
        """Return when all jobs are done; raise what the other thread has raised."""
        helper, self.helper = self.helper, None
        if helper is not None:
            helper.result()

    def _grow(self, capacity: int) -> None:
        if self.buffers:
            self._settle()
            self.buffers[3] = NO_BOUNDS
        super()._grow(capacity)

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__


def _first(edges: NDArray[np.int64]) -> int:
    return int(edges[0]) if edges.size else pba.NEVER


def check_no_nulls(aggregation: Aggregation, columns: list[Column]) -> None:
    """Refuse nulls in a stream that began without: its kernel does not look for them."""
    if not aggregation.counts_nulls and any(c.nulls is not None for c in columns):
        raise InvalidValue(
            f"{aggregation!r}: a batch after the first brings nulls; give nulls= from the first on"
        )
