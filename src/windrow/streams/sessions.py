"""Sessions: a partial aggregate for each key and open session, which rows that come may join.

        held    ├── a⊕ ──┤       ├── b⊕ ──┤
        new            ├──×──────────┤             touches both: one session, a⊕ × b⊕

A session closes when the watermark reaches its end, as Spark's does, and nothing is kept of it. A
row is too late if its own reach, from its time to a gap behind it, ends by the watermark.

As sessions change, those of a key never touch. So what is stored of an older one lies within a
newer one that has taken its rows, and the widest ones are those that count.
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
from windrow.streams.step import COUNT, NEVER, NewResults, integers, rows_among, sort_by_key
from windrow.tables.bind import Bound
from windrow.tables.columns import from_numbers, null_where
from windrow.tables.filters import columns_of
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.row_sizes import SIZE, sized_rows
from windrow.tables.sort import TableRows, rows_in_place
from windrow.tables.states import states_of
from windrow.windows.positions import Windows
from windrow.windows.sorted_rows import Bounds

START = "windrow:start"


class SessionWindows(Family[Log]):
    """Queries with the same sessions."""

    idles = False  # sessions close with time, whether or not rows come

    def __init__(self, bounds: Sequence[Bound], update: bool = False) -> None:
        super().__init__(bounds)
        self._update = update
        self._parts = states_of(bounds)
        self._first, self._axis = bounds[0], bounds[0].axis
        window: Any = bounds[0].query.window
        self._window = window
        self._merging = window.with_row_size(SIZE)  # the same over parts of sessions

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a session besides its key: start, length, how many rows, the state."""
        fields = [pa.field(name, pa.int64()) for name in (START, SIZE, COUNT)]
        return pa.schema([*fields, *self._parts.fields])

    @property
    def commutative(self) -> bool:
        """Whether rows may be aggregated as they come."""
        return all(bound.query.commutative for bound in self.bounds)

    def live(self, held: pa.Table, done: int | None) -> NDArray[np.bool_]:
        """Which of the sessions in the store count: the open ones that lie in no newer one."""
        closing = NEVER if done is None else self._closing(done)
        there = np.flatnonzero(_ends(held) > closing)
        table = held.take(pa.array(there))
        rows, windows = self._windows(table)
        assert windows.ends is not None
        lo, hi = windows.windows.bounds()
        order, session = rows.rows(np.arange(there.size)), np.repeat(np.arange(lo.size), hi - lo)
        start, end = (each[session] for each in windows.ends)
        whole = (integers(table, START)[order] == start) & (_ends(table)[order] == end)
        newest = np.zeros(lo.size, np.int64)
        np.maximum.at(newest, session[whole], order[whole])
        live = np.zeros(held.num_rows, np.bool_)
        live[there[newest]] = True
        return live

    # -- rows that come ---------------------------------------------------------------------

    def too_late(self, rows: pa.Table, now: int) -> NDArray[np.bool_]:
        """Which rows end by `now`, each by itself."""
        sized, there = self._sized(rows)
        late = np.zeros(rows.num_rows, np.bool_)
        late[slice(None) if there is None else there] = _ends(sized) <= now
        return late

    def missed(self, rows: pa.Table, now: int) -> int:
        """How many rows are before `now`: a session that they would have joined may be closed."""
        return int((integers(rows, str(self._first.order)) < now).sum())

    def slices(self, rows: pa.Table) -> tuple[pa.Table, NDArray[Any]]:
        """Rows as parts of sessions, and the first row of each."""
        table, there = self._sized(rows)
        found, first, _ = self._merged(table)
        return found, first if there is None else there[first]

    def lateness(self, slices: pa.Table, now: int) -> tuple[NDArray[np.bool_], int, int]:
        """Which parts of sessions are not too late: all, as no row was."""
        return np.ones(slices.num_rows, np.bool_), 0, 0

    def _sized(self, rows: pa.Table) -> tuple[pa.Table, NDArray[Any] | None]:
        """The rows that have a gap, with their starts and gaps as columns; and which they are."""
        table, there = sized_rows(self._first, rows)
        at = integers(table, str(self._first.order))
        if SIZE not in table.column_names:
            sizes = np.broadcast_to(self._window.sizes(at, self._axis), at.shape)
            table = table.append_column(SIZE, pa.array(sizes))
        return table.append_column(START, pa.array(at)), there

    # -- results ----------------------------------------------------------------------------

    def step(self, log: Log, new: pa.Table, now: int | None, done: int | None) -> list[NewResults]:
        """Return the sessions that close by `now`, or change, and keep those that are open.

        Only the keys that got rows are looked at, and those of sessions that close.
        """
        held, stamp = log.rows, now or 0
        closing = NEVER if now is None else self._closing(now)
        new = (new if START in new.column_names else self.slices(new)[0]).select(held.column_names)
        stays = np.ones(held.num_rows, np.bool_)
        gone = held.slice(0, 0)
        if new.num_rows:
            near = np.flatnonzero(rows_among(held, new, self.keys))
            parts = pa.concat_tables([held.take(pa.array(near)), new])
            new, alone, gone = self._joined(parts.combine_chunks(), near.size)
            stays[near[~alone]] = False
        ends, changed = _ends(held), new
        if not self._update:
            closed = stays & (ends <= closing)
            changed = pa.concat_tables([held.filter(pa.array(closed)), new])
            changed = changed.filter(pa.array(_ends(changed) <= closing))
        kept = np.flatnonzero(stays & (ends > closing))
        log.replace(kept, new.filter(pa.array(_ends(new) > closing)), stamp)
        return [self._results(bound, changed, gone) for bound in self.bounds]

    def due(self, log: Log, done: int | None) -> int | None:
        """When the next session closes."""
        if not log.rows.num_rows:
            return None
        return int(_ends(log.rows).min()) + (0 if self.commutative else 1)

    def _closing(self, now: int) -> int:
        """The last end at which a session is closed: a row at `now` that waits may still touch."""
        return now if self.commutative else now - 1

    def _joined(self, parts: pa.Table, held: int) -> tuple[pa.Table, NDArray[np.bool_], pa.Table]:
        """The sessions that parts make, of which the first `held` were sessions already.

        Gives those that are new or have changed, which of the held ones stay as they are, and those
        that are no more: they began where no session begins any longer.
        """
        table, first, (rows, windows) = self._merged(parts)
        lo, hi = windows.windows.bounds()
        order = rows.rows(np.arange(parts.num_rows))
        alone = np.zeros(parts.num_rows, np.bool_)
        single = order[lo[hi - lo == 1]]
        alone[single] = single < held
        starts = integers(parts, START)
        owner = np.repeat(starts[first], hi - lo)  # where the session of each part begins
        moved = np.zeros(parts.num_rows, np.bool_)
        moved[order] = owner < starts[order]
        moved[held:] = False
        changed = table.filter(pa.array(~alone[first]))
        return changed.select(parts.column_names), alone[:held], parts.filter(pa.array(moved))

    def _merged(self, table: pa.Table) -> tuple[pa.Table, NDArray[Any], tuple[TableRows, Bounds]]:
        """The sessions of rows, or of parts that have states, and the first row of each."""
        rows, windows = self._windows(table)
        over = WindowResults(SortedColumns(columns_of(table), rows), windows.windows)
        lo, hi = windows.windows.bounds()
        counts = hi - lo
        if COUNT in table.column_names:
            total = np.concatenate([[0], np.cumsum(rows.sorted(integers(table, COUNT)))])
            counts, states = total[hi] - total[lo], self._parts.merge(over)
        else:
            states = self._parts.make(over)
        assert windows.ends is not None
        start, end = windows.ends
        first = rows.rows(lo)
        beside = {name: table.column(name).take(pa.array(first)) for name in self.keys}
        made = {START: pa.array(start), SIZE: pa.array(end - start), COUNT: pa.array(counts)}
        return pa.table({**beside, **made, **states}), first, (rows, windows)

    def _windows(self, table: pa.Table) -> tuple[TableRows, Bounds]:
        """Rows or parts of sessions by key and time, and the sessions that they make."""
        at = integers(table, START)
        rows = sort_by_key(table, self.keys, at)
        sizes = rows.sorted(integers(table, SIZE))
        rows = replace(rows, at=rows.sorted(at), axis=self._axis, sizes=sizes)
        return rows, self._merging.bounds(rows)

    def _results(self, bound: Bound, sessions: pa.Table, gone: pa.Table) -> NewResults:
        """The results of sessions; on a stream of updates, those that are gone have no end."""
        if not self._update:
            gone = gone.slice(0, 0)
        table = pa.concat_tables([sessions, gone]).combine_chunks()
        n, alone = table.num_rows, np.arange(table.num_rows)
        over = WindowResults(
            SortedColumns(table.column, rows_in_place(n)),
            Windows(np.array([0, n]), lo=alone, hi=alone + 1),
        )
        over_none = alone >= sessions.num_rows
        ends = dict(zip(bound.own_rows, (integers(table, START), _ends(table)), strict=True))
        columns = {name: from_numbers(at, None, bound.at_type) for name, at in ends.items()}
        columns |= self._parts.results(over, bound.types)
        for name in [*bound.own_rows[1:], *bound.types]:
            columns[name] = null_where(columns[name], over_none)
        order = sort_by_key(table, self.keys, integers(table, START)).rows(alone)
        taken = {name: array.take(pa.array(order)) for name, array in columns.items()}
        return NewResults(table, order, taken, by_row=False)


def _ends(sessions: pa.Table) -> NDArray[np.int64]:
    """Where sessions, or their parts, end."""
    return integers(sessions, START) + integers(sessions, SIZE)
