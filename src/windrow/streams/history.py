"""The rows of long windows: sealed chunks of rows, and beside each what its rows amount to.

        rows        ▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒       read only where windows begin
        summaries   a⊕ b⊕ c⊕  a⊕ c⊕     a⊕ b⊕     a⊕ b⊕ c⊕       an aggregate for each key

Where a window holds all rows that a key has in a chunk, the aggregate stands for them (paper 001's
decoupling: elements and partials lie in the store, and few of them are looked at).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import order_rows
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.log import (
    DECODED,
    SEALED,
    Chunk,
    Entries,
    by_key,
    merge_small,
    rows_again,
)
from windrow.streams.waiting import times
from windrow.tables.filters import columns_of
from windrow.tables.keys import codes
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.sort import TableRows
from windrow.tables.states import StateColumns
from windrow.windows.positions import Windows

COUNT = "windrow:rows"
_WORTH = 4  # rows for each key: with fewer, a summary is no shorter than the rows


class History:
    """Chunks of rows in the order of time, the rows of a chunk by their keys."""

    def __init__(
        self,
        entries: Entries,
        log: int,
        keys: pa.Schema,
        schema: pa.Schema,
        parts: StateColumns,
        time: str | None,
        chunks: Sequence[Chunk] = (),
    ) -> None:
        self.entries, self._log, self._keys, self._parts = entries, log, list(keys.names), parts
        self._time, self.chunks = time, list(chunks)
        self._schemas = keys, schema
        self.schema = pa.schema([*keys, *schema])
        self.summary_schema = pa.schema([*keys, pa.field(COUNT, pa.int64()), *parts.fields])

    def append(self, rows: pa.Table, now: int) -> None:
        """Add rows that follow all others."""
        if rows.num_rows:
            number = self.chunks[-1].number + 1 if self.chunks else 0
            self.chunks.append(Chunk(number, rows.num_rows, now))
            self._write(self.chunks[-1], rows.select(self.schema.names))
            merge_small(self.chunks, self._merge)

    def forget(self, gone: Sequence[Chunk]) -> None:
        """Delete chunks of which nothing is needed any more."""
        for chunk in gone:
            self.chunks.remove(chunk)
            self._remove(chunk)

    def shrink(self, chunk: Chunk, rows: pa.Table) -> None:
        """Write a chunk anew, with fewer rows."""
        chunk.rows = rows.num_rows
        self._write(chunk, rows)

    def rows(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk."""
        found = DECODED.get(chunk.stamp)
        if found is None:
            what = f"chunk {chunk.number} of the stream's state"
            data = self.entries.get(self._log, 2 * chunk.number)
            found = rows_again(data, *self._schemas, what)
            DECODED.put(chunk.stamp, found)
        return found

    def summary(self, chunk: Chunk) -> pa.Table:
        """How many rows each key has in a chunk, and their aggregate."""
        found = DECODED.get(~chunk.stamp)
        if found is None:
            if chunk.keys:
                data = self.entries.get(self._log, 2 * chunk.number + 1)
                what = f"the summary of chunk {chunk.number} of the stream's state"
                (found,) = decode(data, [self.summary_schema], what)
            else:
                found = self._summed(self.rows(chunk))
            DECODED.put(~chunk.stamp, found)
        return found

    def _summed(self, rows: pa.Table) -> pa.Table:
        made, count = codes([rows.column(name) for name in self._keys])
        order, starts = order_rows(made, count, [], rows.num_rows)
        counts = np.diff(starts)
        lo = starts[:-1][counts > 0]
        hi = starts[1:][counts > 0]
        windows = Windows(starts, lo=lo, hi=hi)
        columns = SortedColumns(columns_of(rows), TableRows(starts, starts, order=order))
        aggregates = self._parts.make(WindowResults(columns, windows))
        first = pa.array(lo if order is None else order[lo])
        keys = {name: rows.column(name).take(first) for name in self._keys}
        return pa.table({**keys, COUNT: pa.array(hi - lo), **aggregates})

    def _write(self, chunk: Chunk, rows: pa.Table) -> None:
        if chunk.keys:
            self.entries.remove(self._log, 2 * chunk.number + 1)
        rows = rows.combine_chunks()
        chunk.stamp = int.from_bytes(os.urandom(8)) >> 1
        if self._time is not None:
            at = times(rows, self._time)
            chunk.low, chunk.high = int(at.min()), int(at.max())
        summary = self._summed(rows)
        chunk.keys = summary.num_rows if summary.num_rows * _WORTH <= rows.num_rows else 0
        DECODED.put(chunk.stamp, rows)
        DECODED.put(~chunk.stamp, summary)
        self.entries.put(self._log, 2 * chunk.number, encode(*by_key(rows, *self._schemas)))
        if chunk.keys:
            self.entries.put(self._log, 2 * chunk.number + 1, encode(summary))

    def _merge(self, chunks: list[Chunk]) -> None:
        last = chunks[-1]
        rows = pa.concat_tables([self.rows(chunk) for chunk in chunks])
        last.rows, last.newest = rows.num_rows, max(c.newest for c in chunks)
        for chunk in chunks[:-1]:
            self._remove(chunk)
        self._write(last, rows)

    def _remove(self, chunk: Chunk) -> None:
        self.entries.remove(self._log, 2 * chunk.number)
        if chunk.keys:
            self.entries.remove(self._log, 2 * chunk.number + 1)


def too_much(history: History, live: NDArray[np.int64]) -> bool:
    """Whether more than half of what is stored is needed by no window."""
    return sum(c.rows for c in history.chunks) > 2 * int(live.sum()) + SEALED
