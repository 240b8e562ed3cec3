"""Results at once, and again where a row that came late changes them.

        a   held held │ held  ×  held held        × has come late: its window is told,
                      │       ▲    ▲              and again those that it has changed
              watermark: rows to come are behind it, and what lies before it is final

Kept are whole rows, since they come out again: those from the watermark on, those before it whose
windows may still get rows, and what both reach back to. A row that is told again is written again,
with the number of its revision; of two that have one place in the stream, the later one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.streams.family import Family
from windrow.streams.log import Log
from windrow.streams.rows import NUMBER
from windrow.streams.step import NEVER, Gap, Joined, NewResults, in_order, integers
from windrow.tables.bind import Bound
from windrow.tables.keys import alike, newest
from windrow.tables.sort import TableRows
from windrow.windows.base import Window
from windrow.windows.positions import EVERY
from windrow.windows.sorted_rows import Bounds, no_windows

# The column of a result that says how often it was told before.
REVISION = "revision"
# The same of a row that is kept, however the columns of the frame are called.
_TOLD = "windrow:revision"


def is_revisable(window: Window) -> bool:
    """Whether there is a result for each row, and an end to how long a late row may change it."""
    bounded = window.per_row and not (window.from_first or window.endless)
    return bounded and window.kept in ("chunks", "rows", "followed")


class RevisedWindows(Family[Log]):
    """Queries with a result for each row, over the same rows, told as they change."""

    def __init__(self, bounds: Sequence[Bound], time: str | None, gap: Gap | None = None) -> None:
        super().__init__(bounds, gap)
        self._time = time  # None: rows are taken as they come

    @property
    def schema(self) -> pa.Schema:
        """What is kept of a row besides its key: all of it, its place, and how often it was told.

        Places are counted as rows come; they decide between rows of equal time.
        """
        fields = [field for field in self.bounds[0].schema if field.name not in self.keys]
        return pa.schema([*fields, pa.field(NUMBER, pa.int64()), pa.field(_TOLD, pa.int32())])

    def live(self, held: pa.Table, done: int | None) -> NDArray[np.bool_]:
        """Which of the rows in the store count: the newest revision of each.

        Rows that have left are among them, until their chunks go. No row to come is in their
        windows, so they are never told again.
        """
        return newest([held.column(NUMBER)], held.num_rows)

    def step(self, log: Log, new: pa.Table, now: int | None, done: int | None) -> list[NewResults]:
        """Return the results of the new rows, and those that they have changed. O(held + new)."""
        held = log.rows
        first = int(integers(held, NUMBER).max()) + 1 if held.num_rows else 0
        places = np.arange(first, first + new.num_rows)
        new = new.append_column(NUMBER, pa.array(places))
        new = new.append_column(_TOLD, pa.array(np.zeros(new.num_rows, np.int32)))
        joined = self._joined(held, new)
        results = self._results(joined)
        rows = results[0].rows
        told = integers(joined.table, _TOLD).astype(np.int32)
        told[rows[rows < joined.held]] += 1
        revisions = pa.array(told[rows], pa.int32())
        results[0] = replace(results[0], columns={**results[0].columns, REVISION: revisions})
        self._keep(log, joined, rows[rows < joined.held], told, now)
        return results

    def _joined(self, held: pa.Table, new: pa.Table) -> Joined:
        """Rows that are held and new ones, those of a key by the order, and then as they came."""
        names = [NUMBER] if self._time is None else [self._time, NUMBER]
        places = [np.concatenate([integers(held, name), integers(new, name)]) for name in names]
        if len(self.bounds[0].query.order_by) > 1:
            came = np.argsort(places[-1])
            table = pa.concat_tables([held, new.select(held.column_names)]).take(pa.array(came))
            places = [np.argsort(came[in_order(self.bounds[0], table)])]
        return Joined(self.keys, held, new, self.gap, places)

    # -- results ----------------------------------------------------------------------------

    def _results(self, joined: Joined) -> list[NewResults]:
        """The results of new rows, and of others that are not what they were without the new."""
        is_held = joined.order < joined.held
        before = joined.part(is_held)
        asked, windows = ~is_held, []
        for bound in self.bounds:
            now, then = (self._windows(bound, rows) for rows in (joined, before))
            asked[is_held] |= _differ(now[1], then[1], is_held)
            windows.append((bound, now, then))
        places = np.flatnonzero(asked)
        again = is_held[places]
        earlier = np.cumsum(is_held)[places[again]] - 1  # where these rows lie among the held ones
        results, changed = [], np.zeros(earlier.size, np.bool_)
        for bound, now, then in windows:
            found = self._over(bound, joined, *now, places)
            was = self._over(bound, before, *then, earlier)
            for name, array in found.columns.items():
                changed |= ~alike(array.filter(pa.array(again)), was.columns[name])
            results.append(found)
        told = ~again
        told[again] = changed
        return [each.chosen(told) for each in results]

    def _windows(self, bound: Bound, joined: Joined) -> tuple[TableRows, Bounds]:
        """The windows of all rows, as if no other came any more."""
        rows = replace(joined.rows(bound), fresh=EVERY)
        return rows, bound.query.window.bounds(rows)

    def _over(
        self,
        bound: Bound,
        joined: Joined,
        rows: TableRows,
        windows: Bounds,
        places: NDArray[np.int64],
    ) -> NewResults:
        """The results of the rows at some positions, beside the rows of all of the table."""
        found = self.over_windows(bound, joined, rows, windows.chosen(places), joined.table)
        return replace(found, rows=joined.order[places])

    # -- what is kept -----------------------------------------------------------------------

    def _keep(
        self,
        log: Log,
        joined: Joined,
        again: NDArray[np.int64],
        told: NDArray[np.int32],
        now: int | None,
    ) -> None:
        """Keep the rows that are needed; those that were told `again` are written again."""
        written = np.arange(joined.table.num_rows) >= joined.held
        written[again] = True
        stays = np.zeros(joined.table.num_rows, np.bool_)
        stays[joined.order] = self._stays(joined, now)
        place = joined.table.column_names.index(_TOLD)
        table = joined.table.set_column(place, _TOLD, pa.array(told, pa.int32()))
        added = table.filter(pa.array(stays & written))
        stamp = now or 0
        if self._time is not None and added.num_rows:  # a key is idle from its last row on
            stamp = max(stamp, int(integers(added, self._time).max()))
        log.replace(np.flatnonzero((stays & ~written)[: joined.held]), added, stamp)

    def _stays(self, joined: Joined, now: int | None) -> NDArray[np.bool_]:
        """Which sorted rows may be told again, or be in windows that are."""
        if self._time is None:
            settled = np.ones(joined.size, np.bool_)
        else:
            settled = joined.sorted(self._time) < (NEVER if now is None else now)
        part = joined.part(settled)
        needed = np.zeros(part.size, np.bool_)
        for bound in self.bounds:
            rows = part.rows(bound, now=now if bound.query.window.measured else None)
            first = bound.query.window.keeps(rows, no_windows(rows))
            needed |= part.from_positions(first, rows.starts)
        stays = ~settled
        stays[settled] = needed
        return stays


def _differ(now: Bounds, then: Bounds, is_held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the rows that are held, which have other rows in their windows now than they had then."""
    count = np.concatenate([[0], np.cumsum(is_held)])
    lo, hi = (ends[is_held] for ends in now.windows.bounds())
    first, past = count[lo], count[hi]  # as positions among the held ones
    was_first, was_past = then.windows.bounds()
    some = (past > first) | (was_past > was_first)
    moved = some & ((first != was_first) | (past != was_past))
    return np.asarray(moved | (hi - lo != past - first))
