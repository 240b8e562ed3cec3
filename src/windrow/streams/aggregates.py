"""Windows that only grow, until something closes them: unbounded ones, and `on=`.

What is kept of a key is one state, whatever the window has seen:

        a  [state] new new       answered as state ⊕ new, state ⊕ new ⊕ new
        b  new
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.family import Family
from windrow.streams.log import Log
from windrow.streams.rows import NUMBER
from windrow.streams.step import NEVER, Gap, Joined, NewResults, integers, lifted
from windrow.tables.bind import Bound
from windrow.tables.filters import columns_of
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.rows import RowValues
from windrow.tables.sort import rows_in_place
from windrow.tables.states import states_of
from windrow.windows.positions import Windows


class GrowingWindows(Family[Log]):
    """A query whose windows grow: a state for each key, and of how many rows it is."""

    def __init__(self, bound: Bound, gap: Gap | None = None) -> None:
        super().__init__([bound], gap)
        self._parts = states_of([bound])
        # the columns of a row that are kept beside its state
        self._beside = list(dict.fromkeys([*self.keys, *([gap.time] if gap else [])]))

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a key: its state, and of how many rows; 0 for none."""
        time = [] if self.gap is None else [self.bounds[0].schema.field(self.gap.time)]
        return pa.schema([*self._parts.fields, pa.field(NUMBER, pa.int64()), *time])

    def step(self, log: Log, new: pa.Table, now: int | None, done: int | None) -> list[NewResults]:
        """Return the results of the new rows, and keep the states of their keys."""
        (bound,) = self.bounds
        joined = Joined(
            self.keys, log.rows, lifted(self._parts, new, self._beside, NUMBER), self.gap
        )
        at = np.full(joined.size, NEVER)
        if bound.query.window.measured:
            at[joined.fresh] = integers(new, str(bound.order))[joined.new_rows(joined.fresh)]
        weights = joined.sorted(NUMBER)
        rows = joined.rows(bound, at, weights=weights)
        rows = replace(rows, values=_NewValues(bound, joined, new))
        windows = bound.query.window.bounds(rows)
        columns = SortedColumns(joined.table.column, rows)
        results = self._parts.results(WindowResults(columns, windows.windows), bound.types)
        # of the keys that got rows: what their windows hold now
        touched = np.unique(np.searchsorted(joined.keys, joined.fresh, side="right"))
        end = joined.keys[touched]
        stretch = np.searchsorted(rows.starts, end, side="left") - 1
        first = bound.query.window.keeps(rows, windows)[stretch]
        merged = self._parts.merge(WindowResults(columns, Windows(rows.starts, lo=first, hi=end)))
        counts = np.concatenate([[0], np.cumsum(weights)])
        last = pa.array(joined.order[end - 1])
        beside = {name: joined.table.column(name).take(last) for name in self._beside}
        added = pa.table({**beside, **merged, NUMBER: pa.array(counts[end] - counts[first])})
        stays = ~np.isin(np.searchsorted(joined.keys, np.arange(joined.size), "right"), touched)
        log.replace(np.sort(joined.order[stays]), added, now or 0)
        return [NewResults(new, joined.new_rows(windows.places(rows)), results)]


class _NewValues(RowValues):
    """The values of new rows among states, which have none: only rows close windows."""

    def __init__(self, bound: Bound, joined: Joined, new: pa.Table) -> None:
        rows = rows_in_place(new.num_rows)
        super().__init__(bound.query, rows, columns_of(new), new.column_names)
        self._joined = joined

    def satisfying(self, condition: Any) -> NDArray[np.bool_]:
        """Which of all rows satisfy a condition; a state does not."""
        found = np.zeros(self._joined.size, np.bool_)
        new = self._joined.new_rows(self._joined.fresh)
        found[self._joined.fresh] = super().satisfying(condition)[new]
        return found
