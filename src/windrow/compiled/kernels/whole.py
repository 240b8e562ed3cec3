"""Rolling sums of integers and counts of distinct values: exact, so what leaves is subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, void

Array = np.ndarray[Any, Any]


@njit(void(int64[::1], int64, int64, int64, int64[::1]), cache=True, nogil=True)
def rolling_sum_i64(values: Array, w: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the sum of the last w values up to i, modulo 2⁶⁴: right whenever int64 holds it."""
    total = 0
    for i in range(max(start - w, 0), start):
        total += values[i]
    for i in range(start, min(stop, w)):
        total += values[i]
        out[i] = total
    for i in range(max(start, w), stop):
        total += values[i] - values[i - w]
        out[i] = total


@njit(
    void(int64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1]), cache=True, nogil=True
)
def window_distinct(
    codes: Array, first: int, lo: Array, hi: Array, counts: Array, out: Array
) -> None:
    """out[i] is the number of distinct codes in codes[lo[i]:hi[i]]; −1 is no value.

    lo and hi never fall; `counts` has a zero for each code, and codes before `first` are gone.
    """
    head = end = first
    distinct = 0
    for i in range(out.size):
        while end < hi[i]:
            code = codes[end]
            if code >= 0:
                distinct += counts[code] == 0
                counts[code] += 1
            end += 1
        while head < lo[i]:
            code = codes[head]
            if code >= 0:
                counts[code] -= 1
                distinct -= counts[code] == 0
            head += 1
        out[i] = distinct
