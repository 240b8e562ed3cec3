"""Hopping windows [start, start + range), a start every slide: those that hold a row.

A row at t lies in the windows whose start is in (t − range, t]:

        start k          k+1          k+2                starts are k·slide + offset
        ├────────────────┼───────────►
                         ├──────t─────────┼───►
        oldest k that reaches t  …  newest k that begins at t or before

Both ends rise with t, so a segment's windows come in order: a pass over the rows counts them, and a
second one with a pointer to either end of the window writes them. O(rows + windows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, types, void
from numpy.typing import NDArray

from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.arrays import ordinary

Array = np.ndarray[Any, Any]
_pair = types.UniTuple(int64, 2)
# Starts further out than this many slides are no longer told apart by a float.
_FURTHEST = 2**52


@njit(_pair(int64, int64, int64, int64), cache=True, nogil=True)
def _around_int(t: int, size: int, slide: int, offset: int) -> tuple[int, int]:
    """The numbers of the oldest and of the newest window that hold t; none if they cross."""
    return (t - size - offset) // slide + 1, (t - offset) // slide


@njit(_pair(float64, float64, float64, float64), cache=True, nogil=True, error_model="numpy")
def _around_float(t: float, size: float, slide: float, offset: float) -> tuple[int, int]:
    newest = int(np.floor((t - offset) / slide))
    oldest = int(np.floor((t - size - offset) / slide)) + 1
    # A window is what its bounds are as floats, and the division may be off by one.
    while newest * slide + offset > t:
        newest -= 1
    while (newest + 1) * slide + offset <= t:
        newest += 1
    while oldest * slide + offset + size <= t:
        oldest += 1
    while (oldest - 1) * slide + offset + size > t:
        oldest -= 1
    return oldest, newest


def _loops(around: Any) -> tuple[Any, Any]:
    """The two passes for one type of times, to be compiled into their callers."""

    @njit(nogil=True)
    def count(at: Array, starts: Array, size: Any, slide: Any, offset: Any) -> int:
        windows = done = 0
        for s in range(starts.size - 1):
            opening = slide  # the start of the first window that no row has reached
            for i in range(starts[s], starts[s + 1]):
                if i == starts[s] or at[i] >= opening:
                    oldest, newest = around(at[i], size, slide, offset)
                    if i > starts[s]:
                        oldest = max(oldest, done + 1)
                    windows += max(newest - oldest + 1, 0)
                    done = newest
                    opening = (newest + 1) * slide + offset
        return windows

    @njit(nogil=True)
    def fill(
        at: Array,
        starts: Array,
        size: Any,
        slide: Any,
        offset: Any,
        lo: Array,
        hi: Array,
        opens: Array,
        segment: Array,
    ) -> None:
        w = done = 0
        for s in range(starts.size - 1):
            first = past = starts[s]
            opening = slide
            for i in range(starts[s], starts[s + 1]):
                if i == starts[s] or at[i] >= opening:
                    oldest, newest = around(at[i], size, slide, offset)
                    if i > starts[s]:
                        oldest = max(oldest, done + 1)
                    done = newest
                    opening = (newest + 1) * slide + offset
                    for k in range(oldest, newest + 1):
                        start = k * slide + offset
                        while first < starts[s + 1] and at[first] < start:
                            first += 1
                        while past < starts[s + 1] and at[past] < start + size:
                            past += 1
                        lo[w] = first
                        hi[w] = past
                        opens[w] = start
                        segment[w] = s
                        w += 1

    return count, fill


_count_whole, _fill_whole = _loops(_around_int)
_count_real, _fill_real = _loops(_around_float)


@njit(int64(int64[::1], int64[::1], int64, int64, int64), cache=True, nogil=True)
def _count_int(at: Array, starts: Array, size: int, slide: int, offset: int) -> int:
    return _count_whole(at, starts, size, slide, offset)


@njit(int64(float64[::1], int64[::1], float64, float64, float64), cache=True, nogil=True)
def _count_float(at: Array, starts: Array, size: float, slide: float, offset: float) -> int:
    return _count_real(at, starts, size, slide, offset)


@njit(
    void(
        int64[::1], int64[::1], int64, int64, int64, int64[::1], int64[::1], int64[::1], int64[::1]
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def _fill_int(
    at: Array,
    starts: Array,
    size: int,
    slide: int,
    offset: int,
    lo: Array,
    hi: Array,
    opens: Array,
    segment: Array,
) -> None:
    _fill_whole(at, starts, size, slide, offset, lo, hi, opens, segment)


@njit(
    void(
        float64[::1], int64[::1], float64, float64, float64, int64[::1], int64[::1], float64[::1],
        int64[::1],
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def _fill_float(
    at: Array,
    starts: Array,
    size: float,
    slide: float,
    offset: float,
    lo: Array,
    hi: Array,
    opens: Array,
    segment: Array,
) -> None:
    _fill_real(at, starts, size, slide, offset, lo, hi, opens, segment)


def hop_bounds(
    at: NDArray[Any], starts: NDArray[np.int64], size: Any, slide: Any, offset: Any = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
    """The windows [start, start + size) that hold a row, start = k·slide + offset for a whole k.

    Gives the positions [lo, hi) of each window's rows, its start in the type of `at`, and its
    segment, ordered by segment and start. Times are int64 or float64, in order within a segment.
    O(rows + windows); a row lies in about size / slide of them.

    >>> lo, hi, start, segment = hop_bounds(np.array([-1, 3, 9]), np.array([0, 2, 3]), 4, 2)
    >>> start.tolist(), segment.tolist()
    ([-4, -2, 0, 2, 6, 8], [0, 0, 0, 0, 1, 1])
    >>> lo.tolist(), hi.tolist()
    ([0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 3, 3])
    """
    for name, value in (("range", size), ("slide", slide)):
        if not value > 0:
            raise InvalidArgument(f"{name}={value!r} must be larger than 0")
    at, starts = ordinary(at), ordinary(starts)
    whole = at.dtype == np.int64
    offset = offset % slide
    if at.size:
        _check_reach(int if whole else float, at, size, slide)
    count, fill = (_count_int, _fill_int) if whole else (_count_float, _fill_float)
    m = count(at, starts, size, slide, offset)
    lo, hi, segment = (np.empty(m, np.int64) for _ in range(3))
    opens = np.empty(m, at.dtype)
    fill(at, starts, size, slide, offset, lo, hi, opens, segment)
    return lo, hi, opens, segment


def _check_reach(number: type[int] | type[float], at: NDArray[Any], size: Any, slide: Any) -> None:
    """Refuse times whose windows have bounds that the type cannot tell."""
    least, most = number(at.min()), number(at.max())
    if number is int:
        fits = least - size - slide >= -(2**63) and most + size + slide < 2**63
    else:
        fits = max(abs(least), abs(most)) + size < _FURTHEST * slide  # false for NaN and infinity
    if not fits:
        raise InvalidValue(
            f"times from {least} to {most}: windows of range={size} and slide={slide} have bounds "
            f"outside of what {at.dtype} holds exactly"
        )
