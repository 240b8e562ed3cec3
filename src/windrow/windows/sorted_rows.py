"""Rows that are sorted by key and order, as windows see them, and where windows over them lie.

        rows as they came       sorted by key, then order      windows of positions
        b 10:02                 a 10:00  ┐                      [0, 1)
        a 10:00                 a 10:05  ┘                      [0, 2)
        a 10:05                 b 10:02                         [2, 3)

Kinds of windows take `SortedRows` and give `Bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.windows.arrays import Positions
from windrow.windows.positions import EVERY, Chosen, Windows
from windrow.windows.sizes import Axis

if TYPE_CHECKING:
    from windrow.windows.span_bounds import Extent
    from windrow.windows.until import PolicyProgress, Tree

# Rows without an order come first and are equal to each other, as in Spark; NaN comes last.
NULL, PLACED, NAN = 0, 1, 2


class RowReader(Protocol):
    """The values of sorted rows, for windows that a function or a condition decides about."""

    @property
    def aggregation(self) -> Aggregation:
        """All aggregations of the query as one: a policy sees their results."""

    def satisfying(self, condition: Any) -> NDArray[np.bool_]:
        """Return which rows satisfy a condition, an expression or a function of a row."""

    def numbers(self, column: str | None) -> NDArray[np.float64]:
        """Return the values of a column of numbers, NaN for nulls; None stands for the only one."""

    def records(self, begin: int, stop: int) -> Sequence[Any]:
        """Return the rows `begin` … `stop` − 1 as the aggregation takes them."""

    def policy_starts(self, progress: PolicyProgress) -> Positions | None:
        """Return where the windows of a policy begin, by machine code; None if it is not compiled.

        A segment for which that does not do is `UNKNOWN`.
        """

    def described(self, position: int) -> dict[str, Any]:
        """Return what tells a user which row it is."""


@dataclass(eq=False)  # frozen ones take three times as long to make
class SortedRows:
    """Positions 0 … n−1 of rows that are sorted by key and order.

    A segment is the rows of one key, from one of `starts` to the next; no window reaches over its
    ends. Where rows have no place in the order, `keys` are fewer than segments: those of a key
    without an order, with one, and with NaN are apart.

    Where more rows are to come, or some were here before:

    - `fresh`: the positions whose results are asked for; the others were answered already;
    - `now`: no row to come lies before it in the order; None: no row comes any more;
    - `open`: the first segment that rows may still come to (those before it are complete);
    - `over`: the segments that no row comes to any more; None: no row comes any more;
    - `done`: windows of the first `answered` segments that end by `done` had their results;
    - `before`: how many rows of each segment came before these, and are gone;
    - `weights`: how many rows each of these stands for; None: one each;
    - `lengths`: how many rows a policy left in the window of each row; −1 where it was not asked;
    - `trees`: of segments, what a policy that is not compiled has found out about their rows.
    """

    starts: Positions
    keys: Positions
    at: NDArray[Any] | None = None  # the order, where windows are measured along it …
    axis: Axis | None = None  # … and its unit
    sizes: NDArray[Any] | None = None  # in this unit, what each row has for a size of its own
    threads: int = 1
    values: RowReader | None = None
    fresh: Chosen = field(default_factory=lambda: EVERY)
    now: Any = None
    open: int = 0
    over: NDArray[np.bool_] | None = None
    done: Any = None
    answered: int = 0
    before: Positions | None = None
    weights: Positions | None = None
    lengths: Positions | None = None
    trees: dict[int, Tree] | None = None

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.starts[-1])

    @property
    def last_key(self) -> int:
        """The number of the key of the last row."""
        return int(np.searchsorted(self.keys, self.size, side="left")) - 1

    @property
    def last_segment(self) -> int:
        """The number of the segment of the last row."""
        return int(np.searchsorted(self.starts, self.size, side="left")) - 1

    @property
    def places(self) -> int:
        """How many segments a key has: 3 where some rows have no order, else 1."""
        return 1 if self.keys.size == self.starts.size else 3

    @property
    def first_placed(self) -> int:
        """The number of the first segment whose rows have an order."""
        return PLACED if self.places > 1 else 0

    def positions(self, chosen: Chosen) -> Positions:
        """Return these positions as an array."""
        return _positions(chosen, self.size)

    def settled(self) -> Chosen:
        """Return the fresh positions that no row to come is equal to in the order."""
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

    def ready(self, waiting: Positions, whole_keys: bool) -> Chosen:
        """Return the fresh positions that wait for no row to come.

        `waiting` has the first position that does for each segment that is not over; `whole_keys`:
        as long as one segment of its key is not.
        """
        if self.over is None:
            return self.fresh
        over = self.over
        if whole_keys and self.places > 1:
            over = np.repeat(over.reshape(-1, self.places).all(axis=1), self.places)
        first = np.where(over, self.starts[1:], waiting)
        if isinstance(self.fresh, slice):  # the rows that wait are the last ones
            begin = self.fresh.start or 0
            stop = first[first < self.starts[1:]].min(initial=self.size)
            return slice(begin, max(begin, int(stop)))
        segment = np.searchsorted(self.starts, self.fresh, side="right") - 1
        return self.fresh[self.fresh < first[segment]]

    def begins(self, positions: Positions) -> Positions:
        """Return where the segments of some positions begin."""
        return self.starts[np.searchsorted(self.starts, positions, side="right") - 1]

    def last_rows(self, positions: Positions, count: int | None) -> Positions:
        """Return where the last `count` rows up to each position begin; None: with the segment."""
        begin = self.begins(positions)
        if count is None:
            return begin
        if self.weights is None:
            return np.maximum(begin, positions + 1 - count)
        total = np.concatenate([[0], np.cumsum(self.weights)])
        first = np.searchsorted(total, total[positions + 1] - count, side="left")
        return np.maximum(begin, first)

    def numbers(self) -> Positions:
        """Return the number of each row in its segment, from 1, with those before it counted."""
        lengths = np.diff(self.starts)
        count = np.arange(self.size + 1)
        if self.weights is not None:
            count = np.concatenate([[0], np.cumsum(self.weights)])
        number = count[1:] - np.repeat(count[self.starts[:-1]], lengths)
        before = 0 if self.before is None else np.repeat(self.before, lengths)
        numbers: Positions = number + before
        return numbers

    def count(self, lo: Positions, hi: Positions) -> Positions:
        """Return how many rows lie at the positions [lo, hi)."""
        if self.weights is None:
            return np.asarray(hi - lo)
        total = np.concatenate([[0], np.cumsum(self.weights)])
        return np.asarray(total[hi] - total[lo])

    def behind(self, ends: Positions) -> Positions:
        """Return each segment's last of these ends of windows that hold a row, or its start."""
        last: Positions = self.starts[:-1].copy()
        np.maximum.at(last, np.searchsorted(self.starts, ends - 1, side="right") - 1, ends)
        return last

    def without(self, left: Positions) -> Positions:
        """Return for each segment where the rows begin that its last row's window still has."""
        first: Positions = self.starts[1:].copy()
        filled = np.diff(self.starts) > 0
        first[filled] -= left[first[filled] - 1]
        return first

    def completing(self, slide: int) -> Positions:
        """Return the fresh positions behind which a segment has a multiple of `slide` rows."""
        last = self.positions(self.fresh)
        return np.asarray(last[self.numbers()[last] % slide == 0])

    def since(self, order: Any, behind: bool = False) -> Positions:
        """Return for each segment the first position that is not before `order`, or is `behind` it.

        The start of the segment if the order is None.
        """
        if order is None or self.at is None:
            return self.starts[:-1]
        within = np.concatenate([[0], np.cumsum(self.at > order if behind else self.at >= order)])
        first: Positions = self.starts[1:] - np.diff(within[self.starts])
        return first

    def first(self, chosen: NDArray[np.bool_]) -> Positions:
        """Return for each segment the first position that is chosen; its end if none is."""
        places = np.append(np.flatnonzero(chosen), self.size)
        first: Positions = places[np.searchsorted(places, self.starts[:-1])]
        return np.minimum(first, self.starts[1:])

    def windows(
        self,
        lo: Positions,
        hi: Positions,
        beside: Chosen,
        left: Positions | None = None,
        go_back: bool = False,
        extent: Extent | None = None,
    ) -> Bounds:
        """Return the windows [lo, hi), with a result beside each of these rows."""
        windows = Windows(self.starts, lo=lo, hi=hi, go_back=go_back, extent=extent)
        return Bounds(windows, beside, left=left)

    def windows_of_rows(self, count: int | None, beside: slice) -> Bounds:
        """Return the windows of the last `count` rows, None for all, up to each of these rows."""
        size = count or max(1, self.size)
        return Bounds(Windows(self.starts, rows=size, first=beside.start or 0), beside)

    def own_windows(
        self,
        lo: Positions,
        hi: Positions,
        opens: NDArray[Any],
        closes: NDArray[Any],
        segment: Positions,
    ) -> Bounds:
        """Return the windows [lo, hi) of these segments, whose results are rows of their own."""
        key = segment if self.places == 1 else segment // self.places
        return Bounds(Windows(self.starts, lo=lo, hi=hi), ends=(opens, closes), key=key)


