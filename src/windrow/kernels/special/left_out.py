"""What windows have without their current row, from what they have with it.

Each aggregate is taken of the whole window first, by the kernel that windows without gaps have, and
then put right for the row, tile by tile while both are in the cache. Where that cannot be, the
other rows of the window are gone through, which few windows need:

    sum        the row is subtracted, unless it outweighs all the others
    extreme    stays, unless it is the row's own
    variance   M2 - (x-mean)² n/(n-1) of n rows, unless the row lies far from all the others

A sum is subtracted from where the row is finite and at most `OUTWEIGHED` times as large as the sum
of the others' absolute values, so the error is at most so many times (and one) as large as it would
be without the row. Where the row is larger, or is no number, the others are added up with
compensation: nothing of the row is left in their sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import (
    HIGHEST,
    INFINITY_BITS,
    LOWEST,
    Order,
    key_of,
)
from windrow.kernels.special.scans import BLOCK
from windrow.kernels.special.sums import plus
from windrow.vectors import DOUBLE, INT64, Vectors
from windrow.windows.bounds import last_at

# A row that is subtracted is at most so many times as large as all others of its window together.
OUTWEIGHED = 16.0
# Half of the last place of the largest float: no row below it makes a finite sum overflow.
_OVERFLOWING = 2.0**970
# The part of M2 that must be left without the row.
LEFT = 0.125
_TILE = 256
_LANES = 8
# So many rows are looked at before it is asked whether they are enough.
_STEP, _STEP_EXTREMES = 8, 64


# -- sums ------------------------------------------------------------------------------------------


@inner(error_model="numpy")
def is_doubtful(row: float, left: float) -> bool:
    """Whether what is left of a sum may not be that of the other rows.

    It is no finite number, or the row is much larger.
    """
    return (not abs(row) <= OUTWEIGHED * abs(left)) | (left - left != 0.0)


@intrinsic
def _subtract_block(typing_context: Any, rows: Any, row: Any, sums: Any, at: Any) -> Any:
    """Do what `subtract_rows` does, for a block.

    A loop would have to ask first whether the arrays overlap, which takes longer than all the rest.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Vectors(context, builder, signature, arguments, _LANES, DOUBLE)
        rows, row, sums, at = code.given
        rows, sums = builder.gep(rows, [row]), builder.gep(sums, [at])
        bits = ir.VectorType(INT64, _LANES)
        but_sign = code.spread(ir.Constant(INT64, HIGHEST))
        times, infinity = (
            code.spread(ir.Constant(DOUBLE, number)) for number in (OUTWEIGHED, math.inf)
        )
        doubtful = ir.Constant(ir.VectorType(ir.IntType(1), _LANES), None)
        for i in range(0, BLOCK, _LANES):
            own = code.load(rows, i)
            left = builder.fsub(code.load(sums, i), own)
            code.store(left, sums, i)
            own, left = (
                builder.bitcast(builder.and_(builder.bitcast(each, bits), but_sign), code.type)
                for each in (own, left)
            )
            larger = builder.fcmp_unordered(">", own, builder.fmul(times, left))
            endless = builder.fcmp_unordered("==", left, infinity)
            doubtful = builder.or_(doubtful, builder.or_(larger, endless))
        found = builder.bitcast(doubtful, ir.IntType(_LANES))
        return builder.icmp_unsigned("!=", found, ir.Constant(found.type, 0))

    return types.boolean(rows, types.int64, sums, types.int64), generate


@inner(error_model="numpy")
def subtract_rows(rows: Array, row: int, sums: Array, at: int, count: int) -> bool:
    """Subtract the rows from row `row` on from as many sums; whether one is doubtful then."""
    if count == BLOCK:
        return _subtract_block(rows, row, sums, at)  # type: ignore[call-arg]
    doubtful = False
    for k in range(count):
        left = sums[at + k] - rows[row + k]
        sums[at + k] = left
        doubtful |= is_doubtful(rows[row + k], left)
    return doubtful


@inner(error_model="numpy")
def sum_of_others(values: Array, lo: int, hi: int, row: int, left: float) -> tuple[float, int]:
    """The sum of a window but for one row, and how many rows were looked at for it.

    `left` is that of all its rows less this one, which is taken if the others are large enough.
    """
    size = abs(values[row])
    below, above = row, row + 1
    if size < _OVERFLOWING:
        if left - left != 0.0:  # due to the others
            return left, 0
        others = 0.0
        while below > lo or above < hi:
            for i in range(max(below - _STEP, lo), below):
                others += abs(values[i])
            for i in range(above, min(above + _STEP, hi)):
                others += abs(values[i])
            below, above = max(below - _STEP, lo), min(above + _STEP, hi)
            if size <= OUTWEIGHED * others:
                return left, above - below
    high = 0.0
    low = 0.0
    for i in range(lo, hi):
        if i != row:
            high, low = plus(high, low, values[i])
            if high != high:
                return high, i - lo + above - below
    return high + low, hi - lo + above - below


