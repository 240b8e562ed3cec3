"""Hopping windows over slices: a partial aggregate for each key and slice, merged when one closes.

Windows of all queries begin and end at edges of slices only (pairs, paper 002), so a row is looked
at once, whatever range / slide is. A window closes when the watermark passes its end; a slice stays
until the last window that it lies in has closed, so that a row may be as late as its windows allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import order_rows
from windrow.streams.header import NEVER
from windrow.streams.history import COUNT
from windrow.streams.results import NewResults
from windrow.streams.waiting import times
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.filters import columns_of
from windrow.tables.keys import codes, newest
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.run import window_columns
from windrow.tables.sort import TableRows
from windrow.tables.states import StateColumns
from windrow.windows.positions import Windows

SLICE = "windrow:slice"


@dataclass(frozen=True)
class Late:
    """How many rows came too late for all of their windows, and for some of them."""

    lost: int = 0
    partly: int = 0


class SlicedWindows:
    """Queries with hopping windows along the same column."""

    def __init__(self, bounds: Sequence[Bound], update: bool = False) -> None:
        self.bounds, self._update = list(bounds), update
        first = bounds[0]
        types = {field.name: field.type for field in first.schema}
        self._parts = StateColumns(
            [named for bound in bounds for named in bound.query.aggregations], types
        )
        self._keys = list(first.query.partition_by)
        self._order = str(first.order)
        # windows with slices, all measured in the unit of the order column
        self._windows: list[Any] = [bound.query.window for bound in bounds]
        self._axis = first.axis

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a key and a slice: where it starts, how many rows, and the aggregate."""
        fields = [pa.field(SLICE, pa.int64()), pa.field(COUNT, pa.int64())]
        return pa.schema([*fields, *self._parts.fields])

    def live(self, held: pa.Table, now: int | None) -> NDArray[np.bool_]:
        """Which of the slices in the store count: the newest of each, while a window is open."""
        found = newest([held.column(name) for name in (*self._keys, SLICE)], held.num_rows)
        return found if now is None else found & self._open(held, now)

    @property
    def commutative(self) -> bool:
        """Whether rows may be aggregated as they come."""
        return all(p.commutative for b in self.bounds for p in b.query.parts.values())

    # -- rows to slices ---------------------------------------------------------------------

    def sliced(self, rows: pa.Table) -> pa.Table:
        """Rows, in their order, as slices: a row for each key and slice."""
        return self.slices(rows)[0]

    def slices(self, rows: pa.Table) -> tuple[pa.Table, NDArray[Any]]:
        """The same, and the first row of each slice."""
        at = times(rows, self._order)
        slices = np.maximum.reduce([w.slice_starts(at, self._axis) for w in self._windows])
        return self._by_slice(rows, columns_of(rows), slices, merging=False)

    def _by_slice(
        self, rows: pa.Table, column: Any, slices: Any, merging: bool
    ) -> tuple[pa.Table, NDArray[Any]]:
        key, count = codes([rows.column(name) for name in self._keys])
        n = rows.num_rows
        order, starts = order_rows(key, count, [slices], n)
        order = np.arange(n) if order is None else order
        sorted_slices = slices[order]
        begins = np.zeros(n, np.bool_)
        begins[starts[:-1][np.diff(starts) > 0]] = True
        begins[1:] |= sorted_slices[1:] != sorted_slices[:-1]
        lo = np.flatnonzero(begins)
        hi = np.append(lo[1:], n)[: lo.size]
        laid = TableRows(starts, starts, order=order)
        over = WindowResults(SortedColumns(column, laid), Windows(starts, lo=lo, hi=hi))
        made = self._parts.merge(over) if merging else self._parts.make(over)
        counts = hi - lo
        if merging:
            total = np.concatenate([[0], np.cumsum(whole(rows.column(COUNT)).to_numpy()[order])])
            counts = total[hi] - total[lo]
        first = order[lo]
        keys = {name: rows.column(name).take(pa.array(first)) for name in self._keys}
        where = {SLICE: pa.array(sorted_slices[lo]), COUNT: pa.array(counts)}
        return pa.table({**keys, **where, **made}), first

    # -- slices to windows ------------------------------------------------------------------

    def too_late(self, rows: pa.Table, now: int) -> NDArray[np.bool_]:
        """Which rows lie in no window that is open, and in one that was."""
        at = times(rows, self._order)
        last = np.maximum.reduce([at, *(w.last_end(at, self._axis) for w in self._windows)])
        return np.asarray((last > at) & (last <= now))

    def lateness(self, slices: pa.Table, now: int) -> tuple[NDArray[np.bool_], Late]:
        """Which slices lie in no window that is open, and the rows that came too late."""
        at = whole(slices.column(SLICE)).to_numpy()
        rows = whole(slices.column(COUNT)).to_numpy()
        inside = np.zeros(at.size, np.bool_)  # in any window: some queries leave gaps
        opened, missed = np.zeros(at.size, np.bool_), np.zeros(at.size, np.bool_)
        for window in self._windows:
            last = window.last_end(at, self._axis)
            holds = last > at
            inside |= holds
            opened |= holds & (last > now)
            missed |= holds & (window.first_end(at, self._axis) <= now)
        lost = inside & ~opened
        return ~opened, Late(int(rows[lost].sum()), int(rows[missed & ~lost].sum()))

    def step(
        self, held: pa.Table, new: pa.Table, now: int | None, done: int | None
    ) -> tuple[list[NewResults], NDArray[Any], pa.Table]:
        """The windows that close by `now`; which slices stay, and new ones in place of others.

        Windows that ended by `done` were answered before.
        """
        now = NEVER if now is None else now
        new = new.select(held.column_names)
        touched = np.zeros(held.num_rows, np.bool_)
        if new.num_rows:
            touched = self._shared(held, new)
            both = pa.concat_tables([held.filter(pa.array(touched)), new])
            slices = whole(both.column(SLICE)).to_numpy()
            new, _ = self._by_slice(both, both.column, slices, merging=True)
        n = held.num_rows - int(touched.sum())
        table = pa.concat_tables([held.filter(pa.array(~touched)), new]).combine_chunks()
        results = [self._closed(bound, table, n, now, done) for bound in self.bounds]
        stays = self._open(table, now)
        kept = np.flatnonzero(~touched)[stays[:n]]
        return results, kept, table.slice(n).filter(pa.array(stays[n:]))

    def _open(self, slices: pa.Table, now: int) -> NDArray[np.bool_]:
        """Which slices lie in a window that is still open."""
        at = whole(slices.column(SLICE)).to_numpy()
        last = np.maximum.reduce([w.last_end(at, self._axis) for w in self._windows])
        return np.asarray(last > now)

    def due(self, held: pa.Table, done: int | None) -> int | None:
        """When the next window closes."""
        if not held.num_rows:
            return None
        at = whole(held.column(SLICE)).to_numpy()
        if done is not None:
            at = np.maximum(at, done)
        ends = [window.first_end(at, self._axis) for window in self._windows]
        return int(np.minimum.reduce([e.min() for e in ends]))

    def _shared(self, held: pa.Table, new: pa.Table) -> NDArray[np.bool_]:
        """Which slices that are held get new rows."""
        names = [*self._keys, SLICE]
        both = pa.concat_tables([held.select(names), new.select(names)])
        code, count = codes([both.column(name) for name in names])
        assert code is not None
        present = np.zeros(count, np.bool_)
        present[code[held.num_rows :]] = True
        return np.asarray(present[code[: held.num_rows]])

    def _closed(
        self, bound: Bound, table: pa.Table, old: int, now: int, done: int | None
    ) -> NewResults:
        """The windows of one query that are due."""
        slices = whole(table.column(SLICE)).to_numpy()
        key, count = codes([table.column(name) for name in self._keys])
        order, starts = order_rows(key, count, [slices], table.num_rows)
        order = np.arange(table.num_rows) if order is None else order
        rows = TableRows(
            starts,
            starts,
            slices[order],
            self._axis,
            order=order,
            now=None if self._update else now,
            done=done,
            told=starts.size,
        )
        windows = bound.query.window.bounds(rows)
        if self._update:  # those that got new rows
            fresh = np.concatenate([[0], np.cumsum(order >= old)])
            lo, hi = windows.windows.bounds()
            windows = windows.chosen(np.flatnonzero(fresh[hi] > fresh[lo]))
        over = WindowResults(SortedColumns(table.column, rows), windows.windows)
        made = window_columns(bound, windows)
        for name in bound.query.parts:
            made[name] = self._parts.parts[name].results(over, bound.types[name])
        first, _ = windows.windows.bounds()
        return NewResults(table, order[first], made, by_row=False)
