"""Rows that came before their turn: later than the watermark, which older ones may still follow.

        chunk 7   10:01 10:02 10:04 10:09         sorted by time, never changed
        chunk 8   10:03 10:05 10:11
                        │
                   watermark 10:04: a cursor in each chunk tells what has gone

A chunk is read when the watermark reaches its next row, and deleted when all of it has gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.stores.encoding.tables import decode, encode
from windrow.streams.cache import DECODED, SHARED, new_stamp
from windrow.streams.log import Entries
from windrow.streams.step import integers

# A chunk has so many rows at most: what a later watermark needs is read, and not much more.
MOST = 1 << 15


@dataclass
class WaitingChunk:
    """A chunk of rows sorted by time: how many there are and are gone, the next and last times."""

    number: int
    rows: int
    gone: int
    next: int
    last: int
    stamp: int = 0  # which copies of it are known by; a chunk of an earlier version has none


class Waiting:
    """The rows of a bucket that are not yet applied."""

    def __init__(
        self,
        entries: Entries,
        log: int,
        schema: pa.Schema,
        time: str,
        pieces: Sequence[WaitingChunk] = (),
    ) -> None:
        self.entries, self._log, self._schema, self._time = entries, log, schema, time
        self.pieces = list(pieces)

    def add(self, rows: pa.Table) -> None:
        """Let rows wait for their turn."""
        rows, at = _by_time(rows, integers(rows, self._time))
        for begin in range(0, rows.num_rows, MOST):
            part, when = rows.slice(begin, MOST), at[begin : begin + MOST]
            number = self.pieces[-1].number + 1 if self.pieces else 0
            first, last = int(when[0]), int(when[-1])
            piece = WaitingChunk(number, part.num_rows, 0, first, last, new_stamp())
            self.pieces.append(piece)
            data = encode(part)
            self.entries.put(self._log, number, data)
            DECODED.put(piece.stamp, part)
            SHARED.put(piece.stamp, data)

    def before(self, time: int) -> pa.Table:
        """Take the rows from before `time`, in the order of their times."""
        tables, ready = [], []
        for piece in [p for p in self.pieces if p.next < time]:
            rows = self.read(piece)
            at = integers(rows, self._time)
            stop = int(np.searchsorted(at, time, side="left"))
            tables.append(rows.slice(piece.gone, stop - piece.gone))
            ready.append(at[piece.gone : stop])
            piece.gone = stop
            if stop == piece.rows:
                self._remove(piece)
            else:
                piece.next = int(at[stop])
        if not tables:
            return self._schema.empty_table()
        return _by_time(pa.concat_tables(tables), np.concatenate(ready))[0].combine_chunks()

    @property
    def first(self) -> int | None:
        """The earliest time that waits."""
        return min((piece.next for piece in self.pieces), default=None)

    def read(self, piece: WaitingChunk) -> pa.Table:
        """The rows of a chunk."""
        piece.stamp = piece.stamp or new_stamp()
        rows = DECODED.get(piece.stamp)
        if rows is None:
            data = SHARED.get(piece.stamp) or self.entries.get(self._log, piece.number)
            what = f"waiting chunk {piece.number} of the stream's state"
            (rows,) = decode(data, [self._schema], what)
            DECODED.put(piece.stamp, rows)
        return rows

    def _remove(self, piece: WaitingChunk) -> None:
        """Delete a chunk whose rows have all gone."""
        self.pieces.remove(piece)
        DECODED.drop(piece.stamp)
        SHARED.drop(piece.stamp)
        self.entries.remove(self._log, piece.number)


def _by_time(rows: pa.Table, at: NDArray[np.int64]) -> tuple[pa.Table, NDArray[np.int64]]:
    """Rows in the order of their times `at`, and the times; those of a time as they stand."""
    if (at[1:] >= at[:-1]).all():
        return rows, at
    order = np.argsort(at, kind="stable")
    return rows.take(pa.array(order)), at[order]
