"""What was found for two parts of windows, put together: the older part and the newer one."""

from __future__ import annotations

import math

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import LOWEST, Order, key_of, value_of
from windrow.windows.bounds import last_at


@compiled
def join_extremes(a: Array, b: Array, order: Order, out: Array) -> None:
    """out[i] is the larger of two values (the smaller for a flip of −1), as `minmax` compares them.

    The maximum of no floats at all is −1, the bits of a NaN that no other maximum has.
    """
    from_nothing = order[1] and order[0] == 0
    for i in range(out.size):
        older = LOWEST if from_nothing and a[i] == -1 else key_of(a[i], order)
        newer = LOWEST if from_nothing and b[i] == -1 else key_of(b[i], order)
        out[i] = value_of(max(older, newer), order)


@compiled
def join_places(values: Array, a: Array, b: Array, smallest: bool, out: Array) -> None:
    """out[i] is the position of the larger of the values at two, or of the smaller one.

    It is the older one of equal values. −1 stands for no position, NaN is the largest value.
    """
    for i in range(out.size):
        # both are looked up, whether or not there are two: no branch is guessed wrong
        older, newer = a[i], b[i]
        x = values[np.uint64(max(older, 0))]
        y = values[np.uint64(max(newer, 0))]
        early = ((x <= y) | (y != y)) if smallest else ((x >= y) | (x != x))
        out[i] = older if (early & (older >= 0)) | (newer < 0) else newer


@compiled(error_model="numpy")
def divide_by_lengths(
    sums: Array, starts: Array, frame: tuple[int, int], begin: int, fewer: int
) -> None:
    """Divide the sums of rows from `begin` on by how many rows there are from one end to another.

    So many `fewer` are in each window.
    """
    start, end = frame
    s = last_at(starts, begin)
    stop = begin + sums.size
    while s < starts.size - 1 and starts[s] < stop:
        first = starts[s]
        past = starts[s + 1]
        low = max(begin, first)
        row = sums[low - begin : min(stop, past) - begin]
        for i in range(row.size):
            hi = min(low + i + end + 1, past)
            row[i] /= hi - max(low + i + start, first) - fewer
        s += 1


@inner(error_model="numpy")
def _join(
    older: tuple[Array, Array, Array],
    newer: tuple[Array, Array, Array],
    sizes: tuple[float, float],
    ddof: int,
    root: bool,
    out: Array,
) -> bool:
    """The variances of parts that have so many values; of each: variance, mean, what that is less.

    Returns whether a variance is not finite.
    """
    a, b = sizes
    share = a * b / (a + b)
    divisor = a + b - ddof
    odd = False
    for i in range(out.size):
        delta = (newer[1][i] - older[1][i]) + (newer[2][i] - older[2][i])
        out[i] = (older[0][i] * a + newer[0][i] * b + delta * delta * share) / divisor
    for i in range(out.size):
        odd |= out[i] - out[i] != 0.0
    if root:
        for i in range(out.size):
            out[i] = math.sqrt(out[i])
    return odd


@compiled(error_model="numpy")
def join_variances(
    starts: Array,
    begin: int,
    rows: tuple[int, int],
    older: tuple[Array, Array, Array],
    newer: tuple[Array, Array, Array],
    ddof: int,
    root: bool,
    out: Array,
) -> bool:
    """out[i] is the variance of the rows before row begin + i and behind it, or its root.

    They are the last `rows` of the row before and of one that is as many rows behind. Of both are
    given the variance (of a population), the mean less the last value, and that value. Both rows
    are of the segment; results of rows for which they are not mean nothing. Returns whether a
    variance is not finite.
    """
    odd = False
    s = last_at(starts, begin)
    i = 0
    while i < out.size:
        while starts[s + 1] <= begin + i:
            s += 1
        n = min(begin + i - starts[s], rows[0])
        end = i + 1  # a row whose older part still grows
        if n == rows[0]:
            end = min(starts[s + 1] - begin, out.size)
        odd |= _join(
            (older[0][i:end], older[1][i:end], older[2][i:end]),
            (newer[0][i:end], newer[1][i:end], newer[2][i:end]),
            (float(n), float(rows[1])),
            ddof,
            root,
            out[i:end],
        )
        i = end
    return odd
