"""The ways in which one aggregation is rolled, and which of them is taken.

A roller takes batches of one stream and gives the answers of each. `specialised` ones exist for
the commonest questions, `Loop` runs any algorithm's compiled loop, `Interpreted` the rest.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.algorithms import algorithm_class, choose
from windrow.algorithms.sba import optimal_chunk
from windrow.compiled.bounds import flips_after
from windrow.compiled.columns import NO_NULLS, Column
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.generate import CURSORS, kernel
from windrow.compiled.monoids import Monoid, monoid
from windrow.errors import InvalidArgument, InvalidValue, Unsupported

_LIKE_VALUES = ("Max", "Min", "First", "Last")
_NO_BOUNDS = np.empty(0, np.int64)
# A thread is worth starting for this many values; below, the call itself is faster.
_PIECE = 1 << 16


class NotCompiledWarning(UserWarning):
    """An aggregation of the user's own runs in the interpreter."""


@dataclass
class Batch:
    """Values that came, and the rows that are to be answered now.

    `base` is the position in the stream of the first value; rows `row` … `stop` − 1 are asked for,
    and by time, row r has the window [lo, hi) of positions. Nothing comes after the `last` batch.
    """

    columns: list[Column | None]
    base: int
    arrays: list[Any]
    last: bool
    row: int = 0
    stop: int = 0
    lo: NDArray[np.int64] | None = None
    hi: NDArray[np.int64] | None = None


class Roller(ABC):
    """One aggregation over one stream."""

    @abstractmethod
    def roll(self, batch: Batch) -> Any:
        """The answers of the rows that the batch asks for."""


def roller(
    aggregation: Aggregation,
    columns: list[Column | None],
    arrays: list[Any],
    rows: int | None,
    algorithm: str,
    threads: int,
    nulls: bool,
) -> Roller:
    """The roller for an aggregation of such columns."""
    name = type(aggregation).__name__
    if len(columns) != 1 and name not in ("ArgMax", "ArgMin", "LongestRun", "Custom"):
        raise InvalidArgument(f"{aggregation!r} takes one array of values, got {len(columns)}")
    if algorithm != "auto":
        refusal = algorithm_class(algorithm).refuses(aggregation)
        if refusal:
            raise Unsupported(refusal)
    if any(c is None for c in columns[: None if name == "Custom" else 1]):
        return Interpreted(aggregation, rows, algorithm, "")
    present = [c for c in columns if c is not None]
    _check_types(aggregation, present[0])
    nulls = nulls or any(c.nulls is not None for c in present)
    if algorithm == "auto" and rows is not None:
        from windrow.compiled.specialised import specialised

        special = specialised(aggregation, present[0], rows, threads, nulls)
        if special is not None:
            return special
    from windrow.compiled.sketches import sketched

    sketch = sketched(aggregation, present[0], rows, algorithm, nulls)
    if sketch is not None:
        return sketch
    try:
        compiled = _monoid(aggregation, present, algorithm)
    except NotCompilable as error:
        return Interpreted(aggregation, rows, algorithm, str(error))
    if compiled is None:
        return Interpreted(aggregation, rows, algorithm, "")
    kind = Pba if algorithm == "pba" and rows is not None else Loop
    return kind(aggregation, compiled, present, arrays, rows, algorithm, threads, nulls)


def _check_types(aggregation: Aggregation, first: Column) -> None:
    kind, name = first.dtype.kind, type(aggregation).__name__
    if aggregation.takes == "number" and (
        kind == "M" or (kind == "m" and name not in ("Sum", "Mean"))
    ):
        raise InvalidValue(f"{aggregation!r} takes numbers, not {first.dtype}")


def _monoid(aggregation: Aggregation, columns: list[Column], algorithm: str) -> Monoid | None:
    dtypes = tuple(str(c.data.dtype) for c in columns)
    if isinstance(aggregation, Custom):
        return custom_monoid(aggregation, dtypes)
    subtracting = _loop_name(aggregation, algorithm, None) == "subtract_on_evict"
    return monoid(aggregation, dtypes[0], subtracting)


