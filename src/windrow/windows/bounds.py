"""Where windows of sorted rows begin and end: the compiled loops, and what calls them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from windrow.compiled import compiled, inner
from windrow.windows.arrays import Positions, empty, in_threads, ordinary, stretches
from windrow.windows.edge_vectors import NEXT, ROWS, fill_eight_edges

Array = np.ndarray[Any, Any]

_FIRST = -(2**63)
_LAST = 2**63 - 1
_TOGETHER = 16  # rows whose edges are found at once
# From here on it is faster to walk.
_FAR = 64


@inner
def last_at(sorted_: Array, value: Any) -> int:
    """Return the last position whose value is not above `value`, −1 for none. O(log n).

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
    """Return the first position from `begin` on whose time is not before `edge`, or `end`.

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
def _moved(t: Any, shift: Any, ends: Any) -> Any:
    """t + shift, held between the ends of the type: (first, last, first − shift, last − shift)."""
    return ends[0] if t < ends[2] else ends[1] if t > ends[3] else t + shift


@lru_cache(maxsize=64)
def ends_of(dtype: np.dtype[Any], shift: Any, keep: bool) -> tuple[Any, tuple[Any, ...], bool]:
    """A shift, the ends of the type for `_moved`, and whether to keep an edge, for such times."""
    ends: tuple[Any, ...] = (-np.inf, np.inf, -np.inf, np.inf)
    if dtype == np.int64:  # between two whole numbers there is none
        shift, keep = int(shift) + (not keep), True
        ends = (_FIRST, _LAST, _FIRST - min(shift, 0), _LAST - max(shift, 0))
    kind = dtype.type
    return kind(shift), tuple(kind(end) for end in ends), keep


def _older(time: Any, oldest: Any, from_start: bool) -> bool:
    """Return whether a time lies before a window; of whole numbers the start is closed."""
    return (time < oldest) | ((time == oldest) & (not from_start))


@overload(_older, strict=False)
def _compiled_older(time: Any, oldest: Any, from_start: Any) -> Any:
    if isinstance(time, types.Integer):
        return lambda time, oldest, from_start: time < oldest
    return _older


@inner
def differ(times: Array) -> bool:
    """Return whether no time is the one before."""
    later = times[1:]
    alike = 0
    for i in range(later.size):
        alike += times[i] == later[i]
    return alike == 0


@inner
def fill_ends(
    at: Array, begin: int, stop: int, first: int, end: int, to_end: bool, hi: Array
) -> None:
    """Write the first position behind each row's time (`to_end`), or the first that has it."""
    past = begin
    if to_end:
        i = begin
        while i < stop:
            j = min(i + _FAR, stop)
            if past <= i and j < end and differ(at[i : j + 1]):
                ends = hi[i:j]
                for k in range(ends.size):
                    ends[k] = i + 1 + k
                i = j
                continue
            for k in range(i, j):
                if k >= past:
                    past = k + 1
                    while past < end and at[past] == at[k]:
                        past += 1
                hi[k] = past
            i = j
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


@inner
def fill_edges(
    at: Array,
    begin: int,
    stop: int,
    first: int,
    end: int,
    shift: Any,
    ends: Any,
    keep: bool,
    out: Array,
) -> None:
    """Write the first position of [first, end) whose time is not before each row's time + shift.

    Where eight of them are not further apart than `NEXT` times, `fill_eight_edges` does it (2 ns a
    row). Else the edges of 16 rows are found together. How far the last of them is from the first
    bounds the others, and counting the times in between that are too old is a vector operation,
    where walking would ask for each of them whether it is (15 ns a row at random times, not 8).
    """
    above = first
    step = 1
    edge = _moved(at[begin], shift, ends)
    while above < end and _older(at[above], edge, keep):  # in the midst of a segment
        first = above + 1
        above += step
        step *= 2
    above = min(above, end)
    while first < above:
        middle = (first + above) // 2
        if _older(at[middle], edge, keep):
            first = middle + 1
        else:
            above = middle
    i = begin
    while i < stop:
        if i + ROWS <= stop and first + NEXT < end:
            edge = _moved(at[i + ROWS - 1], shift, ends)
            if not _older(at[first + NEXT], edge, keep):
                first = fill_eight_edges(at, i, first, shift, ends, keep, out)  # type: ignore[call-arg]
                i += ROWS
                continue
        j = min(i + _TOGETHER, stop)
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


@inner
def widths(lo: Array, hi: Array) -> tuple[int, int]:
    """Return the lengths of the shortest and of the longest window; (`_LAST`, 0) for none."""
    least = _LAST
    most = 0
    for i in range(lo.size):
        least = min(least, hi[i] - lo[i])
        most = max(most, hi[i] - lo[i])
    return least, most


@compiled
def _fill_moved(
    at: Array, starts: Array, begin: int, stop: int, shift: Any, ends: Any, keep: bool, out: Array
) -> None:
    """Write the first position that is not before the time + shift of rows `begin` … `stop` − 1."""
    s = last_at(starts, begin)
    while begin < stop:
        while starts[s + 1] <= begin:
            s += 1
        last = min(stop, starts[s + 1])
        fill_edges(at, begin, last, starts[s], starts[s + 1], shift, ends, keep, out)
        begin = last


# -- frames: ends before the current row, or behind it -------------------------------------------


