"""Session windows: `gap=`, the rows of a key that follow each other within a gap.

    gap=4        ×  ×    ×            ×                each row reaches from its time to time + gap
                 ├───┤
                    ├───┤
                         ├───┤        ├───┤
                 ├───────────┤        ├───┤            session_start, session_end

Reaches that overlap or touch are one session, so a row that comes exactly a gap behind the last is
in its session still, as in Spark's `session_window`. The gap may be an expression, which gives each
row its own reach; a row whose gap is null, 0 or negative is in no session. Months are those of the
calendar, in the `timezone` or else in UTC; with a `timezone` days and weeks are, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument
from windrow.windows.base import Kept
from windrow.windows.durations import NANOSECONDS, Interval, is_duration
from windrow.windows.sizes import Axis, in_cql, is_number
from windrow.windows.sketch import MIDNIGHT, START, Bar, Place, Sketch, Unit
from windrow.windows.zoned import Zoned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows

# A gap that is an expression is measured in microseconds at least, as Spark's are.
_FINE = NANOSECONDS["us"]


@dataclass(frozen=True)
class Session(Zoned):
    """The rows that follow each other within `gap`: a duration, a number, or an expression."""

    gap: Any
    timezone: str | None = field(default=None, kw_only=True)

    takes: ClassVar[tuple[str, ...]] = ("gap", "timezone")
    columns: ClassVar[tuple[str, ...]] = ("session_start", "session_end")
    measured: ClassVar[str] = "gap"
    per_row: ClassVar[bool] = False
    in_ranges: ClassVar[bool] = True
    kept: ClassVar[Kept] = "sessions"
    slices_in_words: ClassVar[str] = "1 a session: no two of a key overlap"

    def __post_init__(self) -> None:
        if self.row_size is None:
            self.measure()
        elif not self.row_size.strip():
            raise InvalidArgument(
                f'gap={self.gap!r} must be a duration such as "30 minutes", a number, or an '
                f"expression that gives each row its gap"
            )
        self.check_zone()

    @property
    def size(self) -> Any:
        return self.gap

    def bounds(self, rows: SortedRows) -> Bounds:
        """The sessions of rows that have an order, as far as no row to come can join them."""
        import numpy as np

        from windrow.windows.islands import islands

        assert rows.at is not None and rows.axis is not None
        gap = self.sizes(rows.at, rows.axis) if self.row_size is None else rows.sizes
        lo, hi, ends, segment = islands(rows.at, rows.starts, gap, rows.places, rows.first_placed)
        if rows.now is not None:
            over = np.flatnonzero((segment < rows.open) | (ends < rows.now))
            lo, hi, ends, segment = lo[over], hi[over], ends[over], segment[over]
        return rows.own_windows(lo, hi, rows.at[lo], ends, segment)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows behind the last session that is over; none of those without an order."""
        import numpy as np

        from windrow.windows.sorted_rows import PLACED

        keep = rows.behind(bounds.windows.bounds()[1])
        if rows.places > 1:
            unplaced = np.arange(keep.size) % rows.places != PLACED
            keep[unplaced] = rows.starts[1:][unplaced]
        return keep

    def with_row_size(self, text: str) -> Session:
        return replace(self, gap=text, timezone=None)

    # -- the gap ----------------------------------------------------------------------------

    @property
    def row_size(self) -> str | None:  # type: ignore[override]
        return self.gap if isinstance(self.gap, str) and not is_duration(self.gap) else None

    def conditions(self) -> dict[str, str]:
        return {} if self.row_size is None else {"gap": self.row_size}

    def check_axis(self, axis: Axis) -> None:
        if self.row_size is None:
            self.check_size("gap", self.gap, self.calendar(axis), axis)

    def start_axis(self, axis: Axis) -> Axis:
        if self.row_size is None:
            by = self.calendar(axis)
            return axis.holding([self.measure() if by is None else by.nanoseconds])
        return axis if axis.tick is None else replace(axis, tick=min(axis.tick, _FINE))

    def calendar(self, axis: Axis) -> Interval | None:
        """Return the parts of the gap if the calendar measures it; None if it has one length."""
        return None if self.row_size is not None else self.by_calendar(self.gap, axis)

    def sizes(self, at: NDArray[Any], axis: Axis) -> int | float | NDArray[np.int64]:
        """Return the gap behind times in units of the axis: one, or each time's by the calendar."""
        by = self.calendar(axis)
        if by is None:
            return axis.units(self.measure())[0]
        from windrow.windows.calendar import moved

        gaps: NDArray[np.int64] = moved(at, by, self.timezone, axis)[0] - at
        return gaps

    # -- how it prints ----------------------------------------------------------------------

    def sketch(self) -> Sketch:
        """Three sessions; one goes on at a row that comes exactly a gap behind the one before."""
        import numpy as np

        numbers = is_number(self.gap)
        axis = Axis(tick=None if numbers else 1, floating=numbers, zoned=self.timezone is not None)
        example = self.row_size is not None
        size = NANOSECONDS["min"] if example else self.measure()
        start = 0 if numbers else START if size < NANOSECONDS["d"] else MIDNIGHT
        at = [start + (size * n if numbers else int(size * n)) for n in (0, 0.4, 3, 4, 4.5, 8)]
        if example:
            gaps = [int(size * n) for n in (1, 0.4, 2, 0.6, 1, 0.8)]
        else:
            gaps = np.broadcast_to(self.sizes(np.array(at), axis), len(at)).tolist()
        bars: list[Bar] = []
        for begin, gap in zip(at, gaps, strict=True):
            end: Place = begin + gap
            if bars and begin <= (bars[-1].end or 0):
                bars[-1] = replace(bars[-1], end=max(bars[-1].end or 0, end))
            else:
                bars.append(Bar(begin, end))
        unit: Unit = "number" if numbers else "time"
        return Sketch(tuple(at), tuple(bars), unit, zone=self.timezone, example=example)

    def cql(self) -> list[str]:
        size = "" if self.row_size is not None else f" {in_cql(self.gap)}"
        return [f"SESSION{size}", *self.zone_cql()]

    def __str__(self) -> str:
        within = f"{self.gap}" if self.row_size is None else f"a gap of {self.gap} each"
        return f"sessions: rows that follow each other within {within}{self.zone_in_words()}"
