"""Where hopping windows of sorted rows begin and end.

A row at t lies in the windows [start, start + size) whose start is in (t − size, t]:

        start k          k+1          k+2                starts are k·slide + offset
        ├────────────────┼───────────►
                         ├──────t─────────┼───►
        oldest k that reaches t  …  newest k that begins at t or before

Both ends rise with t, so a segment's windows come in order: a pass from slide to slide counts
them, and a second one with a pointer to either end of the window writes them. O(rows + windows).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from windrow.compiled import compiled
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.arrays import Positions, ordinary
from windrow.windows.bounds import first_from
from windrow.windows.room import check_room

Array = np.ndarray[Any, Any]

_FIRST = -(2**63)
_LAST = 2**63 - 1
# More windows are not counted.
_MOST = 2**62
# A float cannot tell starts apart that are further out than this many slides.
_FURTHEST = 2**52


def _around(t: Any, size: Any, slide: Any, offset: Any) -> tuple[int, int]:
    """Return the numbers of the oldest and of the newest window that hold t; none if they cross."""
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


@overload(_around, strict=False)
def _compiled_around(t: Any, size: Any, slide: Any, offset: Any) -> Any:
    if isinstance(t, types.Integer):
        return lambda t, size, slide, offset: (
            (t - size - offset) // slide + 1,
            (t - offset) // slide,
        )
    return _around


@compiled(error_model="numpy")
def _hop(
    at: Array,
    starts: Array,
    size: Any,
    slide: Any,
    offset: Any,
    places: int,
    placed: int,
    answered: int,
    since: int,
    open_: int,
    until: int,
    lo: Array,
    hi: Array,
    opens: Array,
    segment: Array,
) -> int:
    """Return how many windows hold a row, and write them where there is room for them.

    The rest is as `Selection.limits` gives it.
    """
    w = done = 0
    for s in range(placed, starts.size - 1, places):
        i = first = past = starts[s]
        end = starts[s + 1]
        least = since if s < answered else _FIRST
        most = until if s >= open_ else _LAST
        while i < end:
            oldest, newest = _around(at[i], size, slide, offset)
            if i > starts[s]:
                oldest = max(oldest, done + 1)
            done = newest
            if oldest >= most:
                break
            # the next row that lies in a window which no row has reached
            i = first_from(at, i + 1, end, (newest + 1) * slide + offset)
            oldest = max(oldest, least)
            newest = min(newest, most - 1)
            if not lo.size:
                if newest - oldest >= _MOST - w:
                    return _MOST
                w += max(newest - oldest + 1, 0)
                continue
            for k in range(oldest, newest + 1):
                start = k * slide + offset
                first = first_from(at, first, end, start)
                past = first_from(at, past, end, start + size)
                lo[w] = first
                hi[w] = past
                opens[w] = start
                segment[w] = s
                w += 1
    return w


@dataclass(frozen=True)
class Selection:
    """Which hopping windows to find, in segments whose rows come bit by bit.

    Windows of the segments from `open` on that end by `now`, and of the segments before `answered`
    that end behind `done`; None: all. Of the segments only every `places`-th, from `placed` on.
    """

    now: Any = None
    open: int = 0
    done: Any = None
    answered: int = 0
    places: int = 1
    placed: int = 0

    def limits(self, segments: int, first_behind: Callable[[Any], int]) -> tuple[int, ...]:
        """Return `places`, `placed`, `answered`, `since`, `open` and `until`, for the loops.

        Of the segments before `answered` they find the windows from number `since` on, and of those
        from `open` on the windows before number `until`. `first_behind` returns the number of the
        first window that ends behind a time.
        """
        answered, since = (0, 0) if self.done is None else (self.answered, first_behind(self.done))
        opened, until = (segments, 0) if self.now is None else (self.open, first_behind(self.now))
        return self.places, self.placed, answered, since, opened, until


EVERY_WINDOW = Selection()


def counted_then_written(
    loop: Callable[..., int], dtypes: Sequence[Any], named: str
) -> list[NDArray[Any]]:
    """Return the arrays that `loop` fills, which returns how long they must be if they are empty.

    Windows that memory has no room for are refused; `named` says whose they are.
    """
    count = loop(*(np.empty(0, dtype) for dtype in dtypes))
    check_room(count, named)
    arrays = [np.empty(count, dtype) for dtype in dtypes]
    loop(*arrays)
    return arrays


def hop_bounds(
    at: NDArray[Any],
    starts: Positions,
    size: Any,
    slide: Any,
    offset: Any = 0,
    selection: Selection = EVERY_WINDOW,
    named: str = "",
) -> list[NDArray[Any]]:
    """Return the windows [start, start + size) that hold a row, start = k·slide + offset.

    They are four arrays: the positions [lo, hi) of each window's rows, its start in the type of
    `at`, and its segment, ordered by segment and start. k is any whole number; times are int64 or
    float64, in order within a segment. O(rows + windows); a row lies in about size / slide of them.
    Windows that memory has no room for are refused before any is made; `named` says whose they are.

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
    _check_reach(at, starts, size, slide)
    kind = at.dtype.type
    sizes = [kind(number) for number in (size, slide, offset % slide)]
    limits = selection.limits(starts.size, lambda t: _first_behind(kind(t), *sizes))
    loop = partial(_hop, at, starts, *sizes, *limits)
    dtypes = np.int64, np.int64, at.dtype, np.int64
    return counted_then_written(loop, dtypes, named or f"range={size}, slide={slide}")


def _first_behind(t: Any, *sizes: Any) -> int:
    """Return the number of the first window that ends behind t."""
    size, slide, offset = (number.item() for number in sizes)
    if isinstance(size, int):
        first = (t.item() - size - offset) // slide + 1
        return min(max(first, -(2**62)), 2**62)
    return _around(t.item(), size, slide, offset)[0]


def _check_reach(at: NDArray[Any], starts: Positions, size: Any, slide: Any) -> None:
    """Refuse times whose windows have bounds that the type cannot tell."""
    filled = starts[:-1] < starts[1:]
    if not filled.any():
        return
    least = at[starts[:-1][filled]].min().item()
    most = at[starts[1:][filled] - 1].max().item()
    if at.dtype == np.int64:
        fits = least - size - slide >= -(2**63) and most + size + slide < 2**63
    else:
        fits = max(abs(least), abs(most)) + size < _FURTHEST * slide  # false for NaN and infinity
    if not fits:
        raise InvalidValue(
            f"times from {least} to {most}: windows of range={size} and slide={slide} have bounds "
            f"outside of what {at.dtype} holds exactly"
        )