def _loop_name(aggregation: Aggregation, algorithm: str, rows: int | None) -> str:
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
        compiled: Monoid,
        columns: list[Column],
        arrays: list[Any],
        rows: int | None,
        algorithm: str,
        threads: int,
        nulls: bool,
    ) -> None:
        self.aggregation, self.rows, self.algorithm = aggregation, rows, algorithm
        self.name = _loop_name(aggregation, algorithm, rows)
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
        self.cursors = np.zeros(CURSORS, np.int64)
        self.buffers: list[Any] | None = None
        self.waiting: list[Column] = []  # values that came and are in no answered window yet
        self.waiting_from = 0
        self.riding = Riding(arrays, aggregation)
        self.column = columns[0]

    def roll(self, batch: Batch) -> Any:
        columns = self._columns(batch)
        lo, hi = batch.lo, batch.hi
        trash = None
        if lo is not None and hi is not None:
            lo, hi, trash = _without_gaps(lo, hi, int(self.cursors[1]))
        n = batch.stop - batch.row if lo is None else lo.size
        out = tuple(np.empty(n, output) for output in self.kernel.monoid.outputs)
        valid = np.ones(n, np.uint8)
        if n:
            self._check_overflow(columns, lo, hi)
            self._run(batch, columns, lo, hi, out, valid)
        if trash is not None:
            out, valid = tuple(np.delete(o, trash) for o in out), np.delete(valid, trash)
        end = int(self.cursors[1])
        at = end - self.waiting_from
        self.waiting = [
            Column(c.data[at:], None if c.nulls is None else c.nulls[at:], c.dtype)
            for c in columns
            if at < c.data.size
        ]
        self.waiting_from = end
        answers = finished(self.aggregation, self.column, self.riding, out, valid)
        self.riding.forget(int(self.cursors[0]))
        return answers

    def _columns(self, batch: Batch) -> list[Column]:
        """This batch's values behind those that still wait to be inserted."""
        came = [c for c in batch.columns[: self.inputs] if c is not None]
        self.riding.take(batch)
        if self.waiting:
            return list(map(joined, self.waiting, came))
        self.waiting_from = batch.base
        return came

    def _run(
        self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any
    ) -> None:
        data = tuple(c.data for c in columns)
        longest = self.rows if self.rows else int((hi - lo).max())
        self._make_room(longest)
        nulls = self._nulls(columns)
        begin = batch.row

        def run(row: int, stop: int, cursors: Any, buffers: Any, out: Any, valid: Any) -> None:
            here = slice(row - begin, stop - begin)
            bounds = (_NO_BOUNDS, _NO_BOUNDS) if self.rows else (lo[here], hi[here])
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
            run(row - 1, row, cursors, buffers, nowhere, np.empty(1, np.uint8))
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
        pieces = min(self.threads, (end - batch.row) // _PIECE)
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
            _check_no_nulls(self.aggregation, columns)
            return NO_NULLS
        masks = [c.nulls for c in columns if c.nulls is not None]
        return np.bitwise_or.reduce(masks) if masks else np.zeros(columns[0].data.size, np.uint8)

    def _make_room(self, longest: int) -> None:
        """Buffers for windows of `longest` values; a ring of positions can grow on the way."""
        capacity = max(4, 1 << (longest - 1).bit_length())
        old = int(self.cursors[2])
        if capacity <= old:
            return
        if self.buffers is not None and self.name != "two_stacks":
            raise Unsupported(
                f"{self.algorithm} with range= and a state: the window has outgrown its buffers; "
                f"take algorithm='auto', or rows="
            )
        buffers = self.kernel.buffers(capacity)
        if self.buffers is not None:
            head, end = int(self.cursors[0]), int(self.cursors[1])
            places = np.arange(head, end)
            for new, was in zip(buffers[0], self.buffers[0], strict=True):
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

    def roll(self, batch: Batch) -> Any:
        self.riding.take(batch)
        came = [c for c in batch.columns[: self.inputs] if c is not None]
        columns = list(map(joined, self.tail, came)) if self.tail else came
        out = tuple(np.empty(came[0].data.size, o) for o in self.kernel.monoid.outputs)
        valid = np.ones(out[0].size, np.uint8)
        if out[0].size:
            self._check_overflow(columns, None, None)
            self._two_threads(batch, columns, out, valid)
        end = self.tail_from + columns[0].data.size
        oldest = max(self.tail_from, (end // self.chunk - 2) * self.chunk)
        if not batch.last:
            at = oldest - self.tail_from
            self.tail = [
                Column(c.data[at:], None if c.nulls is None else c.nulls[at:], c.dtype)
                for c in columns
            ]
            self.tail_from = oldest
        answers = finished(self.aggregation, came[0], self.riding, out, valid)
        self.riding.forget(oldest)
        return answers

    def _two_threads(self, batch: Batch, columns: list[Column], out: Any, valid: Any) -> None:
        data = tuple(c.data for c in columns)
        row, stop = batch.row - self.tail_from, batch.stop - self.tail_from
        progress = np.zeros(2, np.int64)
        progress[1] = max(row // self.chunk, 1) - 1
        cursors = np.array([self.chunk, self.tail_from], np.int64)
        lcs, mine = self.kernel.buffers(self.chunk)
        others = self.kernel.buffers(1)[1]
        rest = (progress, _NO_BOUNDS, data, self._nulls(columns), cursors, lcs)

        def enter(role: int, spare: Any) -> None:
            self.kernel.run(row, stop, role, self.rows, *rest, spare, out, valid)

        with ThreadPoolExecutor(1) as second:
            done = second.submit(enter, 1, others)
            enter(0, mine)
            done.result()


def _check_no_nulls(aggregation: Aggregation, columns: list[Column]) -> None:
    """Refuse nulls in a stream that began without: its kernel does not look for them."""
    if type(aggregation).__name__ != "Count" and any(c.nulls is not None for c in columns):
        raise InvalidValue(
            f"{aggregation!r}: a batch after the first brings nulls; give nulls= from the first on"
        )


def joined(old: Column, new: Column) -> Column:
    """One column behind the other."""
    nulls = None
    if old.nulls is not None or new.nulls is not None:
        pieces = [
            c.nulls if c.nulls is not None else np.zeros(c.data.size, np.uint8) for c in (old, new)
        ]
        nulls = np.concatenate(pieces)
    return Column(np.concatenate([old.data, new.data]), nulls, old.dtype)


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


class Riding:
    """The arguments that ride along with measures; an answer is their position in the stream."""

    def __init__(self, arrays: list[Any], aggregation: Aggregation) -> None:
        self.wanted = len(arrays) > 1 and not isinstance(aggregation, Custom)
        self.values: NDArray[Any] | None = None
        self.oldest = 0  # the position of the first value here

    def take(self, batch: Batch) -> None:
        """Keep the arguments of a batch."""
        if not self.wanted:
            return
        came = np.asarray(batch.arrays[1])
        self.values = came if self.values is None else np.concatenate([self.values, came])

    def at(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The arguments at these positions; the positions themselves where none ride along."""
        return positions if self.values is None else self.values[positions - self.oldest]

    def forget(self, head: int) -> None:
        """Drop what came before the window."""
        if self.values is not None:
            self.values, self.oldest = self.values[head - self.oldest :].copy(), head


def finished(
    aggregation: Aggregation,
    column: Column,
    riding: Riding,
    out: tuple[NDArray[Any], ...],
    valid: NDArray[np.uint8],
) -> Any:
    """Answers in the types that they mean, with nulls where a window had nothing."""
    name = type(aggregation).__name__
    missing = valid == 0
    if name == "Count" and missing.any():
        out[0][missing] = 0
        return out[0]
    if missing.any():
        for o in out:
            o[missing] = riding.oldest if o.dtype == np.int64 else 0
    else:
        missing = np.empty(0, np.bool_)
    if name == "LongestRun":
        return _masked(_runs(riding, out), missing)
    if len(out) > 1:
        table = np.empty(out[0].size, [(f"f{i}", o.dtype) for i, o in enumerate(out)])
        for i, o in enumerate(out):
            table[f"f{i}"] = o
        return _masked(table, missing)
    answers = out[0]
    if name in _LIKE_VALUES:
        answers = column.restore(answers)
    elif name in ("ArgMax", "ArgMin"):
        answers = riding.at(answers)
    elif name == "Range" or (name in ("Sum", "Mean") and column.dtype.kind == "m"):
        if column.dtype.kind == "m" and name == "Mean":
            answers = answers.round().astype(np.int64)
        answers = column.differences(answers)
    return _masked(answers, missing)


def _runs(riding: Riding, out: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    start, end = riding.at(out[0]), riding.at(out[1])
    span = end - start
    table = np.empty(
        out[0].size,
        [("start", start.dtype), ("end", end.dtype), ("length", np.int64), ("span", span.dtype)],
    )
    table["start"], table["end"], table["length"], table["span"] = start, end, out[2], span
    return table


def _masked(answers: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    """Null as the type has it: NaN, NaT, or a mask."""
    if not missing.size:
        return answers
    if answers.dtype.kind == "f":
        answers[missing] = np.nan
    elif answers.dtype.kind in "mM":
        answers[missing] = np.array("NaT", answers.dtype)
    else:
        return np.ma.MaskedArray(answers, missing)
    return answers


class Interpreted(Roller):
    """The algorithm in the interpreter: for strings, lists, and functions that do not compile."""

    def __init__(
        self, aggregation: Aggregation, rows: int | None, algorithm: str, reason: str
    ) -> None:
        if reason:
            warnings.warn(
                f"{aggregation!r} runs in the interpreter, far slower than compiled: {reason}",
                NotCompiledWarning,
                stacklevel=5,
            )
        self.aggregation, self.rows = aggregation, rows
        name = choose(aggregation)[0] if algorithm == "auto" else algorithm
        self.swag = algorithm_class(name).make(aggregation)
        self.waiting: deque[Any] = deque()
        self.head = 0

    def roll(self, batch: Batch) -> Any:
        self.waiting.extend(_objects(batch))
        answers = []
        for row in range(batch.row, batch.stop):
            if batch.lo is None or batch.hi is None:
                first, past = max(0, row + 1 - (self.rows or 0)), row + 1
            else:
                first, past = int(batch.lo[row - batch.row]), int(batch.hi[row - batch.row])
            while self.head + len(self.swag) < past:
                self.swag.insert(self.waiting.popleft())
            gone = min(first, past) - self.head
            self.swag.evict(gone)
            self.head += gone
            answers.append(self.swag.query())
        return _array(answers)


def _objects(batch: Batch) -> list[Any]:
    """The values of a batch as Python's own, None for nulls."""
    lists = []
    for column, array in zip(batch.columns, batch.arrays, strict=True):
        values = np.asarray(array).tolist()
        if column is not None and column.nulls is not None:
            values = [None if null else v for v, null in zip(values, column.nulls, strict=True)]
        lists.append(values)
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _array(answers: list[Any]) -> NDArray[Any]:
    """Numbers as an array of numbers, anything else as an array of objects."""
    kinds = {type(a) for a in answers}
    if kinds and kinds <= {int, float, bool, type(None)} and kinds != {type(None)}:
        if type(None) not in kinds:
            return np.array(answers)
        if float in kinds:
            return np.array([np.nan if a is None else a for a in answers])
        missing = [a is None for a in answers]
        return np.ma.MaskedArray([a or 0 for a in answers], missing)
    made = np.empty(len(answers), object)
    made[:] = answers
    return made
