"""The rows of a step, sorted by key as windows see them, and its results.

a  [held held held] new new        a window reaches back into what is held, and never beyond
b  [held] new
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import Order, order_rows
from windrow.tables.bind import Bound
from windrow.tables.columns import numbers, whole
from windrow.tables.filters import columns_of
from windrow.tables.keys import codes
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.sort import TableRows, sort_rows
from windrow.tables.states import StateColumns
from windrow.windows.positions import Windows

NEVER = -(2**62)  # a watermark before all times
END = 2**62  # and the one behind them, when no row comes any more
COUNT = "windrow:rows"  # how many rows a state stands for


def integers(table: pa.Table, name: str) -> NDArray[np.int64]:
    """A column of times or whole numbers, none of them null, as whole numbers of its unit."""
    values = numbers(whole(table.column(name)))
    assert values is not None
    return values.astype(np.int64, copy=False)


def nullable(schema: pa.Schema) -> pa.Schema:
    """The same columns, all of which may be null: what is computed of them always may."""
    return pa.schema([field.with_nullable(True) for field in schema])


def sort_by_key(table: pa.Table, keys: Sequence[str], *order: NDArray[Any]) -> TableRows:
    """The rows of a table sorted by key, and within a key by `order` or else as they stand."""
    code, count = codes([table.column(name) for name in keys])
    sorted_order, starts = order_rows(code, count, list(order), table.num_rows)
    return TableRows(starts, starts, order=sorted_order)


def in_order(bound: Bound, table: pa.Table) -> NDArray[np.int64]:
    """The rows of a table by time; those of a key and a time by the other columns of the order."""
    rows = sort_rows(bound, columns_of(table), table.num_rows)
    order = rows.rows(np.arange(table.num_rows))
    return np.asarray(order[np.argsort(integers(table, str(bound.order))[order], kind="stable")])


def rows_among(rows: pa.Table, others: pa.Table, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows have the same values in the columns `names` as one of the others."""
    both = pa.concat_tables([others.select(names), rows.select(names)])
    code, count = codes([both.column(name) for name in names])
    if code is None:
        return np.full(rows.num_rows, others.num_rows > 0)
    present = np.zeros(count, np.bool_)
    present[code[: others.num_rows]] = True
    return np.asarray(present[code[others.num_rows :]])


def states_by_key(
    parts: StateColumns, table: pa.Table, keys: Sequence[str], slices: str | None = None
) -> tuple[pa.Table, NDArray[Any]]:
    """A state for each key, and each value of the column `slices`; and the first row of each.

    A table with a column `COUNT` has states, which are merged; any other has rows.
    """
    n, merging = table.num_rows, COUNT in table.column_names
    at = [] if slices is None else [integers(table, slices)]
    rows = sort_by_key(table, keys, *at)
    begins = np.zeros(n, np.bool_)
    begins[rows.starts[:-1][np.diff(rows.starts) > 0]] = True
    for values in map(rows.sorted, at):
        begins[1:] |= values[1:] != values[:-1]
    lo = np.flatnonzero(begins)
    hi = np.append(lo[1:], n)[: lo.size]
    over = WindowResults(SortedColumns(columns_of(table), rows), Windows(rows.starts, lo=lo, hi=hi))
    states = parts.merge(over) if merging else parts.make(over)
    counts = hi - lo
    if merging:
        total = np.concatenate([[0], np.cumsum(rows.sorted(integers(table, COUNT)))])
        counts = total[hi] - total[lo]
    first = rows.rows(lo)
    names = [*keys, *([] if slices is None else [slices])]
    beside = {name: table.column(name).take(pa.array(first)) for name in names}
    return pa.table({**beside, COUNT: pa.array(counts), **states}), first


def lifted(parts: StateColumns, rows: pa.Table, beside: Sequence[str], count: str) -> pa.Table:
    """Each row as the state of itself, beside some of its columns; it stands for one row."""
    columns = {name: rows.column(name) for name in beside}
    states = parts.lift(columns_of(rows), rows.num_rows)
    return pa.table({**columns, count: pa.array(np.ones(rows.num_rows, np.int64)), **states})


class Gap(NamedTuple):
    """How long a key may be idle along a column of times: behind such a gap it starts anew."""

    time: str
    size: int


