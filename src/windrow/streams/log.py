"""Rows that windows to come may hold, as chunks in a store that are written once.

        store     chunk 3    chunk 4    chunk 5            written once, never changed
                  a a b c    b c        a a b b
        memory      a b c    b c        a a b b            what is still needed of them, in order

A step of the stream writes one chunk of what is new and deletes the chunks of which nothing is
needed any more, so what it writes has nothing to do with how long the windows are. Small chunks are
merged, and those of which less than half is needed are written anew where windows leave rows of
idle keys behind: both cost no more than the rows that came.

A `Log` has all of its rows in memory. A `History`, for long windows, reads chunks as needed, and
has a summary of each:

        rows        ▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒       read only where windows begin
        summaries   a⊕ b⊕ c⊕  a⊕ c⊕     a⊕ b⊕     a⊕ b⊕ c⊕       a state for each key

Where a window holds all rows that a key has in a chunk, the state stands for them (paper 001's
decoupling: elements and partials lie in the store, and few of them are looked at).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.stores.encoding.tables import decode, encode
from windrow.streams.cache import DECODED, SHARED, new_stamp
from windrow.streams.step import COUNT, integers, nullable, sort_by_key, states_by_key
from windrow.tables.keys import codes
from windrow.tables.states import StateColumns
from windrow.windows.until import Tree

# A chunk of so many rows is sealed for good; smaller ones are merged, so many at a time.
SEALED, _AT_ONCE = 4096, 8
_WORTH = 4  # rows for each key: with fewer, a summary is no shorter than the rows
_COUNT = "windrow:count"


class Entries(Protocol):
    """Where chunks are stored: a map of numbers to bytes."""

    def get(self, log: int, number: int) -> bytes:
        """The bytes of a chunk."""

    def put(self, log: int, number: int, value: bytes) -> None:
        """Store a chunk."""

    def remove(self, log: int, number: int) -> None:
        """Forget a chunk."""


@dataclass
class Chunk:
    """What is known of a chunk without reading it.

    `newest` is when it was last added to. The stamp is drawn anew whenever it is written, so a
    process that has decoded a chunk of this stamp need not read it again.
    """

    number: int
    rows: int
    newest: int
    stamp: int = 0
    keys: int = 0  # of how many keys there is a summary beside it
    low: int = 0  # the first time in it, and the last
    high: int = 0


@dataclass(eq=False)
class Chunks:
    """Chunks of rows in the store, the rows of a chunk by their keys."""

    entries: Entries
    log: int  # its number among the logs in the store
    keys: pa.Schema
    columns: pa.Schema  # the others
    chunks: list[Chunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keys, self.columns = nullable(self.keys), nullable(self.columns)
        self.schema = pa.schema([*self.keys, *self.columns])
        self.chunks = list(self.chunks)

    def append(self, rows: pa.Table, now: int) -> Chunk:
        """Write rows that follow all others as a chunk."""
        number = self.chunks[-1].number + 1 if self.chunks else 0
        self.chunks.append(Chunk(number, rows.num_rows, now))
        self.write(self.chunks[-1], rows.select(self.schema.names))
        return self.chunks[-1]

    def forget(self, gone: Sequence[Chunk]) -> None:
        """Delete chunks of which nothing is needed any more."""
        for chunk in gone:
            self.chunks.remove(chunk)
            self._remove(chunk)

    def wasteful(self, live: int) -> bool:
        """Whether more than half of what is stored is needed by no window."""
        return sum(chunk.rows for chunk in self.chunks) > 2 * live + SEALED

    def merge_small(self) -> None:
        """Merge the newest chunks while they are small and about the same; the last stands."""
        while len(small := self._small()) >= _AT_ONCE:
            rows = self._needed(small)
            for chunk in small[:-1]:
                self._remove(chunk)
            small[-1].newest = max(chunk.newest for chunk in small)
            self.write(small[-1], rows)
            del self.chunks[-len(small) : -1]

    def _small(self) -> list[Chunk]:
        """The newest chunks, all of about the same size, that are not sealed."""
        newest: list[Chunk] = []
        for chunk in reversed(self.chunks[-_AT_ONCE:]):
            if chunk.rows >= SEALED or (newest and chunk.rows > _AT_ONCE * newest[0].rows):
                break
            newest.insert(0, chunk)
        return newest

    def _needed(self, chunks: list[Chunk]) -> pa.Table:
        """The rows of neighbouring chunks that are to become one."""
        return pa.concat_tables([self.read(chunk) for chunk in chunks])

    def write(self, chunk: Chunk, rows: pa.Table) -> None:
        """Write a chunk: each key once, with the number of its rows, and the rows by their keys."""
        chunk.rows = rows.num_rows
        self._forget_copies(chunk)
        chunk.stamp = new_stamp()
        DECODED.put(chunk.stamp, rows)
        self._put(self._entry(chunk), chunk.stamp, self._encoded(rows))

    def _encoded(self, rows: pa.Table) -> bytes:
        values = rows.select(self.columns.names)
        if not len(self.keys):
            return encode(values)
        sorted_rows = sort_by_key(rows, self.keys.names)
        counts = np.diff(sorted_rows.starts)
        first = sorted_rows.rows(sorted_rows.starts[:-1][counts > 0])
        if sorted_rows.order is not None:
            values = values.take(pa.array(sorted_rows.order.rows))
        owners = rows.select(self.keys.names).take(pa.array(first))
        owners = owners.append_column(_COUNT, pa.array(counts[counts > 0], pa.int32()))
        return encode(owners, values)

    def _put(self, entry: int, stamp: int, data: bytes) -> None:
        self.entries.put(self.log, entry, data)
        SHARED.put(stamp, data)

    def _get(self, entry: int, stamp: int) -> bytes:
        return SHARED.get(stamp) or self.entries.get(self.log, entry)

    def read(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk."""
        rows = DECODED.get(chunk.stamp)
        if rows is None:
            rows = self._decoded(chunk)
            DECODED.put(chunk.stamp, rows)
        return rows

    def _decoded(self, chunk: Chunk) -> pa.Table:
        data = self._get(self._entry(chunk), chunk.stamp)
        what = f"chunk {chunk.number} of the stream's state"
        if not len(self.keys):
            return decode(data, [self.columns], what)[0]
        counted = self.keys.append(pa.field(_COUNT, pa.int32()))
        owners, values = decode(data, [counted, self.columns], what)
        each = np.repeat(np.arange(owners.num_rows), owners.column(_COUNT).to_numpy())
        full = owners.drop_columns([_COUNT]).take(pa.array(each))
        return pa.Table.from_arrays([*full.columns, *values.columns], schema=self.schema)

    def _entry(self, chunk: Chunk) -> int:
        """The number of a chunk in the store."""
        return chunk.number

    def _remove(self, chunk: Chunk) -> None:
        self._forget_copies(chunk)
        self.entries.remove(self.log, self._entry(chunk))

    def _forget_copies(self, chunk: Chunk) -> None:
        DECODED.drop(chunk.stamp)
        SHARED.drop(chunk.stamp)


