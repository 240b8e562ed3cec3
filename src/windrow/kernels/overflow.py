"""Integer sums are exact: one that int64 does not hold is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.kernels.special import integer_sums
from windrow.windows.arrays import in_threads, ordinary
from windrow.windows.positions import LONGEST, Piece, Windows


def check_sums(
    aggregation: Aggregation,
    values: NDArray[Any],
    nulls: NDArray[Any] | None,
    windows: Windows,
    threads: int = 1,
    of: str = "",
) -> None:
    """Refuse integers of which a window's sum exceeds int64, if the aggregation adds them up.

    `of` says whose window it is, behind its number.
    O(1) a row where the largest value times the longest window fits; otherwise two sums a window.
    """
    if not aggregation.summed or values.dtype != np.int64 or not values.size or not len(windows):
        return
    values = ordinary(values)
    if nulls is not None:
        values = np.where(nulls, 0, values)
    if max(abs(int(values.max())), abs(int(values.min()))) * windows.longest < 2**63:
        return
    # Two halves of 32 bits cannot overflow, and tell whether the whole does.
    high, low = (
        window_sums(half, windows, threads) for half in (values >> 32, values & 0xFFFFFFFF)
    )
    high += low >> 32
    over = np.flatnonzero((high < -(2**31)) | (high >= 2**31))
    if over.size:
        raise OverflowError(
            f"{aggregation!r}: the sum of window {int(over[0])}{of} exceeds int64; convert the "
            f"values to float64"
        )


def window_sums(values: NDArray[np.int64], windows: Windows, threads: int = 1) -> NDArray[np.int64]:
    """The sum of each window, modulo 2⁶⁴."""
    rows, first = windows.rows, windows.first
    out = np.empty(windows.n if rows is not None else len(windows), np.int64)

    def run(piece: Piece) -> None:
        if rows is not None:
            begin, stop = first + piece.begin, first + piece.stop
            integer_sums.segment_sums_i64(
                values, windows.starts, min(rows, LONGEST), begin, stop, out
            )
        else:
            lo, hi = windows.bounds_of(piece.begin, piece.stop)
            integer_sums.bounded_sums_i64(values, lo, hi, out[piece.begin : piece.stop])

    in_threads(run, windows.pieces(threads, anywhere=True))
    return out[first:]
