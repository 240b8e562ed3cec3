"""How many rows windows have: the compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compiled import compiled
from windrow.windows.bounds import frame_at, last_at, widths

Array = np.ndarray[Any, Any]


@compiled
def extent(lo: Array, hi: Array) -> tuple[int, int]:
    """The lengths of the shortest and of the longest window; both 0 for none."""
    return widths(lo, hi) if lo.size else (0, 0)


@compiled
def shorter_than(lo: Array, hi: Array, length: int, out: Array) -> None:
    """out[i] is whether window i has fewer rows."""
    for i in range(out.size):
        out[i] = hi[i] - lo[i] < length


@compiled
def frame_lengths(starts: Array, start: int, end: int, begin: int, out: Array) -> None:
    """How many rows there are from `start` to `end` behind each row from `begin` on."""
    s = last_at(starts, begin)
    stop = begin + out.size
    while s < starts.size - 1 and starts[s] < stop:
        first = starts[s]
        past = starts[s + 1]
        for i in range(max(begin, first), min(stop, past)):
            lo, hi = frame_at(i, start, end, first, past)
            out[i - begin] = hi - lo
        s += 1
