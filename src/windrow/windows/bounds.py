"""Where windows of sorted rows begin and end: the compiled loops, and what calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from windrow.compiled import compiled, inner
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.arrays import Positions, empty, in_threads, ordinary, stretches
from windrow.windows.room import check_room

Array = np.ndarray[Any, Any]

_FIRST = -(2**63)
_LAST = 2**63 - 1
# More windows are not counted.
_MOST = 2**62
_TOGETHER = 16
# From here on it is faster to walk.
_FAR = 64
# Starts further out than this many slides are no longer told apart by a float.
_FURTHEST = 2**52


@inner
def last_at(sorted_: Array, value: Any) -> int:
    """The last position whose value is not above `value`, −1 for none. O(log n).

    As `np.searchsorted` from the right, less 1, which takes half a second to compile.
    """
    below, above = -1, sorted_.size
    while above - below > 1:
        middle = (below + above) // 2
        if sorted_[middle] <= value:
            below = middle
        else:
            above = middle
    return below


@inner
def first_from(times: Array, begin: int, end: int, edge: Any) -> int:
    """The first position from `begin` on whose time is not before `edge`, or `end`.

    O(log) in how far it is: of the rows of a long slide only a few are looked at.
    """
    above = begin
    step = 1
    while above < end and times[above] < edge:
        begin = above + 1
        above += step
        step *= 2
    above = min(above, end)
    while begin < above:
        middle = (begin + above) // 2
        if times[middle] < edge:
            begin = middle + 1
        else:
            above = middle
    return begin


# -- the rows within a size of the current one ---------------------------------------------------


@inner
def _oldest(t: Any, size: Any, first: Any) -> Any:
    """The oldest time of the window at t; `first` where int64 does not reach so far back."""
    return first if t < first + size else t - size


def _older(time: Any, oldest: Any, from_start: bool) -> bool:
    """Whether a time lies before a window; those of whole numbers are closed at their start."""
    return (time < oldest) | ((time == oldest) & (not from_start))


@overload(_older, strict=False)
def _compiled_older(time: Any, oldest: Any, from_start: Any) -> Any:
    if isinstance(time, types.Integer):
        return lambda time, oldest, from_start: time < oldest
    return _older


@inner
def _fill_ends(
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
        while first < past:  # the first row of the same time
            middle = (first + past) // 2
            if at[middle] < at[begin]:
                first = middle + 1
            else:
                past = middle
        hi[begin] = past
        for i in range(begin + 1, stop):
            past = past if at[i] == at[i - 1] else i
            hi[i] = past


@compiled
def _fill(
    at: Array,
    starts: Array,
    begin: int,
    stop: int,
    size: Any,
    earliest: Any,
    from_start: bool,
    to_end: bool,
    lo: Array,
    hi: Array,
) -> None:
    """Write the bounds of the rows `begin` … `stop` − 1.

    The beginnings of 16 windows are found together. How far the last of them is from the first
    bounds the others, and counting the times in between that are too old is a vector operation,
    where walking would ask for each of them whether it is (15 ns a row at random times, not 8).
    """
    s = last_at(starts, begin)
    i = begin
    while i < stop:
        while starts[s + 1] <= i:
            s += 1
        first = starts[s]
        last = min(stop, starts[s + 1])
        _fill_ends(at, i, last, first, starts[s + 1], to_end, hi)
        above = i
        oldest = _oldest(at[i], size, earliest)
        while first < above:  # in the midst of a segment
            middle = (first + above) // 2
            if _older(at[middle], oldest, from_start):
                first = middle + 1
            else:
                above = middle
        while i < last:
            j = min(i + _TOGETHER, last)
            oldest = _oldest(at[j - 1], size, earliest)
            above = first
            while above < j and _older(at[above], oldest, from_start):
                above += _TOGETHER
            between = at[first : min(above, j)]
            if between.size <= _FAR:
                for k in range(i, j):
                    oldest = _oldest(at[k], size, earliest)
                    gone = 0
                    for p in range(between.size):
                        gone += _older(between[p], oldest, from_start)
                    lo[k] = min(first + gone, hi[k])
            else:
                above = first
                for k in range(i, j):
                    oldest = _oldest(at[k], size, earliest)
                    while above < k and _older(at[above], oldest, from_start):
                        above += 1
                    lo[k] = min(above, hi[k])
            first = lo[j - 1]
            i = j


def segment_bounds(
    at: NDArray[Any], starts: Positions, size: Any, closed: str, *, threads: int = 1
) -> tuple[Positions, Positions]:
    """The window of row i as positions lo[i] … hi[i] − 1, within its own segment. O(n).

    Times are int64 or float64, in order within each segment. Rows of equal time see each other
    where the window's end is closed.

    >>> segment_bounds(np.array([1, 2, 4, 1, 2]), np.array([0, 3, 5]), 1, "both")
    (array([0, 0, 2, 3, 3]), array([1, 2, 3, 4, 5]))
    """
    at, starts = ordinary(at), ordinary(starts)
    lo, hi = empty(at.size, np.int64), empty(at.size, np.int64)
    from_start, to_end = closed in ("both", "left"), closed in ("both", "right")
    earliest: Any = -np.inf
    reach, closed_start = size, from_start
    if at.dtype == np.int64:  # between two whole numbers there is none
        earliest = _FIRST
        reach, closed_start = (size if from_start else max(size - 1, 0)), True

    kind = at.dtype.type

    def fill(rows: tuple[int, int]) -> None:
        _fill(at, starts, *rows, kind(reach), kind(earliest), closed_start, to_end, lo, hi)

    in_threads(fill, stretches(at.size, threads))
    if size == 0 and not from_start:  # open at its only time, which might have none behind it
        lo[:] = hi
    return lo, hi


# -- frames: ends before the current row, or behind it -------------------------------------------


@inner
def _moved(t: Any, shift: Any, ends: Any) -> Any:
    """t + shift, held between the ends of the type: (first, last, first − shift, last − shift)."""
    return ends[0] if t < ends[2] else ends[1] if t > ends[3] else t + shift


@compiled
def _fill_edges(
    at: Array, starts: Array, begin: int, stop: int, shift: Any, ends: Any, keep: bool, out: Array
) -> None:
    """Write the first position whose time is not before each row's time + shift.

    It is found as in `_fill`, whose windows end with the row.
    """
    s = last_at(starts, begin)
    i = begin
    while i < stop:
        while starts[s + 1] <= i:
            s += 1
        first = starts[s]
        end = starts[s + 1]
        last = min(stop, end)
        above = end
        edge = _moved(at[i], shift, ends)
        while first < above:  # in the midst of a segment
            middle = (first + above) // 2
            if _older(at[middle], edge, keep):
                first = middle + 1
            else:
                above = middle
        while i < last:
            j = min(i + _TOGETHER, last)
            edge = _moved(at[j - 1], shift, ends)
            above = first
            while above < end and _older(at[above], edge, keep):
                above += _TOGETHER
            between = at[first : min(above, end)]
            if between.size <= _FAR:
                for k in range(i, j):
                    edge = _moved(at[k], shift, ends)
                    gone = 0
                    for p in range(between.size):
                        gone += _older(between[p], edge, keep)
                    out[k] = first + gone
            else:
                above = first
                for k in range(i, j):
                    edge = _moved(at[k], shift, ends)
                    while above < end and _older(at[above], edge, keep):
                        above += 1
                    out[k] = above
            first = out[j - 1]
            i = j


def frame_edges(
    at: NDArray[Any], starts: Positions, shift: Any, keep: bool, *, threads: int = 1
) -> Positions:
    """The first position in its segment that is not before each row's time + shift. O(n).

    One of exactly that time is not before it if it is to `keep`. So the start of a window that has
    its first time keeps it, and the end of one that has its last time does not.

    >>> at, starts = np.array([1, 2, 2, 4]), np.array([0, 4])
    >>> frame_edges(at, starts, 0, True), frame_edges(at, starts, 0, False)
    (array([0, 1, 1, 3]), array([1, 3, 3, 4]))
    """
    at, starts = ordinary(at), ordinary(starts)
    out = np.empty(at.size, np.int64)
    kind = at.dtype.type
    ends: tuple[Any, ...] = (-np.inf, np.inf, -np.inf, np.inf)
    whole = at.dtype == np.int64
    if whole:  # between two whole numbers there is none
        shift = int(shift) + (not keep)
        first, last = _FIRST, -_FIRST - 1
        ends = (first, last, first - min(shift, 0), last - max(shift, 0))
    numbers = tuple(kind(end) for end in ends)

    def fill(rows: tuple[int, int]) -> None:
        _fill_edges(at, starts, *rows, kind(shift), numbers, keep, out)

    in_threads(fill, stretches(at.size, threads))
    filled = starts[1:][np.diff(starts) > 0]
    if whole and shift > 0 and (at[filled - 1] > ends[3]).any():  # beyond all times that there are
        beyond = at > ends[3]
        out[beyond] = np.repeat(starts[1:], np.diff(starts))[beyond]
    return out


@inner
def frame_at(i: int, start: int, end: int, first: int, past: int) -> tuple[int, int]:
    """The positions [lo, hi) from `start` to `end` behind row i of a segment [first, past)."""
    hi = min(max(i + end + 1, first), past)
    return min(max(i + start, first), hi), hi


@compiled
def frame_of_rows(starts: Array, start: int, end: int, begin: int, lo: Array, hi: Array) -> None:
    """The rows from `start` to `end` behind each row from `begin` on: positions [lo, hi)."""
    s = last_at(starts, begin)
    stop = begin + lo.size
    while s < starts.size - 1 and starts[s] < stop:
        first = starts[s]
        past = starts[s + 1]
        for i in range(max(begin, first), min(stop, past)):
            lo[i - begin], hi[i - begin] = frame_at(i, start, end, first, past)
        s += 1


@compiled
def frame_of_some(starts: Array, start: int, end: int, rows: Array, lo: Array, hi: Array) -> None:
    """The same for some rows, found fastest in order."""
    s = 0
    for k in range(rows.size):
        i = rows[k]
        while starts[s + 1] <= i:
            s += 1
        if i < starts[s]:
            s = last_at(starts, i)
        hi[k] = min(max(i + end + 1, starts[s]), starts[s + 1])
        lo[k] = min(max(i + start, starts[s]), hi[k])


# -- hopping windows -----------------------------------------------------------------------------
#
# A row at t lies in the windows [start, start + size) whose start is in (t − size, t]:
#
#         start k          k+1          k+2                starts are k·slide + offset
#         ├────────────────┼───────────►
#                          ├──────t─────────┼───►
#         oldest k that reaches t  …  newest k that begins at t or before
#
# Both ends rise with t, so a segment's windows come in order: a pass from slide to slide counts
# them, and a second one with a pointer to either end of the window writes them. O(rows + windows).


def _around(t: Any, size: Any, slide: Any, offset: Any) -> tuple[int, int]:
    """The numbers of the oldest and of the newest window that hold t; none if they cross."""
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
    told: int,
    since: int,
    open_: int,
    until: int,
    lo: Array,
    hi: Array,
    opens: Array,
    segment: Array,
) -> int:
    """Return how many windows hold a row, and write them where there is room for them.

    Of the segments before `told` those from `since` on are asked for, and of those from `open_` on
    those up to `until`; of all segments every `places`-th.
    """
    w = done = 0
    for s in range(placed, starts.size - 1, places):
        i = first = past = starts[s]
        end = starts[s + 1]
        least = since if s < told else _FIRST
        most = until if s >= open_ else _LAST
        while i < end:
            oldest, newest = _around(at[i], size, slide, offset)
            if i > starts[s]:
                oldest = max(oldest, done + 1)
            done = newest
            if oldest > most:
                break
            # the next row that lies in a window which no row has reached
            i = first_from(at, i + 1, end, (newest + 1) * slide + offset)
            oldest = max(oldest, least)
            newest = min(newest, most)
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
class Asked:
    """Which hopping windows are asked for, of segments whose rows come bit by bit.

    Windows of the segments from `open` on that end by `now`, and of the segments before `told`
    that end behind `done`; None: all. Of the segments only every `places`-th, from `placed` on.
    """

    now: Any = None
    open: int = 0
    done: Any = None
    told: int = 0
    places: int = 1
    placed: int = 0


EVERY_WINDOW = Asked()


def hop_bounds(
    at: NDArray[Any],
    starts: Positions,
    size: Any,
    slide: Any,
    offset: Any = 0,
    asked: Asked = EVERY_WINDOW,
    named: str = "",
) -> tuple[Positions, Positions, NDArray[Any], Positions]:
    """The windows [start, start + size) that hold a row, start = k·slide + offset for a whole k.

    Gives the positions [lo, hi) of each window's rows, its start in the type of `at`, and its
    segment, ordered by segment and start. Times are int64 or float64, in order within a segment.
    O(rows + windows); a row lies in about size / slide of them. Windows that memory has no room
    for are refused before any is made; `named` says whose they are.

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
    sizes = [kind(each) for each in (size, slide, offset % slide)]
    told = 0 if asked.done is None else asked.told
    since = 0 if asked.done is None else _first_behind(kind(asked.done), *sizes)
    opened = starts.size if asked.now is None else asked.open
    until = 0 if asked.now is None else _first_behind(kind(asked.now), *sizes) - 1
    which = asked.places, asked.placed, told, since, opened, until
    m = 0
    for written in (False, True):  # the windows are counted, then written
        lo, hi, segment = (np.empty(m, np.int64) for _ in range(3))
        opens = np.empty(m, at.dtype)
        m = _hop(at, starts, *sizes, *which, lo, hi, opens, segment)
        if not written:
            check_room(m, named or f"range={size}, slide={slide}")
    return lo, hi, opens, segment


def _first_behind(t: Any, *sizes: Any) -> int:
    """The number of the first window that ends behind t."""
    size, slide, offset = (each.item() for each in sizes)
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


# -- the last rows, and phases of Two-Stacks ----------------------------------------------------


@compiled
def row_bounds(starts: Array, w: int, start: int, lo: Array, hi: Array) -> None:
    """The windows of the rows from `start` on, as many as `lo` has room for: positions [lo, hi)."""
    s = last_at(starts, start)
    stop = start + lo.size
    while s < starts.size - 1 and starts[s] < stop:
        first = max(start, starts[s])
        last = min(stop, starts[s + 1])
        for i in range(first, last):
            lo[i - start] = max(i + 1 - w, starts[s])
            hi[i - start] = i + 1
        s += 1


@inner
def phase_end(lo: Array, i: int, split: int) -> int:
    """The first window from i on that begins behind the split; O(log) in how far it is."""
    step = 1
    below = i
    above = i + 1
    while above < lo.size and lo[above] <= split:
        below = above
        above += step
        step *= 2
    return below + 2 + last_at(lo[below + 1 : min(above, lo.size)], split)


@compiled
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
