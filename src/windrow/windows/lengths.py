"""How many rows windows have: the compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.compiled import compiled
from windrow.windows.arrays import Positions, ordinary
from windrow.windows.bounds import frame_at, last_at, widths
from windrow.windows.span_bounds import TILE, Extent

Array = np.ndarray[Any, Any]
_LAST = 2**63 - 1
_TOGETHER = 64  # windows that are compared at once
# Windows that are at most one in so many are listed by their numbers.
RARE = 16
_NOT_MEASURED = np.empty(0, np.int64)


@compiled
def extent(lo: Array, hi: Array) -> tuple[int, int]:
    """Return the lengths of the shortest and of the longest window; both 0 for none."""
    return widths(lo, hi) if lo.size else (0, 0)


def few_shorter_than(
    lo: Positions, hi: Positions, length: int, extent: Extent | None = None
) -> Positions | None:
    """Return which windows have fewer rows, by their numbers; None if they are many.

    Of windows that were measured only those are looked at of which one may have.

    >>> few_shorter_than(np.zeros(32, np.int64), np.arange(1, 33), 3), few_shorter_than(
    ...     np.zeros(32, np.int64), np.arange(1, 33), 4)
    (array([0, 1]), None)
    """
    lo, hi, numbers = ordinary(lo), ordinary(hi), np.empty(lo.size // RARE, np.int64)
    known = _NOT_MEASURED if extent is None else extent.shortest
    count = places_shorter_than(lo, hi, known, length, numbers)
    return numbers[:count] if count <= numbers.size else None


def shorter_than(
    lo: Positions, hi: Positions, length: int, extent: Extent | None = None
) -> NDArray[np.bool_]:
    """Return which windows have fewer rows, as a mask."""
    few = few_shorter_than(lo, hi, length, extent)
    if few is None:
        short = np.empty(lo.size, np.bool_)
        _fill_shorter(ordinary(lo), ordinary(hi), length, short)
    else:
        short = np.zeros(lo.size, np.bool_)
        short[few] = True
    return short


@compiled
def _fill_shorter(lo: Array, hi: Array, length: int, out: Array) -> None:
    for i in range(out.size):
        out[i] = hi[i] - lo[i] < length


@compiled
def places_shorter_than(lo: Array, hi: Array, shortest: Array, length: int, out: Array) -> int:
    """Return how many windows have fewer rows; `out` gets which, as far as it has room.

    Mostly none of many has: 64 are compared at once, by vector instructions, or not at all where
    the shortest of a tile is known (`Extent`).
    """
    count = 0
    for k in range(0, lo.size, _TOGETHER):
        if shortest.size and shortest[k // TILE] >= length:
            continue
        a, b = lo[k : k + _TOGETHER], hi[k : k + _TOGETHER]
        least = _LAST
        for i in range(a.size):
            least = min(least, b[i] - a[i])
        if least >= length:
            continue
        for i in range(a.size):
            if b[i] - a[i] < length:
                if count < out.size:
                    out[count] = k + i
                count += 1
    return count


@compiled
def frame_lengths(starts: Array, start: int, end: int, begin: int, fewer: int, out: Array) -> None:
    """Write how many rows there are from `start` to `end` behind each row from `begin` on.

    So many `fewer` are in each window.
    """
    s = last_at(starts, begin)
    stop = begin + out.size
    while s < starts.size - 1 and starts[s] < stop:
        first = starts[s]
        past = starts[s + 1]
        for i in range(max(begin, first), min(stop, past)):
            lo, hi = frame_at(i, start, end, first, past)
            out[i - begin] = hi - lo - fewer
        s += 1


@compiled
def bounds_lengths(lo: Array, hi: Array, fewer: int, out: Array) -> None:
    """Write how many rows each window has, so many `fewer`."""
    for i in range(out.size):
        out[i] = hi[i] - lo[i] - fewer


@compiled
def add_lengths(lo: Array, hi: Array, out: Array) -> None:
    """Add to out[i] how many rows window i has."""
    for i in range(out.size):
        out[i] += hi[i] - lo[i]


@compiled
def count_filled(lo: Array, hi: Array) -> int:
    """Return how many windows have a row."""
    count = 0
    for i in range(lo.size):
        count += hi[i] > lo[i]
    return count
