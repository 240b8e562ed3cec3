"""Hopping windows over slices: a partial aggregate for each key and slice, merged when one closes.

Windows of all queries begin and end at edges of slices only (pairs, paper 002), so a row is looked
at once, whatever range / slide is. A window closes when the watermark passes its end; a slice stays
until the last window that it lies in has closed, so that a row may be as late as its windows allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.family import Family
from windrow.streams.log import Log
from windrow.streams.step import (
    COUNT,
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
from windrow.tables.states import states_of

SLICE = "windrow:slice"


class SlicedWindows(Family[Log]):
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

    def live(self, held: pa.Table, done: int | None) -> NDArray[np.bool_]:
        """Which of the slices in the store count: the newest of each, while a window is open."""
        found = newest([held.column(name) for name in (*self.keys, SLICE)], held.num_rows)
        return found if done is None else found & self._open(held, done)

    @property
    def commutative(self) -> bool:
        """Whether rows may be aggregated as they come."""
        return all(p.commutative for b in self.bounds for p in b.query.parts.values())

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

    def step(self, log: Log, new: pa.Table, now: int | None, done: int | None) -> list[NewResults]:
        """Return the windows that close by `now`, and keep the slices of those that are open.

        Slices come in place of rows if these may be aggregated as they come; they may be finer,
        cut for windows that are planned apart as well.
        """
        held, stamp = log.rows, now or 0
        now = NEVER if now is None else now
        new = (self._own(new) if SLICE in new.column_names else self.slices(new)[0]).select(
            held.column_names
        )
        touched = np.zeros(held.num_rows, np.bool_)
        if new.num_rows:
            # only from the first new slice on may one be held already
            near = np.flatnonzero(integers(held, SLICE) >= integers(new, SLICE).min())
            names = [*self.keys, SLICE]
            touched[near] = rows_among(held.select(names).take(pa.array(near)), new, names)
            both = pa.concat_tables([held.filter(pa.array(touched)), new])
            new = states_by_key(self._parts, both, self.keys, SLICE)[0].select(held.column_names)
        n = held.num_rows - int(touched.sum())
        table = pa.concat_tables([held.filter(pa.array(~touched)), new]).combine_chunks()
        results = [self._closed(bound, table, n, now, done) for bound in self.bounds]
        stays = self._open(table, now)
        kept = np.flatnonzero(~touched)[stays[:n]]
        log.replace(kept, table.slice(n).filter(pa.array(stays[n:])), stamp)
        return results

    def due(self, log: Log, done: int | None) -> int | None:
        """When the next window closes."""
        if not log.rows.num_rows:
            return None
        at = integers(log.rows, SLICE)
        if done is not None:
            at = np.maximum(at, done)
        return min(int(window.first_end(at, self._axis).min()) for window in self._windows)

    def _last_end(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The end of the last window that begins at or before each time."""
        return np.asarray(np.maximum.reduce([w.last_end(at, self._axis) for w in self._windows]))

    def _open(self, slices: pa.Table, now: int) -> NDArray[np.bool_]:
        """Which slices lie in a window that is still open."""
        return np.asarray(self._last_end(integers(slices, SLICE)) > now)

    def _closed(
        self, bound: Bound, table: pa.Table, old: int, now: int, done: int | None
    ) -> NewResults:
        """The windows of one query that are due."""
        slices = integers(table, SLICE)
        rows = sort_by_key(table, self.keys, slices)
        order = rows.rows(np.arange(table.num_rows))
        rows = replace(
            rows,
            at=slices[order],
            axis=self._axis,
            now=None if self._update else now,
            done=done,
            told=rows.starts.size,
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
