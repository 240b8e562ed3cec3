"""Windows over the rows themselves: policies, counted slides, what has no short aggregate.

What is kept of a key is what its next window may hold. New rows follow it, and one pass over both
answers for the new ones. A policy is asked of the new rows only, at the positions that they have
among all rows of their key, so that it leaves the same windows however a stream is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.family import Family
from windrow.streams.log import Log
from windrow.streams.step import Gap, Joined, NewResults, rows_among
from windrow.tables.bind import Bound, columns_read
from windrow.tables.filters import columns_of
from windrow.tables.rows import RowValues
from windrow.tables.sort import TableRows
from windrow.windows.sorted_rows import Bounds, no_windows
from windrow.windows.until import Tree, encoded

# How many rows of its key came up to a row, itself included.
NUMBER = "windrow:place"
# How many rows a policy left in the window of a row, itself included.
LENGTH = "windrow:length"
# The node of a row in the tree of a policy that is interpreted, encoded.
NODE = "windrow:node"


class RowWindows(Family[Log]):
    """Queries whose windows hold rows, over the same rows in the same order.

    One with a policy is alone: what is held is its window, and no other's.
    """

    def __init__(self, bounds: Sequence[Bound], gap: Gap | None = None) -> None:
        # rows leave a range of time whether or not their key is idle
        super().__init__(bounds, None if all(map(_in_range, bounds)) else gap)
        self._policed = bounds[0].query.window.kept == "window"
        policy = bounds[0].plan.policy
        self._interpreted = self._policed and policy is not None and bool(policy.why_not)
        # a policy goes by the positions of rows
        self._numbered = self._policed or any(not b.query.window.per_row for b in bounds)

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a row, besides its key."""
        names: dict[str, None] = {}
        for bound in self.bounds:
            if bound.query.window.measured:
                names[str(bound.order)] = None
            if self._policed:  # a policy that fails tells the row
                names.update(dict.fromkeys(bound.query.order_by))
            for part in bound.query.parts.values():
                names.update(dict.fromkeys(part.columns))
            for text in bound.query.window.reads:
                names.update(dict.fromkeys(columns_read(text, bound.schema)))
        if self.gap is not None:
            names[self.gap.time] = None
        kept = self.bounds[0].schema
        fields = [kept.field(name) for name in names if name not in self.keys]
        if self._numbered or not fields:  # a window of none of the columns still has its rows
            fields.append(pa.field(NUMBER, pa.int64()))
        if self._policed:
            fields.append(pa.field(LENGTH, pa.int64()))
        if self._interpreted:
            fields.append(pa.field(NODE, pa.binary()))
        return pa.schema(fields)

    def live(self, held: pa.Table, done: int | None) -> NDArray[np.bool_]:
        """Which of the rows in the store count: chunks have others too, until they go.

        Those are older than any window reaches, so only a policy must be told, and who counts rows:
        behind one that is gone the numbers go on.
        """
        if not (self._policed or self._numbered):
            return np.ones(held.num_rows, np.bool_)
        joined = Joined(self.keys, held, held.slice(0, 0), self.gap)
        live = np.empty(joined.size, np.bool_)
        if self._numbered:
            gone = np.flatnonzero(np.diff(joined.sorted(NUMBER)) != 1) + 1
            first = joined.starts[:-1].copy()
            np.maximum.at(first, np.searchsorted(joined.starts, gone, side="right") - 1, gone)
            live[joined.order] = joined.from_positions(first, joined.starts)
            return live
        (bound,) = self.bounds
        rows = self._rows(bound, joined, None)
        live[joined.order] = self._stays(bound, joined, rows, no_windows(rows))
        return live

    def step(self, log: Log, new: pa.Table, now: int | None, done: int | None) -> list[NewResults]:
        """Return the results of the new rows, which join the others.

        O(held + new); of a policy, what keys that got no rows hold is only looked over.
        """
        held, apart = log.rows, None
        if self._policed and self.keys and held.num_rows:
            touched = rows_among(held, new, self.keys)
            apart, there = ~touched, np.flatnonzero(touched)
            held = held.take(pa.array(there)) if there.size < apart.size else held
        blank = pa.array(np.full(new.num_rows, -1, np.int64))
        for name in (NUMBER, LENGTH):
            if name in held.column_names:
                new = new.append_column(name, blank)
        if self._interpreted:
            new = new.append_column(NODE, pa.nulls(new.num_rows, pa.binary()))
        joined = Joined(self.keys, held, new, self.gap)
        stays = np.zeros(joined.size, np.bool_)
        results = []
        for bound in self.bounds:
            rows = self._rows(bound, joined, now)
            if self._policed:
                rows = replace(rows, trees=self._trees(log, joined, rows))
            new_results, windows = self.over_rows(bound, joined, rows, new)
            results.append(new_results)
            if windows.left is not None:
                left = windows.left[joined.fresh]
                new = _with(new, LENGTH, joined.new_rows(joined.fresh), left)
                if self._interpreted:
                    nodes = pa.array(self._new_nodes(joined, rows), pa.binary())
                    new = new.set_column(new.column_names.index(NODE), NODE, nodes)
                self._remember(log, joined, rows, windows)
            stays |= self._stays(bound, joined, rows, windows)
        if NUMBER in held.column_names:
            numbers = _numbers(self._rows(self.bounds[0], joined, None), joined.fresh)
            new = _with(new, NUMBER, joined.new_rows(joined.fresh), numbers)
        chosen = joined.in_place(stays)
        kept = chosen[chosen < joined.held]
        if apart is not None:
            apart[there[kept]] = True
            kept = np.flatnonzero(apart)
        log.replace(kept, new.take(pa.array(chosen[chosen >= joined.held] - joined.held)), now or 0)
        return results

    def _rows(self, bound: Bound, joined: Joined, now: int | None) -> TableRows:
        """The sorted rows, with what is known of those that were here before."""
        rows = joined.rows(bound, now=now if bound.query.window.measured else None)
        names = joined.table.column_names
        values = RowValues(bound.query, rows, columns_of(joined.table), names)
        rows = replace(rows, values=values)
        if LENGTH in names:
            rows = replace(rows, lengths=joined.sorted(LENGTH))
        if NUMBER in names and rows.starts is joined.starts:
            numbers = np.append(joined.sorted(NUMBER), 1)
            rows = replace(rows, before=np.maximum(numbers[rows.starts[:-1]] - 1, 0))
        return rows

    def _trees(self, log: Log, joined: Joined, rows: TableRows) -> dict[int, Tree]:
        """What a policy that is interpreted has found out about the keys that got rows."""
        if not log.trees and not self._interpreted:
            return {}
        trees, stored = {}, None
        for stretch, key in self._touched(joined, rows).items():
            if key in log.trees:
                trees[stretch] = log.trees.pop(key)
            elif self._interpreted and rows.before is not None:
                if stored is None:
                    stored = joined.table.column(NODE)
                begin, stop = rows.starts[stretch : stretch + 2].tolist()
                order = joined.order[begin:stop]
                nodes = stored.take(pa.array(order[order < joined.held])).to_pylist()
                if any(node is not None for node in nodes):
                    end = int(rows.before[stretch]) + len(nodes)
                    trees[stretch] = Tree.unread(end, nodes)
        return trees

    def _new_nodes(self, joined: Joined, rows: TableRows) -> list[bytes | None]:
        """The nodes of the new rows, as they are kept in the store."""
        nodes: list[bytes | None] = [None] * (joined.size - joined.held)
        for stretch, tree in (rows.trees or {}).items():
            first, past = np.searchsorted(joined.fresh, rows.starts[stretch : stretch + 2])
            new = joined.new_rows(joined.fresh[first:past]).tolist()
            for row, node in zip(new, tree.nodes[len(tree.nodes) - len(new) :], strict=True):
                nodes[row] = encoded(node)
        return nodes

    def _remember(self, log: Log, joined: Joined, rows: TableRows, windows: Bounds) -> None:
        """Keep the states of the rows that windows to come may hold, of the keys that got rows."""
        if not rows.trees:
            return
        keys, left = self._touched(joined, rows), windows.left
        assert left is not None
        for stretch, tree in rows.trees.items():
            units, nodes = tree.newest(int(left[rows.starts[stretch + 1] - 1])) or ([], [])
            log.trees[keys[stretch]] = Tree(tree.end, units, nodes)

    def _touched(self, joined: Joined, rows: TableRows) -> dict[int, tuple[Any, ...]]:
        """The keys that got rows, by the numbers of their stretches."""
        stretches = np.searchsorted(rows.starts, joined.fresh, side="right") - 1
        stretches, first = np.unique(stretches, return_index=True)
        taken = pa.array(joined.order[joined.fresh[first]])
        lists = [joined.table.column(name).take(taken).to_pylist() for name in self.keys]
        keys = zip(*lists, strict=True) if lists else [()]
        return dict(zip(stretches.tolist(), keys, strict=False))

    def _stays(
        self, bound: Bound, joined: Joined, rows: TableRows, windows: Bounds
    ) -> NDArray[np.bool_]:
        """Which sorted rows the windows of rows to come may hold.

        Where rows are counted, or a policy may leave none, the last row tells so for its key.
        """
        first = bound.query.window.keeps(rows, windows)
        if self._numbered:
            first = np.minimum(first, np.maximum(rows.starts[1:] - 1, rows.starts[:-1]))
        return np.asarray(joined.from_positions(first, rows.starts))


def _in_range(bound: Bound) -> bool:
    """Whether windows reach back along the order by a range that has an end."""
    window = bound.query.window
    return bool(window.measured) and window.reach(bound.axis) is not None


def _numbers(rows: TableRows, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of some rows in their stretches, from 1, with those before them counted."""
    stretch = np.searchsorted(rows.starts, positions, side="right") - 1
    before = 0 if rows.before is None else rows.before[stretch]
    return np.asarray(positions - rows.starts[stretch] + 1 + before)


def _with(table: pa.Table, name: str, rows: NDArray[Any], values: NDArray[Any]) -> pa.Table:
    """A table with other values in some rows of a column of whole numbers."""
    column = table.column(name).to_numpy().copy()
    column[rows] = values
    return table.set_column(table.column_names.index(name), name, pa.array(column))