# -- extremes --------------------------------------------------------------------------------------


@inner
def is_own(row: int, extreme: int, order: Order) -> bool:
    """Whether the extreme of a window is its own row's: the same bits, or both NaN."""
    infinity = INFINITY_BITS if order[1] else HIGHEST
    return (HIGHEST if row & HIGHEST > infinity else row) == extreme


@intrinsic
def _any_own_in_block(
    typing_context: Any, rows: Any, row: Any, extremes: Any, at: Any, infinity: Any
) -> Any:
    """Whether one of a block's extremes is its own row's."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Vectors(context, builder, signature, arguments, _LANES, INT64)
        rows, row, extremes, at, infinity = code.given
        rows, extremes, infinity = (
            builder.gep(rows, [row]), builder.gep(extremes, [at]), code.spread(infinity)
        )  # fmt: skip
        highest = code.spread(ir.Constant(INT64, HIGHEST))
        alike = ir.Constant(ir.VectorType(ir.IntType(1), _LANES), None)
        for i in range(0, BLOCK, _LANES):
            own = code.load(rows, i)
            nan = builder.icmp_signed(">", builder.and_(own, highest), infinity)
            own = builder.select(nan, highest, own)
            alike = builder.or_(alike, builder.icmp_signed("==", own, code.load(extremes, i)))
        found = builder.bitcast(alike, ir.IntType(_LANES))
        return builder.icmp_unsigned("!=", found, ir.Constant(found.type, 0))

    return types.boolean(rows, types.int64, extremes, types.int64, types.int64), generate


@inner
def any_own(rows: Array, row: int, extremes: Array, at: int, count: int, order: Order) -> bool:
    """Whether one of so many extremes is its own row's, which are those from row `row` on."""
    if count == BLOCK:
        infinity = INFINITY_BITS if order[1] else HIGHEST
        return _any_own_in_block(rows, row, extremes, at, infinity)  # type: ignore[call-arg]
    own = False
    for k in range(count):
        own |= is_own(rows[row + k], extremes[at + k], order)
    return own


@inner(apart=True)
def _highest(bits: Array, begin: int, end: int, order: Order) -> int:
    """The highest key of some values."""
    part = bits[begin:end]
    highest = LOWEST
    for i in range(part.size):
        highest = max(highest, key_of(part[i], order))
    return highest


@inner
def highest_until(
    bits: Array, begin: int, end: int, key: int, highest: int, order: Order
) -> tuple[int, int]:
    """The highest key of some values and another one, and how many values were looked at.

    None is above `key`, so they are gone through until one is as high.
    """
    at = begin
    while at < end and highest != key:
        highest = max(highest, _highest(bits, at, min(at + _STEP_EXTREMES, end), order))
        at += _STEP_EXTREMES
    return highest, at - begin


# -- variances -------------------------------------------------------------------------------------


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


@inner(error_model="numpy")
def _finished(m2: float, freedom: float, share: float, root: bool) -> float:
    """The variance of so many degrees of freedom, or its root; `share` is 1 by these."""
    return math.sqrt(m2 * share) if root else m2 / freedom


@compiled(error_model="numpy")
def leave_rows_out(
    values: Array, starts: Array, begin: int, rows: tuple[int, int], variances: Array,
    means: Array, ddof: int, root: bool, out: Array,
) -> bool:  # fmt: skip
    """out[i] is the variance of so many `rows` before row begin + i and behind it, or its root.

    Of all rows around it, with itself, are given the variance (of a population), and the mean less
    the last value. There are as many rows behind it in its segment; results of rows for which
    there are not mean nothing. They may be written over the variances. Returns whether one is not
    finite.
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
        freedom = n - 1.0 - ddof
        share = 1.0 / freedom
        again = False
        for k in range(end - i):
            m2 = variance[k] * n
            away = mean[k] + (last[k] - x[k])
            left = m2 - away * (away * per)
            again |= not ((left >= LEFT * m2) & (left < math.inf))
            tile[k] = _finished(left, freedom, share, root)
        if again:
            for k in range(end - i):
                row = begin + i + k
                away = mean[k] + (last[k] - x[k])
                left = m2_without(
                    values, row - older, row + ahead + 1, row, variance[k] * n, away, per
                )
                odd |= left - left != 0.0
                tile[k] = _finished(left, freedom, share, root)
        result = out[i:end]
        for k in range(end - i):
            result[k] = tile[k]
        i = end
    return odd