class Log(Chunks):
    """The rows that are kept for the keys of a bucket, with those of each chunk in memory.

    The rows of a key are in their order. `held` has, by its number, what is still needed of each
    chunk. `trees` has, of some keys, the states of their rows, which are found again from the rows
    where they are missing.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.trees: dict[tuple[Any, ...], Tree] = {}
        self.held = {chunk.number: self.read(chunk) for chunk in self.chunks}

    @property
    def rows(self) -> pa.Table:
        """All rows that are held: the key columns, and the others. Nothing is copied."""
        tables = [self.held[chunk.number] for chunk in self.chunks]
        return pa.concat_tables([self.schema.empty_table(), *tables])

    def replace(self, kept: NDArray[Any], added: pa.Table, now: int) -> None:
        """Keep these rows only, by their ascending positions, and the ones that are new."""
        begin = first = 0
        for chunk in self.chunks:
            rows = self.held[chunk.number]
            last = int(np.searchsorted(kept, begin + rows.num_rows))
            self.held[chunk.number] = _chosen(rows, kept[first:last] - begin)
            begin, first = begin + rows.num_rows, last
        if added.num_rows:
            self.append(added, now)
        self.settle()

    def settle(self) -> None:
        """Delete chunks of which nothing is held, and write anew what holds too little."""
        self.forget([chunk for chunk in self.chunks if not self.held[chunk.number].num_rows])
        if self.wasteful(sum(rows.num_rows for rows in self.held.values())):
            for chunk in self.chunks:
                if 2 * self.held[chunk.number].num_rows <= chunk.rows:
                    self.write(chunk, self.held[chunk.number])
        self.merge_small()

    def restrict(self, live: NDArray[np.bool_]) -> None:
        """Forget rows that were read with their chunks, but are not held."""
        begin = 0
        for number, rows in self.held.items():
            mine = live[begin : begin + rows.num_rows]
            begin += rows.num_rows
            if not mine.all():
                self.held[number] = rows.filter(pa.array(mine))

    def forget_idle(self, before: int, now: int) -> None:
        """Forget the rows of keys that got none since `before`."""
        if all(chunk.newest >= before for chunk in self.chunks):
            return
        rows, sizes = self.rows, [self.held[chunk.number].num_rows for chunk in self.chunks]
        times = np.repeat(np.array([chunk.newest for chunk in self.chunks], np.int64), sizes)
        key, count = codes([rows.column(name) for name in self.keys.names])
        key = np.zeros(times.size, np.int64) if key is None else key
        latest = np.full(count, np.iinfo(np.int64).min)
        np.maximum.at(latest, key, times)
        stays = np.flatnonzero(latest[key] >= before)
        if stays.size < times.size:
            self.trees.clear()
            self.replace(stays, rows.slice(0, 0), now)

    def write(self, chunk: Chunk, rows: pa.Table) -> None:
        """Write a chunk, of which all rows are held."""
        self.held[chunk.number] = rows
        super().write(chunk, rows)

    def _needed(self, chunks: list[Chunk]) -> pa.Table:
        """The rows of neighbouring chunks that are still held."""
        return pa.concat_tables([self.held[chunk.number] for chunk in chunks]).combine_chunks()

    def _remove(self, chunk: Chunk) -> None:
        del self.held[chunk.number]
        super()._remove(chunk)


def _chosen(rows: pa.Table, kept: NDArray[Any]) -> pa.Table:
    """Rows at ascending positions; nothing is copied where they follow each other."""
    if kept.size == 0 or kept[-1] - kept[0] + 1 == kept.size:
        return rows.slice(int(kept[0]) if kept.size else 0, kept.size)
    return rows.take(pa.array(kept))


@dataclass(eq=False)
class SummarizedChunks(Chunks):
    """Chunks of rows in the order of time, and beside each the states of its keys."""

    parts: StateColumns = field(kw_only=True)
    time: str | None = field(kw_only=True)  # the column of times, if windows are measured along it

    def summary(self, chunk: Chunk) -> pa.Table:
        """How many rows each key has in a chunk, and their state."""
        summary = DECODED.get(~chunk.stamp)
        if summary is None:
            if chunk.keys:
                data = self._get(self._entry(chunk) + 1, ~chunk.stamp)
                what = f"the summary of chunk {chunk.number} of the stream's state"
                count = pa.field(COUNT, pa.int64())
                schema = pa.schema([*self.keys, count, *self.parts.fields])
                (summary,) = decode(data, [schema], what)
            else:
                summary = self._states(self.read(chunk))
            DECODED.put(~chunk.stamp, summary)
        return summary

    def write(self, chunk: Chunk, rows: pa.Table) -> None:
        """Write a chunk and its summary, if that is much shorter."""
        if chunk.keys:
            self._remove_summary(chunk)
        rows = rows.combine_chunks()
        if self.time is not None:
            at = integers(rows, self.time)
            chunk.low, chunk.high = int(at.min()), int(at.max())
        super().write(chunk, rows)
        summary = self._states(rows)
        chunk.keys = summary.num_rows if summary.num_rows * _WORTH <= rows.num_rows else 0
        DECODED.put(~chunk.stamp, summary)
        if chunk.keys:
            self._put(self._entry(chunk) + 1, ~chunk.stamp, encode(summary))

    def _states(self, rows: pa.Table) -> pa.Table:
        return states_by_key(self.parts, rows, self.keys.names)[0]

    def _entry(self, chunk: Chunk) -> int:
        return 2 * chunk.number  # its summary follows

    def _remove(self, chunk: Chunk) -> None:
        super()._remove(chunk)
        if chunk.keys:
            self._remove_summary(chunk)

    def _remove_summary(self, chunk: Chunk) -> None:
        self.entries.remove(self.log, self._entry(chunk) + 1)
