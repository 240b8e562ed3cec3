"""The windows of rows that are ordered by time: where each begins and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, types, void
from numpy.typing import NDArray

from windrow.windows.arrays import in_threads, ordinary, stretches

Array = np.ndarray[Any, Any]

_FIRST = -(2**63)
_TOGETHER = 16
# From here on it is faster to walk.
_FAR = 64


# A window's oldest time, and whether another one is older. A window that reaches further back than
# int64 does begins with the first of all times.


@njit(int64(int64, int64, boolean), cache=True, nogil=True)
def _oldest_int(t: int, size: int, from_start: bool) -> int:
    if t < _FIRST + size:
        return _FIRST
    return t - size if from_start else t - size + 1


@njit(float64(float64, float64, boolean), cache=True, nogil=True)
def _oldest_float(t: float, size: float, from_start: bool) -> float:
    return t - size


@njit(boolean(int64, int64, boolean), cache=True, nogil=True)
def _older_int(time: int, oldest: int, from_start: bool) -> bool:
    return time < oldest


@njit(boolean(float64, float64, boolean), cache=True, nogil=True)
def _older_float(time: float, oldest: float, from_start: bool) -> bool:
    return (time < oldest) | ((time == oldest) & (not from_start))


def _filling(oldest_of: Any, older: Any) -> Any:
    """The loop for one type of times, to be compiled into its caller.

    The beginnings of 16 windows are found together. How far the last of them is from the first
    bounds the others, and counting the times in between that are too old is a vector operation,
    where walking would ask for each of them whether it is (15 ns a row at random times, not 8).
    """

    @njit(nogil=True)
    def ends(
        at: Array, begin: int, stop: int, first: int, end: int, to_end: bool, hi: Array
    ) -> None:
        past = begin
        if to_end:
            for i in range(begin, stop):
                if i == past:
                    past += 1
                    while past < end and at[past] == at[i]:
                        past += 1
                hi[i] = past
        else:
            past = first + np.searchsorted(at[first:begin], at[begin], side="left")
            hi[begin] = past
            for i in range(begin + 1, stop):
                past = past if at[i] == at[i - 1] else i
                hi[i] = past

    @njit(nogil=True)
    def fill(
        at: Array,
        starts: Array,
        begin: int,
        stop: int,
        size: Any,
        from_start: bool,
        to_end: bool,
        lo: Array,
        hi: Array,
    ) -> None:
        s = np.searchsorted(starts, begin, side="right") - 1
        i = begin
        while i < stop:
            while starts[s + 1] <= i:
                s += 1
            first = starts[s]
            last = min(stop, starts[s + 1])
            ends(at, i, last, first, starts[s + 1], to_end, hi)
            above = i
            oldest = oldest_of(at[i], size, from_start)
            while first < above:  # in the midst of a segment
                middle = (first + above) // 2
                if older(at[middle], oldest, from_start):
                    first = middle + 1
                else:
                    above = middle
            while i < last:
                j = min(i + _TOGETHER, last)
                oldest = oldest_of(at[j - 1], size, from_start)
                above = first
                while above < j and older(at[above], oldest, from_start):
                    above += _TOGETHER
                between = at[first : min(above, j)]
                if between.size <= _FAR:
                    for k in range(i, j):
                        oldest = oldest_of(at[k], size, from_start)
                        gone = 0
                        for p in range(between.size):
                            gone += older(between[p], oldest, from_start)
                        lo[k] = min(first + gone, hi[k])
                else:
                    above = first
                    for k in range(i, j):
                        oldest = oldest_of(at[k], size, from_start)
                        while above < k and older(at[above], oldest, from_start):
                            above += 1
                        lo[k] = min(above, hi[k])
                first = lo[j - 1]
                i = j

    return fill


_fill_int = _filling(_oldest_int, _older_int)
_fill_float = _filling(_oldest_float, _older_float)


@njit(
    void(
        int64[::1], int64[::1], int64, int64, int64, boolean, boolean, int64[::1], int64[::1]
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def _bounds_int(
    at: Array,
    starts: Array,
    begin: int,
    stop: int,
    size: int,
    from_start: bool,
    to_end: bool,
    lo: Array,
    hi: Array,
) -> None:
    _fill_int(at, starts, begin, stop, size, from_start, to_end, lo, hi)


@njit(
    void(
        float64[::1], int64[::1], int64, int64, float64, boolean, boolean, int64[::1], int64[::1]
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def _bounds_float(
    at: Array,
    starts: Array,
    begin: int,
    stop: int,
    size: float,
    from_start: bool,
    to_end: bool,
    lo: Array,
    hi: Array,
) -> None:
    _fill_float(at, starts, begin, stop, size, from_start, to_end, lo, hi)


def segment_bounds(
    at: NDArray[Any], starts: NDArray[np.int64], size: Any, closed: str, *, threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The window of row i as positions lo[i] … hi[i] − 1, within its own segment. O(n).

    Times are int64 or float64, in order within each segment. Rows of equal time see each other
    where the window's end is closed.

    >>> segment_bounds(np.array([1, 2, 4, 1, 2]), np.array([0, 3, 5]), 1, "both")
    (array([0, 0, 2, 3, 3]), array([1, 2, 3, 4, 5]))
    """
    at, starts = ordinary(at), ordinary(starts)
    lo, hi = np.empty(at.size, np.int64), np.empty(at.size, np.int64)
    compute = _bounds_int if at.dtype == np.int64 else _bounds_float
    ends = closed in ("both", "left"), closed in ("both", "right")

    def fill(rows: tuple[int, int]) -> None:
        compute(at, starts, *rows, size, *ends, lo, hi)

    in_threads(fill, stretches(at.size, threads))
    if size == 0 and not ends[0]:  # open at its only time, which might have none behind it
        lo[:] = hi
    return lo, hi


