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
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.stores.encoding.tables import decode, encode
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
        self._held: dict[int, tuple[pa.Table, NDArray[np.int64]]] = {}

    def add(self, rows: pa.Table) -> None:
        """Let rows wait for their turn."""
        at = integers(rows, self._time)
        order = np.argsort(at, kind="stable")
        rows, at = rows.take(pa.array(order)), at[order]
        for begin in range(0, rows.num_rows, MOST):
            part, when = rows.slice(begin, MOST), at[begin : begin + MOST]
            number = self.pieces[-1].number + 1 if self.pieces else 0
            piece = WaitingChunk(number, part.num_rows, 0, int(when[0]), int(when[-1]))
            self.pieces.append(piece)
            self._held[number] = part, when
            self.entries.put(self._log, number, encode(part))

    def before(self, time: int) -> pa.Table:
        """Take the rows from before `time`, in the order of their times."""
        tables, ready = [self._schema.empty_table()], [np.empty(0, np.int64)]
        for piece in [p for p in self.pieces if p.next < time]:
            rows, at = self._read(piece)
            stop = int(np.searchsorted(at, time, side="left"))
            tables.append(rows.slice(piece.gone, stop - piece.gone))
            ready.append(at[piece.gone : stop])
            piece.gone = stop
            if stop == piece.rows:
                self.pieces.remove(piece)
                self._held.pop(piece.number)
                self.entries.remove(self._log, piece.number)
            else:
                piece.next = int(at[stop])
        order = np.argsort(np.concatenate(ready), kind="stable")
        return pa.concat_tables(tables).take(pa.array(order))

    @property
    def first(self) -> int | None:
        """The earliest time that waits."""
        return min((piece.next for piece in self.pieces), default=None)

    def _read(self, piece: WaitingChunk) -> tuple[pa.Table, Any]:
        if piece.number not in self._held:
            data = self.entries.get(self._log, piece.number)
            what = f"waiting chunk {piece.number} of the stream's state"
            (rows,) = decode(data, [self._schema], what)
            self._held[piece.number] = rows, integers(rows, self._time)
        return self._held[piece.number]
