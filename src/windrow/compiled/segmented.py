"""The commonest questions about the windows of many segments, each with a kernel of its own.

Every question has two kernels, one for the last w rows and one for windows given by their bounds;
`Question.fill` runs the one that fits, in as many threads as asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.compiled.answers import Answers, Riding, finished
from windrow.compiled.columns import Column
from windrow.compiled.kernels import bounded, places, segmented, whole
from windrow.compiled.kernels.distinct import number_values, window_distinct
from windrow.compiled.segmentation import Piece, Windows, in_threads

_NO_NULLS = np.empty(0, np.uint8)
# A window that no table fills, and to which positions can be added.
_LONGEST = 1 << 60


def segmented_answers(
    aggregation: Aggregation, column: Column, windows: Windows, threads: int
) -> Answers | None:
    """The answers by a kernel for this aggregation of such windows; None if there is none."""
    name = type(aggregation).__name__
    if name in ("Variance", "StdDev") and (windows.rows is None or column.nulls is not None):
        return None
    ask = _QUESTIONS.get(name)
    return None if ask is None else ask(Question(aggregation, column, windows, threads))


class Question:
    """An aggregation of one column over windows."""

    def __init__(
        self, aggregation: Aggregation, column: Column, windows: Windows, threads: int
    ) -> None:
        self.aggregation, self.windows, self.threads = aggregation, windows, threads
        self.column, self.data = column, column.data
        self.nulls = column.nulls if column.nulls is not None and column.nulls.any() else None
        self.floating = self.data.dtype == np.float64
        self.w = min(windows.rows or 1, _LONGEST)

    def fill(
        self,
        by_rows: Callable[[int, int, NDArray[Any]], None],
        by_bounds: Callable[[Any, Any, int, NDArray[Any]], None],
        dtype: Any,
        *,
        anywhere: bool = True,
    ) -> NDArray[Any]:
        """What the kernel for these windows writes.

        `by_rows` takes the rows from and to which it writes, `by_bounds` the windows and where
        the one before them ends. A kernel whose answers depend on how values are grouped must
        not begin `anywhere`.
        """
        windows = self.windows
        if windows.rows is not None:
            first, out = windows.first, np.empty(windows.n, dtype)

            def run(piece: Piece) -> None:
                by_rows(first + piece.begin, first + piece.stop, out)

            in_threads(run, windows.pieces(self.threads, anywhere=True))
            return out[first:]
        out = np.empty(len(windows), dtype)

        def enter(piece: Piece) -> None:
            for here, lo, hi in windows.in_slices(piece):
                by_bounds(lo, hi, windows.end_before(piece.begin), out[here])

        in_threads(enter, windows.pieces(self.threads, anywhere=anywhere))
        return out

    def answers(self, values: NDArray[Any], present: NDArray[np.int64] | None) -> Answers:
        """Values in the types that they mean; null where nothing is `present`."""
        valid = None if present is None else (present > 0).view(np.uint8)
        if present is None and self.windows.lo is not None:
            valid = (self.windows.lo != self.windows.hi).view(np.uint8)
        return finished(self.aggregation, self.column, self.riding, (values,), valid)

    @property
    def riding(self) -> Riding:
        """Nothing rides along: answers that are positions stay positions."""
        return Riding([], self.aggregation)

    def present(self) -> NDArray[np.int64] | None:
        """How many values of each window are not null; None if none is."""
        return None if self.nulls is None else self.bytes_in_windows(self.nulls ^ np.uint8(1))

    def sizes(self) -> NDArray[np.int64]:
        """How many rows each window has."""
        if self.windows.lo is not None and self.windows.hi is not None:
            return self.windows.hi - self.windows.lo
        return self.bytes_in_windows(np.ones(self.windows.n, np.uint8))

    def bytes_in_windows(self, marks: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The sum of the marks in each window."""
        return self.fill(
            lambda a, b, out: whole.segment_sums_u8(marks, self.windows.starts, self.w, a, b, out),
            lambda lo, hi, end, out: whole.bounded_sums_u8(marks, lo, hi, out),
            np.int64,
        )

    def filled(self, floating: float, whole: int) -> NDArray[Any]:
        """The values, with something that does not matter where they are null."""
        if self.nulls is None:
            return self.data
        return np.where(self.nulls, floating if self.floating else whole, self.data)

    def scratch(self, rows: int) -> NDArray[Any]:
        """What a kernel works in: rows that are longer than any window."""
        return np.empty((rows, self.longest + 1), self.data.dtype)

    @functools.cached_property
    def longest(self) -> int:
        """A length that no window exceeds."""
        return self.windows.longest


# -- extrema -------------------------------------------------------------------------------------


def _extreme(question: Question, flip: int) -> NDArray[Any]:
    data = question.filled(
        np.nan if flip else -np.inf, np.iinfo(np.int64).max if flip else np.iinfo(np.int64).min
    )
    bits, how = data.view(np.int64), (flip, question.floating)
    made = question.fill(
        lambda a, b, out: segmented.segment_extremes(
            bits, question.windows.starts, question.w, a, b, *how, out
        ),
        lambda lo, hi, end, out: bounded.bounded_extremes(
            bits, lo, hi, end, *how, question.scratch(2).view(np.int64), out
        ),
        np.int64,
    )
    return made.view(data.dtype)


