"""Rows that are held and new ones, sorted by key, as windows see them.

a  [held held held] new new        a window reaches back into what is held, and never beyond
b  [held] new
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import order_rows
from windrow.streams.waiting import times
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.keys import codes
from windrow.tables.sort import TableRows


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
        self, keys: Sequence[str], held: pa.Table, new: pa.Table, gap: Gap | None = None
    ) -> None:
        self.table = pa.concat_tables([held, new.select(held.column_names)])
        self.held, self.size = held.num_rows, self.table.num_rows
        key, count = codes([self.table.column(name) for name in keys])
        order, self.keys = order_rows(key, count, [], self.size)
        self.order = np.arange(self.size) if order is None else order
        self.fresh = np.flatnonzero(self.order >= self.held)
        self.starts = self.keys
        if gap is not None and self.size:
            at = times(self.table, gap.time)[self.order]
            self.starts = np.union1d(self.keys, np.flatnonzero(np.diff(at) > gap.size) + 1)

    def rows(self, bound: Bound, at: NDArray[Any] | None = None, **more: Any) -> TableRows:
        """The sorted rows for the windows of a query; `at` if the table does not have the order."""
        window, starts = bound.query.window, self.starts
        if not window.measured:
            return TableRows(starts, starts, order=self.order, fresh=self.fresh, **more)
        if window.reach(bound.axis) is not None:
            starts = self.keys  # what a range holds does not depend on how long a key was idle
        at = times(self.table, str(bound.order))[self.order] if at is None else at
        return TableRows(starts, starts, at, bound.axis, order=self.order, fresh=self.fresh, **more)

    def new_rows(self, positions: NDArray[Any]) -> NDArray[Any]:
        """The numbers of new rows at sorted positions among the new ones."""
        return np.asarray(self.order[positions] - self.held)

    def sorted(self, name: str) -> NDArray[Any]:
        """A column of whole numbers in sorted order."""
        return np.asarray(whole(self.table.column(name)).to_numpy()[self.order])

    def from_positions(self, first: NDArray[np.int64], starts: NDArray[np.int64]) -> Any:
        """Which rows lie at or behind the first position of their stretch, in a key's last one."""
        lengths = np.diff(starts)
        last = np.isin(starts[1:], self.keys[1:])
        first = np.where(last, first, starts[1:])
        return np.arange(self.size) >= np.repeat(first, lengths)
