"""The session that is open, of values that are pushed."""

from __future__ import annotations

from typing import Any

from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument
from windrow.windows.instants import distance
from windrow.windows.pushed_numbers import PushedNumbers
from windrow.windows.pushed_rows import LastRows
from windrow.windows.session import Session
from windrow.windows.sizes import Axis


class OpenSession(LastRows):
    """The values that follow each other within a gap, up to the newest.

    A value that comes later than that begins a session of its own. A late one joins the session
    that is open if it lies within the gap before it; the sessions before are over.
    """

    extent: Session  # type: ignore[assignment]

    def __init__(self, extent: Session, swag: Aggregator, lateness: Any) -> None:
        by_calendar = extent.timezone or extent.calendar(Axis(tick=1)) is not None
        if extent.row_size is not None or by_calendar:
            raise InvalidArgument(
                f"window: gap={extent.gap!r} must be a duration of one length or a number; a gap "
                f"by the calendar or of each row's own is for queries over tables and streams"
            )
        extent.check_like("lateness", lateness)
        super().__init__(extent, swag, lateness)
        self._gap = extent.measure()

    def advance(self, at: Any) -> None:
        """Let time go on to `at`: the session is over if that is later than a gap behind it."""
        kind, t = self._checked_time(at)
        if self._newest is None or not self._is_apart(self._newest, t):
            return
        self._coming = kind
        self._swag.atomically(self._slide_to, [], t, len(self._swag))
        self._kind, self._newest, self._newest_at = kind, t, at

    def _compilable(self) -> PushedNumbers | None:
        return None

    def _leaving(self, newest: Any) -> int:
        over = self._newest is not None and self._is_apart(self._newest, newest)
        return len(self._swag) if over else 0

    def _insert_late(self, value: Any, t: Any) -> Any:
        return self._swag.atomically(self._slide, [value], t, 0)

    def _has_no_place(self, t: Any) -> bool:
        return not len(self._swag) or self._is_apart(t, self._swag.oldest_time)

    def _is_apart(self, before: Any, t: Any) -> bool:
        """Return whether more than the gap lies between two times."""
        return distance(before, t, self._gap) > 0
