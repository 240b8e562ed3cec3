"""Rows that windows to come may hold: one table in memory, sealed chunks in the store.

        store     chunk 3    chunk 4    chunk 5            written once, never changed
                  a a b c    b c        a a b b
        memory      a b c    b c        a a b b            what is still needed of them, in order

A step of the stream writes one chunk of what is new and deletes the chunks of which nothing is
needed any more, so what it writes has nothing to do with how long the windows are. Only where
windows leave rows of idle keys behind, chunks of which less than half is needed are written anew,
and small ones are merged: both cost no more than the rows that came.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import order_rows
from windrow.stores.encoding.tables import decode, encode
from windrow.tables.keys import codes

# A chunk of so many rows is sealed for good; smaller ones are merged, so many at a time.
SEALED, _AT_ONCE = 4096, 8
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


class Log:
    """The rows that are kept for the keys of a bucket.

    `rows` has the key columns and those of `schema`; the rows of a key are in their order.
    """

    def __init__(
        self,
        entries: Entries,
        log: int,
        keys: pa.Schema,
        schema: pa.Schema,
        chunks: Sequence[Chunk] = (),
    ) -> None:
        self.entries, self._log, self._keys, self._schema = entries, log, keys, schema
        self.chunks = list(chunks)
        tables = [self._read(chunk) for chunk in self.chunks]
        whole = pa.schema([*keys, *schema])
        self.rows = pa.concat_tables([whole.empty_table(), *tables])
        self._from = np.repeat(
            np.array([c.number for c in self.chunks], np.int64), [c.rows for c in self.chunks]
        )

    def replace(self, kept: NDArray[Any], added: pa.Table, now: int) -> None:
        """Keep these rows only, by their positions, and the ones that are new."""
        number = self.chunks[-1].number + 1 if self.chunks else 0
        if kept.size < self._from.size:
            self.rows = self.rows.take(pa.array(kept))
            self._from = self._from[kept]
        if added.num_rows:
            self.rows = pa.concat_tables([self.rows, added.select(self.rows.column_names)])
            self._from = np.concatenate([self._from, np.full(added.num_rows, number)])
            chunk = Chunk(number, added.num_rows, now)
            self.chunks.append(chunk)
            self._write(chunk, added)
        self._settle()

    def restrict(self, live: NDArray[np.bool_]) -> None:
        """Forget rows that were read with their chunks, but are not held."""
        if not live.all():
            self.rows, self._from = self.rows.filter(pa.array(live)), self._from[live]

    def idle(self, before: int, key: NDArray[Any] | None) -> NDArray[np.bool_]:
        """Which rows are of keys that got none since `before`; `key` has the key of each row."""
        newest = {chunk.number: chunk.newest for chunk in self.chunks}
        times = np.array([newest[n] for n in self._from.tolist()], np.int64)
        if key is None:
            return np.full(times.size, times.max(initial=before) < before)
        latest = np.full(key.max(initial=0) + 1, np.iinfo(np.int64).min)
        np.maximum.at(latest, key, times)
        return np.asarray(latest[key] < before)

    # -- chunks -----------------------------------------------------------------------------

    def _settle(self) -> None:
        """Delete what is dead, write anew what is mostly dead, merge what is small."""
        live = dict(zip(*np.unique(self._from, return_counts=True), strict=True))
        for chunk in [c for c in self.chunks if c.number not in live]:
            self.entries.remove(self._log, chunk.number)
            self.chunks.remove(chunk)
        if sum(c.rows for c in self.chunks) > 2 * self._from.size + SEALED:
            for chunk in self.chunks:
                if 2 * live[chunk.number] <= chunk.rows:
                    self._rewrite([chunk])
        merge_small(self.chunks, self._rewrite)

    def _rewrite(self, chunks: list[Chunk]) -> None:
        """One chunk in place of neighbours, of their rows that are needed."""
        first, last = chunks[0], chunks[-1]
        place = (self._from >= first.number) & (self._from <= last.number)
        last.rows, last.newest = int(place.sum()), max(c.newest for c in chunks)
        self._from[place] = last.number
        self._write(last, self.rows.filter(pa.array(place)))
        for chunk in chunks[:-1]:
            self.entries.remove(self._log, chunk.number)

    def _write(self, chunk: Chunk, rows: pa.Table) -> None:
        """A chunk has each key once, with the number of its rows, and the rows by their keys."""
        chunk.stamp = int.from_bytes(os.urandom(8)) >> 1
        DECODED.put(chunk.stamp, rows)
        self.entries.put(self._log, chunk.number, encode(*by_key(rows, self._keys, self._schema)))

    def _read(self, chunk: Chunk) -> pa.Table:
        rows = DECODED.get(chunk.stamp)
        if rows is None:
            rows = self._decoded(chunk)
            DECODED.put(chunk.stamp, rows)
        return rows

    def _decoded(self, chunk: Chunk) -> pa.Table:
        data = self.entries.get(self._log, chunk.number)
        what = f"chunk {chunk.number} of the stream's state"
        return rows_again(data, self._keys, self._schema, what)


def by_key(rows: pa.Table, keys: pa.Schema, schema: pa.Schema) -> list[pa.Table]:
    """Each key once with the number of its rows, and the rows by their keys; O(rows)."""
    values = rows.select(schema.names)
    if not len(keys):
        return [values]
    made, count = codes([rows.column(name) for name in keys.names])
    order, starts = order_rows(made, count, [], rows.num_rows)
    counts = np.diff(starts)
    first = starts[:-1][counts > 0]
    if order is not None:
        values, first = values.take(pa.array(order)), order[first]
    owners = rows.select(keys.names).take(pa.array(first))
    return [owners.append_column(_COUNT, pa.array(counts[counts > 0], pa.int32())), values]


def rows_again(data: bytes, keys: pa.Schema, schema: pa.Schema, what: str) -> pa.Table:
    """The rows that `by_key` made the encoded tables of."""
    if not len(keys):
        return decode(data, [schema], what)[0]
    counted = keys.append(pa.field(_COUNT, pa.int32()))
    owners, values = decode(data, [counted, schema], what)
    each = np.repeat(np.arange(owners.num_rows), owners.column(_COUNT).to_numpy())
    full = owners.drop_columns([_COUNT]).take(pa.array(each))
    return pa.Table.from_arrays(
        [*full.columns, *values.columns], schema=pa.schema([*keys, *schema])
    )


def merge_small(chunks: list[Chunk], merge: Callable[[list[Chunk]], None]) -> None:
    """Merge the newest chunks while they are small and about the same; the last stands for all."""
    while len(small := _small(chunks)) >= _AT_ONCE:
        merge(small)
        del chunks[-len(small) : -1]


def _small(chunks: list[Chunk]) -> list[Chunk]:
    """The newest chunks, all of about the same size, that are not sealed."""
    newest: list[Chunk] = []
    for chunk in reversed(chunks[-_AT_ONCE:]):
        if chunk.rows >= SEALED or (newest and chunk.rows > _AT_ONCE * newest[0].rows):
            break
        newest.insert(0, chunk)
    return newest


class Recent:
    """The chunks that this process met last, up to so many bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._held: OrderedDict[int, pa.Table] = OrderedDict()

    def get(self, stamp: int) -> pa.Table | None:
        """The rows of a chunk of this stamp, if they are here."""
        rows = self._held.get(stamp)
        if rows is not None:
            self._held.move_to_end(stamp)
        return rows

    def put(self, stamp: int, rows: pa.Table) -> None:
        """Remember the rows of a chunk."""
        self._held[stamp] = rows
        self._size += rows.nbytes
        while self._size > self._most:
            self._size -= self._held.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
        self._size = 0


# Spark hands a bucket from worker to worker: each then reads only what is new to it.
DECODED = Recent(256 << 20)
