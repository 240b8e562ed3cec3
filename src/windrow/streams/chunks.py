"""Windows by rows and by range, however long: rows where they begin, aggregates between.

    a   … │ dead │ crossed │ whole │ whole │ new new new
                     └ the windows of the new rows begin among these rows …
                                └ … and hold all of these, so an aggregate stands for each chunk

Of every chunk and key it is known from summaries alone which of the three it is. Only crossed ones
are read as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.family import Family
from windrow.streams.log import Chunk, Entries, SummarizedChunks
from windrow.streams.step import (
    COUNT,
    NEVER,
    Joined,
    NewResults,
    integers,
    lifted,
    rows_among,
)
from windrow.tables.bind import Bound
from windrow.tables.keys import codes
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.states import states_of

# Aggregates are used if so many more rows lie in whole chunks than among those that are looked at.
_WORTH = 2


class ChunkedWindows(Family[SummarizedChunks]):
    """Queries with windows by rows or by range, over the same rows in the same order."""

    entries = 2  # a chunk and its summary

    def __init__(self, bounds: Sequence[Bound]) -> None:
        super().__init__(bounds)
        measured = any(bound.query.window.measured for bound in bounds)
        self._time = str(bounds[0].order) if measured else None
        self._parts = states_of(bounds)

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a row, besides its key."""
        names = dict.fromkeys([] if self._time is None else [self._time])
        for bound in self.bounds:
            for part in bound.query.parts.values():
                names.update(dict.fromkeys(part.columns))
        kept = self.bounds[0].schema
        return pa.schema([kept.field(name) for name in names if name not in self.keys])

    def open(
        self, entries: Entries, log: int, chunks: list[Chunk], done: int | None
    ) -> SummarizedChunks:
        """The rows that are kept, as the store has them."""
        keys, columns = self.key_schema, self.schema
        return SummarizedChunks(
            entries, log, keys, columns, chunks, parts=self._parts, time=self._time
        )

    def step(
        self, log: SummarizedChunks, new: pa.Table, now: int | None, done: int | None
    ) -> list[NewResults]:
        """Return the results of the new rows, which then join the others."""
        summaries = [log.summary(chunk).select([*self.keys, COUNT]) for chunk in log.chunks]
        held = HeldChunks(self.keys, log.chunks, summaries, new)
        results = [self._results(bound, log, held, new) for bound in self.bounds]
        if new.num_rows:
            log.append(new, now or 0)
            log.merge_small()
        self._settle(log, held, now)
        return results

    # -- one query --------------------------------------------------------------------------

    def _results(
        self, bound: Bound, history: SummarizedChunks, held: HeldChunks, new: pa.Table
    ) -> NewResults:
        window = bound.query.window
        if window.reach_rows is not None:
            crossed, inside = held.by_count(window.reach_rows)
        else:
            sure = int(window.sure_reach(bound.axis) or 0)
            crossed, inside = held.by_time(integers(new, str(bound.order)), _reach(bound), sure)
        looked_at = held.counts[crossed].sum() + new.num_rows
        if held.counts[inside].sum() < _WORTH * looked_at:
            crossed, inside = crossed | inside, np.zeros_like(inside)
        rows, chunk = self._rows(history, held, crossed)
        if not inside.any():
            joined = Joined(self.keys, rows, new)
            return self.over_rows(bound, joined, joined.rows(bound), new)[0]
        # states: of whole chunks, and of each row that is looked at
        summaries = [history.summary(chunk) for chunk in history.chunks]
        middle = pa.concat_tables(summaries).filter(pa.array(inside))
        before = pa.concat_tables([middle, lifted(self._parts, rows, self.keys, COUNT)])
        far = np.iinfo(np.int64).max
        places = np.concatenate([held.chunk[inside], chunk, np.full(new.num_rows, far)])
        alone = lifted(self._parts, new, self.keys, COUNT)
        joined = Joined(self.keys, before, alone, places=[places])
        at = None
        if window.measured:
            name = str(bound.order)
            highs = held.highs[held.chunk[inside]]
            at = np.concatenate([highs, integers(rows, name), integers(new, name)])[joined.order]
        sorted_rows = joined.rows(bound, at, weights=joined.sorted(COUNT))
        windows = window.bounds(sorted_rows)
        over = WindowResults(SortedColumns(joined.table.column, sorted_rows), windows.windows)
        results = self._parts.results(over, bound.types)
        return NewResults(new, joined.new_rows(joined.fresh), results)

    def _rows(
        self, history: SummarizedChunks, held: HeldChunks, crossed: NDArray[np.bool_]
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows of keys whose windows begin in a chunk, and the chunk of each."""
        tables, ordinals = [history.schema.empty_table()], [np.empty(0, np.int64)]
        for i, chunk in enumerate(history.chunks):
            mine = held.of(i)
            if not crossed[mine].any():
                continue
            rows = held.among(history.read(chunk), mine, crossed)
            tables.append(rows)
            ordinals.append(np.full(rows.num_rows, i))
        return pa.concat_tables(tables), np.concatenate(ordinals)

    # -- what is kept -----------------------------------------------------------------------

    def _settle(self, history: SummarizedChunks, held: HeldChunks, now: int | None) -> None:
        """Delete the chunks that no window to come reaches, and dead rows if they are many."""
        live = np.zeros(held.counts.size, np.bool_)
        for bound in self.bounds:
            window = bound.query.window
            if window.reach_rows is not None:
                live |= held.after() < window.reach_rows - 1
            else:
                least = NEVER if now is None else now - _reach(bound)
                live |= (held.highs >= least)[held.chunk]
        left = np.zeros(len(held.chunks), np.int64)
        np.add.at(left, held.chunk[live], held.counts[live])
        known = {chunk.stamp: i for i, chunk in enumerate(held.chunks)}
        history.forget([c for c in history.chunks if c.stamp in known and not left[known[c.stamp]]])
        if not history.wasteful(int(left.sum())):
            return
        for chunk in list(history.chunks):
            i = known.get(chunk.stamp)
            if i is not None and 2 * left[i] <= chunk.rows:
                history.write(chunk, held.among(history.read(chunk), held.of(i), live))


def _reach(bound: Bound) -> int:
    """How far windows along time reach back."""
    size = bound.query.window.reach(bound.axis)
    assert size is not None
    return int(size)


class HeldChunks:
    """What is held of each chunk and key, and how many new rows each key has."""

    def __init__(
        self,
        keys: Sequence[str],
        chunks: Sequence[Chunk],
        summaries: Sequence[pa.Table],
        new: pa.Table,
    ) -> None:
        self.chunks, self._keys = list(chunks), keys
        self.lows = np.array([chunk.low for chunk in chunks], np.int64)
        self.highs = np.array([chunk.high for chunk in chunks], np.int64)
        sizes = [table.num_rows for table in summaries]
        self._ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.chunk = np.repeat(np.arange(len(sizes)), sizes)
        counts = [integers(table, COUNT) for table in summaries]
        self.counts = np.concatenate([np.empty(0, np.int64), *counts])
        self._tables = summaries
        every = pa.concat_tables([t.select(keys) for t in (*summaries, new)])
        code, count = codes([every.column(name) for name in keys])
        n = self.counts.size
        code = np.zeros(n + new.num_rows, np.int64) if code is None else code
        self._code, self._came = code[:n], np.bincount(code[n:], minlength=count)

    def of(self, chunk: int) -> slice:
        """Where a chunk's keys lie."""
        return slice(int(self._ends[chunk]), int(self._ends[chunk + 1]))

    def among(self, rows: pa.Table, mine: slice, wanted: NDArray[np.bool_]) -> pa.Table:
        """The rows of a chunk that are of wanted keys."""
        if wanted[mine].all():
            return rows
        table = self._tables[self.chunk[mine.start]].filter(pa.array(wanted[mine]))
        return rows.filter(pa.array(rows_among(rows, table, self._keys)))

    def after(self, new: bool = True) -> NDArray[np.int64]:
        """How many rows of the same key lie behind each chunk's, new ones counted or not."""
        behind = np.empty(self.counts.size, np.int64)
        seen = self._came.astype(np.int64) if new else np.zeros_like(self._came, np.int64)
        for i in range(len(self.chunks) - 1, -1, -1):
            mine = self.of(i)
            code = self._code[mine]
            behind[mine] = seen[code]
            seen[code] += self.counts[mine]
        return behind

    def by_count(self, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which are crossed by windows of the last `size` rows, and which lie in all of them."""
        after, came = self.after(new=False), self._came[self._code]
        inside = (came > 0) & (after + self.counts <= size - came)
        crossed = (came > 0) & (after < size - 1) & ~inside
        return crossed, inside

    def by_time(
        self, at: Any, size: int, least: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The same for windows that reach back by `least` to `size` from these times."""
        none = np.zeros(self.counts.size, np.bool_)
        if not at.size:
            return none, none
        lows, highs = self.lows[self.chunk], self.highs[self.chunk]
        came = self._came[self._code] > 0
        inside = came & (lows > at.max() - least) & (highs < at.min())
        crossed = came & (highs >= at.min() - size) & ~inside
        return crossed, inside
