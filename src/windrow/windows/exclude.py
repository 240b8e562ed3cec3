"""Windows of which rows are left out: their parts before and behind these rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.compiled import compiled
from windrow.windows.arrays import Positions, empty, ordinary, widened
from windrow.windows.bounds import differ
from windrow.windows.positions import Windows
from windrow.windows.sorted_rows import Bounds, SortedRows
from windrow.windows.span_bounds import Measures, sides_measured

Array = np.ndarray[Any, Any]

_TILE = 1 << 12  # rows that are compared before it is asked whether some are alike


def parts_without(
    rows: SortedRows, bounds: Bounds, exclude: str, measures: Measures | None = None
) -> Sequence[Windows]:
    """The windows as parts before and behind what is left out of them; and the row among ties.

    `measures` are those of both sides of each row, if windows were measured so.
    """
    assert exclude == "current row" or rows.at is not None
    equal = None if rows.at is None or exclude == "current row" else peers(rows.at, rows.starts)
    if equal is None:
        return [bounds.windows] if exclude == "ties" else _around(rows, bounds, measures)
    lo, hi = bounds.windows.bounds()
    here = rows.positions(bounds.beside)
    first, past = (edge[bounds.beside] for edge in equal)
    ends = [lo, *held_between(first, past, lo, hi), hi]
    if exclude == "ties":
        ends[2:2] = held_between(here, here + 1, lo, hi)
    back = bounds.windows.go_back
    parts = [
        Windows(rows.starts, lo=a, hi=b, go_back=back)
        for a, b in zip(ends[::2], ends[1::2], strict=True)
    ]
    return [part for part in parts if part.filled] or parts[:1]


class Around(Sequence[Windows]):
    """Windows without their current rows, as parts before and behind them.

    Window i of `windows` is that of row `first` + i, which is one of its rows. The parts are told
    by their positions once they are asked for.
    """

    def __init__(self, windows: Windows, first: int, measures: Measures) -> None:
        self.windows, self.first = replace(windows, extent=measures.extent()), first
        self._given = measures

    @cached_property
    def _measures(self) -> Measures:
        """The measures of both sides."""
        given = self._given
        return given if given.sides else sides_measured(*self.windows.bounds(), self.first)

    @cached_property
    def beside(self) -> tuple[int, int]:
        """How many rows windows have before their own and behind it, all together."""
        before, behind = (int(rows) for rows in self._measures.found[:, 6:].sum(axis=0))
        return before, behind

    @cached_property
    def _parts(self) -> tuple[Windows, Windows]:
        lo, hi = self.windows.bounds()
        rows = empty(lo.size + 1, np.int64)
        _count_up(self.first, rows)
        before, behind = self._measures.extent(1), self._measures.extent(2)
        older = replace(self.windows, lo=lo, hi=rows[:-1], extent=before)
        return older, replace(self.windows, lo=rows[1:], hi=hi, extent=behind)

    def side(self) -> Windows | None:
        """The windows without their rows, if these are the first or the last of all; else None.

        The rows are then told by one of the bounds, which only has to be moved by a place.
        """
        if not self._given.sides or all(self.beside):
            return None
        lo, hi = self.windows.bounds()
        newer = self.beside[0] == 0
        wide = widened(lo, 0, 1) if newer else widened(hi, 1, 0)
        if wide is None:
            return self._parts[1 if newer else 0]
        wide[-1 if newer else 0] = self.first + (lo.size if newer else 0)
        extent = self._measures.extent(2 if newer else 1)
        if newer:
            return replace(self.windows, lo=wide[1:], extent=extent)
        return replace(self.windows, hi=wide[:-1], extent=extent)

    def __getitem__(self, i: Any) -> Any:
        return self._parts[i]

    def __len__(self) -> int:
        return 2


def _around(rows: SortedRows, bounds: Bounds, measures: Measures | None) -> Sequence[Windows]:
    """The windows as parts before and behind the current row, those that have a row at all."""
    windows = bounds.windows
    lo, hi = windows.bounds()
    if isinstance(bounds.beside, slice) and not windows.go_back:
        first = bounds.beside.start or 0
        if measures is None or not (measures.sides or measures.around):
            measures = sides_measured(lo, hi, first)  # a group was to be left out, and has one row
        if measures.around:
            around = Around(windows, first, measures)
            side = around.side()
            return around if side is None else [side]
    here = rows.positions(bounds.beside)
    end, begin = held_between(here, here + 1, lo, hi)
    parts = [
        Windows(rows.starts, lo=a, hi=b, go_back=windows.go_back)
        for a, b in ((lo, end), (begin, hi))
    ]
    return [part for part in parts if part.filled] or parts[:1]


@compiled
def _count_up(first: int, out: Array) -> None:
    for i in range(out.size):
        out[i] = first + i


def held_between(
    first: Positions, past: Positions, lo: Positions, hi: Positions
) -> tuple[Positions, Positions]:
    """Each of two positions, or the end of the window [lo, hi) that is nearer to it.

    >>> held_between(np.array([0, 3]), np.array([2, 5]), np.array([1, 2]), np.array([3, 4]))
    (array([1, 3]), array([2, 4]))
    """
    if _all_within(first, past, lo, hi):
        return first, past
    held = np.empty(lo.size, np.int64), np.empty(lo.size, np.int64)
    _hold(first, past, lo, hi, *held)
    return held


@compiled
def _all_within(first: Array, past: Array, lo: Array, hi: Array) -> bool:
    outside = 0
    for i in range(lo.size):
        outside += (first[i] < lo[i]) | (past[i] > hi[i])
    return outside == 0


@compiled
def _hold(first: Array, past: Array, lo: Array, hi: Array, a: Array, b: Array) -> None:
    for i in range(a.size):
        a[i] = min(max(first[i], lo[i]), hi[i])
        b[i] = min(max(past[i], lo[i]), hi[i])


def peers(at: NDArray[Any], starts: Positions) -> tuple[Positions, Positions] | None:
    """The first row of each row's segment that has its order, and the first behind them.

    None if no two rows of a segment have the same.

    >>> peers(np.array([1, 2, 2, 2]), np.array([0, 3, 4]))
    (array([0, 1, 1, 3]), array([1, 3, 3, 4]))
    """
    at, starts = ordinary(at), ordinary(starts)
    if not _have_ties(at, starts):
        return None
    first, past = empty(at.size, np.int64), empty(at.size, np.int64)
    _fill_peers(at, starts, first, past)
    return first, past


@compiled
def _have_ties(at: Array, starts: Array) -> bool:
    """Whether two rows of a segment have the same order."""
    for s in range(starts.size - 1):
        for i in range(starts[s], starts[s + 1], _TILE):
            if not differ(at[i : min(i + _TILE + 1, starts[s + 1])]):
                return True
    return False


@compiled
def _fill_peers(at: Array, starts: Array, first: Array, past: Array) -> None:
    for s in range(starts.size - 1):
        begin = starts[s]
        while begin < starts[s + 1]:
            end = begin + 1
            while end < starts[s + 1] and at[end] == at[begin]:
                end += 1
            for i in range(begin, end):
                first[i] = begin
                past[i] = end
            begin = end
