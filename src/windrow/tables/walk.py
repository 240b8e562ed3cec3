"""One pass over rows that come sorted by key and order, in batches cut anywhere.

What windows of rows to come may reach back to is carried over in front of the next batch:

        batch 1                          batch 2
        a a a b b b b b│b b              b b│c c c c c …
                       └────── tail ───────┘└─ answered with batch 2
          answered     └ not yet answered, or inside a window of rows to come

A key may be longer than memory: the tail holds one window. Batches are gathered until they are as
long as the tail, so every row is looked at O(1) times, however short the batches are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.tables.bind import Bound
from windrow.tables.filters import columns_of, wanted
from windrow.tables.policies import Policed, closing_rows
from windrow.tables.results import SortedColumns
from windrow.tables.run import answers
from windrow.tables.sort import Asked, Layout, laid_already, span_bounds, windows_of
from windrow.windows.kinds import UNBOUNDED, On, Rows, Span, Until
from windrow.windows.positions import Windows

Answer = Callable[[Bound, SortedColumns, Asked], dict[str, pa.Array]]
# Kernels are called for at least so many rows: what a call costs is then nothing to a row.
PIECE = 1 << 15


class Walk:
    """Answers over sorted rows: `feed` takes some and gives what is ready, `finish` the rest."""

    def __init__(self, bound: Bound, piece: int = PIECE, answers: Answer = answers) -> None:
        self.bound, self.piece, self._answers = bound, piece, answers
        self._waiting: list[pa.Table] = []
        self._tail: pa.Table | None = None
        self._answered = 0  # rows of the tail that have their answers
        self._before = 0  # rows of the tail's key that came before the tail
        self._opened: Any = None  # the start of the last hopping window answered of the tail's key
        self._last: dict[str, pa.Array] | None = None  # the last answer of the tail's key
        window = bound.query.window
        self._policed = Policed(bound.query, window.until) if isinstance(window, Until) else None

    def run(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The results of all tables, one after the other."""
        for table in tables:
            yield from self.feed(table)
        yield from self.finish()

    def feed(self, table: pa.Table) -> Iterator[pa.Table]:
        """Take rows, and give the results that are ready."""
        if table.num_rows:
            self._waiting.append(table)
        tail = 0 if self._tail is None else self._tail.num_rows
        if sum(t.num_rows for t in self._waiting) >= max(self.piece, tail):
            yield self._advance(last=False)

    def finish(self) -> Iterator[pa.Table]:
        """The results that waited for rows to come, which do not."""
        if self._waiting or self._tail is not None:
            yield self._advance(last=True)

    def _advance(self, last: bool) -> pa.Table:
        pieces = [t for t in (self._tail, *self._waiting) if t is not None]
        table = pa.concat_tables(pieces).combine_chunks()
        self._waiting = []
        laid = laid_already(self.bound, columns_of(table), table.num_rows, self._before)
        asked, keep = self._asked(table, laid, last)
        result = self._result(table, laid, asked)
        self._keep(table, laid, keep, last)
        return result

    # -- which windows are ready, and what is kept ------------------------------------------

    def _asked(self, table: pa.Table, laid: Layout, last: bool) -> tuple[Asked, int]:
        """The windows to be answered now, and the first position that later ones may hold."""
        window, n = self.bound.query.window, laid.size
        key = int(laid.keys[laid.last_key])
        if isinstance(window, Rows):
            asked = windows_of(self.bound, laid, first=self._answered)
            if asked.closing is not None:
                asked = _since(asked, self._answered)
            keep = key if window.rows is None else max(key, n + 1 - window.rows)
            self._answered = n
            return asked, keep
        if isinstance(window, On):
            closes = closing_rows(window, table.column_names, laid, columns_of(table))
            asked = _since(windows_of(self.bound, laid, closes=closes), self._answered)
            self._answered = n
            closed = asked.closing
            assert closed is not None
            return asked, max(key, int(closed[-1]) + 1 if closed.size else 0)
        if self._policed is not None:
            asked = self._policed.windows(laid, columns_of(table), self._answered)
            asked = replace(asked, closing=np.arange(self._answered, n))
            assert asked.windows.lo is not None
            self._answered = n
            return asked, int(asked.windows.lo[-1]) if len(asked.windows) else key
        assert isinstance(window, Span)
        return self._spanned(window, laid, last) if window.per_row else self._hopping(laid, last)

    def _spanned(self, window: Span, laid: Layout, last: bool) -> tuple[Asked, int]:
        lo, hi = span_bounds(window, self.bound, laid)
        assert laid.at is not None
        ready = laid.size
        if not last and window.closed in ("both", "right"):  # rows of the same time may follow
            begin = int(laid.starts[laid.last_stretch])
            ready = begin + int(np.searchsorted(laid.at[begin:], laid.at[-1], side="left"))
        rows = slice(self._answered, ready)
        asked = Asked(
            Windows(laid.starts, lo=lo[rows], hi=hi[rows]), np.arange(*rows.indices(ready))
        )
        self._answered = max(ready, self._answered)
        keep = int(lo[-1])
        if window.range != UNBOUNDED:
            keep = min(keep, ready)
        return asked, keep

    def _hopping(self, laid: Layout, last: bool) -> tuple[Asked, int]:
        asked = windows_of(self.bound, laid)
        opens, key, windows = asked.opens, asked.key, asked.windows
        assert opens is not None and key is not None and laid.at is not None
        assert windows.lo is not None and windows.hi is not None
        now = laid.last_key
        ready = np.ones(opens.size, np.bool_)
        if self._opened is not None:
            ready &= (key != 0) | (opens > self._opened)
        keep = laid.size
        if not last:
            size = self.bound.hop_sizes()[0]
            time = -np.inf if laid.last_time is None else laid.last_time
            growing = (key == now) & (opens > time - size)
            ready &= ~growing
            if growing.any():
                keep = int(windows.lo[growing.argmax()])
            done = opens[(key == now) & ~growing]
            self._opened = done[-1] if done.size else (self._opened if now == 0 else None)
        found = np.flatnonzero(ready)
        chosen = Windows(windows.starts, lo=windows.lo[found], hi=windows.hi[found])
        self._answered = laid.size
        return Asked(chosen, opens=opens[found], key=key[found]), keep

    def _keep(self, table: pa.Table, laid: Layout, keep: int, last: bool) -> None:
        if last:
            self._tail = None
            return
        keep = min(keep, laid.size - 1)  # the last row at least tells which key goes on
        begin = int(laid.keys[laid.last_key])
        self._before = keep - begin + (self._before if begin == 0 else 0)
        self._answered -= keep
        # a copy, as a slice would hold on to all of the batch
        self._tail = table.take(pa.array(np.arange(keep, laid.size)))

    # -- the result -------------------------------------------------------------------------

    def _result(self, table: pa.Table, laid: Layout, asked: Asked) -> pa.Table:
        bound = self.bound
        named = (*bound.query.partition_by, *bound.query.order_by)
        identity = [name for name in named if name in table.column_names]
        columns = SortedColumns(columns_of(table), laid, identity)
        try:
            made = self._answers(bound, columns, asked)
        except OverflowError as error:
            place = self._overflowing(columns, asked)
            error.add_note(f"at the row {columns.described(place)!r}")
            raise
        beside = asked.beside(laid)
        if len(asked.windows) < beside.size:  # rows from where the tail is answered on
            beside = beside[beside.size - len(asked.windows) :]
        names = list(bound.query.partition_by) if bound.hops else table.column_names
        rows = table.select(names)
        if bound.filters:
            rows, made = self._filtered(rows, table, laid, beside, made)
        elif not bound.hops and beside.size and beside[-1] - beside[0] == beside.size - 1:
            rows = rows.slice(int(beside[0]), beside.size)
        else:
            rows = rows.take(pa.array(beside))
        return pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **made})

    def _overflowing(self, columns: SortedColumns, asked: Asked) -> int:
        """The last position of a window that cannot be answered: found by halves, O(n log n)."""
        lo, hi = asked.windows.bounds()
        low, high = 0, hi.size
        while high - low > 1:
            half = slice(low, (low + high) // 2)
            opens, key = (None if a is None else a[half] for a in (asked.opens, asked.key))
            windows = Windows(asked.windows.starts, lo=lo[half], hi=hi[half])
            try:
                self._answers(self.bound, columns, Asked(windows, opens=opens, key=key))
            except OverflowError:
                high = half.stop
            else:
                low = half.stop
        return int(hi[low]) - 1

    def _filtered(
        self, rows: pa.Table, table: pa.Table, laid: Layout, beside: Any, made: Any
    ) -> tuple[pa.Table, dict[str, pa.Array]]:
        keys = np.searchsorted(laid.keys, beside, side="right") - 1
        before = self._last if keys.size and keys[0] == 0 else None
        chosen, passed = wanted(
            self.bound.query, lambda: table.take(pa.array(beside)), keys, made, before
        )
        if keys.size and keys[-1] == laid.last_key:
            newest = {n: made[n].slice(len(keys) - 1) for n in self.bound.query.parts}
            self._last = newest if passed[-1] else None
        elif laid.last_key:
            self._last = None
        place = np.flatnonzero(chosen)
        taken = {name: array.take(pa.array(place)) for name, array in made.items()}
        return rows.take(pa.array(beside[place])), taken


def _since(asked: Asked, first: int) -> Asked:
    """The windows that close at positions from `first` on."""
    closing, windows = asked.closing, asked.windows
    assert closing is not None and windows.lo is not None and windows.hi is not None
    kept = closing >= first
    return Asked(Windows(windows.starts, lo=windows.lo[kept], hi=windows.hi[kept]), closing[kept])
