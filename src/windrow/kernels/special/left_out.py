"""Variances of windows without their current row, from those of all their rows.

Without a row x, a window of n rows has

    M2 - (x-mean)² n/(n-1)

Where that is less than an eighth of M2, which is where x lies far from all the other rows, these
are gone through one by one. That is done once for such an x, however many windows have it.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.windows.bounds import last_at

# The part of M2 that must be left without the row.
LEFT = 0.125
_TILE = 256


@inner(error_model="numpy")
def m2_of_others(values: Array, lo: int, hi: int, row: int) -> float:
    """M2 of the rows of a window but one; NaN as soon as a value is not finite. O(hi - lo)."""
    n = hi - lo - 1
    if n <= 0:
        return 0.0
    pivot = values[lo if lo != row else lo + 1]
    total = 0.0
    for i in range(lo, hi):
        if i != row:
            total += values[i] - pivot
            if total - total != 0.0:
                return np.nan
    mean = total / n
    rest = 0.0
    square = 0.0
    for i in range(lo, hi):
        if i != row:
            d = (values[i] - pivot) - mean
            rest += d
            square += d * d
    return square - rest * (rest / n)


@inner(error_model="numpy")
def m2_without(
    values: Array, lo: int, hi: int, row: int, m2: float, away: float, per: float
) -> float:
    """M2 of a window without a row, given that of all n rows, mean - x and n/(n-1)."""
    left = m2 - away * (away * per)
    x = values[row]
    # What is not finite is due to other rows, if x is.
    if not left >= LEFT * m2 and (m2 - m2 == 0.0 or x - x != 0.0):
        left = m2_of_others(values, lo, hi, row)
        return 0.0 if left < 0.0 else left
    return left


@compiled(error_model="numpy")
def leave_rows_out(
    values: Array, starts: Array, begin: int, rows: tuple[int, int], variances: Array,
    means: Array, ddof: int, root: bool, out: Array,
) -> bool:  # fmt: skip
    """out[i] is the variance of so many `rows` before row begin + i and behind it, or its root.

    Of all rows around it, with itself, are given the variance (of a population), and the mean less
    the last value. There are as many rows behind it in its segment; results of rows for which
    there are not mean nothing. Returns whether a variance is not finite.
    """
    odd = False
    tile = np.empty(_TILE)
    ahead = rows[1]
    s = last_at(starts, begin)
    i = 0
    while i < out.size:
        while starts[s + 1] <= begin + i:
            s += 1
        older = min(begin + i - starts[s], rows[0])
        end = i + 1  # a row before which there are not as many
        if older == rows[0]:
            end = min(i + _TILE, min(starts[s + 1] - begin, out.size))
        n = float(older + ahead + 1)
        per = n / (n - 1.0)
        x = values[begin + i : begin + end]
        last = values[begin + i + ahead : begin + end + ahead]
        variance = variances[i:end]
        mean = means[i:end]
        again = False
        for k in range(end - i):
            m2 = variance[k] * n
            away = mean[k] + (last[k] - x[k])
            left = m2 - away * (away * per)
            again |= not left >= LEFT * m2
            tile[k] = left
        if again:
            for k in range(end - i):
                row = begin + i + k
                away = mean[k] + (last[k] - x[k])
                tile[k] = m2_without(
                    values, row - older, row + ahead + 1, row, variance[k] * n, away, per
                )
        result = out[i:end]
        if root:
            share = 1.0 / (n - 1.0 - ddof)
            for k in range(end - i):
                odd |= tile[k] - tile[k] != 0.0
                result[k] = math.sqrt(tile[k] * share)
        else:
            for k in range(end - i):
                odd |= tile[k] - tile[k] != 0.0
                result[k] = tile[k] / (n - 1.0 - ddof)
        i = end
    return odd
