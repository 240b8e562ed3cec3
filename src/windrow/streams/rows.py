"""Windows that hold rows: `rows=`, `range=`, `until=`.

What is kept of a key is what its next window may hold: the last w − 1 rows, those within the range
of the watermark, those that the policy left. New rows follow them, and one pass over both answers
for the new ones:

        a  [held held held] new new        sorted by key; a window reaches back into what is held,
        b  [held] new                      and never beyond
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sort import order_rows
from windrow.streams.answered import Answered
from windrow.streams.waiting import times
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.filters import columns_of
from windrow.tables.keys import codes
from windrow.tables.policies import Policed
from windrow.tables.results import SortedColumns
from windrow.tables.run import answers
from windrow.tables.sort import Asked, Layout, span_bounds
from windrow.tables.times import reach
from windrow.windows.kinds import Rows, Span, Until
from windrow.windows.positions import Windows

# How many rows of its key came up to a row: kept where only every so-manieth is answered.
PLACE = "windrow:place"
# How many rows a policy left in the window of a row, itself included.
LENGTH = "windrow:length"


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
        self.fresh = self.order >= self.held
        self.starts = self.keys
        if gap is not None and self.size:
            at = times(self.table, gap.time)[self.order]
            self.starts = np.union1d(self.keys, np.flatnonzero(np.diff(at) > gap.size) + 1)

    def laid(self, time: str | None = None) -> Layout:
        """The sorted rows, with their times if windows are measured along them."""
        at = times(self.table, time)[self.order] if time is not None else None
        return Layout(self.order, self.starts, self.starts, at)

    def begins(self) -> NDArray[np.int64]:
        """For each sorted row, where its stretch begins."""
        return np.repeat(self.starts[:-1], np.diff(self.starts))

    def ends(self) -> NDArray[np.int64]:
        """For each sorted row, where its stretch ends."""
        return np.repeat(self.starts[1:], np.diff(self.starts))

    def key_ends(self) -> NDArray[np.int64]:
        """For each sorted row, where its key ends."""
        return np.repeat(self.keys[1:], np.diff(self.keys))


class RowWindows:
    """Queries whose windows hold rows, over the same rows in the same order.

    One with a policy is alone: what is held is its window, and no other's.
    """

    def __init__(self, bounds: Sequence[Bound], gap: Gap | None = None) -> None:
        self.bounds = list(bounds)
        spans = all(isinstance(b.query.window, Span) for b in bounds)  # whose rows leave anyway
        self._gap = None if spans else gap
        self._keys = list(bounds[0].query.partition_by)
        self._policed = isinstance(bounds[0].query.window, Until)
        self._counts = any(map(_slides, bounds))

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a row, besides its key."""
        names: dict[str, None] = {}
        for bound in self.bounds:
            if isinstance(bound.query.window, Span):
                names[str(bound.order)] = None
            if self._policed:  # a policy that fails tells the row
                names.update(dict.fromkeys(bound.query.order_by))
            for part in bound.query.parts.values():
                names.update(dict.fromkeys(part.columns))
        if self._gap is not None:
            names[self._gap.time] = None
        kept = self.bounds[0].schema
        fields = [kept.field(name) for name in names if name not in self._keys]
        if self._counts or not fields:  # a window of none of the columns still has its rows
            fields.append(pa.field(PLACE, pa.int64()))
        if self._policed:
            fields.append(pa.field(LENGTH, pa.int64()))
        return pa.schema(fields)

    def live(self, held: pa.Table, now: int | None) -> NDArray[np.bool_]:
        """Which of the rows in the store count: chunks have others too, until they go.

        Those are older than any window reaches, so only a policy must be told.
        """
        if not self._policed:
            return np.ones(held.num_rows, np.bool_)
        joined = Joined(self._keys, held, held.slice(0, 0), self._gap)
        stays = np.zeros(joined.size, np.bool_)
        for bound in self.bounds:
            stays |= self._keep(bound, joined, now)
        made = np.empty(joined.size, np.bool_)
        made[joined.order] = stays
        return made

    def step(
        self, held: pa.Table, new: pa.Table, now: int | None
    ) -> tuple[list[Answered], NDArray[Any], pa.Table]:
        """The answers of the new rows; which of the held rows stay, and what joins them.

        No row to come is from before `now`. O(held + new).
        """
        if PLACE in held.column_names:
            new = new.append_column(PLACE, self._places(held, new))
        if self._policed:
            new = new.append_column(LENGTH, pa.array(np.full(new.num_rows, -1)))
        joined = Joined(self._keys, held, new, self._gap)
        stays = np.zeros(joined.size, np.bool_)
        answered = []
        for bound in self.bounds:
            laid, asked = self._asked(bound, joined)
            identity = (*self._keys, *(n for n in bound.query.order_by if n in held.column_names))
            columns = SortedColumns(columns_of(joined.table), laid, identity)
            made = answers(bound, columns, asked)
            assert asked.closing is not None and asked.windows.lo is not None
            rows = joined.order[asked.closing] - joined.held
            answered.append(Answered(new, rows, made))
            if self._policed:
                new = self._with_lengths(new, rows, asked.closing + 1 - asked.windows.lo)
                joined = Joined(self._keys, held, new, self._gap)
            stays |= self._keep(bound, joined, now)
        rows = np.sort(joined.order[stays])
        kept = rows[rows < joined.held]
        added = new.take(pa.array(rows[kept.size :] - joined.held))
        return answered, kept, added.select(held.column_names)

    def _asked(self, bound: Bound, joined: Joined) -> tuple[Layout, Asked]:
        """The windows of the new rows."""
        window = bound.query.window
        place = np.flatnonzero(joined.fresh)
        if isinstance(window, Rows):
            laid = joined.laid()
            assert window.rows is not None
            if window.slide is not None:
                nth = laid.sorted(whole(joined.table.column(PLACE)).to_numpy())
                place = place[nth[place] % window.slide == 0]
            lo = np.maximum(joined.begins()[place], place + 1 - window.rows)
            return laid, Asked(Windows(laid.starts, lo=lo, hi=place + 1), place)
        if isinstance(window, Until):
            laid = joined.laid()
            policed = Policed(bound.query, window.until)
            left = laid.sorted(whole(joined.table.column(LENGTH)).to_numpy())
            found = policed.windows(laid, columns_of(joined.table), held=left)
            assert found.windows.lo is not None
            lo = found.windows.lo[place]
            return laid, Asked(Windows(laid.starts, lo=lo, hi=place + 1), place)
        assert isinstance(window, Span)
        laid = joined.laid(str(bound.order))
        if self._gap is not None:  # what a span holds does not depend on it
            laid = replace(laid, starts=joined.keys, keys=joined.keys)
        lo, hi = span_bounds(window, bound, laid)
        return laid, Asked(Windows(laid.starts, lo=lo[place], hi=hi[place]), place)

    def _keep(self, bound: Bound, joined: Joined, now: int | None) -> NDArray[np.bool_]:
        """Which sorted rows the windows of rows to come may hold."""
        window = bound.query.window
        if isinstance(window, Span):
            if now is None:
                return np.ones(joined.size, np.bool_)
            at = times(joined.table, str(bound.order))[joined.order]
            return np.asarray(at >= now - span_size(bound))
        if isinstance(window, Until):
            lengths = whole(joined.table.column(LENGTH)).to_numpy()
            # a row tells for its key that nothing is left
            last: Any = np.maximum(1, lengths[joined.order[joined.ends() - 1]])
        else:
            assert isinstance(window, Rows) and window.rows is not None
            last = max(window.rows - 1, int(self._counts))
        ends = joined.ends()
        return np.asarray((np.arange(joined.size) >= ends - last) & (ends == joined.key_ends()))

    def _with_lengths(self, new: pa.Table, rows: Any, lengths: Any) -> pa.Table:
        made = np.empty(new.num_rows, np.int64)
        made[rows] = lengths
        return new.set_column(new.column_names.index(LENGTH), LENGTH, pa.array(made))

    def _places(self, held: pa.Table, new: pa.Table) -> pa.Array:
        """The number of each new row among all rows that its key ever had."""
        blank = pa.array(np.zeros(new.num_rows, np.int64))
        names = dict.fromkeys([*self._keys, PLACE, *([self._gap.time] if self._gap else [])])
        held = held.select(list(names))
        joined = Joined(self._keys, held, new.append_column(PLACE, blank), self._gap)
        before = np.zeros(joined.size + 1, np.int64)
        before[1:][~joined.fresh] = whole(held.column(PLACE)).to_numpy()[
            joined.order[~joined.fresh]
        ]
        old = np.concatenate([[0], np.cumsum(~joined.fresh)])
        begin = joined.begins()
        fresh = np.flatnonzero(joined.fresh)
        first = begin[fresh] + (old[joined.ends()[fresh]] - old[begin[fresh]])  # of the new ones
        base = np.where(first > begin[fresh], before[first], 0)
        made = np.empty(new.num_rows, np.int64)
        made[joined.order[fresh] - joined.held] = base + fresh - first + 1
        return pa.array(made)


def span_size(bound: Bound) -> int:
    """How far windows by range reach back."""
    window = bound.query.window
    assert isinstance(window, Span)
    return int(reach(window, bound.order_type)[0]) if window.bounded else 0


def _slides(bound: Bound) -> bool:
    window = bound.query.window
    return isinstance(window, Rows) and window.slide is not None
