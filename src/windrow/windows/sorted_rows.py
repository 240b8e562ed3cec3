"""Rows that are sorted by key and order, as windows see them, and the windows over them.

        rows as they came       sorted by key, then order      windows of positions
        b 10:02                 a 10:00  ┐                      [0, 1)
        a 10:00                 a 10:05  ┘                      [0, 2)
        a 10:05                 b 10:02                         [2, 3)

Both bounds of the windows never go back, over all keys, so one pass of one loop answers them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import Record
from windrow.windows.arrays import Positions
from windrow.windows.positions import Windows
from windrow.windows.sizes import Axis

# Rows without an order come first and are equal to each other, as in Spark; NaN comes last.
NULL, PLACED, NAN = 0, 1, 2

Chosen = slice | Positions
EVERY = slice(None)


class RowReader(Protocol):
    """The values of sorted rows, for windows that a function or a condition decides about."""

    parts: Mapping[str, Aggregation]  # the aggregations of the query, by the names of their results

    def satisfying(self, condition: Any) -> NDArray[np.bool_]:
        """Which rows satisfy a condition, an expression or a function of a row."""

    def record(self, position: int) -> Record:
        """The columns that the aggregations read, in the row at a position."""

    def described(self, position: int) -> dict[str, Any]:
        """What tells a user which row it is."""


@dataclass(frozen=True)
class SortedRows:
    """Positions 0 … n−1 of rows that are sorted by key and order.

    A stretch is the rows of one key, from one of `starts` to the next; no window reaches over its
    ends. Where rows have no place in the order, `keys` are fewer than stretches: those of a key
    without an order, with one, and with NaN are apart.

    Where more rows are to come, or some were here before:

    - `fresh`: the positions whose results are asked for; the others were answered already;
    - `now`: no row to come lies before it in the order; None: no row comes any more;
    - `open`: the first stretch that rows may still come to (those before it are complete);
    - `done`, `told`: windows of the first `told` stretches that end by `done` were answered;
    - `before`: how many rows of each stretch came before these, and are gone;
    - `weights`: how many rows each of these stands for; None: one each;
    - `lengths`: how many rows a policy left in the window of each row; −1 where it was not asked.
    """

    starts: Positions
    keys: Positions
    at: NDArray[Any] | None = None  # the order, where windows are measured along it …
    axis: Axis | None = None  # … and its unit
    threads: int = 1
    values: RowReader | None = None
    fresh: Chosen = field(default_factory=lambda: EVERY)
    now: Any = None
    open: int = 0
    done: Any = None
    told: int = 0
    before: Positions | None = None
    weights: Positions | None = None
    lengths: Positions | None = None

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.starts[-1])

    @property
    def last_key(self) -> int:
        """The number of the key of the last row."""
        return int(np.searchsorted(self.keys, self.size, side="left")) - 1

    @property
    def last_stretch(self) -> int:
        """The number of the stretch of the last row."""
        return int(np.searchsorted(self.starts, self.size, side="left")) - 1

    @property
    def places(self) -> int:
        """How many stretches a key has: 3 where some rows have no order, else 1."""
        return 1 if self.keys.size == self.starts.size else 3

    def positions(self, chosen: Chosen) -> Positions:
        """Some positions as an array."""
        return _positions(chosen, self.size)

    def settled(self) -> Chosen:
        """The fresh positions that no row to come is equal to in the order."""
        if self.now is None or self.at is None:
            return self.fresh
        begin = int(self.starts[self.open])
        waiting = begin + np.flatnonzero(self.at[begin:] >= self.now)
        if not waiting.size:
            return self.fresh
        if isinstance(self.fresh, slice):  # the rows that wait are the last ones
            first = self.fresh.start or 0
            return slice(first, max(first, int(waiting[0])))
        return np.setdiff1d(self.fresh, waiting, assume_unique=True)

    def begins(self, positions: Positions) -> Positions:
        """Where the stretches of some positions begin."""
        return self.starts[np.searchsorted(self.starts, positions, side="right") - 1]

    def last_rows(self, positions: Positions, count: int | None) -> Positions:
        """Where the last `count` rows up to each position begin; None: with the stretch."""
        begin = self.begins(positions)
        if count is None:
            return begin
        if self.weights is None:
            return np.maximum(begin, positions + 1 - count)
        total = np.concatenate([[0], np.cumsum(self.weights)])
        found = np.searchsorted(total, total[positions + 1] - count, side="left")
        return np.maximum(begin, found)

    def numbers(self) -> Positions:
        """The number of each row in its stretch, from 1, with those before it counted."""
        lengths = np.diff(self.starts)
        count = np.arange(self.size + 1)
        if self.weights is not None:
            count = np.concatenate([[0], np.cumsum(self.weights)])
        number = count[1:] - np.repeat(count[self.starts[:-1]], lengths)
        before = 0 if self.before is None else np.repeat(self.before, lengths)
        numbers: Positions = number + before
        return numbers

    def since(self, order: Any) -> Positions:
        """For each stretch, the first position that is not before `order`; its start if None."""
        if order is None or self.at is None:
            return self.starts[:-1]
        within = np.concatenate([[0], np.cumsum(self.at >= order)])
        first: Positions = self.starts[1:] - np.diff(within[self.starts])
        return first

    def windows(self, lo: Positions, hi: Positions, beside: Chosen) -> Bounds:
        """The windows [lo, hi), with a result beside each of these rows."""
        return Bounds(Windows(self.starts, lo=lo, hi=hi), beside)


@dataclass(frozen=True)
class Bounds:
    """Windows over sorted rows, and what each result belongs to.

    A result stands beside the row at a position of `beside`. Where results are rows of their own,
    `ends` says where each window starts and ends, and `key` of which key it is.
    """

    windows: Windows
    beside: Chosen = field(default_factory=lambda: EVERY)
    ends: tuple[NDArray[Any], NDArray[Any]] | None = None
    key: Positions | None = None

    @property
    def every(self) -> bool:
        """Whether there is a result beside every row."""
        return self.key is None and isinstance(self.beside, slice) and self.beside == EVERY

    def places(self, rows: SortedRows) -> Positions:
        """The position of each result's row; of a window with its own row, the first of its key."""
        return rows.positions(self.beside) if self.key is None else rows.keys[self.key]

    def keys(self, rows: SortedRows) -> Positions:
        """The key of each result."""
        if self.key is not None:
            return self.key
        return np.searchsorted(rows.keys, self.places(rows), side="right") - 1

    def chosen(self, some: Chosen) -> Bounds:
        """Some of the windows, by their number."""
        lo, hi = self.windows.bounds()
        windows = Windows(self.windows.starts, lo=lo[some], hi=hi[some])
        if self.key is None or self.ends is None:
            beside = _positions(self.beside, self.windows.n)[some]
            return replace(self, windows=windows, beside=beside)
        opens, closes = self.ends
        return Bounds(windows, ends=(opens[some], closes[some]), key=self.key[some])


def _positions(chosen: Chosen, n: int) -> Positions:
    return np.arange(*chosen.indices(n)) if isinstance(chosen, slice) else chosen


def no_windows(rows: SortedRows) -> Bounds:
    """No window at all over some rows."""
    nothing = np.empty(0, np.int64)
    return rows.windows(nothing, nothing, nothing)
