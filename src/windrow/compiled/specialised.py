"""The commonest questions about the last w rows, each with a kernel of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.compiled.answers import Answers, Riding, finished
from windrow.compiled.batch import Batch, Roller
from windrow.compiled.columns import Column, joined
from windrow.compiled.loop import PIECE, check_no_nulls

Fill = Callable[[NDArray[Any], int, int, int, NDArray[Any]], None]
Present = NDArray[np.int64] | None  # how many values of each window are not null

_BLOCK = 64


def specialised(
    aggregation: Aggregation, column: Column, rows: int, threads: int, nulls: bool
) -> Roller | None:
    """The kernel for this aggregation of the last `rows` rows; None if there is none."""
    name = type(aggregation).__name__
    if name == "CountDistinct":
        return Distinct(aggregation, rows)
    if name not in _QUESTIONS or (name in ("Variance", "StdDev") and nulls):
        return None
    return Special(aggregation, rows, threads)


class Special(Roller):
    """A kernel that fills rows start … stop of an array, from the values themselves.

    A batch is put behind as many values of those before as the kernel's grouping of additions can
    reach back, on the same grid, so the answers have the same bits however the stream is cut.
    """

    def __init__(self, aggregation: Aggregation, rows: int, threads: int) -> None:
        self.aggregation, self.rows, self.threads = aggregation, rows, threads
        self.answer = _QUESTIONS[type(aggregation).__name__]
        self.tail: Column | None = None
        self.base = 0  # the position of the tail's first value

    def roll(self, batch: Batch) -> Answers:
        came = batch.columns[0]
        assert came is not None
        column = came if self.tail is None else joined(self.tail, came)
        start = column.data.size - came.data.size
        everything = isinstance(self.aggregation, Count) and not self.aggregation.columns
        present = None if everything else self.present(column, start)
        values = self.answer(self, column, start, present)
        valid = None if present is None else (present > 0).view(np.uint8)
        if not batch.last:
            self._keep(column)
        return finished(self.aggregation, came, Riding([], self.aggregation), (values,), valid)

    def _keep(self, column: Column) -> None:
        """Keep what the next rows may reach back to: two chunks of whole blocks, on their grid."""
        grid = _BLOCK * max(1, (self.rows - 1) // _BLOCK)
        end = self.base + column.data.size
        first = max(self.base, (end // grid - 2) * grid)
        self.tail, self.base = column.since(first - self.base), first

    def fill(self, kernel: Fill, data: NDArray[Any], start: int) -> NDArray[Any]:
        """The rows from `start` on, by as many threads as asked for."""
        out = np.empty(data.size, data.dtype)
        stop = data.size
        pieces = min(self.threads, max(1, (stop - start) // PIECE))
        if pieces == 1:
            kernel(data, self.rows, start, stop, out)
        else:
            edges = [start + (stop - start) * i // pieces for i in range(pieces + 1)]
            edges[1:-1] = [edge // _BLOCK * _BLOCK for edge in edges[1:-1]]
            with ThreadPoolExecutor(pieces) as pool:
                for done in [
                    pool.submit(kernel, data, self.rows, a, b, out)
                    for a, b in itertools.pairwise(edges)
                ]:
                    done.result()
        return out[start:]

    def present(self, column: Column, start: int) -> NDArray[np.int64] | None:
        """How many values of each window are not null; None if none is."""
        if column.nulls is None:
            return None
        from windrow.compiled.kernels.whole import rolling_sum_i64

        return self.fill(rolling_sum_i64, 1 - column.nulls.astype(np.int64), start)

    def size(self, n: int, start: int) -> NDArray[np.int64]:
        """How many rows each window has."""
        return np.minimum(np.arange(self.base + start + 1, self.base + n + 1), self.rows)


def _filled(column: Column, floating: Any, whole: int) -> NDArray[Any]:
    """The values with something that does not matter where they are null."""
    if column.nulls is None or not column.nulls.any():
        return column.data
    data = column.data.copy()
    data[column.nulls != 0] = floating if data.dtype == np.float64 else whole
    return data


def _max(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    from windrow.compiled.kernels.minmax import rolling_max_f64, rolling_max_i64

    data = _filled(column, -np.inf, np.iinfo(np.int64).min)
    return self.fill(rolling_max_f64 if data.dtype == np.float64 else rolling_max_i64, data, start)


def _min(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    from windrow.compiled.kernels.minmax import rolling_min_f64, rolling_min_i64

    data = _filled(column, np.nan, np.iinfo(np.int64).max)
    return self.fill(rolling_min_f64 if data.dtype == np.float64 else rolling_min_i64, data, start)


def _range(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    return _max(self, column, start, present) - _min(self, column, start, present)


def _sum(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    from windrow.compiled.kernels.sums import rolling_sum_f64
    from windrow.compiled.kernels.whole import rolling_sum_i64

    data = _filled(column, 0.0, 0)
    if data.dtype == np.float64:
        return self.fill(rolling_sum_f64, data, start)
    if data.size and max(abs(int(data.max())), abs(int(data.min()))) * self.rows >= 2**63:
        # Two halves of 32 bits cannot overflow, and tell whether the whole does.
        high = self.fill(rolling_sum_i64, data >> 32, start)
        low = self.fill(rolling_sum_i64, data & 0xFFFFFFFF, start)
        high = high + (low >> 32)
        over = np.flatnonzero((high < -(2**31)) | (high >= 2**31))
        if over.size:
            raise OverflowError(
                f"{self.aggregation!r}: the sum of the window that ends at row "
                f"{self.base + start + int(over[0])} exceeds int64; convert the values to float64"
            )
    return self.fill(rolling_sum_i64, data, start)


def _mean(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    from windrow.compiled.kernels.sums import rolling_mean_f64

    if present is None and column.data.dtype == np.float64 and self.base == 0:
        return self.fill(rolling_mean_f64, column.data, start)
    total = _sum(self, column, start, present)
    return total / (
        self.size(column.data.size, start) if present is None else np.maximum(present, 1)
    )


def _variance(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    from windrow.compiled.kernels.variance import rolling_var_f64

    return _moments(rolling_var_f64, self, column, start)


def _deviation(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    from windrow.compiled.kernels.variance import rolling_std_f64

    return _moments(rolling_std_f64, self, column, start)


def _moments(kernel: Any, self: Special, column: Column, start: int) -> NDArray[Any]:
    ddof: int = self.aggregation.ddof  # type: ignore[attr-defined]

    def fill(data: Any, w: int, a: int, b: int, out: Any) -> None:
        kernel(data, w, ddof, a, b, out)

    check_no_nulls(self.aggregation, [column])
    return self.fill(fill, column.data.astype(np.float64, copy=False), start)


def _count(self: Special, column: Column, start: int, present: Present) -> NDArray[Any]:
    return self.size(column.data.size, start) if present is None else present


_QUESTIONS: dict[str, Callable[[Special, Column, int, Present], NDArray[Any]]] = {
    "Max": _max,
    "Min": _min,
    "Range": _range,
    "Sum": _sum,
    "Mean": _mean,
    "Variance": _variance,
    "StdDev": _deviation,
    "Count": _count,
}


class Distinct(Roller):
    """Distinct values by code: a window is known by how often each of them occurs."""

    def __init__(self, aggregation: Aggregation, rows: int) -> None:
        self.rows = rows
        self.known: dict[Any, int] = {}
        self.codes = np.empty(0, np.int64)
        self.base = 0

    def roll(self, batch: Batch) -> Answers:
        from windrow.compiled.kernels.distinct import window_distinct

        came = batch.columns[0]
        assert came is not None
        values, inverse = np.unique(came.data, return_inverse=True, equal_nan=True)
        keys = ["NaN" if v != v else v for v in values.tolist()]
        named = np.array([self.known.setdefault(k, len(self.known)) for k in keys], np.int64)
        new = named[inverse] if named.size else np.empty(0, np.int64)
        if came.nulls is not None:
            new[came.nulls != 0] = -1
        codes = np.concatenate([self.codes, new])
        hi = np.arange(self.codes.size, codes.size) + 1
        lo = np.maximum(hi - self.rows, 0)
        out = np.empty(new.size, np.int64)
        counts, cursors = np.zeros(len(self.known), np.int64), np.zeros(3, np.int64)
        window_distinct(codes, lo, hi, counts, cursors, out)
        self.codes = codes[max(0, codes.size - self.rows + 1) :].copy()
        return Answers(out)
