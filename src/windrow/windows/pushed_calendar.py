"""The values that were pushed within months, or local days, of the newest time.

A later window may begin before an earlier one: 28 March, 20:00, less a month is 28 February, 20:00,
and 31 March, 8:00, less a month is 28 February, 8:00. So a value stays until no window to come can
reach it, and a result is that of the newest values only, which the structure can tell:

        gone │ may be in a window to come │ in the window │ now
             └ a month of 31 days ago     └ a month ago
"""

from __future__ import annotations

from typing import Any

from windrow.algorithms.base import Aggregator
from windrow.windows.durations import NANOSECONDS, Interval
from windrow.windows.instants import WITH_ZONE
from windrow.windows.pushed_numbers import PushedNumbers
from windrow.windows.pushed_rows import WithinSpan
from windrow.windows.sizes import Axis
from windrow.windows.span import Span

_SECOND = NANOSECONDS["s"]
_BLOCK = 900  # seconds


class WithinCalendar(WithinSpan):
    """The values whose times lie within a size of the calendar before the newest."""

    def __init__(self, extent: Span, swag: Aggregator, lateness: Any) -> None:
        super().__init__(extent, swag, lateness)
        by = extent.by_calendar(extent.size)
        assert by is not None
        self._by = by
        self._most = by.lengths(zoned=True)[1]
        self._end: Any = None  # where the window ends that is asked for
        # all times of a quarter of an hour move as far if its first and last do: which, and how far
        self._block: int | None = None
        self._move = 0

    def query(self, at: Any = None) -> Any:
        """Return the aggregate of the window; with `at`, when time has gone on to that."""
        if at is not None:
            super().query(at)
        return self._result(self._newest)

    def __len__(self) -> int:
        return len(self._swag) - self._outside(self._newest)

    @property
    def is_empty(self) -> bool:
        """Return whether no value is in the window or may be in one to come."""
        return not len(self._swag) and not self._waiting

    def _compilable(self) -> PushedNumbers | None:
        return None

    def _append(self, value: Any, t: Any) -> Any:
        self._end = t
        return super()._append(value, t)

    def _wait(self, values: list[Any], t: Any) -> Any:
        self._end = t
        return super()._wait(values, t)

    def _insert_late(self, value: Any, t: Any) -> Any:
        self._end = self._newest
        return super()._insert_late(value, t)

    def _slide(self, values: list[Any], t: Any, gone: int) -> Any:
        for value in values:
            self._swag.insert(value, at=t)
        self._swag.evict(gone)
        return self._result(self._end)

    def _is_before(self, t: Any, newest: Any) -> bool:
        """Return whether a time is before all windows that end at `newest` or later."""
        return bool(newest - t > self._most)

    def _result(self, end: Any) -> Any:
        """Return the aggregate of the values in the window that ends at `end`."""
        outside = self._outside(end)
        inside = len(self._swag) - outside
        if not inside:
            aggregation = self._swag.aggregation
            return aggregation.lower(aggregation.identity)
        return self._swag.query(inside) if outside else self._swag.query()

    def _outside(self, end: Any) -> int:
        """Return how many of the oldest values are before the window that ends at `end`."""
        if end is None or not len(self._swag):
            return 0
        start = self._start(end)
        if self._from_start:
            return self._swag.count_older(lambda t: t < start)
        return self._swag.count_older(lambda t: t <= start)

    def _start(self, end: Any) -> int:
        """Return where the window begins that ends at `end`, in nanoseconds."""
        seconds, rest = divmod(end, _SECOND)  # of any size, as Python's numbers are
        block = seconds // _BLOCK
        if block != self._block:
            first, last = self._moves([block * _BLOCK, (block + 1) * _BLOCK - 1])
            self._block, self._move = (block, first) if first == last else (None, 0)
        move = self._moves([seconds])[0] if self._block is None else self._move
        start: int = (seconds + move) * _SECOND + rest - self._by.nanoseconds
        return start

    def _moves(self, seconds: list[int]) -> list[int]:
        """By how much months and days move some times, in seconds."""
        import numpy as np

        from windrow.windows.calendar import moved

        kind = self._coming if self._kind is None else self._kind
        back = Interval(-self._by.months, -self._by.days)
        at, axis = np.array(seconds), Axis(_SECOND, zoned=kind == WITH_ZONE)
        moves: list[int] = (moved(at, back, self.extent.timezone, axis)[0] - at).tolist()
        return moves
