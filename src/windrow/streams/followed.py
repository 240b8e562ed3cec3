"""Windows that hold rows behind the current one: a row waits until all of them can be told.

        a   held held [waiting waiting] new new       the new ones let some of the waiting go
                       └ answered when the watermark, or enough rows of the key, have passed

Rows that wait come out later, so what is kept are whole rows. Which of them wait follows from the
rows and the watermark alone, so nothing is written when one has its result.
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
from windrow.streams.step import END, Gap, Joined, NewResults, integers
from windrow.tables.bind import Bound
from windrow.tables.sort import TableRows


class FollowedWindows(Family[Log]):
    """A query whose windows hold rows behind the current one.

    A key that was idle for longer than the `gap` gets no more rows: its results wait no longer.
    """

    def __init__(self, bound: Bound, gap: Gap | None = None) -> None:
        super().__init__([bound], gap)
        window = bound.query.window
        # rows wait for a time that comes, and leave windows with time, whether or not rows come
        self.idles = not (window.measured and window.reach(bound.axis) is not None)

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a row, besides its key: all of it."""
        (bound,) = self.bounds
        fields = [field for field in bound.schema if field.name not in self.keys]
        return pa.schema(fields or [pa.field(NUMBER, pa.int64())])

    @property
    def goes_by_time(self) -> bool:
        """Rows wait for a time along the order, or until their key was idle for too long."""
        return self.gap is not None or super().goes_by_time

    def live(self, held: pa.Table, done: int | None) -> NDArray[np.bool_]:
        """Which of the rows in the store count: chunks have others too, until they go.

        Those are older than any window reaches.
        """
        return np.ones(held.num_rows, np.bool_)

    def step(self, log: Log, new: pa.Table, now: int | None, done: int | None) -> list[NewResults]:
        """Return the results that wait no longer, and keep the rows that others reach. O(held)."""
        (bound,) = self.bounds
        held = log.rows
        if NUMBER in held.column_names and NUMBER not in new.column_names:
            new = new.append_column(NUMBER, pa.nulls(new.num_rows, pa.int64()))
        before = Joined(self.keys, held, held.slice(0, 0), self.gap)
        then = self._rows(before, done, np.arange(before.size))
        told = bound.query.window.bounds(then)
        answered = np.zeros(held.num_rows + new.num_rows, np.bool_)
        answered[before.order[told.beside]] = True
        joined = Joined(self.keys, held, new, self.gap)
        fresh = np.flatnonzero(~answered[joined.order])
        rows = self._rows(joined, now, fresh)
        results, windows = self.over_rows(bound, joined, rows, joined.table)
        found = replace(results, rows=joined.order[windows.places(rows)])
        first = bound.query.window.keeps(rows, windows)
        first = np.where(self._over(joined, rows, now), rows.starts[1:], first)
        stays = np.arange(joined.size) >= np.repeat(first, np.diff(rows.starts))
        chosen = np.sort(joined.order[stays])
        kept = chosen[chosen < joined.held]
        log.replace(kept, new.take(pa.array(chosen[kept.size :] - joined.held)), now or 0)
        return [found]

    def due(self, log: Log, done: int | None) -> int | None:
        """When the first row that waits for time has its result."""
        (bound,) = self.bounds
        window = bound.query.window
        if not window.ahead(bound.axis) or not log.rows.num_rows:
            return None
        passed = window.last_times(integers(log.rows, str(bound.order)), bound.axis)
        if done is not None:
            passed = passed[passed >= done]
        return None if not passed.size else int(passed.min()) + 1

    def _rows(self, joined: Joined, now: int | None, fresh: NDArray[Any]) -> TableRows:
        """The sorted rows as windows see them at a watermark."""
        (bound,) = self.bounds
        rows = joined.rows(bound, now=now if bound.query.window.measured else None)
        return replace(rows, fresh=fresh, over=self._over(joined, rows, now))

    def _over(self, joined: Joined, rows: TableRows, now: int | None) -> NDArray[np.bool_]:
        """The stretches that no row comes to any more: those before a gap."""
        starts = rows.starts
        if now == END:
            return np.ones(starts.size - 1, np.bool_)
        if self.gap is None or starts is not joined.starts:
            return np.zeros(starts.size - 1, np.bool_)
        over = ~np.isin(starts[1:], joined.keys[1:])
        if now is not None and joined.size:
            last = joined.sorted(self.gap.time)[np.maximum(starts[1:] - 1, 0)]
            over |= last + self.gap.size < now
        return over
