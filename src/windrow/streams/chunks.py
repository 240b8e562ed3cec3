"""Windows by rows and by range, however long: rows where they begin, aggregates between.

    a   … │ dead │ crossed │ whole │ whole │ new new new
                     └ the windows of the new rows begin among these rows …
                                └ … and hold all of these, so an aggregate stands for each chunk

Of every chunk and key it is known from summaries alone which of the three it is. Only crossed ones
are read as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import order_rows
from windrow.streams.header import NEVER
from windrow.streams.history import COUNT, History, too_much
from windrow.streams.joined import Joined
from windrow.streams.log import Chunk, Entries
from windrow.streams.results import NewResults
from windrow.streams.waiting import times
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.filters import columns_of
from windrow.tables.keys import codes
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.run import new_columns
from windrow.tables.sort import TableRows
from windrow.tables.states import StateColumns

# Aggregates are used if so many more rows lie in whole chunks than among those that are looked at.
_WORTH = 2


class ChunkedWindows:
    """Queries with windows by rows or by range, over the same rows in the same order."""

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self.bounds = list(bounds)
        first = bounds[0]
        self._keys = list(first.query.partition_by)
        measured = any(bound.query.window.measured for bound in bounds)
        self._time = str(first.order) if measured else None
        types = {field.name: field.type for field in first.schema}
        self._parts = StateColumns(
            [named for bound in bounds for named in bound.query.aggregations], types
        )

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a row, besides its key."""
        names = dict.fromkeys([] if self._time is None else [self._time])
        for bound in self.bounds:
            for part in bound.query.parts.values():
                names.update(dict.fromkeys(part.columns))
        kept = self.bounds[0].schema
        return pa.schema([kept.field(name) for name in names if name not in self._keys])

    def history(self, entries: Entries, log: int, keys: pa.Schema, chunks: Any) -> History:
        """The rows that are kept."""
        return History(entries, log, keys, self.schema, self._parts, self._time, chunks)

    def step(self, history: History, new: pa.Table, now: int | None) -> list[NewResults]:
        """The answers of the new rows, which then join the others; no row is from before `now`."""
        chunks = history.chunks
        summaries = [history.summary(chunk).select([*self._keys, COUNT]) for chunk in chunks]
        held = Held(self._keys, chunks, summaries, new)
        results = [self._results(bound, history, held, new) for bound in self.bounds]
        history.append(new, now or 0)
        self._settle(history, held, now)
        return results

    # -- one query --------------------------------------------------------------------------

    def _results(self, bound: Bound, history: History, held: Held, new: pa.Table) -> NewResults:
        window = bound.query.window
        if window.reach_rows is not None:
            crossed, inside = held.by_count(window.reach_rows)
        else:
            crossed, inside = held.by_time(times(new, str(bound.order)), _reach(bound))
        looked_at = held.counts[crossed].sum() + new.num_rows
        if held.counts[inside].sum() < _WORTH * looked_at:
            crossed, inside = crossed | inside, np.zeros_like(inside)
        rows, ordinal = self._rows(history, held, crossed)
        if inside.any():
            return self._from_states(bound, history, held, inside, rows, ordinal, new)
        return self._from_rows(bound, rows, new)

    def _rows(
        self, history: History, held: Held, crossed: NDArray[np.bool_]
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows of keys whose windows begin in a chunk, and the chunk of each."""
        tables, ordinals = [history.schema.empty_table()], [np.empty(0, np.int64)]
        for i, chunk in enumerate(history.chunks):
            mine = held.of(i)
            if not crossed[mine].any():
                continue
            rows = history.rows(chunk)
            if not crossed[mine].all():
                rows = rows.filter(held.among(rows, mine, crossed))
            tables.append(rows)
            ordinals.append(np.full(rows.num_rows, i))
        return pa.concat_tables(tables), np.concatenate(ordinals)

    def _from_rows(self, bound: Bound, rows: pa.Table, new: pa.Table) -> NewResults:
        """NewResults over the rows themselves."""
        joined = Joined(self._keys, rows, new)
        sorted_rows = joined.rows(bound)
        windows = bound.query.window.bounds(sorted_rows)
        identity = (*self._keys, *(n for n in bound.query.order_by if n in rows.column_names))
        columns = SortedColumns(columns_of(joined.table), sorted_rows, identity)
        return NewResults(new, joined.new_rows(joined.fresh), new_columns(bound, columns, windows))

    def _from_states(
        self, bound: Bound, history: History, held: Held, inside: Any, rows: pa.Table,
        ordinal: Any, new: pa.Table,
    ) -> NewResults:  # fmt: skip
        """NewResults over states: of whole chunks, and of each row that is looked at."""
        summaries = [history.summary(chunk) for chunk in history.chunks]
        middle = pa.concat_tables(summaries).filter(pa.array(inside))
        alone = [self._lifted(rows), self._lifted(new)]
        table = pa.concat_tables([t.select(middle.column_names) for t in (middle, *alone)])
        far = np.iinfo(np.int64).max
        places = np.concatenate([held.chunk[inside], ordinal, np.full(new.num_rows, far)])
        key, count = codes([table.column(name) for name in self._keys])
        order, starts = order_rows(key, count, [places], table.num_rows)
        order = np.arange(table.num_rows) if order is None else order
        n = table.num_rows - new.num_rows
        fresh = np.flatnonzero(order >= n)
        sorted_rows = TableRows(
            starts,
            starts,
            axis=bound.axis if bound.query.window.measured else None,
            order=order,
            fresh=fresh,
            weights=whole(table.column(COUNT)).to_numpy()[order],
        )
        if bound.query.window.measured:
            name = str(bound.order)
            highs = np.array([chunk.high for chunk in history.chunks], np.int64)
            at = np.concatenate([highs[held.chunk[inside]], times(rows, name), times(new, name)])
            sorted_rows = replace(sorted_rows, at=at[order])
        windows = bound.query.window.bounds(sorted_rows)
        over = WindowResults(SortedColumns(table.column, sorted_rows), windows.windows)
        made = {
            name: self._parts.parts[name].results(over, bound.types[name])
            for name in bound.query.parts
        }
        return NewResults(new, order[fresh] - n, made)

    def _lifted(self, rows: pa.Table) -> pa.Table:
        """Each row as the aggregate of itself."""
        n = rows.num_rows
        made = self._parts.lift(columns_of(rows), n)
        keys = {name: rows.column(name) for name in self._keys}
        return pa.table({**keys, COUNT: pa.array(np.ones(n, np.int64)), **made})

    # -- what is kept -----------------------------------------------------------------------

    def _settle(self, history: History, held: Held, now: int | None) -> None:
        """Delete the chunks that no window to come reaches, and dead rows if they are many."""
        live = np.zeros(held.counts.size, np.bool_)
        for bound in self.bounds:
            window = bound.query.window
            if window.reach_rows is not None:
                live |= held.after() < window.reach_rows - 1
            else:
                highs = np.array([chunk.high for chunk in held.chunks], np.int64)
                least = NEVER if now is None else now - _reach(bound)
                live |= (highs >= least)[held.chunk]
        left = np.zeros(len(held.chunks), np.int64)
        np.add.at(left, held.chunk[live], held.counts[live])
        known = {chunk.stamp: i for i, chunk in enumerate(held.chunks)}
        history.forget([c for c in history.chunks if c.stamp in known and not left[known[c.stamp]]])
        if not too_much(history, left):
            return
        for chunk in list(history.chunks):
            i = known.get(chunk.stamp)
            if i is not None and 2 * left[i] <= chunk.rows:
                rows = history.rows(chunk)
                history.shrink(chunk, rows.filter(held.among(rows, held.of(i), live)))


def _reach(bound: Bound) -> int:
    """How far windows along time reach back."""
    size = bound.query.window.reach(bound.axis)
    assert size is not None
    return int(size)


class Held:
    """What is held of each chunk and key, and how many new rows each key has."""

    def __init__(
        self, keys: Sequence[str], chunks: Sequence[Chunk], summaries: Sequence[pa.Table], new: Any
    ) -> None:
        self.chunks, self._keys = list(chunks), keys
        sizes = [table.num_rows for table in summaries]
        self._ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.chunk = np.repeat(np.arange(len(sizes)), sizes)
        self.counts = np.concatenate(
            [np.empty(0, np.int64), *(whole(t.column(COUNT)).to_numpy() for t in summaries)]
        )
        self._tables = summaries
        columns = [
            pa.chunked_array([c for t in (*summaries, new) for c in t.column(name).chunks],
                             new.schema.field(name).type)
            for name in keys
        ]  # fmt: skip
        code, count = codes(columns)
        n = self.counts.size
        code = np.zeros(n + new.num_rows, np.int64) if code is None else code
        self._code, self._came = code[:n], np.bincount(code[n:], minlength=count)

    def of(self, chunk: int) -> slice:
        """Where a chunk's keys lie."""
        return slice(int(self._ends[chunk]), int(self._ends[chunk + 1]))

    def among(self, rows: pa.Table, mine: slice, wanted: NDArray[np.bool_]) -> pa.Array:
        """Which rows of a chunk are of wanted keys."""
        if not self._keys:
            return pa.array(np.full(rows.num_rows, bool(wanted[mine].all())))
        table = self._tables[self.chunk[mine.start]]
        columns = [
            pa.chunked_array([*table.column(name).chunks, *rows.column(name).chunks])
            for name in self._keys
        ]
        code, count = codes(columns)
        assert code is not None
        found = np.zeros(count, np.bool_)
        found[code[: table.num_rows][wanted[mine]]] = True
        return pa.array(found[code[table.num_rows :]])

    def after(self, new: bool = True) -> NDArray[np.int64]:
        """How many rows of the same key lie behind each chunk's, new ones counted or not."""
        made = np.empty(self.counts.size, np.int64)
        seen = self._came.astype(np.int64) if new else np.zeros_like(self._came, np.int64)
        for i in range(len(self.chunks) - 1, -1, -1):
            mine = self.of(i)
            code = self._code[mine]
            made[mine] = seen[code]
            seen[code] += self.counts[mine]
        return made

    def by_count(self, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which are crossed by windows of the last `size` rows, and which lie in all of them."""
        after, came = self.after(new=False), self._came[self._code]
        inside = (came > 0) & (after + self.counts <= size - came)
        crossed = (came > 0) & (after < size - 1) & ~inside
        return crossed, inside

    def by_time(self, at: Any, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The same for windows that reach back by `size` from these times."""
        none = np.zeros(self.counts.size, np.bool_)
        if not at.size:
            return none, none
        lows = np.array([chunk.low for chunk in self.chunks], np.int64)[self.chunk]
        highs = np.array([chunk.high for chunk in self.chunks], np.int64)[self.chunk]
        came = self._came[self._code] > 0
        inside = came & (lows > at.max() - size) & (highs < at.min())
        crossed = came & (highs >= at.min() - size) & ~inside
        return crossed, inside
