"""Rows in the order of their keys and times, and the windows over them.

        rows as they came       sorted by key, then time       windows of positions
        b 10:02                 a 10:00  ┐                      [0, 1)
        a 10:00                 a 10:05  ┘                      [0, 2)
        a 10:05                 b 10:02                         [2, 3)

Both bounds of the windows never go back, over all keys, so one pass of one loop answers them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.sort import gather, order_rows
from windrow.tables.bind import Bound
from windrow.tables.columns import decoded, nulls_of, numbers, ranks
from windrow.tables.keys import codes, runs
from windrow.tables.times import reach
from windrow.windows.bounds import segment_bounds
from windrow.windows.hops import hop_bounds
from windrow.windows.kinds import UNBOUNDED, Rows, Span
from windrow.windows.positions import Windows

# Rows without a time come first and are equal to each other, as in Spark; NaN comes last.
_NULL, _PLACED, _NAN = 0, 1, 2


@dataclass(frozen=True)
class Layout:
    """Sorted rows: position p of them is row `order[p]` of the table (row p if order is None)."""

    order: NDArray[Any] | None
    starts: NDArray[np.int64]  # of the stretches in which windows lie
    keys: NDArray[np.int64]  # of the keys: as the stretches, unless some rows have no time
    at: NDArray[Any] | None  # the times in sorted order, where windows are measured along them
    before: int = 0  # how many rows of the first key came before these
    threads: int = 1

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
    def last_time(self) -> Any:
        """The time of the last row; infinity if that is behind all times, None if it has none."""
        assert self.at is not None
        placed = self.last_stretch % 3 if self.keys.size != self.starts.size else _PLACED
        return {_NULL: None, _NAN: np.inf}.get(placed, self.at[-1])

    def rows(self, positions: NDArray[Any]) -> NDArray[Any]:
        """The rows of the table at sorted positions."""
        return positions if self.order is None else self.order[positions]

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the table's rows in sorted order."""
        return values if self.order is None else gather(values, self.order, threads=self.threads)


def lay_out(bound: Bound, column: Callable[[str], Any], n: int, threads: int = 1) -> Layout:
    """Sort n rows by key and order; O(n) where the table is in the order of time already."""
    keys = codes([column(name) for name in bound.query.partition_by])
    return _laid(bound, column, bound.query.order_by, n, *keys, threads)


def laid_already(bound: Bound, column: Callable[[str], Any], n: int, before: int) -> Layout:
    """Rows that are sorted by key and order; `before` of the first key are gone already. O(n)."""
    made, count = runs([column(name) for name in bound.query.partition_by], n)
    measured = bound.query.order_by if isinstance(bound.query.window, Span) else ()
    laid = _laid(bound, column, measured, n, made, count, 1)
    assert laid.order is None, "the rows are not in order"
    return replace(laid, before=before)


def _laid(
    bound: Bound, column: Any, order_by: Sequence[str], n: int, made: Any, count: int, threads: int
) -> Layout:
    spans = isinstance(bound.query.window, Span)
    at = [_times(column(name), bound, spans) for name in order_by]
    placed = _placed(at, n)
    if placed is not None:
        made = placed if made is None else made * 3 + placed
        count *= 3
    order, starts = order_rows(made, count, [values for values, _ in at], n, threads=threads)
    keys = starts if placed is None else np.ascontiguousarray(starts[::3])
    if not spans:
        return Layout(order, keys, keys, None, threads=threads)
    times = at[0][0]
    if order is not None:
        times = gather(times, order, threads=threads)
    return Layout(order, starts, keys, times, threads=threads)


def _times(column: Any, bound: Bound, spans: bool) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """An order column as int64 or float64, and where its rows stand; None if all have a place."""
    array = decoded(column)
    if spans and bound.hops:
        array = array if array.type == bound.hop_type else array.cast(bound.hop_type)
    values = numbers(array)
    if values is None:
        values = ranks(array)[0]
    nulls = nulls_of(array)
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
    placed = None
    if values.dtype.kind == "f" and np.isnan(values).any():
        lost = np.isnan(values)
        values = np.where(lost, 0.0, values)
        placed = np.where(lost, _NAN, _PLACED)
    if nulls is not None:
        placed = np.where(nulls, _NULL, _PLACED if placed is None else placed)
        values = np.where(nulls, 0, values)
    return values, placed


