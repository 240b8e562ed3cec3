"""Rows within a range of the current one: `range=` and `delta=`, with a result a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument, InvalidValue, did_you_mean
from windrow.windows.base import Kept, Window
from windrow.windows.durations import Interval
from windrow.windows.sizes import (
    NOW,
    UNBOUNDED,
    Axis,
    in_cql,
    is_number,
    measure,
    quoted,
    signed,
    signed_interval,
)
from windrow.windows.sketch import Place, Sketch, Unit, measured

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.measured import Extent
    from windrow.windows.sorted_rows import Bounds, SortedRows

CLOSED = ("both", "right", "left", "neither")
_CLOSED_AT_START = {"right": "both", "neither": "left"}


@dataclass(frozen=True)
class Measured(Window):
    """Windows of a size along the order: one of `range`, a duration or a number, and `delta`.

    Months are those of the calendar, in the `timezone` or else in UTC; with a `timezone` days and
    weeks are, too.
    """

    range: Any = None
    delta: Any = None
    timezone: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.check_zone()
        if self.delta is not None and not is_number(self.delta):
            raise InvalidArgument(
                f"delta={self.delta!r} must be a number; for a duration give range="
            )

    @property
    def measured(self) -> str:  # type: ignore[override]
        """The argument that gives the size."""
        return "range" if self.delta is None else "delta"

    @property
    def size(self) -> Any:
        """The size as it was written."""
        return self.range if self.delta is None else self.delta

    def measure(self) -> int | float:
        """The size: a duration in nanoseconds, or the number that it is."""
        return measure(self.measured, self.size)

    def check_zone(self) -> None:
        """Refuse a time zone that is none, or that goes with a number."""
        if self.timezone is None:
            return
        from windrow.windows.calendar import check_timezone

        check_timezone(self.timezone)
        ends = self.size if isinstance(self.size, tuple) else (self.size,)
        if any(is_number(end) and end != 0 for end in ends):
            raise InvalidArgument(
                f"timezone={self.timezone!r} goes with durations, and "
                f"{self.measured}={self.size!r} is a number"
            )

    def check_like(self, name: str, value: Any) -> None:
        """Refuse another argument that is a number where the size is one of time, or reversed."""
        self.measure()
        if value is not None and is_number(value) != is_number(self.size):
            kind = "a number" if is_number(self.size) else "a duration"
            raise InvalidArgument(
                f"{name}={value!r} must be {kind}, as {self.measured}={self.size!r} is"
            )

    def by_calendar(self, size: Any, axis: Axis | None = None) -> Interval | None:
        """A size that the calendar measures, as months, days and a time; None if it is fixed.

        Along an axis of times that are local, days are of one length.
        """
        if is_number(size) or size in (UNBOUNDED, NOW, None):
            return None
        found = signed_interval(self.measured, size)
        days = found.days and self.timezone is not None and (axis is None or axis.zoned)
        return found if found.months or days else None

    def lengths(self, size: Any, axis: Axis) -> tuple[int | float, int | float]:
        """The least and the most that a size can be long, in units of the axis."""
        by_calendar = self.by_calendar(size, axis)
        if by_calendar is None:
            whole = axis.units(signed(self.measured, size))[0]
            return whole, whole
        least, most = by_calendar.lengths(axis.zoned)
        return axis.units(least)[0], axis.units(most)[0] + 1

    def check_axis(self, axis: Axis) -> None:
        if self.delta is not None and axis.tick is not None:
            raise InvalidValue(
                f"delta={self.delta!r} measures along numbers, and {axis.name!r} is of type "
                f'{axis.type}; give range="1 hour" or the like'
            )
        for argument, value in self.arguments().items():
            if argument in ("range", "delta", "slide", "offset"):
                for size in value if isinstance(value, tuple) else (value,):
                    axis.check(argument, size)
                    if axis.type.startswith("duration") and self.by_calendar(size) is not None:
                        raise InvalidValue(
                            f"{argument}={size!r} is measured by the calendar, and {axis.name!r} "
                            f"is of type {axis.type}, which has none; give '30 days' or the like"
                        )

    def positions(self, rows: SortedRows, size: Any, back: bool, keep: bool) -> Positions:
        """The first position that is not before each row's time moved by a size of the calendar.

        One of exactly that time is not before it if it is to `keep`.
        """
        from windrow.windows.calendar import moved
        from windrow.windows.calendar_bounds import edge_positions

        assert rows.at is not None and rows.axis is not None
        by = signed_interval(self.measured, size)
        edges, between = moved(rows.at, -by if back else by, self.timezone, rows.axis)
        return edge_positions(rows.at, rows.starts, edges, keep and not between)

    def sketch_of(self, ends: tuple[Any, Any], closed: str) -> Sketch:
        """Windows that go from one end to the other, as `sketch` draws them."""
        by_calendar = [self.by_calendar(end) for end in ends]

        def edge(at: Place, which: int) -> Place | None:
            by = by_calendar[which]
            if ends[which] == UNBOUNDED:
                return None
            if by is None:
                return at + signed(self.measured, ends[which])
            import numpy as np

            from windrow.windows.calendar import moved

            axis = Axis(tick=1, zoned=self.timezone is not None)
            return int(moved(np.array([at]), by, self.timezone, axis)[0][0])

        back, ahead = (0 if e == UNBOUNDED else signed(self.measured, e) for e in ends)
        numbers = self.delta is not None or any(is_number(e) and e != 0 for e in ends)
        reach = max(0, -back), max(0, ahead)
        unit: Unit = "number" if numbers else "time"
        drawn = measured(edge, reach, unit, closed, days=by_calendar != [None, None])
        return replace(drawn, zone=self.timezone)

    def zone_cql(self) -> list[str]:
        """The clause of CQL for the time zone, if there is one."""
        return [] if self.timezone is None else [f"TIME ZONE {quoted(self.timezone)}"]

    def zone_in_words(self) -> str:
        """Whose calendar measures windows, if one does."""
        return "" if self.timezone is None else f" by the calendar of {self.timezone}"

    def resized(self, change: Callable[[Any], Any]) -> Measured:
        """The same window with its sizes changed, where they are numbers."""
        ends = self.size if isinstance(self.size, tuple) else (self.size,)
        made = tuple(change(end) if is_number(end) else end for end in ends)
        size: Any = made if len(made) > 1 else made[0]
        return replace(self, range=size) if self.delta is None else replace(self, delta=size)


@dataclass(frozen=True)
class Span(Measured):
    """The rows whose order lies within a size of the current row's, up to and with it.

    `range` may be "unbounded" (all rows so far, those of equal order with them) or "now" (the rows
    of equal order).
    """

    closed: str = "both"

    takes: ClassVar[tuple[str, ...]] = (
        *("range", "delta", "closed", "slide", "offset", "gaps", "exclude", "timezone"),
    )
    in_ranges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.closed not in CLOSED:
            raise InvalidArgument(
                f"closed={self.closed!r} is unknown; {did_you_mean(str(self.closed), CLOSED)}"
            )
        super().__post_init__()
        if self.bounded:
            self.measure()
        elif self.closed != "both":
            raise InvalidArgument(f"range={self.range!r} goes with neither closed= nor slide=")

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows within the size before each row; those of equal order see each other."""
        import numpy as np

        from windrow.windows.measured import measured_bounds
        from windrow.windows.positions import EVERY

        assert rows.at is not None and rows.axis is not None
        if self.go_back:
            return self._calendar_bounds(rows)
        size, rest = self._units(rows.axis)
        # between two ticks there is nothing: a size of one and a half is one, its end included
        closed = _CLOSED_AT_START.get(self.closed, self.closed) if rest else self.closed
        start, end = (-size, closed in ("both", "left")), (0, closed in ("left", "neither"))
        lo, hi, found = measured_bounds(rows.at, rows.starts, start, end, threads=rows.threads)
        extent: Extent | None = found.extent()
        if self.range == UNBOUNDED:
            lo, extent = np.repeat(rows.keys[:-1], np.diff(rows.keys)), None
        beside = rows.settled() if self.includes_now else rows.fresh
        if isinstance(beside, slice) and beside == EVERY:
            return rows.windows(lo, hi, beside, extent=extent)
        return rows.windows(lo[beside], hi[beside], beside)

    def _calendar_bounds(self, rows: SortedRows) -> Bounds:
        """The same where the calendar measures the size."""
        import numpy as np

        from windrow.windows.bounds import frame_edges

        assert rows.at is not None
        hi = frame_edges(rows.at, rows.starts, 0, not self.includes_now, threads=rows.threads)
        lo = self.positions(rows, self.size, back=True, keep=self.closed in ("both", "left"))
        lo = np.minimum(lo, hi)
        beside = rows.settled() if self.includes_now else rows.fresh
        return rows.windows(lo[beside], hi[beside], beside, go_back=True)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows that lie within the size before all rows to come."""
        import numpy as np

        assert rows.axis is not None
        size = self.reach(rows.axis)
        if size is None:  # rows without an order are in the window, too
            return np.repeat(rows.keys[:-1], rows.places)
        return rows.since(None if rows.now is None else rows.now - size)

    @property
    def bounded(self) -> bool:
        """Whether the size is one, not "unbounded" or "now"."""
        return self.size not in (UNBOUNDED, NOW)

    @property
    def by_peers(self) -> bool:  # type: ignore[override]
        return not self.bounded

    @property
    def from_first(self) -> bool:  # type: ignore[override]
        return bool(self.range == UNBOUNDED)

    @property
    def includes_now(self) -> bool:
        """Whether rows of the current row's order are in its window."""
        return self.closed in ("both", "right")

    @property
    def kept(self) -> Kept:  # type: ignore[override]
        """Chunks of rows, or an aggregate of all so far."""
        return "aggregate" if self.range == UNBOUNDED else "chunks"

    @property
    def go_back(self) -> bool:  # type: ignore[override]
        """Whether the calendar measures the size."""
        return self.by_calendar(self.size) is not None

    def reach(self, axis: Axis) -> int | float | None:
        if self.range == UNBOUNDED:
            return None
        return self.lengths(self.size, axis)[1] if self.bounded else 0

    def sure_reach(self, axis: Axis) -> int | float | None:
        if self.range == UNBOUNDED:
            return None
        return self.lengths(self.size, axis)[0] if self.bounded else 0

    def _units(self, axis: Axis) -> tuple[int | float, int | float]:
        return axis.units(self.measure() if self.bounded else 0)

    def sketch(self) -> Sketch:
        size = self.size
        if self.bounded:
            size = f"-{size.strip()}" if isinstance(size, str) else -size
        return self.sketch_of((0 if size == NOW else size, 0), self.closed)

    def cql(self) -> list[str]:
        if self.range == NOW:
            return ["NOW"]
        size = "UNBOUNDED" if self.range == UNBOUNDED else in_cql(self.size)
        words = [f"{self.measured.upper()} {size}"]
        words += [] if self.closed == "both" else [f"CLOSED {self.closed.upper()}"]
        return words + self.zone_cql()

    def __str__(self) -> str:
        if self.range == UNBOUNDED:
            return "all rows so far and those of equal order, a result for each row"
        if self.range == NOW:
            return "the rows of equal order, a result for each row"
        left = "[" if self.closed in ("both", "left") else "("
        ends = f"{left}t − {self.size}, t{']' if self.includes_now else ')'}"
        return f"{ends}{self.zone_in_words()}, a result for each row"