def _range(question: Question) -> Answers:
    with np.errstate(invalid="ignore"):  # of infinities
        values = _extreme(question, 0) - _extreme(question, -1)
    return question.answers(values, question.present())


def _places(question: Question, flip: int) -> Answers:
    data = question.data.view(np.int64)
    nulls = _NO_NULLS if question.nulls is None else question.nulls
    how = (flip, question.floating)

    def scratch() -> NDArray[np.int64]:
        return question.scratch(places.SCRATCH).view(np.int64)

    made = question.fill(
        lambda a, b, out: places.segment_places(
            data, nulls, question.windows.starts, question.w, a, b, *how, scratch(), out
        ),
        lambda lo, hi, end, out: places.bounded_places(
            data, nulls, lo, hi, end, *how, scratch(), out
        ),
        np.int64,
    )
    valid = (made >= 0).view(np.uint8)
    return finished(question.aggregation, question.column, question.riding, (made,), valid)


# -- sums ----------------------------------------------------------------------------------------


def _totals(question: Question, values: NDArray[np.float64], mean: bool) -> NDArray[np.float64]:
    return question.fill(
        lambda a, b, out: segmented.segment_sums(
            values, question.windows.starts, question.w, a, b, mean, question.scratch(1)[0], out
        ),
        lambda lo, hi, end, out: bounded.bounded_sums(
            values, lo, hi, end, mean, question.scratch(2), out
        ),
        np.float64,
        anywhere=False,
    )


def _whole_totals(question: Question, values: NDArray[np.int64]) -> NDArray[np.int64]:
    return question.fill(
        lambda a, b, out: whole.segment_sums_i64(
            values, question.windows.starts, question.w, a, b, out
        ),
        lambda lo, hi, end, out: whole.bounded_sums_i64(values, lo, hi, out),
        np.int64,
    )


def _summed(question: Question) -> NDArray[Any]:
    values = question.filled(0.0, 0)
    if question.floating:
        return _totals(question, values, mean=False)
    if values.size:
        largest = max(abs(int(values.max())), abs(int(values.min())))
        if largest * question.longest >= 2**63:
            _check_overflow(question, values)
    return _whole_totals(question, values)


def _check_overflow(question: Question, values: NDArray[np.int64]) -> None:
    """Two halves of 32 bits cannot overflow, and tell whether the whole does."""
    high, low = (_whole_totals(question, half) for half in (values >> 32, values & 0xFFFFFFFF))
    high += low >> 32
    over = np.flatnonzero((high < -(2**31)) | (high >= 2**31))
    if over.size:
        raise OverflowError(
            f"{question.aggregation!r}: the sum of window {int(over[0])} exceeds int64; convert "
            f"the values to float64"
        )


def _sum(question: Question) -> Answers:
    return question.answers(_summed(question), question.present())


def _mean(question: Question) -> Answers:
    present = question.present()
    if present is None and question.floating:
        return question.answers(_totals(question, question.data, mean=True), None)
    sizes = question.sizes() if present is None else present
    return question.answers(_summed(question) / np.maximum(sizes, 1), present)


def _variance(question: Question, root: bool) -> Answers:
    values = question.data.astype(np.float64, copy=False)
    ddof: int = question.aggregation.ddof  # type: ignore[attr-defined]
    made = question.fill(
        lambda a, b, out: segmented.segment_variances(
            values, question.windows.starts, question.w, ddof, a, b, root, out
        ),
        _no_bounds,
        np.float64,
    )
    return question.answers(made, None)


def _no_bounds(lo: Any, hi: Any, end: int, out: Any) -> None:
    raise NotImplementedError  # a loop does it


# -- counts --------------------------------------------------------------------------------------


def _count(question: Question) -> Answers:
    present = question.present() if question.aggregation.columns else None
    return Answers(question.sizes() if present is None else present)


def _distinct(question: Question) -> Answers:
    codes = np.empty(question.data.size, np.int64)
    nulls = _NO_NULLS if question.nulls is None else question.nulls
    distinct = number_values(question.data.view(np.int64), nulls, question.floating, codes)
    made = np.empty(len(question.windows), np.int64)

    def run(piece: Piece) -> None:
        counts, cursors = np.zeros(distinct, np.int64), np.zeros(3, np.int64)
        for here, lo, hi in question.windows.in_slices(piece):
            window_distinct(codes, lo, hi, counts, cursors, made[here])

    in_threads(run, question.windows.pieces(question.threads, anywhere=True))
    return Answers(made)


_QUESTIONS: dict[str, Callable[[Question], Answers]] = {
    "Max": lambda question: question.answers(_extreme(question, 0), question.present()),
    "Min": lambda question: question.answers(_extreme(question, -1), question.present()),
    "Range": _range,
    "ArgMax": lambda question: _places(question, 0),
    "ArgMin": lambda question: _places(question, -1),
    "Sum": _sum,
    "Mean": _mean,
    "Variance": lambda question: _variance(question, root=False),
    "StdDev": lambda question: _variance(question, root=True),
    "Count": _count,
    "CountDistinct": _distinct,
}
