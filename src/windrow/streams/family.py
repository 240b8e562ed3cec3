"""What is kept for queries that keep the same, and the results that a step makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.log import Chunk, Chunks, Entries, Log
from windrow.streams.step import Gap, Joined, NewResults, integers
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.filters import columns_of, news, satisfies
from windrow.tables.keys import newest
from windrow.tables.results import SortedColumns
from windrow.tables.run import new_columns
from windrow.tables.sort import TableRows
from windrow.windows.sorted_rows import Bounds

KeptIn = TypeVar("KeptIn", bound=Chunks)
_TOLD, _AT = "windrow:told", "windrow:at"


class Family(Generic[KeptIn]):
    """Queries over the same rows, whose state is kept together in one log."""

    idles = True  # whether the rows of keys that are idle for too long are forgotten
    entries = 1  # of the store, for each chunk

    def __init__(self, bounds: Sequence[Bound], gap: Gap | None = None) -> None:
        self.bounds, self.gap = list(bounds), gap
        self.keys = list(bounds[0].query.partition_by)

    @property
    def schema(self) -> pa.Schema:
        """The columns that are kept, besides the key's."""
        raise NotImplementedError

    def open(self, entries: Entries, log: int, chunks: list[Chunk], done: int | None) -> KeptIn:
        """What is kept, as the store has it."""
        opened: Any = Log(entries, log, self.key_schema, self.schema, chunks)
        opened.restrict(self.live(opened.rows, done))
        return opened  # type: ignore[no-any-return]

    @property
    def key_schema(self) -> pa.Schema:
        """The key columns."""
        return pa.schema([self.bounds[0].schema.field(name) for name in self.keys])

    def live(self, held: pa.Table, done: int | None) -> NDArray[np.bool_]:
        """Which of the rows in the store count: the newest of each key."""
        return newest([held.column(name) for name in self.keys], held.num_rows)

    def step(
        self, log: KeptIn, new: pa.Table, now: int | None, done: int | None
    ) -> list[NewResults]:
        """Return the results of the new rows, or by `now`, and keep what windows to come need.

        No row to come is from before `now`; windows that ended by `done` were answered before.
        """
        raise NotImplementedError

    @property
    def goes_by_time(self) -> bool:
        """Whether there is something to do as time passes, though no row has come."""
        return any(bound.query.window.measured for bound in self.bounds)

    def missed(self, rows: pa.Table, now: int) -> int:
        """How many rows that are not too late may have missed a window that is closed.

        0 where slices tell.
        """
        return 0

    def due(self, log: KeptIn, done: int | None) -> int | None:
        """The watermark at which there are results without new rows."""
        return None

    def kept_for(self, idle: int) -> int:
        """How long a key is kept that gets no rows: no range may reach what is forgotten."""
        sizes = [b.query.window.reach(b.axis) for b in self.bounds if b.query.window.measured]
        return max([idle, *(int(size) for size in sizes if size is not None)])

    def over_rows(
        self, bound: Bound, joined: Joined, rows: TableRows, new: pa.Table
    ) -> tuple[NewResults, Bounds]:
        """The results over the rows themselves, and their windows."""
        windows = bound.query.window.bounds(rows)
        return self.over_windows(bound, joined, rows, windows, new), windows

    def over_windows(
        self, bound: Bound, joined: Joined, rows: TableRows, windows: Bounds, new: pa.Table
    ) -> NewResults:
        """The results over some windows of the rows themselves."""
        named = (*self.keys, *bound.query.order_by)
        identity = [name for name in named if name in joined.table.column_names]
        columns = SortedColumns(columns_of(joined.table), rows, identity)
        results = new_columns(bound, columns, windows)
        return NewResults(new, joined.new_rows(windows.places(rows)), results)


def passing(bound: Bound, results: NewResults) -> NDArray[np.bool_]:
    """Which results satisfy the query's `having`."""
    if bound.query.having is None:
        return np.ones(results.rows.size, np.bool_)
    table = results.table.take(pa.array(results.rows))
    for name, array in results.columns.items():
        table = table.append_column(name, array)
    passes = satisfies(bound.query.having, table)
    for end in bound.own_rows[1:]:  # what is no more is told in any case
        passes |= table.column(end).is_null().to_numpy()
    return passes


class Latest(Family[Log]):
    """The last result of each key, for a query that gives only what is new (istream).

    A result that follows one that `having` held back is new, so such a key holds none. So is the
    first one behind a `gap`, whether or not the key was forgotten meanwhile.
    """

    def __init__(self, bound: Bound, idle: int | None = None) -> None:
        super().__init__([bound])
        ends = bound.own_rows[1:] or bound.query.order_by
        self.gap = None if idle is None or not ends else Gap(ends[0], self.kept_for(idle))

    @property
    def schema(self) -> pa.Schema:
        """The results, whether they came out, and their times if keys may be idle."""
        (bound,) = self.bounds
        fields = [pa.field(name, bound.types[name]) for name in bound.query.parts]
        times = [] if self.gap is None else [pa.field(_AT, pa.int64())]
        return pa.schema([*fields, pa.field(_TOLD, pa.bool_()), *times])

    def news(self, log: Log, results: NewResults, now: int | None) -> NewResults:
        """The results that are new; the last of each key is held from now on."""
        (bound,) = self.bounds
        held, names = log.rows, list(bound.query.parts)
        n = held.num_rows
        passes = passing(bound, results)
        columns = {**{name: results.columns[name] for name in names}, _TOLD: pa.array(passes)}
        if self.gap is not None:
            time = results.columns.get(self.gap.time)
            time = results.table.column(self.gap.time).take(results.rows) if time is None else time
            columns[_AT] = pa.array(integers(pa.table({_AT: time}), _AT))
        results_now = replace(results, columns=columns, by_row=False).result(self.keys)
        both = pa.concat_tables([held, results_now.select(held.column_names)]).combine_chunks()
        joined = Joined(self.keys, both, both.slice(0, 0), self.gap and Gap(_AT, self.gap.size))
        stretch = np.repeat(np.arange(joined.starts.size - 1), np.diff(joined.starts))
        passed = whole(both.column(_TOLD)).to_numpy(zero_copy_only=False)
        order = joined.order
        sorted_results = {name: whole(both.column(name)).take(pa.array(order)) for name in names}
        new = np.empty(both.num_rows, np.bool_)
        new[order] = news(stretch, passed[order], sorted_results)
        last = np.flatnonzero(self.live(both, None))
        kept = last[last < n]
        added, stamp = both.take(pa.array(last[kept.size :])), now or 0
        if self.gap is not None and added.num_rows:  # a window may end behind the watermark
            stamp = max(stamp, int(integers(added, _AT).max()))
        log.replace(kept, added, stamp)
        return results.chosen(new[n:] & passes)
