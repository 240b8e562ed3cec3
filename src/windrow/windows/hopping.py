"""Hopping windows [start, start + size), a start every slide: `range=` with a `slide=`.

range=4, slide=2             ├───────┤       ├───────┤     windows overlap
                                 ├───────┤       ├───────┤
range=2, slide=5, gaps=True  ├───┤     ├───┤     ├───┤     rows between them are in none

A slide of months, or of days or weeks in a time zone, is one of the calendar: windows start with
the first of a month, with a day or on a Monday, at midnight there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument
from windrow.windows.base import Kept, check_gaps, written
from windrow.windows.durations import Interval
from windrow.windows.room import check_room
from windrow.windows.sizes import (
    NOW,
    UNBOUNDED,
    Axis,
    in_cql,
    is_number,
    measure,
    signed,
    signed_interval,
)
from windrow.windows.sketch import START, Sketch, hopping
from windrow.windows.slicing import Slicing, slices
from windrow.windows.span import Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from windrow.windows.arrays import Positions
    from windrow.windows.calendar import Calendar
    from windrow.windows.sorted_rows import Bounds, SortedRows


@dataclass(frozen=True)
class Hopping(Measured):
    """Windows [start, start + size) for every start that is a multiple of the slide."""

    slide: Any = None
    offset: Any = None
    gaps: bool = False  # whether the slide may be larger than the size

    columns: ClassVar[tuple[str, ...]] = ("window_start", "window_end")
    kept: ClassVar[Kept] = "slices"
    per_row: ClassVar[bool] = False
    slices_in_words: ClassVar[str] = "cut where windows begin and end"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size in (UNBOUNDED, NOW):
            raise InvalidArgument(f"range={self.range!r} goes with neither closed= nor slide=")
        self.check_like("slide", self.slide)
        self.check_like("offset", self.offset)
        measure("slide", self.slide)
        check_gaps(self.gaps, self.slide, self._leaves_gaps, self.measured, self.size)
        signed("offset", self.offset)
        if self.calendar is not None:
            self._check_calendar()

    def bounds(self, rows: SortedRows) -> Bounds:
        """The windows that hold a row, of rows that have an order."""
        from windrow.windows.hop_bounds import Selection, hop_bounds

        assert rows.at is not None and rows.axis is not None
        selection = Selection(
            rows.now, rows.open, rows.done, rows.answered, rows.places, rows.first_placed
        )
        if self.calendar is not None:
            from windrow.windows.calendar_bounds import hops_between

            edges = self._edges(rows.at, rows.axis)
            lo, hi, number, segment = hops_between(
                rows.at, rows.starts, *edges, selection, self._named
            )
            opens, ends = edges
            return rows.own_windows(lo, hi, opens[number], ends[number], segment)
        size, slide, offset = self.sizes(rows.axis)
        lo, hi, opens, segment = hop_bounds(
            rows.at, rows.starts, size, slide, offset, selection, self._named
        )
        return rows.own_windows(lo, hi, opens, opens + opens.dtype.type(size), segment)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows of windows that end behind `now`: none of them begins a size before it."""
        assert rows.axis is not None
        return rows.since(None if rows.now is None else rows.now - self.reach(rows.axis))

    # -- slices -----------------------------------------------------------------------------

    def slice_starts(self, at: NDArray[Any], axis: Axis) -> NDArray[Any]:
        """Return where each row's slice starts: at the last start or end of a window before it.

        Windows begin and end at the edges of slices only (pairs, paper 002).
        """
        import numpy as np

        if self.calendar is not None:
            cuts = np.union1d(*self._edges(at, axis))
            return np.asarray(cuts[np.searchsorted(cuts, at, side="right") - 1])
        size, slide, offset = self.sizes(axis)
        into, rest = (at - offset) % slide, size % slide
        return np.asarray(at - into + np.where(into >= rest, rest, 0) if rest else at - into)

    def last_end(self, at: NDArray[np.int64], axis: Axis) -> NDArray[np.int64]:
        """Return the end of the last window that begins at or before each time."""
        if self.calendar is not None:
            opens, closes = self._edges(at, axis)
            return closes[opens.searchsorted(at, side="right") - 1]
        size, slide, offset = self.sizes(axis)
        end: NDArray[np.int64] = at - (at - offset) % slide + size
        return end

    def first_end(self, at: NDArray[np.int64], axis: Axis) -> NDArray[np.int64]:
        """Return the end of the first window that ends behind each time."""
        if self.calendar is not None:
            _, closes = self._edges(at, axis)
            return closes[closes.searchsorted(at, side="right")]
        size, slide, offset = self.sizes(axis)
        end: NDArray[np.int64] = at + slide - (at - offset - size) % slide
        return end

    def _edges(self, at: NDArray[Any], axis: Axis) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the windows of the calendar around some times start and end."""
        import numpy as np

        assert self.calendar is not None
        at = at if at.size else np.zeros(1, np.int64)
        return self.calendar.edges(at, axis, self._named)

    def slicing(self) -> Slicing | None:
        if self.calendar is not None:
            return None
        size, slide, offset = map(int, self._sizes())
        if (size, slide, offset) != self._sizes():
            return None  # fractions have no greatest common divisor
        return slices(size, slide, offset=(size + offset) % slide)

    # -- sizes ------------------------------------------------------------------------------

    @cached_property
    def calendar(self) -> Calendar | None:
        """The calendar that windows start by; None if they are so far apart always."""
        if is_number(self.size):
            return None
        if self.timezone is None and not any(interval.months for interval in self._intervals()):
            return None
        from windrow.windows.calendar import Calendar

        return Calendar(*self._intervals(), self.timezone)

    @property
    def sliced_by_rule(self) -> bool:  # type: ignore[override]
        """Whether slices begin at multiples, or windows of the calendar end where others begin."""
        return self.calendar is None or self.calendar.aligned

    def _intervals(self) -> tuple[Interval, Interval, Interval]:
        """Size, slide and offset as the calendar has them."""
        size, slide = (signed_interval(self.measured, size) for size in (self.size, self.slide))
        return size, slide, signed_interval("offset", self.offset)

    def _check_calendar(self) -> None:
        """Refuse a slide that is not of months or of days, and an offset that is not within one."""
        _, slide, offset = self._intervals()
        zone = "" if self.timezone is None else f", timezone={self.timezone!r}"
        said = f"range={self.size!r}, slide={self.slide!r}{zone}"
        if bool(slide.months) == bool(slide.days) or slide.nanoseconds:
            raise InvalidArgument(
                f"{said}: windows of the calendar start every so many months, or days or weeks; "
                f"give slide='1 month', or slide='1 day', "
                + ("or leave timezone= out" if self.timezone else "or a range of days")
            )
        if abs(offset.length) >= slide.length or (offset.months and not slide.months):
            raise InvalidArgument(
                f"{said}: offset={self.offset!r} must be shorter than the slide, and months shift "
                f"only a slide of months"
            )

    def reach(self, axis: Axis) -> int | float | None:
        if self.calendar is not None:
            return self.lengths(self.size, replace(axis, zoned=True))[1]
        size: int | float = self.sizes(axis)[0]
        return size

    def check_room(self) -> None:
        size, slide, _ = self._sizes()
        check_room(int(size / slide), self._named)

    @property
    def _named(self) -> str:
        return ", ".join(written(self.arguments()))

    def sizes(self, axis: Axis) -> tuple[Any, Any, Any]:
        """Size, slide and offset in the unit of `axis`, which `start_axis` gave."""
        size, slide, offset = (axis.units(size)[0] for size in self._sizes())
        return size, slide, offset

    def _sizes(self) -> tuple[int | float, int | float, int | float]:
        """Size, slide and offset in nanoseconds, or as the numbers that they are."""
        slide, offset = measure("slide", self.slide), signed("offset", self.offset)
        return self.measure(), slide, offset

    def start_axis(self, axis: Axis) -> Axis:
        if self.calendar is not None:
            return axis.holding([interval.nanoseconds for interval in self._intervals()])
        return axis.holding(self._sizes())

    # -- how it prints ----------------------------------------------------------------------

    def sketch(self) -> Sketch:
        """Four windows, one behind the other."""
        if self.calendar is not None:
            import numpy as np

            axis = Axis(tick=1, zoned=self.timezone is not None)
            opens, closes = self.calendar.edges(np.array([START]), axis)
            windows = zip(opens[-4:].tolist(), closes[-4:].tolist(), strict=True)
            return replace(hopping(list(windows), "time"), zone=self.timezone)
        size, slide, offset = self._sizes()
        numbers = is_number(self.size)
        first = offset if numbers else START + (offset - START) % slide
        starts = [first + slide * i for i in range(4)]
        return hopping([(at, at + size) for at in starts], "number" if numbers else "time")

    def cql(self) -> list[str]:
        words = [f"{self.measured.upper()} {in_cql(self.size)}", f"SLIDE {in_cql(self.slide)}"]
        words += [] if self.offset is None else [f"OFFSET {in_cql(self.offset)}"]
        words += self.zone_cql()
        return [*words, "WITH GAPS"] if self.gaps else words

    def __str__(self) -> str:
        shifted = "" if self.offset is None else f", shifted by {self.offset}"
        between = "; rows between them are in none" if self._leaves_gaps else ""
        if self.calendar is not None:
            slide, zone = self.calendar.slide, self.timezone or "UTC"
            day = "on the first" if slide.months else "on Mondays" if slide.days % 7 == 0 else ""
            when = f"{day} at midnight in {zone}".strip()
            starts = f"a start every {self.slide}, {when}{shifted}"
            return f"[start, start + {self.size}), {starts}{between}"
        return (
            f"[start, start + {self.size}) for every start that is a multiple of "
            f"{self.slide}{shifted}{between}"
        )

    @property
    def _leaves_gaps(self) -> bool:
        if self.calendar is None:
            size, slide, _ = self._sizes()
            return slide > size
        whole, step, _ = self._intervals()
        if step.months and whole.months:
            return step.months > whole.months
        if step.days and whole.days and not whole.months:
            return step.days > whole.days
        return step.lengths(False)[1] > whole.lengths(False)[0]