def _placed(at: list[tuple[NDArray[Any], NDArray[Any] | None]], n: int) -> NDArray[np.int64] | None:
    """Where the rows stand by the first order column; of the others, the place joins the values."""
    for i, (values, placed) in enumerate(at):
        if placed is not None and i:
            at[i] = (np.unique(np.rec.fromarrays([placed, values]), return_inverse=True)[1], None)
    return at[0][1] if at else None


# -- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The windows of a query over sorted rows, and what each answer belongs to."""

    windows: Windows
    closing: NDArray[np.int64] | None = None  # the position of each answer's row; None: all rows
    opens: NDArray[Any] | None = None  # of hopping windows: where each starts …
    key: NDArray[np.int64] | None = None  # … and which key it is of

    def beside(self, laid: Layout) -> NDArray[np.int64]:
        """The position of each answer's row; a hopping window's is the first of its key."""
        if self.key is not None:
            return laid.keys[self.key]
        return np.arange(laid.size) if self.closing is None else self.closing

    def keys(self, laid: Layout) -> NDArray[np.int64]:
        """The key of each answer."""
        if self.key is not None:
            return self.key
        return np.searchsorted(laid.keys, self.beside(laid), side="right") - 1


def windows_of(
    bound: Bound, laid: Layout, *, closes: NDArray[np.bool_] | None = None, first: int = 0
) -> Asked:
    """The windows that a query asks for; `closes` marks the rows that close one (`on=`).

    Only those of the positions from `first` on are asked for.
    """
    window = bound.query.window
    if isinstance(window, Rows):
        if window.slide is None:
            return Asked(Windows(laid.starts, rows=window.rows or max(1, laid.size), first=first))
        return _every(window.rows, window.slide, laid)
    if closes is not None:
        return _punctuated(laid, closes)
    assert isinstance(window, Span)
    if not window.per_row:
        return _hopping(bound, laid)
    lo, hi = span_bounds(window, bound, laid)
    return Asked(Windows(laid.starts, lo=lo[first:], hi=hi[first:]))


def span_bounds(
    window: Span, bound: Bound, laid: Layout
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The window of each row by its time."""
    assert laid.at is not None
    to_end = window.closed in ("both", "right")
    if window.bounded:
        size, from_start = reach(window, bound.order_type)
    else:
        size, from_start = laid.at.dtype.type(0), True
    ends = {(True, True): "both", (True, False): "left", (False, True): "right"}
    closed = ends.get((from_start, to_end), "neither")
    lo, hi = segment_bounds(laid.at, laid.starts, size, closed, threads=laid.threads)
    if window.range == UNBOUNDED:
        lo = np.repeat(laid.keys[:-1], np.diff(laid.keys))
    return lo, hi


def _every(size: int | None, slide: int, laid: Layout) -> Asked:
    """Count windows: the rows after which a slide is full."""
    begin = np.repeat(laid.starts[:-1], np.diff(laid.starts))
    count = np.arange(1, laid.size + 1) - begin
    count[: laid.starts[1]] += laid.before
    closing = np.flatnonzero(count % slide == 0)
    begin = begin[closing]
    lo = begin if size is None else np.maximum(begin, closing + 1 - size)
    return Asked(Windows(laid.starts, lo=lo, hi=closing + 1), closing)


def _punctuated(laid: Layout, closes: NDArray[np.bool_]) -> Asked:
    """The rows from behind the last punctuation of the same key up to the next."""
    closing = np.flatnonzero(closes)
    before = np.concatenate([[0], closing[:-1] + 1]) if closing.size else closing
    begin = laid.starts[np.searchsorted(laid.starts, closing, side="right") - 1]
    return Asked(Windows(laid.starts, lo=np.maximum(before, begin), hi=closing + 1), closing)


def _hopping(bound: Bound, laid: Layout) -> Asked:
    """Windows [start, start + size), in the unit of their starts, of the rows that have a time."""
    assert laid.at is not None
    lo, hi, opens, stretch = hop_bounds(laid.at, laid.starts, *bound.hop_sizes())
    key = stretch
    if laid.keys.size != laid.starts.size:  # some rows have no time
        kept = stretch % 3 == _PLACED
        lo, hi, opens, key = lo[kept], hi[kept], opens[kept], stretch[kept] // 3
    return Asked(Windows(laid.starts, lo=lo, hi=hi), opens=opens, key=key)
