"""Rolling sums of integers: exact, so what leaves is subtracted."""

from __future__ import annotations

import numpy as np
from numba import int64, njit, void

from windrow.kernels.special import BYTES, INTS, Array, compiled

# Compiled into its callers, for each type of values that they take.
_inside = njit(nogil=True)


@_inside
def _sums_of_segments(
    values: Array, starts: Array, w: int, start: int, stop: int, out: Array
) -> None:
    s = np.searchsorted(starts, start, side="right") - 1
    for i in range(start, stop):
        if i == start or i == starts[s + 1]:
            while starts[s + 1] <= i:
                s += 1
            total = np.int64(0)
            for j in range(max(i - w, starts[s]), i):
                total += np.int64(values[j])
        total += np.int64(values[i])
        if i - w >= starts[s]:
            total -= np.int64(values[i - w])
        out[i] = total


@_inside
def _sums_by_bounds(values: Array, lo: Array, hi: Array, out: Array) -> None:
    head = end = 0
    total = np.int64(0)
    for i in range(lo.size):
        if lo[i] >= end:  # nothing of the window before is in this one
            head = end = lo[i]
            total = np.int64(0)
        while head < lo[i]:
            total -= np.int64(values[head])
            head += 1
        while end < hi[i]:
            total += np.int64(values[end])
            end += 1
        out[i] = total


@compiled(void(INTS, INTS, int64, int64, int64, INTS))
def segment_sums_i64(
    values: Array, starts: Array, w: int, start: int, stop: int, out: Array
) -> None:
    """out[i] is the sum of the last w rows of i's segment, for rows start … stop − 1."""
    _sums_of_segments(values, starts, w, start, stop, out)


@compiled(void(BYTES, INTS, int64, int64, int64, INTS))
def segment_sums_u8(
    values: Array, starts: Array, w: int, start: int, stop: int, out: Array
) -> None:
    """The same of bytes, such as marks of nulls."""
    _sums_of_segments(values, starts, w, start, stop, out)


@compiled(void(INTS, INTS, INTS, INTS))
def bounded_sums_i64(values: Array, lo: Array, hi: Array, out: Array) -> None:
    """out[i] is the sum of values[lo[i]:hi[i]]; lo and hi never fall."""
    _sums_by_bounds(values, lo, hi, out)


@compiled(void(BYTES, INTS, INTS, INTS))
def bounded_sums_u8(values: Array, lo: Array, hi: Array, out: Array) -> None:
    """The same of bytes, such as marks of nulls."""
    _sums_by_bounds(values, lo, hi, out)