def frame_edges(
    at: NDArray[Any], starts: Positions, shift: Any, keep: bool, *, threads: int = 1
) -> Positions:
    """Return the first position in its segment that is not before each row's time + shift. O(n).

    One of exactly that time is not before it if it is to `keep`. So the start of a window that has
    its first time keeps it, and the end of one that has its last time does not.

    >>> at, starts = np.array([1, 2, 2, 4]), np.array([0, 4])
    >>> frame_edges(at, starts, 0, True), frame_edges(at, starts, 0, False)
    (array([0, 1, 1, 3]), array([1, 3, 3, 4]))
    """
    at, starts = ordinary(at), ordinary(starts)
    out = empty(at.size, np.int64)
    if shift == 0:
        _fill_peers(at, starts, keep, out)
        return out
    numbers = shift, ends, keep = ends_of(at.dtype, shift, keep)

    def fill(rows: tuple[int, int]) -> None:
        _fill_moved(at, starts, *rows, *numbers, out)

    in_threads(fill, stretches(at.size, threads))
    filled = starts[1:][np.diff(starts) > 0]
    if shift > 0 and (at[filled - 1] > ends[3]).any():  # beyond all times that there are
        beyond = at > ends[3]
        out[beyond] = np.repeat(starts[1:], np.diff(starts))[beyond]
    return out


@compiled
def _fill_peers(at: Array, starts: Array, first: bool, out: Array) -> None:
    """Write where the rows of each row's time begin in its segment, or the first row behind them.

    Without a branch that might be guessed wrong: 0.5 ns a row.
    """
    for s in range(starts.size - 1):
        own = at[starts[s] : starts[s + 1]]
        row = out[starts[s] : starts[s + 1]]
        if not own.size:
            continue
        if first:
            edge = starts[s]
            row[0] = edge
            for i in range(1, own.size):
                edge = edge if own[i] == own[i - 1] else starts[s] + i
                row[i] = edge
        else:
            edge = starts[s + 1]
            row[own.size - 1] = edge
            last = np.uint64(own.size - 1)
            for k in range(last):  # unsigned, and so never negative for the compiler to ask
                behind = last - np.uint64(k)
                before = behind - np.uint64(1)
                edge = edge if own[before] == own[behind] else starts[s + 1] - 1 - k
                row[before] = edge


@inner
def frame_at(i: int, start: int, end: int, first: int, past: int) -> tuple[int, int]:
    """Return the positions [lo, hi) from `start` to `end` behind row i, within [first, past)."""
    hi = min(max(i + end + 1, first), past)
    return min(max(i + start, first), hi), hi


@compiled
def frame_of_rows(starts: Array, start: int, end: int, begin: int, lo: Array, hi: Array) -> None:
    """Write the rows from `start` to `end` behind each row from `begin` on: positions [lo, hi)."""
    s = last_at(starts, begin)
    stop = begin + lo.size
    while s < starts.size - 1 and starts[s] < stop:
        first = starts[s]
        past = starts[s + 1]
        for i in range(max(begin, first), min(stop, past)):
            lo[i - begin], hi[i - begin] = frame_at(i, start, end, first, past)
        s += 1


@compiled
def frame_of_groups(groups: Array, keys: Array, start: int, end: int, lo: Array, hi: Array) -> None:
    """Write the rows of the groups from `start` to `end` behind each row's own: [lo, hi).

    Groups begin at these positions, the last of which is the end of all; a key has whole ones.
    """
    first = 0
    for k in range(keys.size - 1):
        past = first
        while groups[past] < keys[k + 1]:
            past += 1
        for g in range(first, past):
            a, b = frame_at(g, start, end, first, past)
            for i in range(groups[g], groups[g + 1]):
                lo[i] = groups[a]
                hi[i] = groups[b]
        first = past


@compiled
def frame_of_some(starts: Array, start: int, end: int, rows: Array, lo: Array, hi: Array) -> None:
    """Write the same for these rows only; it is fastest if they are in order."""
    s = 0
    for k in range(rows.size):
        i = rows[k]
        while starts[s + 1] <= i:
            s += 1
        if i < starts[s]:
            s = last_at(starts, i)
        lo[k], hi[k] = frame_at(i, start, end, starts[s], starts[s + 1])


# -- the last rows, and phases of Two-Stacks ----------------------------------------------------


@compiled
def row_bounds(starts: Array, w: int, start: int, lo: Array, hi: Array) -> None:
    """Write the windows of the last w rows, of the rows from `start` on: positions [lo, hi)."""
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
    """Return the first window from i on that begins behind the split; O(log) in how far it is."""
    step = 1
    below = i
    above = i + 1
    while above < lo.size and lo[above] <= split:
        below = above
        above += step
        step *= 2
    return below + 2 + last_at(lo[below + 1 : min(above, lo.size)], split)


@inner
def next_phase(lo: Array, hi: Array, i: int, end: int) -> tuple[int, int, int, int]:
    """Return the phase of Two-Stacks that window i begins; the one before ended at `end`.

    It is where its windows begin, where they are split, the first window behind them, and where
    they end.
    """
    split = max(lo[i], end)
    last = phase_end(lo, i, split)
    return lo[i], split, last, max(hi[last - 1], split)


@compiled
def phase_after(lo: Array, hi: Array, begin: int, wanted: int) -> tuple[int, int]:
    """Return the first window from `wanted` on that begins a phase, and the split before it.

    Window `begin` shares no value with the one before.
    """
    i = begin
    split = lo[i]
    end = split
    while i < lo.size:
        _, split, i, end = next_phase(lo, hi, i, end)
        if i >= wanted:
            break
    return i, split
