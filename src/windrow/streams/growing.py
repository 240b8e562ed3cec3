"""Windows that only grow, until something closes them: unbounded ones, and `on=`.

What is kept of a key is one partial aggregate, whatever the window has seen:

        a  [aggregate] new new       answered as aggregate ⊕ new, aggregate ⊕ new ⊕ new
        b  new
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.answered import Answered
from windrow.streams.rows import PLACE, Gap, Joined
from windrow.streams.waiting import times
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.filters import columns_of
from windrow.tables.keys import newest
from windrow.tables.policies import closing_rows
from windrow.tables.results import Answerer, SortedColumns
from windrow.tables.sort import Layout
from windrow.tables.states import PartialColumns
from windrow.windows.kinds import On, Rows, Span
from windrow.windows.positions import Windows


class GrowingWindows:
    """A query whose windows grow: a partial aggregate for each key."""

    def __init__(self, bound: Bound, gap: Gap | None = None) -> None:
        self.bounds, self._gap = [bound], gap
        types = {field.name: field.type for field in bound.schema}
        self._parts = PartialColumns(bound.query.aggregations, types)
        self._keys = list(bound.query.partition_by)

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a key: its partial aggregate, and of how many rows; 0 for none."""
        time = [] if self._gap is None else [self.bounds[0].schema.field(self._gap.time)]
        return pa.schema([*self._parts.fields, pa.field(PLACE, pa.int64()), *time])

    def live(self, held: pa.Table, now: int | None) -> NDArray[np.bool_]:
        """Which of the aggregates in the store count: the newest of each key."""
        return newest([held.column(name) for name in self._keys], held.num_rows)

    def step(
        self, held: pa.Table, new: pa.Table, now: int | None
    ) -> tuple[list[Answered], NDArray[Any], pa.Table]:
        """The answers of the new rows; which aggregates stay as they are, and the new ones."""
        (bound,) = self.bounds
        joined = Joined(self._keys, held, self._lifted(new), self._gap)
        fresh = np.flatnonzero(joined.fresh)
        begin = joined.begins()
        nth = self._nth(joined, begin)
        begin = begin + (nth[begin] == 0)  # behind an aggregate of nothing
        answered, since = self._windows(bound, new, joined, fresh, begin, nth)
        lo, hi, place = answered
        laid = joined.laid()
        columns = SortedColumns(joined.table.column, laid)
        made = self._parts.answer(
            Answerer(columns, Windows(laid.starts, lo=lo, hi=hi)), bound.types
        )
        result = Answered(new, joined.order[place] - joined.held, made)
        # the keys that got rows, and what their windows hold now
        key_end = joined.key_ends()
        last = np.unique(key_end[fresh]) - 1
        windows = Windows(laid.starts, lo=since[last], hi=last + 1)
        merged = self._parts.merge(Answerer(columns, windows))
        nth[last[since[last] > last]] = 0  # closed, and nothing came since
        own = joined.table.select(self._beside()).take(pa.array(joined.order[last]))
        beside = dict(zip(own.column_names, own.columns, strict=True))
        rows = pa.table({**beside, **merged, PLACE: pa.array(nth[last])})
        touched = np.zeros(joined.size + 1, np.bool_)
        touched[key_end[fresh]] = True
        stays = ~joined.fresh & ~touched[key_end]
        return [result], np.sort(joined.order[stays]), rows.select(held.column_names)

    def _beside(self) -> list[str]:
        """The columns of a row that are kept beside its aggregate."""
        return list(dict.fromkeys([*self._keys, *([self._gap.time] if self._gap else [])]))

    def _lifted(self, new: pa.Table) -> pa.Table:
        """Each new row as the aggregate of itself."""
        beside = {name: new.column(name) for name in self._beside()}
        made = self._parts.lift(columns_of(new), new.num_rows)
        return pa.table({**beside, **made, PLACE: pa.array(np.ones(new.num_rows, np.int64))})

    def _nth(self, joined: Joined, begin: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each row among all rows that its key ever had."""
        seen = np.cumsum(joined.laid().sorted(whole(joined.table.column(PLACE)).to_numpy()))
        return np.asarray(seen - np.concatenate([[0], seen])[begin], np.int64)

    def _windows(
        self, bound: Bound, new: pa.Table, joined: Joined, fresh: Any, begin: Any, nth: Any
    ) -> tuple[tuple[Any, Any, Any], Any]:
        """The windows to be answered and their rows, and where each row's own window begins."""
        window = bound.query.window
        since = begin
        if isinstance(window, On):
            closes = np.zeros(joined.size, np.bool_)
            mask = closing_rows(window, new.column_names, _plain(new.num_rows), columns_of(new))
            closes[fresh] = mask[joined.order[fresh] - joined.held]
            place = np.flatnonzero(closes)
            behind = np.where(closes, np.arange(1, joined.size + 1), 0)
            since = np.maximum(begin, np.maximum.accumulate(behind))
            before = np.maximum(begin, np.concatenate([[0], np.maximum.accumulate(behind)[:-1]]))
            return (before[place], place + 1, place), since
        if isinstance(window, Rows):
            place = fresh if window.slide is None else fresh[nth[fresh] % window.slide == 0]
            return (begin[place], place + 1, place), since
        assert isinstance(window, Span)
        at = times(new, str(bound.order))[joined.order[fresh] - joined.held]
        key = np.searchsorted(joined.starts, fresh, side="right")
        # a window ends behind the last row of the same time
        ends = np.append((at[1:] != at[:-1]) | (key[1:] != key[:-1]), True)[: fresh.size]
        last = fresh[ends][np.cumsum(ends) - ends]
        return (begin[fresh], last + 1, fresh), since


def _plain(n: int) -> Layout:
    ends = np.array([0, n], np.int64)
    return Layout(None, ends, ends, None)
