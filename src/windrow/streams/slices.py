"""Hopping windows over slices: a partial aggregate for each key and slice, merged when one closes.

Windows of all queries begin and end at edges of slices only (pairs, paper 002), so a row is looked
at once, whatever range / slide is. A window closes when the watermark passes its end; a slice stays
until the last window that it lies in has closed, so that a row may be as late as its windows allow.

    a   … │ dead │ crossed │ whole │ whole │ crossed │ later
                     └ the windows that close now begin among these slices, and end among those;
                       all of them hold what lies between, so one state stands for each chunk

So a step looks at the slices where windows begin and end, however many lie between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.cache import DECODED
from windrow.streams.family import Family
from windrow.streams.log import SEALED, Chunk, Entries, Log
from windrow.streams.step import (
    COUNT,
    END,
    NEVER,
    NewResults,
    integers,
    rows_among,
    sort_by_key,
    states_by_key,
)
from windrow.tables.bind import Bound
from windrow.tables.keys import newest
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.run import window_columns
from windrow.tables.states import StateColumns, states_of

SLICE = "windrow:slice"
# What comes at once for a window is cut into so many chunks, if each has enough slices.
_PIECES = 8


class SliceLog(Log):
    """Slices in chunks, whose first and last are known of each, and a state for each key of it."""

    def __init__(self, parts: StateColumns, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._parts = parts
        self._spans: dict[int, tuple[pa.Table, int, int]] = {}
        self._summaries: dict[int, tuple[pa.Table, pa.Table]] = {}

    @property
    def full(self) -> list[Chunk]:
        """The chunks of which something is held."""
        return [chunk for chunk in self.chunks if self.held[chunk.number].num_rows]

    def span(self, chunk: Chunk) -> tuple[int, int]:
        """The first and the last slice that are held of a chunk."""
        rows = self.held[chunk.number]
        known = self._spans.get(chunk.number)
        if known is None or known[0] is not rows:
            at = integers(rows, SLICE)
            known = self._spans[chunk.number] = rows, int(at.min()), int(at.max())
        return known[1:]

    def summary(self, chunk: Chunk) -> pa.Table:
        """The state of each key over all that is held of a chunk, as a slice: its last one."""
        rows = self.held[chunk.number]
        known = self._summaries.get(chunk.number)
        if known is None or known[0] is not rows:
            whole = rows.num_rows == chunk.rows  # then another opening of the bucket may know it
            merged = DECODED.get(~chunk.stamp) if whole else None
            if merged is None:
                merged = states_by_key(self._parts, rows, self.keys.names)[0]
                last = pa.array(np.full(merged.num_rows, self.span(chunk)[1]))
                merged = merged.append_column(SLICE, last).select(self.schema.names)
                if whole:
                    DECODED.put(~chunk.stamp, merged)
            known = self._summaries[chunk.number] = rows, merged
        return known[1]

    def take_out(self, new: pa.Table) -> list[pa.Table]:
        """The slices that are held of those that are new, which are held no more."""
        tables, names = [], [*self.keys.names, SLICE]
        first = int(integers(new, SLICE).min())
        for chunk in self.full:
            if self.span(chunk)[1] < first:
                continue
            rows = self.held[chunk.number]
            near = np.flatnonzero(integers(rows, SLICE) >= first)
            same = near[rows_among(rows.select(names).take(pa.array(near)), new, names)]
            if same.size:
                stays = np.ones(rows.num_rows, np.bool_)
                stays[same] = False
                tables.append(rows.take(pa.array(same)))
                self.held[chunk.number] = rows.filter(pa.array(stays))
        return tables

    def add(self, slices: pa.Table, now: int, reach: int) -> None:
        """Write slices; if many of a long window come at once, those of a time together.

        So chunks leave one after the other, and windows begin in one of them at a time.
        """
        at = integers(slices, SLICE)
        low, span = int(at.min(initial=END)), int(np.ptp(at)) + 1 if at.size else 0
        pieces = min(at.size // SEALED, _PIECES * span // reach) if span < 2 * reach else 1
        if pieces > 1:
            piece = (at - low) * pieces // span
            for i in range(pieces):
                self.append(slices.filter(pa.array(piece == i)), now)
        elif at.size:
            self.append(slices, now)
        self.settle()

    def _remove(self, chunk: Chunk) -> None:
        super()._remove(chunk)
        self._spans.pop(chunk.number, None)
        self._summaries.pop(chunk.number, None)


class SlicedWindows(Family[SliceLog]):
    """Queries with hopping windows along the same column."""

    idles = False  # slices leave when their last window closes, and none sooner

    def __init__(self, bounds: Sequence[Bound], update: bool = False) -> None:
        super().__init__(bounds)
        self._update = update
        self._parts = states_of(bounds)
        self._order, self._axis = str(bounds[0].order), bounds[0].axis
        # windows with slices, all measured in the unit of the order column
        self._windows: list[Any] = [bound.query.window for bound in bounds]

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a key and a slice: where it starts, how many rows, and the state."""
        fields = [pa.field(SLICE, pa.int64()), pa.field(COUNT, pa.int64())]
        return pa.schema([*fields, *self._parts.fields])

    def open(self, entries: Entries, log: int, chunks: list[Chunk], done: int | None) -> SliceLog:
        """The slices that count: the newest of each, as a later chunk may have one anew."""
        slices = SliceLog(self._parts, entries, log, self.key_schema, self.schema, chunks)
        rows = slices.rows
        at, later, repeated = integers(rows, SLICE), END, END
        end = at.size
        for chunk in reversed(slices.chunks):
            mine = at[end - chunk.rows : end]
            end -= chunk.rows
            repeated = min(repeated, int(mine[mine >= later].min(initial=END)))
            later = min(later, int(mine.min(initial=END)))
        near = np.flatnonzero(at >= repeated)
        if near.size:
            live = np.ones(at.size, np.bool_)
            names = [*self.keys, SLICE]
            live[near] = newest(rows.select(names).take(pa.array(near)).columns, near.size)
            slices.restrict(live)
        return slices

    @property
    def commutative(self) -> bool:
        """Whether rows may be aggregated as they come."""
        return all(bound.query.commutative for bound in self.bounds)

    def slices(self, rows: pa.Table) -> tuple[pa.Table, NDArray[Any]]:
        """Rows as slices, a row for each key and slice; and the first row of each slice."""
        rows = rows.append_column(SLICE, self._starts(integers(rows, self._order)))
        return states_by_key(self._parts, rows, self.keys, SLICE)

    def _own(self, slices: pa.Table) -> pa.Table:
        """Slices that may be finer, each with the start of the own one that it is a part of."""
        starts = self._starts(integers(slices, SLICE))
        return slices.set_column(slices.column_names.index(SLICE), SLICE, starts)

    def _starts(self, at: NDArray[np.int64]) -> pa.Array:
        """Where the slice of each time starts."""
        return pa.array(np.maximum.reduce([w.slice_starts(at, self._axis) for w in self._windows]))

    def too_late(self, rows: pa.Table, now: int) -> NDArray[np.bool_]:
        """Which rows lie in no window that is open, and in one that was."""
        at = integers(rows, self._order)
        last = self._last_end(at)
        return np.asarray((last > at) & (last <= now))

    def lateness(self, slices: pa.Table, now: int) -> tuple[NDArray[np.bool_], int, int]:
        """Which slices lie in an open window, and how many rows came too late for all, for some."""
        at, rows = integers(slices, SLICE), integers(slices, COUNT)
        last = self._last_end(at)
        inside = last > at  # some queries leave gaps between windows
        is_open = inside & (last > now)
        missed = np.zeros(at.size, np.bool_)
        for window in self._windows:
            holds = window.last_end(at, self._axis) > at
            missed |= holds & (window.first_end(at, self._axis) <= now)
        return is_open, int(rows[inside & ~is_open].sum()), int(rows[missed & is_open].sum())

    def step(
        self, log: SliceLog, new: pa.Table, now: int | None, done: int | None
    ) -> list[NewResults]:
        """Return the windows that close by `now`, and keep the slices of those that are open.

        Slices come in place of rows if these may be aggregated as they come; they may be finer,
        cut for windows that are planned apart as well.
        """
        stamp, names = now or 0, log.schema.names
        now = NEVER if now is None else now
        new = (self._own(new) if SLICE in new.column_names else self.slices(new)[0]).select(names)
        if new.num_rows:
            both = pa.concat_tables([*log.take_out(new), new])
            new = states_by_key(self._parts, both, self.keys, SLICE)[0].select(names)
        results = []
        for bound in self.bounds:
            held = self._held(bound, log, now, done)
            results.append(self._closed(bound, held, new, now, done))
        log.forget([c for c in log.full if self._last_end(np.array(log.span(c)[1:]))[0] <= now])
        reach = max(int(window.reach(self._axis)) for window in self._windows)
        log.add(new.filter(pa.array(self._open(new, now))), stamp, reach)
        return results

    def due(self, log: SliceLog, done: int | None) -> int | None:
        """When the next window closes."""
        chunks = log.full
        if not chunks:
            return None
        at = np.array([log.span(chunk)[0] for chunk in chunks])
        if done is not None:
            for i in np.flatnonzero(self._last_end(at) <= done).tolist():
                slices = integers(log.held[chunks[i].number], SLICE)
                at[i] = slices[self._last_end(slices) > done].min()
            at = np.maximum(at, done)
        return min(int(window.first_end(at, self._axis).min()) for window in self._windows)

    def _last_end(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The end of the last window that begins at or before each time."""
        return np.asarray(np.maximum.reduce([w.last_end(at, self._axis) for w in self._windows]))

    def _open(self, slices: pa.Table, now: int) -> NDArray[np.bool_]:
        """Which slices lie in a window that is still open."""
        return np.asarray(self._last_end(integers(slices, SLICE)) > now)

    def _held(self, bound: Bound, log: SliceLog, now: int, done: int | None) -> pa.Table:
        """The slices of windows that close; one for each key and chunk that all of them hold.

        Windows end and begin in the same order. So if one that holds a slice has closed before, and
        another one closes later, all between hold it.
        """
        window: Any = bound.query.window
        tables = [log.schema.empty_table()]
        for chunk in log.full:
            rows, span = log.held[chunk.number], np.array(log.span(chunk))
            first, last = window.first_end(span, self._axis), window.last_end(span, self._axis)
            if not self._update:
                if first[0] > now or (done is not None and last[1] <= done):
                    continue
                if done is not None and first[1] <= done and last[0] >= now:
                    tables.append(log.summary(chunk))
                    continue
                rows = self._closing(window, rows, now, done)
            tables.append(rows)
        return pa.concat_tables(tables)

    def _closing(self, window: Any, slices: pa.Table, now: int, done: int | None) -> pa.Table:
        """The slices that may lie in a window that closes."""
        at = integers(slices, SLICE)
        closing = window.first_end(at, self._axis) <= now
        if done is not None:
            closing &= window.last_end(at, self._axis) > done
        return slices if closing.all() else slices.filter(pa.array(closing))

    def _closed(
        self, bound: Bound, held: pa.Table, new: pa.Table, now: int, done: int | None
    ) -> NewResults:
        """The windows of one query that are due."""
        new = new if self._update else self._closing(bound.query.window, new, now, done)
        table, old = pa.concat_tables([held, new]).combine_chunks(), held.num_rows
        slices = integers(table, SLICE)
        rows = sort_by_key(table, self.keys, slices)
        order = rows.rows(np.arange(table.num_rows))
        rows = replace(
            rows,
            at=slices[order],
            axis=self._axis,
            now=None if self._update else now,
            done=done,
            answered=rows.starts.size,
        )
        windows = bound.query.window.bounds(rows)
        if self._update:  # those that got new rows
            fresh = np.concatenate([[0], np.cumsum(order >= old)])
            lo, hi = windows.windows.bounds()
            windows = windows.chosen(np.flatnonzero(fresh[hi] > fresh[lo]))
        over = WindowResults(SortedColumns(table.column, rows), windows.windows)
        results = {**window_columns(bound, windows), **self._parts.results(over, bound.types)}
        first, _ = windows.windows.bounds()
        return NewResults(table, order[first], results, by_row=False)
