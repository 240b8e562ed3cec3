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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.tables.bind import Bound
from windrow.tables.filters import columns_of, wanted
from windrow.tables.results import SortedColumns
from windrow.tables.row_sizes import sized_rows
from windrow.tables.rows import RowValues
from windrow.tables.run import new_columns
from windrow.tables.sort import TableRows, sorted_already
from windrow.windows.sorted_rows import PLACED, Bounds

MakeColumns = Callable[[Bound, SortedColumns, Bounds], dict[str, pa.Array]]
# Kernels are called for at least so many rows: what a call costs is then nothing to a row.
PIECE = 1 << 15


@dataclass
class _Progress:
    """How far a walk has come with one query, in the rows of its tail."""

    answered: int = 0  # rows that have their results
    # how many rows a policy left in their windows
    lengths: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    last: dict[str, pa.Array] | None = None  # the last result of their key


class Walk:
    """Results over sorted rows: `feed` takes some and gives what is ready, `finish` the rest.

    Several queries, whose windows are measured along the same order or not at all, look at rows
    that are read once; they come with a table for each of them.
    """

    def __init__(
        self, *bounds: Bound, piece: int = PIECE, results: MakeColumns = new_columns
    ) -> None:
        self.bounds, self.piece, self._new_columns = bounds, piece, results
        self._progress = [_Progress() for _ in bounds]
        self._waiting: list[pa.Table] = []
        self._tail: pa.Table | None = None
        self._before = 0  # rows of the tail's key that came before the tail
        self._done: Any = None  # windows of the tail's key that end by then are answered

    def run(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The results of the only query over all tables, one after the other."""
        for table in tables:
            yield from self.feed(table)
        yield from self.finish()

    def feed(self, table: pa.Table) -> Iterator[pa.Table]:
        """Take rows, and give the results that are ready, a table for each query."""
        table, _ = sized_rows(
            self.bounds[0], table
        )  # rows of their own sizes are one query's alone
        if table.num_rows:
            self._waiting.append(table)
        tail = 0 if self._tail is None else self._tail.num_rows
        if sum(t.num_rows for t in self._waiting) >= max(self.piece, tail):
            yield from self._advance(last=False)

    def finish(self) -> Iterator[pa.Table]:
        """The results that waited for rows to come, which do not."""
        if self._waiting or self._tail is not None:
            yield from self._advance(last=True)

    def _advance(self, last: bool) -> list[pa.Table]:
        pieces = [t for t in (self._tail, *self._waiting) if t is not None]
        table = pa.concat_tables(pieces).combine_chunks()
        self._waiting = []
        rows = self._sorted(table, last)
        named = (*self.bounds[0].query.partition_by, *self.bounds[0].query.order_by)
        identity = [name for name in named if name in table.column_names]
        columns = SortedColumns(columns_of(table), rows, identity)
        kept = rows.size - 1  # the last row at least tells which key goes on
        results, every = [], []
        for bound, progress in zip(self.bounds, self._progress, strict=True):
            own = self._of_query(bound, progress, table, rows)
            windows = bound.query.window.bounds(own)
            results.append(self._result(bound, progress, columns, table, own, windows))
            if not last:
                answered = rows.size
                if not bound.own_rows and isinstance(windows.beside, slice):
                    answered = windows.beside.stop
                first = int(bound.query.window.keeps(own, windows)[rows.last_segment])
                kept = min(kept, first, answered)
                every.append((progress, answered, windows.left))
        if last:
            self._tail = None
            return results
        for progress, answered, left in every:
            progress.answered = answered - kept
            if left is not None:
                progress.lengths = left[kept:].copy()
        self._keep(table, rows, kept)
        return results

    def _sorted(self, table: pa.Table, last: bool) -> TableRows:
        """The rows, of which the tail's were here before; only the last key goes on."""
        n = table.num_rows
        rows = sorted_already(self.bounds[0], columns_of(table), n)
        before = np.zeros(rows.starts.size - 1, np.int64)
        before[: 1 if before.size else 0] = self._before
        return replace(
            rows,
            now=None if last or rows.at is None or not n else rows.at[-1],
            open=rows.last_segment,
            over=None if last else np.arange(rows.starts.size - 1) < rows.last_segment,
            done=self._done,
            answered=rows.places,
            before=before,
        )

    def _of_query(
        self, bound: Bound, progress: _Progress, table: pa.Table, rows: TableRows
    ) -> TableRows:
        """The rows with what one query knows of those that were here before."""
        lengths = None
        if bound.query.window.kept == "window":
            lengths = np.full(rows.size, -1, np.int64)
            lengths[: progress.lengths.size] = progress.lengths
        values = RowValues(bound.query, rows, columns_of(table), table.column_names)
        fresh = slice(progress.answered, rows.size)
        return replace(rows, values=values, fresh=fresh, lengths=lengths)

    def _keep(self, table: pa.Table, rows: TableRows, first: int) -> None:
        """Carry over the rows that windows of the last key may still hold, or that wait."""
        segment, begin = rows.last_segment, int(rows.keys[rows.last_key])
        self._before = first - begin + (self._before if begin == 0 else 0)
        # rows without an order come before all windows of their key
        self._done = rows.now if rows.places == 1 or segment % rows.places == PLACED else None
        # a copy, as a slice would hold on to all of the batch
        self._tail = table.take(pa.array(np.arange(first, rows.size)))

    # -- the result -------------------------------------------------------------------------

    def _result(
        self,
        bound: Bound,
        progress: _Progress,
        columns: SortedColumns,
        table: pa.Table,
        rows: TableRows,
        windows: Bounds,
    ) -> pa.Table:
        try:
            new = self._new_columns(bound, columns, windows)
        except OverflowError as error:
            place = self._overflowing(bound, columns, windows)
            error.add_note(f"at the row {columns.described(place)!r}")
            raise
        beside = windows.places(rows)
        names = list(bound.query.partition_by) if bound.own_rows else table.column_names
        kept = table.select(names)
        if bound.filters:
            kept, new = _filtered(bound, progress, kept, table, rows, beside, new)
        elif isinstance(windows.beside, slice) and not bound.own_rows:
            kept = kept.slice(int(beside[0]) if beside.size else 0, beside.size)
        else:
            kept = kept.take(pa.array(beside))
        return pa.table({**dict(zip(kept.column_names, kept.columns, strict=True)), **new})

    def _overflowing(self, bound: Bound, columns: SortedColumns, windows: Bounds) -> int:
        """The last position of a window that cannot be answered: found by halves, O(n log n)."""
        low, high = 0, len(windows.windows)
        while high - low > 1:
            half = slice(low, (low + high) // 2)
            try:
                self._new_columns(bound, columns, windows.chosen(half))
            except OverflowError:
                high = half.stop
            else:
                low = half.stop
        return int(windows.windows.bounds_of(low, low + 1)[1][0]) - 1


def _filtered(
    bound: Bound,
    progress: _Progress,
    kept: pa.Table,
    table: pa.Table,
    rows: TableRows,
    beside: Any,
    new: dict[str, pa.Array],
) -> tuple[pa.Table, dict[str, pa.Array]]:
    """The results that come out, and their rows."""
    keys = np.searchsorted(rows.keys, beside, side="right") - 1
    before = progress.last if keys.size and keys[0] == 0 else None
    chosen, passed = wanted(bound.query, lambda: table.take(pa.array(beside)), keys, new, before)
    if keys.size and keys[-1] == rows.last_key:
        newest = {n: new[n].slice(len(keys) - 1) for n in bound.query.parts}
        progress.last = newest if passed[-1] else None
    elif rows.last_key:
        progress.last = None
    place = np.flatnonzero(chosen)
    taken = {name: array.take(pa.array(place)) for name, array in new.items()}
    return kept.take(pa.array(beside[place])), taken


def walk_together(
    bounds: Sequence[Bound], tables: Iterator[pa.Table], piece: int = PIECE
) -> Iterator[pa.Table]:
    """The sorted rows with the results of several queries beside them, as soon as all have theirs.

    Every query has a result for every row. Those that are measured along the order look at the same
    sorted rows, and so do the others.
    """
    if len(bounds) == 1:
        yield from Walk(bounds[0], piece=piece).run(tables)
        return
    alike: dict[Any, list[int]] = {}
    for i, bound in enumerate(bounds):
        along = (bound.order, bound.at_type) if bound.query.window.measured else None
        alike.setdefault(along, []).append(i)
    walks = [(own, Walk(*(bounds[i] for i in own), piece=piece)) for own in alike.values()]
    ready: list[list[pa.Table]] = [[] for _ in bounds]

    def take(members: list[int], results: Iterator[pa.Table]) -> None:
        for i, result in zip(members, list(results), strict=False):
            ready[i].append(result)

    for table in tables:
        for members, walk in walks:
            take(members, walk.feed(table))
        yield from _side_by_side(bounds, ready)
    for members, walk in walks:
        take(members, walk.finish())
    yield from _side_by_side(bounds, ready)


def _side_by_side(bounds: Sequence[Bound], ready: list[list[pa.Table]]) -> Iterator[pa.Table]:
    """The rows for which all queries have their results; the others wait in `ready`."""
    tables = [pa.concat_tables(results) for results in ready if results]
    n = min(t.num_rows for t in tables) if len(tables) == len(ready) else 0
    if not n:
        return
    columns = dict(zip(tables[0].column_names, tables[0].slice(0, n).columns, strict=True))
    for i, (bound, table) in enumerate(zip(bounds, tables, strict=True)):
        columns.update({name: table.column(name).slice(0, n) for name in bound.query.parts})
        ready[i] = [table.slice(n)] if table.num_rows > n else []
    yield pa.table(columns)
