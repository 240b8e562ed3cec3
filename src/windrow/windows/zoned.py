"""Windows whose sizes may be those of a calendar: months, and the days of a time zone."""

from __future__ import annotations

from typing import Any

from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.base import Window
from windrow.windows.durations import Interval
from windrow.windows.sizes import NOW, UNBOUNDED, Axis, is_number, measure, quoted, signed_interval


class Zoned(Window):
    """Base of windows with a `timezone`, whose calendar measures days, weeks and months.

    Without a time zone months are those of UTC, and days and weeks have one length.
    """

    timezone: str | None

    @property
    def size(self) -> Any:
        """The size as it was written, or both ends of a frame."""
        raise NotImplementedError

    @property
    def written_sizes(self) -> tuple[Any, ...]:
        """The size, or both ends, as they were written."""
        return self.size if isinstance(self.size, tuple) else (self.size,)

    def measure(self) -> int | float:
        """Return the size: a duration in nanoseconds, or the number that it is."""
        return measure(self.measured, self.size)

    def check_zone(self) -> None:
        """Refuse a time zone that does not exist, or that stands beside a number."""
        if self.timezone is None:
            return
        from windrow.windows.calendar import check_timezone

        check_timezone(self.timezone)
        numbers = any(is_number(size) and size != 0 for size in self.written_sizes)
        if numbers or self.row_size is not None:
            raise InvalidArgument(
                f"timezone={self.timezone!r} goes with a duration, and "
                f"{self.measured}={self.size!r} is none"
            )

    def check_like(self, name: str, value: Any) -> None:
        """Refuse another argument that is a number where the size is a duration, or reversed."""
        self.measure()
        if value is not None and is_number(value) != is_number(self.size):
            kind = "a number" if is_number(self.size) else "a duration"
            raise InvalidArgument(
                f"{name}={value!r} must be {kind}, as {self.measured}={self.size!r} is"
            )

    def check_size(
        self, argument: str, size: Any, by_calendar: Interval | None, axis: Axis
    ) -> None:
        """Refuse a size that an order column cannot be measured in."""
        axis.check(argument, size)
        if by_calendar is not None and axis.type.startswith("duration"):
            raise InvalidValue(
                f"{argument}={size!r} is measured by the calendar, and {axis.name!r} is of type "
                f"{axis.type}, which has none; give '30 days' or the like"
            )

    def by_calendar(self, size: Any, axis: Axis | None = None) -> Interval | None:
        """Return the parts of a size that the calendar measures; None if it has one length.

        Along an axis of times that are local, days are of one length.
        """
        if is_number(size) or size in (UNBOUNDED, NOW, None):
            return None
        parts = signed_interval(self.measured, size)
        days = parts.days and self.timezone is not None and (axis is None or axis.zoned)
        return parts if parts.months or days else None

    def zone_cql(self) -> list[str]:
        """Return the clause of CQL for the time zone, if there is one."""
        return [] if self.timezone is None else [f"TIME ZONE {quoted(self.timezone)}"]

    def zone_in_words(self) -> str:
        """Return whose calendar measures windows, if one does."""
        return "" if self.timezone is None else f" by the calendar of {self.timezone}"