# -- windows that are given by their bounds ------------------------------------------------------


@njit(void(int64[::1], int64, int64, int64[::1], int64[::1]), cache=True, nogil=True)
def row_bounds(starts: Array, w: int, start: int, lo: Array, hi: Array) -> None:
    """The windows of the rows from `start` on, as many as `lo` has room for: positions [lo, hi)."""
    s = np.searchsorted(starts, start, side="right") - 1
    stop = start + lo.size
    while s < starts.size - 1 and starts[s] < stop:
        first = max(start, starts[s])
        last = min(stop, starts[s + 1])
        for i in range(first, last):
            lo[i - start] = max(i + 1 - w, starts[s])
            hi[i - start] = i + 1
        s += 1


@njit(int64(int64[::1], int64, int64), cache=True, nogil=True)
def phase_end(lo: Array, i: int, split: int) -> int:
    """The first window from i on that begins behind the split; O(log) in how far it is."""
    step = 1
    below = i
    above = i + 1
    while above < lo.size and lo[above] <= split:
        below = above
        above += step
        step *= 2
    above = min(above, lo.size)
    while above - below > 1:
        middle = (below + above) // 2
        if lo[middle] <= split:
            below = middle
        else:
            above = middle
    return above


@njit(
    types.UniTuple(int64, 2)(int64[::1], int64[::1], int64, int64),
    cache=True,
    nogil=True,
)
def phase_after(lo: Array, hi: Array, begin: int, wanted: int) -> tuple[int, int]:
    """The first window from `wanted` on that begins a phase, and the split of the phase before it.

    Window `begin` shares no value with the one before.
    """
    i = begin
    split = lo[i]
    end = split
    while i < lo.size:
        split = max(lo[i], end)
        i = phase_end(lo, i, split)
        end = max(hi[i - 1], split)
        if i >= wanted:
            break
    return i, split


@njit(int64(int64[::1], int64[::1]), cache=True, nogil=True)
def longest(lo: Array, hi: Array) -> int:
    """The length of the longest window; 0 for none."""
    most = 0
    for i in range(lo.size):
        most = max(most, hi[i] - lo[i])
    return most