class Joined:
    """Rows that are held and new ones, sorted by key; the held ones come first in each.

    a a a a a b b b       rows
    ├─────────┼─────┤     keys
    ├───┼─────┼─────┤     stretches: keys, cut where one was idle for too long
    """

    def __init__(
        self,
        keys: Sequence[str],
        held: pa.Table,
        new: pa.Table,
        gap: Gap | None = None,
        places: Sequence[NDArray[Any]] = (),  # what the rows of a key are sorted by
    ) -> None:
        both = pa.concat_tables([held, new.select(held.column_names)])
        self.table = both.combine_chunks()  # columns are read more than once
        self.held, self.size = held.num_rows, self.table.num_rows
        rows = sort_by_key(self.table, keys, *places)
        self.keys = self.starts = rows.starts
        self._order = rows.order
        self.order = np.arange(self.size) if rows.order is None else rows.order.rows
        self.fresh = np.flatnonzero(self.order >= self.held)
        self._gap = gap
        self._cut()

    def _cut(self) -> None:
        """Cut the rows of a key where it was idle for too long."""
        if self._gap is not None and self.size:
            at = self.sorted(self._gap.time)
            self.starts = np.union1d(self.keys, np.flatnonzero(np.diff(at) > self._gap.size) + 1)

    def part(self, chosen: NDArray[np.bool_]) -> Joined:
        """The rows at the sorted positions that a mask chooses, as if there were no others."""
        part = copy.copy(self)
        count = np.concatenate([[0], np.cumsum(chosen)])
        part.order = self.order[chosen]
        part._order = Order(rows=part.order)
        part.size = part.order.size
        part.keys = part.starts = count[self.keys]
        part.fresh = np.flatnonzero(part.order >= self.held)
        part._cut()
        return part

    def rows(self, bound: Bound, at: NDArray[Any] | None = None, **more: Any) -> TableRows:
        """The sorted rows for the windows of a query; `at` if the table does not have the order."""
        window, starts = bound.query.window, self.starts
        if not window.measured:
            return TableRows(starts, starts, order=self._order, fresh=self.fresh, **more)
        if window.reach(bound.axis) is not None:
            starts = self.keys  # what a range holds does not depend on how long a key was idle
        at = self.sorted(str(bound.order)) if at is None else at
        return TableRows(
            starts, starts, at, bound.axis, order=self._order, fresh=self.fresh, **more
        )

    def new_rows(self, positions: NDArray[Any]) -> NDArray[Any]:
        """The numbers of new rows at sorted positions among the new ones."""
        return np.asarray(self.order[positions] - self.held)

    def sorted(self, name: str) -> NDArray[Any]:
        """A column of whole numbers in sorted order."""
        values = integers(self.table, name)
        return values if self._order is None else self._order.sorted(values)

    def in_place(self, positions: NDArray[np.bool_]) -> NDArray[Any]:
        """The rows of the table at sorted positions that a mask chooses, in the table's order."""
        chosen = np.zeros(self.table.num_rows, np.bool_)
        chosen[self.order[positions]] = True
        return np.flatnonzero(chosen)

    def from_positions(self, first: NDArray[np.int64], starts: NDArray[np.int64]) -> Any:
        """Which rows lie at or behind the first position of their stretch, in a key's last one."""
        lengths = np.diff(starts)
        last = np.isin(starts[1:], self.keys[1:])
        first = np.where(last, first, starts[1:])
        return np.arange(self.size) >= np.repeat(first, lengths)


@dataclass(frozen=True)
class NewResults:
    """Results by key and, within a key, in order; `rows` has each one's row of `table`."""

    table: pa.Table
    rows: NDArray[Any]
    columns: dict[str, pa.Array]
    by_row: bool = True  # whether results come out in the order of the rows

    def chosen(self, mask: NDArray[np.bool_]) -> NewResults:
        """Some of the results."""
        columns = {name: array.filter(pa.array(mask)) for name, array in self.columns.items()}
        return replace(self, rows=self.rows[mask], columns=columns)

    def result(self, names: list[str]) -> pa.Table:
        """The results beside columns of their rows."""
        rows, columns = self.rows, self.columns
        if self.by_row and (rows[1:] < rows[:-1]).any():
            order = _ascending(rows, self.table.num_rows)
            rows = rows[order]
            columns = {name: array.take(pa.array(order)) for name, array in columns.items()}
        beside = {name: self.table.column(name) for name in names}
        if rows.size != self.table.num_rows or (rows != np.arange(rows.size)).any():
            taken = pa.array(rows)
            beside = {name: column.take(taken) for name, column in beside.items()}
        return pa.table({**beside, **columns})


def _ascending(rows: NDArray[Any], n: int) -> NDArray[np.int64]:
    """The positions of row numbers below n in the order of the numbers. O(n) if they differ."""
    positions = np.full(n, -1)
    positions[rows] = np.arange(rows.size)
    order = positions[positions >= 0]
    return order if order.size == rows.size else np.argsort(rows, kind="stable")
