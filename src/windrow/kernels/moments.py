"""Rows of MomentSketch: the centre of the finite values, then what adds up.

A row is the centre and the sums of the interpreted state, one after the other.
"""

# What Numba compiles has no annotations: its types come from the arrays.

from __future__ import annotations

import math

from windrow.aggregations import momentsketch
from windrow.aggregations.momentsketch import HUGE
from windrow.kernels.hashing import small
from windrow.kernels.sketch_rows import row_copy

SIZE, LEAST, LARGEST, MEAN, SQUARES = 0, 1, 2, 3, 4  # of the finite values
NANS, UPS, DOWNS = 5, 6, 7  # how many NaN, +inf and -inf
SUMS = 8
joined = small(momentsketch.joined)


@small
def powers(x, order, into, start):
    """x¹ … xᵏ."""
    for k in range(order):
        power = math.pow(x, k + 1.0)
        into[start + k] = math.nan if abs(power) > HUGE else power


@small
def moment_unit(x, null, into, order):
    """One value, or a null."""
    for k in range(into.size):
        into[k] = 0.0
    into[LEAST], into[LARGEST] = math.inf, -math.inf
    if null:
        return
    if not math.isfinite(x):
        into[NANS if x != x else UPS if x > 0 else DOWNS] = 1.0
        return
    into[SIZE], into[LEAST], into[LARGEST], into[MEAN] = 1.0, x, x, x
    powers(x, order, into, SUMS)
    if x > 0:
        powers(math.log(x), order, into, SUMS + order)


@small
def is_empty(s):
    """Whether a row of moments holds nulls only."""
    return s[SIZE] + s[NANS] + s[UPS] + s[DOWNS] == 0


@small
def moment_plus(a, b, into, order):
    """The moments of both, as the interpreted ⊕ has them."""
    if is_empty(b):
        row_copy(a, into)
    elif is_empty(a):
        row_copy(b, into)
    else:
        centre = joined(
            (a[SIZE], a[LEAST], a[LARGEST], a[MEAN], a[SQUARES]),
            (b[SIZE], b[LEAST], b[LARGEST], b[MEAN], b[SQUARES]),
        )
        for k in range(NANS):
            into[k] = centre[k]
        x, y, z = a[NANS:], b[NANS:], into[NANS:]
        for k in range(z.size):
            z[k] = x[k] + y[k]


@small
def moment_answer(s, out, order):
    """The row itself."""
    row_copy(s, out)
    return not is_empty(s)
