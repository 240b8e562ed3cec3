"""Rolling sums of integers: exact, so what leaves is subtracted."""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled
from windrow.kernels.special import Array
from windrow.windows.bounds import last_at


@compiled
def segment_sums(values: Array, starts: Array, w: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the sum of the last w rows of i's segment, for rows start … stop − 1."""
    s = last_at(starts, start)
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


@compiled
def bounded_sums(values: Array, lo: Array, hi: Array, out: Array) -> None:
    """out[i] is the sum of values[lo[i]:hi[i]]; lo and hi never fall."""
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
