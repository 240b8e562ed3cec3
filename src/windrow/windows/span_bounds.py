"""Windows along the order by their bounds, and how long they are.

The rows come in tiles. Both bounds of a tile's windows are found, and measured while they are in
the cache: to read them again takes as long as a third of what it takes to find them. So whoever
asks which windows have too few rows looks at the tiles alone that have one.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.compiled import compiled, inner
from windrow.windows.arrays import Positions, in_threads, ordinary, roomy, stretches
from windrow.windows.bounds import ends_of, fill_edges, fill_ends, last_at, widths

Array = np.ndarray[Any, Any]

TILE = 1 << 11  # rows
_LAST = 2**63 - 1


@inner
def _measure_sides(lo: Array, hi: Array, row: int, measures: Array) -> None:
    """Add to the measures of a tile those of windows of the rows from `row` on, on both sides."""
    least = least_before = least_behind = _LAST
    most = most_before = most_behind = before = behind = 0
    for i in range(lo.size):
        older = row + i - lo[i]
        newer = hi[i] - (row + i + 1)
        before += older
        behind += newer
        least = min(least, older + newer + 1)
        most = max(most, older + newer + 1)
        least_before = min(least_before, older)
        most_before = max(most_before, older)
        least_behind = min(least_behind, newer)
        most_behind = max(most_behind, newer)
    measures[0] = min(measures[0], least)
    measures[1] = max(measures[1], most)
    measures[2] = min(measures[2], least_before)
    measures[3] = max(measures[3], most_before)
    measures[4] = min(measures[4], least_behind)
    measures[5] = max(measures[5], most_behind)
    measures[6] += before
    measures[7] += behind


class Extent(NamedTuple):
    """How long the shortest of each `TILE` windows is, and the longest of all of them."""

    shortest: Positions
    longest: int


class Measures:
    """The lengths of windows, a tile of them at a time.

    Each row of `found` is a tile: the lengths of the shortest window and of the longest, and with
    `sides` the same of what they have before their own rows and behind them, and how many rows
    that is of all of them together. `around` says that each is known to have its own row.
    """

    def __init__(self, windows: int, sides: bool, around: bool = False) -> None:
        self.sides, self._around = sides, around
        self.found = np.zeros((-(-windows // TILE), 8 if sides else 2), np.int64)
        self.found[:, 0:6:2] = _LAST

    def extent(self, side: int = 0) -> Extent:
        """That of the windows (0), of what is before their rows (1) or behind them (2)."""
        shortest, longest = self.found[:, 2 * side], self.found[:, 2 * side + 1]
        return Extent(ordinary(shortest), int(longest.max(initial=0)))

    @property
    def around(self) -> bool:
        """Whether each window has its own row, as far as that is known."""
        return self._around or bool(self.sides and self.found[:, 2:6:2].min(initial=0) >= 0)


@inner
def _fill_side(
    at: Array, begin: int, stop: int, first: int, end: int, side: Any, out: Array
) -> None:
    """Write one end of the windows of rows `begin` … `stop` − 1 of a segment [first, end).

    `side` is as `_side` makes it.
    """
    shift, ends, keep, now = side
    if now:
        fill_ends(at, begin, stop, first, end, not keep, out)
        return
    fill_edges(at, begin, stop, first, end, shift, ends, keep, out)
    if at[stop - 1] > ends[3]:  # beyond all times that there are
        for i in range(begin, stop):
            out[i] = end if at[i] > ends[3] else out[i]


@compiled
def _fill_bounds(
    at: Array,
    starts: Array,
    begin: int,
    stop: int,
    start: Any,
    end: Any,
    held: bool,
    lo: Array,
    hi: Array,
    measures: Array,
) -> None:
    """Write the bounds of the rows `begin` … `stop` − 1, `begin` being the first of a tile."""
    s = last_at(starts, begin)
    early, late = starts[s], starts[s]  # before which no bound of the next window is
    while begin < stop:
        while starts[s + 1] <= begin:
            s += 1
            early, late = starts[s], starts[s]
        past = starts[s + 1]
        last = min(min(stop, past), (begin // TILE + 1) * TILE)
        _fill_side(at, begin, last, late, past, end, hi)
        _fill_side(at, begin, last, early, past, start, lo)
        early, late = lo[last - 1], hi[last - 1]
        los, his = lo[begin:last], hi[begin:last]
        if held:
            for i in range(los.size):
                los[i] = min(los[i], his[i])
        tile = measures[begin // TILE]
        if tile.size > 2:
            _measure_sides(los, his, begin, tile)
        else:
            least, most = widths(los, his)
            tile[0] = min(tile[0], least)
            tile[1] = max(tile[1], most)
        begin = last


def _side(at: NDArray[Any], shift: Any, keep: bool) -> tuple[Any, ...]:
    """Return one end of windows as `_fill_side` takes it: `ends_of`, and whether it is now."""
    if shift == 0:
        return (*ends_of(at.dtype, shift, True)[:2], keep, True)
    return (*ends_of(at.dtype, shift, keep), False)


def measured_bounds(
    at: NDArray[Any],
    starts: Positions,
    start: tuple[Any, bool],
    end: tuple[Any, bool],
    *,
    sides: bool = False,
    threads: int = 1,
) -> tuple[Positions, Positions, Measures]:
    """Return the windows of rows, [lo[i], hi[i]) within the row's segment, and measures. O(n).

    A window begins with the first time that is not before the row's + `start`, and ends before the
    first that is not before the row's + `end`. Both ends are pairs: how far, and whether to keep a
    time of exactly that. Times are int64 or float64, in order within each segment.
    `sides` are measured where windows may lack their own row, or have nothing on one side of it.
    """
    at, starts = ordinary(at), ordinary(starts)
    lo, hi = roomy(at.size, np.int64), roomy(at.size, np.int64)
    numbers = _side(at, *start), _side(at, *end)
    # nothing lies between two open ends that are one, as those of a size are that is lost in a time
    held = not start[1] and (start[0] == end[0] or at.dtype != np.int64)
    # a distance may be lost in a time that is a float, and then an open end is the time itself
    exact = at.dtype == np.int64 or (start[1] and not end[1])
    around = bool(start[0] < 0 < end[0]) and exact
    measures = Measures(at.size, sides and not around, around)

    def fill(rows: tuple[int, int]) -> None:
        _fill_bounds(at, starts, *rows, *numbers, held, lo, hi, measures.found)

    cuts = [a // TILE * TILE for a, _ in stretches(at.size, threads)] + [at.size]
    in_threads(fill, list(itertools.pairwise(cuts)))
    return lo, hi, measures


def sides_measured(lo: Positions, hi: Positions, first: int) -> Measures:
    """Return the measures of windows and of both their sides; window i is that of row first + i."""
    measures = Measures(lo.size, sides=True)
    _measure(ordinary(lo), ordinary(hi), first, measures.found)
    return measures


@compiled
def _measure(lo: Array, hi: Array, first: int, measures: Array) -> None:
    """Add the measures of windows, on both sides, tile by tile."""
    for k in range(0, lo.size, TILE):
        _measure_sides(lo[k : k + TILE], hi[k : k + TILE], first + k, measures[k // TILE])