@dataclass(eq=False)
class Bounds:
    """Windows over sorted rows, and what each result belongs to.

    A result stands beside the row at a position of `beside`. Where results are rows of their own,
    `ends` says where each window starts and ends, and `key` of which key it is. `left` is how many
    rows a policy left in the window of each row, whether or not that has a result. Where something
    is left out of windows, each is its `parts` one behind the other.
    """

    windows: Windows
    beside: Chosen = field(default_factory=lambda: EVERY)
    ends: tuple[NDArray[Any], NDArray[Any]] | None = None
    key: Positions | None = None
    left: Positions | None = None
    parts: Sequence[Windows] = ()

    @property
    def every(self) -> bool:
        """Whether there is a result beside every row."""
        return self.key is None and isinstance(self.beside, slice) and self.beside == EVERY

    def put_together(self, parts: Sequence[Windows]) -> Bounds:
        """Return the same results over windows of these parts; a single part is the window."""
        if len(parts) == 1:
            return replace(self, windows=parts[0], parts=())
        return replace(self, parts=parts)

    def places(self, rows: SortedRows) -> Positions:
        """Return the position of each result's row; the first of its key if it has none."""
        return rows.positions(self.beside) if self.key is None else rows.keys[self.key]

    def keys(self, rows: SortedRows) -> Positions:
        """Return the key of each result."""
        if self.key is not None:
            return self.key
        return np.searchsorted(rows.keys, self.places(rows), side="right") - 1

    def chosen(self, numbers: Chosen) -> Bounds:
        """Return some of the windows, by their number."""
        windows = self.windows.chosen(numbers)
        if self.key is None or self.ends is None:
            beside = _positions(self.beside, self.windows.n)[numbers]
            parts = tuple(part.chosen(numbers) for part in self.parts)
            return replace(self, windows=windows, beside=beside, parts=parts)
        opens, closes = self.ends
        return Bounds(windows, ends=(opens[numbers], closes[numbers]), key=self.key[numbers])


def _positions(chosen: Chosen, n: int) -> Positions:
    return np.arange(*chosen.indices(n)) if isinstance(chosen, slice) else chosen


def no_windows(rows: SortedRows) -> Bounds:
    """Return the bounds of no window at all."""
    nothing = np.empty(0, np.int64)
    return rows.windows(nothing, nothing, nothing)
