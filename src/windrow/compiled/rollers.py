"""The ways in which one aggregation is rolled, and which of them is taken.

A roller takes batches of one stream and gives the answers of each. `specialised` ones exist for
the commonest questions, `Loop` runs any algorithm's compiled loop, `Interpreted` the rest.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.algorithms import algorithm_class, choose
from windrow.compiled.columns import NO_NULLS, Column
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.generate import CURSORS, kernel
from windrow.compiled.monoids import Monoid, monoid
from windrow.errors import InvalidArgument, InvalidValue, Unsupported

_LIKE_VALUES = ("Max", "Min", "First", "Last")
_NO_BOUNDS = np.empty(0, np.int64)


class NotCompiledWarning(UserWarning):
    """An aggregation of the user's own runs in the interpreter."""


@dataclass
class Batch:
    """Values that came, and the rows that are to be answered now.

    `base` is the position in the stream of the first value; rows `row` … `stop` − 1 are asked for,
    and by time, row r has the window [lo, hi) of positions.
    """

    columns: list[Column | None]
    base: int
    arrays: list[Any] | None
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
    try:
        compiled = _monoid(aggregation, present, algorithm)
    except NotCompilable as error:
        return Interpreted(aggregation, rows, algorithm, str(error))
    if compiled is None:
        return Interpreted(aggregation, rows, algorithm, "")
    return Loop(aggregation, compiled, present, arrays, rows, algorithm, threads, nulls)


def _check_types(aggregation: Aggregation, first: Column) -> None:
    kind, name = first.dtype.kind, type(aggregation).__name__
    if aggregation.takes == "number" and (kind == "M" or (kind == "m" and name not in ("Sum", "Mean"))):
        raise InvalidValue(f"{aggregation!r} takes numbers, not {first.dtype}")


def _monoid(aggregation: Aggregation, columns: list[Column], algorithm: str) -> Monoid | None:
    dtypes = tuple(str(c.data.dtype) for c in columns)
    if isinstance(aggregation, Custom):
        return custom_monoid(aggregation, dtypes)
    subtracting = _loop_name(aggregation, algorithm) == "subtract_on_evict"
    return monoid(aggregation, dtypes[0], subtracting)


def _loop_name(aggregation: Aggregation, algorithm: str) -> str:
    """The loop that runs; `auto` is the boundary aggregator on whole windows: Two-Stacks."""
    if algorithm in ("auto", "pba"):
        return "two_stacks" if algorithm == "auto" else "sba"
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
        self.name = _loop_name(aggregation, algorithm)
        self.threads = threads if algorithm == "auto" else 1
        # Count() counts rows, so nothing is null to it
        self.nulls = nulls and not (type(aggregation).__name__ == "Count" and not aggregation.columns)
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
        self.riding = _Riding(arrays, aggregation)
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
        self.waiting = []
        end = int(self.cursors[1])
        if end < batch.base + (columns[0].data.size if batch.columns else 0):
            at = end - self.waiting_from
            self.waiting = [
                Column(c.data[at:], None if c.nulls is None else c.nulls[at:], c.dtype)
                for c in columns
            ]
        self.waiting_from = end
        answers = finished(self.aggregation, self.column, self.riding, out, valid)
        self.riding.forget(int(self.cursors[0]))
        return answers

    def _columns(self, batch: Batch) -> list[Column]:
        """This batch's values behind those that still wait to be inserted."""
        came = [c for c in batch.columns[: self.inputs] if c is not None]
        self.riding.take(batch)
        if not self.waiting:
            self.waiting_from = batch.base
            return came or [Column(self.column.data[:0], None, self.column.dtype)]
        if not came:
            return self.waiting
        return [_joined(old, new) for old, new in zip(self.waiting, came, strict=True)]

    def _run(self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any) -> None:
        data = tuple(c.data for c in columns)
        nulls = NO_NULLS
        if self.nulls:
            masks = [c.nulls for c in columns if c.nulls is not None]
            nulls = np.bitwise_or.reduce(masks) if masks else np.zeros(data[0].size, np.uint8)
        longest = self.rows if self.rows else int((hi - lo).max())
        self._make_room(longest)
        assert self.buffers is not None
        bounds = (_NO_BOUNDS, _NO_BOUNDS) if self.rows else (lo, hi)
        rows = (batch.row, batch.row + out[0].size)
        self.kernel.run(
            *rows, self.waiting_from, self.rows or 0, *bounds, data, nulls, self.cursors,
            *self.buffers, out, valid,
        )  # fmt: skip

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
        if type(self.aggregation).__name__ not in ("Sum", "Mean") or columns[0].data.dtype != np.int64:
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


def _joined(old: Column, new: Column) -> Column:
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


class _Riding:
    """The arguments that ride along with measures; an answer is their position in the stream."""

    def __init__(self, arrays: list[Any], aggregation: Aggregation) -> None:
        self.wanted = len(arrays) > 1 and not isinstance(aggregation, Custom)
        self.values: NDArray[Any] | None = None
        self.oldest = 0  # the position of the first value here

    def take(self, batch: Batch) -> None:
        """Keep the arguments of a batch."""
        if not self.wanted or batch.arrays is None:
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
    riding: _Riding,
    out: tuple[NDArray[Any], ...],
    valid: NDArray[np.uint8],
) -> Any:
    """Answers in the types that they mean, with nulls where a window had nothing."""
    name = type(aggregation).__name__
    missing = valid == 0
    if name == "Count":
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


def _runs(riding: _Riding, out: tuple[NDArray[Any], ...]) -> NDArray[Any]:
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
    if not batch.arrays:
        return []
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
