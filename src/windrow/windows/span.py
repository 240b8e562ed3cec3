"""Rows within a range of the current one: `range=` and `delta=`, with a result a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument, InvalidValue, choice
from windrow.windows.base import Kept
from windrow.windows.sizes import (
    CLOSED,
    NOW,
    UNBOUNDED,
    Axis,
    in_cql,
    is_number,
    opposite,
    signed,
    signed_interval,
)
from windrow.windows.sketch import Place, Sketch, Unit, measured
from windrow.windows.zoned import Zoned

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows
    from windrow.windows.span_bounds import Extent


@dataclass(frozen=True)
class Measured(Zoned):
    """Windows of a size along the order: one of `range`, a duration or a number, and `delta`."""

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
        return self.range if self.delta is None else self.delta

    def lengths(self, size: Any, axis: Axis) -> tuple[int | float, int | float]:
        """Return the least and the most that a size can be long, in units of the axis."""
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
                    self.check_size(argument, size, self.by_calendar(size), axis)

    def positions(self, rows: SortedRows, size: Any, back: bool, keep: bool) -> Positions:
        """Return the first position not before each row's time, moved by a size of the calendar.

        One of exactly that time is not before it if it is to `keep`.
        """
        from windrow.windows.calendar import moved
        from windrow.windows.calendar_bounds import edge_positions

        assert rows.at is not None and rows.axis is not None
        by = signed_interval(self.measured, size)
        edges, between = moved(rows.at, -by if back else by, self.timezone, rows.axis)
        return edge_positions(rows.at, rows.starts, edges, keep and not between)

    def sketch_of(self, ends: tuple[Any, Any], closed: str) -> Sketch:
        """Return windows that go from one end to the other, as `sketch` draws them."""
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

    def resized(self, change: Callable[[Any], Any]) -> Measured:
        """Return the same window with its sizes changed, where they are numbers."""
        sizes = tuple(change(size) if is_number(size) else size for size in self.written_sizes)
        size: Any = sizes if len(sizes) > 1 else sizes[0]
        return replace(self, range=size) if self.delta is None else replace(self, delta=size)


class Closed(Measured):
    """Base of windows that hold what lies exactly at their ends or not, as `closed` says."""

    closed: str

    @property
    def includes_start(self) -> bool:
        """Whether rows that lie exactly at the start are in the window."""
        return CLOSED[self.closed][0]

    @property
    def includes_end(self) -> bool:
        """Whether rows that lie exactly at the end are in the window."""
        return CLOSED[self.closed][1]

    def sides_cql(self) -> list[str]:
        """Return the clauses of CQL for `closed` and the time zone, where they are needed."""
        sides = [] if self.closed == "both" else [f"CLOSED {self.closed.upper()}"]
        return sides + self.zone_cql()

    def in_brackets(self, ends: str) -> str:
        """Return the ends of windows in brackets that say which are closed, and the calendar."""
        left, right = "[" if self.includes_start else "(", "]" if self.includes_end else ")"
        return f"{left}{ends}{right}{self.zone_in_words()}"


@dataclass(frozen=True)
class Span(Closed):
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
        choice("closed", self.closed, CLOSED)
        super().__post_init__()
        if self.bounded:
            self.measure()
        elif self.closed != "both":
            raise InvalidArgument(f"range={self.range!r} goes with neither closed= nor slide=")

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows within the size before each row; those of equal order see each other."""
        import numpy as np

        from windrow.windows.positions import EVERY
        from windrow.windows.span_bounds import measured_bounds

        assert rows.at is not None and rows.axis is not None
        if self.go_back:
            return self._calendar_bounds(rows)
        size, rest = self._units(rows.axis)
        # between two ticks there is nothing: a size of one and a half is one, its end included
        start, end = (-size, self.includes_start or bool(rest)), (0, not self.includes_end)
        lo, hi, measures = measured_bounds(rows.at, rows.starts, start, end, threads=rows.threads)
        extent: Extent | None = measures.extent()
        if self.range == UNBOUNDED:
            lo, extent = np.repeat(rows.keys[:-1], np.diff(rows.keys)), None
        beside = rows.settled() if self.includes_end else rows.fresh
        if isinstance(beside, slice) and beside == EVERY:
            return rows.windows(lo, hi, beside, extent=extent)
        return rows.windows(lo[beside], hi[beside], beside)

    def _calendar_bounds(self, rows: SortedRows) -> Bounds:
        """Return what `bounds` does, where the calendar measures the size."""
        import numpy as np

        from windrow.windows.bounds import frame_edges

        assert rows.at is not None
        hi = frame_edges(rows.at, rows.starts, 0, not self.includes_end, threads=rows.threads)
        lo = self.positions(rows, self.size, back=True, keep=self.includes_start)
        lo = np.minimum(lo, hi)
        beside = rows.settled() if self.includes_end else rows.fresh
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
    def kept(self) -> Kept:  # type: ignore[override]
        """Chunks of rows, or an aggregate of all so far."""
        return "aggregate" if self.range == UNBOUNDED else "chunks"

    @cached_property
    def go_back(self) -> bool:  # type: ignore[override]
        """Whether the calendar measures the size."""
        return self.by_calendar(self.size) is not None

    def reach(self, axis: Axis) -> int | float | None:
        return self._reaches(axis)[1]

    def sure_reach(self, axis: Axis) -> int | float | None:
        return self._reaches(axis)[0]

    def _reaches(self, axis: Axis) -> tuple[int | float | None, int | float | None]:
        """Return how far windows reach back at least and at most."""
        if self.bounded:
            return self.lengths(self.size, axis)
        return (None, None) if self.range == UNBOUNDED else (0, 0)

    def _units(self, axis: Axis) -> tuple[int | float, int | float]:
        return axis.units(self.measure() if self.bounded else 0)

    def sketch(self) -> Sketch:
        size = opposite(self.size) if self.bounded else self.size
        return self.sketch_of((0 if size == NOW else size, 0), self.closed)

    def cql(self) -> list[str]:
        if self.range == NOW:
            return ["NOW"]
        size = "UNBOUNDED" if self.range == UNBOUNDED else in_cql(self.size)
        return [f"{self.measured.upper()} {size}", *self.sides_cql()]

    def __str__(self) -> str:
        if self.range == UNBOUNDED:
            return "all rows so far and those of equal order, a result for each row"
        if self.range == NOW:
            return "the rows of equal order, a result for each row"
        return f"{self.in_brackets(f't − {self.size}, t')}, a result for each row"
