"""Frames: windows with both ends relative to the current row, as SQL's BETWEEN says them.

    rows=(-2, 1)        v₀ [v₁  v₂  v₃  v₄] v₅            v₃'s window
    range=(-20, -5)     [9:40  9:47  9:55]  9:58  10:00   the window of 10:00
    groups=(-1, 0)      a  [b  b  c  c] d                 both windows of c

A negative end lies before the current row and a positive one behind it, as in PySpark's
`rowsBetween` and `rangeBetween`; "unbounded" is the first row or the last. A frame that ends with
the current row is one of the kinds `Rows` and `Span`, so `rows=(-2, 0)` is `rows=3`.

A result waits until no row to come can be in its window: for so many rows of its key, for so much
time along the order, or for the end of the key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import choice
from windrow.windows.base import Kept, Window
from windrow.windows.ends import Ends, counted_in_words, end_in_cql, is_now, measured_in_words
from windrow.windows.rows import Rows
from windrow.windows.sizes import CLOSED, NOW, UNBOUNDED, Axis, opposite, signed, signed_interval
from windrow.windows.sketch import Sketch, between, excluding
from windrow.windows.span import Closed, Span

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows
    from windrow.windows.span_bounds import Measures

# What may be left out of a frame; rows of equal order are known where windows go by the order.
EXCLUDE = ("current row", "group", "ties")


@dataclass(frozen=True)
class Frame(Window):
    """Base of the frames: windows with two `ends`, which are kept as they were written."""

    exclude: str | None = field(default=None, kw_only=True)

    ends_now: ClassVar[bool] = False
    sizes: ClassVar[tuple[str, ...]] = ()  # the arguments of which one has the ends

    def __post_init__(self) -> None:
        if self.exclude is not None:
            choice("exclude", self.exclude, self.excludable)

    @property
    def excludable(self) -> tuple[str, ...]:
        """The values that `exclude` may have."""
        return EXCLUDE

    @property
    def ends(self) -> Ends:
        """Start and end as they are written."""
        raise NotImplementedError

    @property
    def slices_in_words(self) -> str:  # type: ignore[override]
        rest = "" if self.exclude is None else "; what is before and behind the gap is merged"
        return Window.slices_in_words + rest

    def simplest(self) -> Window:
        """Return the same window as a kind that ends with the current row, if it does."""
        return self

    @property
    def from_first(self) -> bool:  # type: ignore[override]
        return bool(self.ends[0] == UNBOUNDED)

    @property
    def endless(self) -> bool:  # type: ignore[override]
        return bool(self.ends[1] == UNBOUNDED)

    @property
    def in_ranges(self) -> bool:  # type: ignore[override]
        return UNBOUNDED not in self.ends

    @property
    def kept(self) -> Kept:  # type: ignore[override]
        """Rows; those that wait for others as a whole, as they come out later."""
        return "followed" if self.endless or signed("end", self.ends[1]) > 0 else "rows"

    @property
    def _counts(self) -> tuple[int, int]:
        """Both ends where rows or groups are counted; beyond all of them if they are unbounded."""
        from windrow.windows.positions import LONGEST

        start, end = self.ends
        return -LONGEST if start == UNBOUNDED else start, LONGEST if end == UNBOUNDED else end

    def _bounds(
        self,
        rows: SortedRows,
        lo: Positions,
        hi: Positions,
        beside: Any,
        measures: Measures | None = None,
    ) -> Bounds:
        """Return the windows of the rows that wait for no other, less what is left out of them."""
        from windrow.windows.positions import EVERY

        every = isinstance(beside, slice) and beside == EVERY
        measures = measures if every else None
        extent = None if measures is None else measures.extent()
        bounds = rows.windows(lo[beside], hi[beside], beside, go_back=self.go_back, extent=extent)
        if self.exclude is None:
            return bounds
        from windrow.windows.exclude import parts_without

        return bounds.put_together(parts_without(rows, bounds, self.exclude, measures))

    def arguments(self) -> dict[str, Any]:
        arguments = super().arguments()
        exclude = arguments.pop("exclude", None)
        return arguments if exclude is None else {**arguments, "exclude": exclude}

    def cql(self) -> list[str]:
        (name,) = (name for name in self.sizes if getattr(self, name) is not None)
        start, end = self.ends
        words = [f"{name.upper()} BETWEEN {end_in_cql(start, True)} AND {end_in_cql(end, False)}"]
        return words + ([] if self.exclude is None else [f"EXCLUDE {self.exclude.upper()}"])

    def _and_without(self) -> str:
        rest = "" if self.exclude is None else f", without the {self.exclude}"
        return f"{rest}, a result for each row"


# -- counted rows ----------------------------------------------------------------------------


@dataclass(frozen=True)
class RowFrame(Frame):
    """The rows from one that is so many before or behind the current row to another."""

    rows: Ends

    takes: ClassVar[tuple[str, ...]] = ("rows", "exclude")
    sizes: ClassVar[tuple[str, ...]] = ("rows",)
    counts_rows: ClassVar[bool] = True

    @property
    def excludable(self) -> tuple[str, ...]:
        """Which rows are of equal order is not known where they are counted."""
        return EXCLUDE[:1]

    @property
    def ends(self) -> Ends:
        return self.rows

    def simplest(self) -> Window:
        start, end = self.rows
        if end != 0:
            return self
        return Rows(None if start == UNBOUNDED else 1 - start)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows between both ends, as far as their key has them."""
        import numpy as np

        from windrow.windows.bounds import frame_of_rows
        from windrow.windows.positions import Windows
        from windrow.windows.sorted_rows import Bounds

        start, end = self._counts
        waiting = np.maximum(rows.starts[:-1], rows.starts[1:] - max(end, 0))
        beside = rows.ready(waiting, whole_keys=False)
        if self.by_rows and isinstance(beside, slice):
            first, past = beside.start or 0, beside.stop
            whole, *parts = [
                Windows(rows.starts, b - a + 1, first, ahead=b, past=past)
                for a, b in (self.rows, *self._parts())
            ]
            return Bounds(whole, beside).put_together(parts)
        lo, hi = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
        frame_of_rows(rows.starts, start, end, 0, lo, hi)
        return self._bounds(rows, lo, hi, beside)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows that wait, and those that they and rows to come reach back to."""
        import numpy as np

        if UNBOUNDED in self.rows:
            return rows.starts[:-1]
        start, end = self.rows
        first: Positions = rows.starts[1:] - max(end, 0) + min(start, 0)
        return np.maximum(rows.starts[:-1], first)

    def _parts(self) -> list[tuple[int, int]]:
        """Return the first and last row of the window, or of its parts around the current row.

        >>> RowFrame((-2, 1))._parts(), RowFrame((-2, 1), exclude="current row")._parts()
        ([(-2, 1)], [(-2, -1), (1, 1)])
        """
        start, end = self.rows
        if self.exclude is None or not start <= 0 <= end:
            return [(start, end)]
        return [(a, b) for a, b in ((start, -1), (1, end)) if a <= b]

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        return UNBOUNDED not in self.rows and bool(self._parts())

    @property
    def shift(self) -> tuple[int, int] | None:  # type: ignore[override]
        start, end = self.rows
        plain = self.by_rows and self.exclude is None
        return (end - start + 1, end) if plain and end != 0 else None

    @property
    def reach_rows(self) -> int | None:  # type: ignore[override]
        start = self.rows[0]
        return None if start == UNBOUNDED else 1 + max(0, -start)

    @property
    def ahead_rows(self) -> int | None:  # type: ignore[override]
        end = self.rows[1]
        return None if end == UNBOUNDED else max(0, end)

    def sketch(self) -> Sketch:
        return excluding(between(*self.rows), self.exclude)

    def __str__(self) -> str:
        return f"the rows from {counted_in_words(*self.rows)}{self._and_without()}"


# -- along the order --------------------------------------------------------------------------


@dataclass(frozen=True)
class RangeFrame(Frame, Closed):
    """The rows whose order lies between two distances from the current row's."""

    closed: str = "both"

    takes: ClassVar[tuple[str, ...]] = ("range", "delta", "closed", "exclude", "timezone")
    sizes: ClassVar[tuple[str, ...]] = ("range", "delta")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_zone()
        choice("closed", self.closed, CLOSED)

    @property
    def ends(self) -> Ends:
        ends: Ends = self.size
        return ends

    @property
    def by_peers(self) -> bool:  # type: ignore[override]
        return self.closed == "both" and all(e == UNBOUNDED or is_now(e) for e in self.ends)

    def simplest(self) -> Window:
        start, end = self.ends
        if not is_now(end) or (start == UNBOUNDED and self.closed != "both"):
            return self
        if start == UNBOUNDED or is_now(start):
            if self.delta is not None or self.closed != "both":
                return self
            return Span(UNBOUNDED if start == UNBOUNDED else NOW, timezone=self.timezone)
        if signed(self.measured, start) > 0:
            return self
        arguments: dict[str, Any] = {self.measured: opposite(start), "timezone": self.timezone}
        return Span(closed=self.closed, **arguments)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows between both ends; those without an order see each other."""
        import numpy as np

        from windrow.windows.sorted_rows import PLACED

        assert rows.at is not None and rows.axis is not None
        start, end = self._units(rows.axis)
        length = np.diff(rows.starts)
        begin, stop = rows.starts[:-1], rows.starts[1:]
        lo, hi, measures = self._edges(rows, start, end)
        placed = np.ones(length.size, np.bool_)
        if rows.places > 1:
            placed = np.arange(length.size) % rows.places == PLACED
            alone = np.repeat(~placed, length)
            if start is not None:
                lo[alone] = np.repeat(begin, length)[alone]
            if end is not None:
                hi[alone] = np.repeat(stop, length)[alone]
            measures = None
        if self.go_back:  # nothing lies between a month and the days that it has
            np.minimum(lo, hi, out=lo)
        if rows.over is None:
            waiting = stop
        elif end is None:
            waiting = np.repeat(rows.keys[:-1], rows.places)
        else:
            waiting = begin
            if rows.now is not None and self.by_calendar(self.ends[1]) is not None:
                waiting = rows.first(self._waiting(rows))
            elif rows.now is not None:
                last = rows.now - end
                waiting = rows.since(last) if self.includes_end else rows.since(last, behind=True)
            waiting = np.where(placed, waiting, begin)
        return self._bounds(rows, lo, hi, rows.ready(waiting, whole_keys=self.endless), measures)

    def _edges(
        self, rows: SortedRows, start: Any, end: Any
    ) -> tuple[Positions, Positions, Measures | None]:
        """Return where windows begin and end, as if all rows had an order, and their measures."""
        import numpy as np

        from windrow.windows.bounds import frame_edges
        from windrow.windows.span_bounds import measured_bounds

        assert rows.at is not None
        from_calendar, to_calendar = (self.by_calendar(end) is not None for end in self.ends)
        keeps, threads = (self.includes_start, not self.includes_end), rows.threads
        if None not in (start, end) and not (from_calendar or to_calendar):
            ends = (start, keeps[0]), (end, keeps[1])
            sides = self.exclude in EXCLUDE[:2]  # a group may be the row alone
            return measured_bounds(rows.at, rows.starts, *ends, sides=sides, threads=threads)
        if start is None:
            lo = np.repeat(rows.keys[:-1], np.diff(rows.keys))
        elif from_calendar:
            lo = self.positions(rows, self.ends[0], back=False, keep=keeps[0])
        else:
            lo = frame_edges(rows.at, rows.starts, start, keeps[0], threads=threads)
        if end is None:
            hi = np.repeat(rows.keys[1:], np.diff(rows.keys))
        elif to_calendar:
            hi = self.positions(rows, self.ends[1], back=False, keep=keeps[1])
        else:
            hi = frame_edges(rows.at, rows.starts, end, keeps[1], threads=threads)
        return lo, hi, None

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows that wait, and those that they and rows to come reach back to."""
        import numpy as np

        assert rows.axis is not None
        start, end = self._units(rows.axis)
        if start is None or end is None:
            return np.repeat(rows.keys[:-1], rows.places)
        if rows.now is None:
            return rows.starts[:-1]
        reach, ahead = self.reach(rows.axis), self.ahead(rows.axis)
        assert reach is not None and ahead is not None
        return rows.since(rows.now - ahead - reach)

    def reach(self, axis: Axis) -> int | float | None:
        start = self._units(axis)[0]
        return None if start is None else self._most(self.ends[0], -start, axis, back=True)

    def ahead(self, axis: Axis) -> int | float | None:
        end = self._units(axis)[1]
        return None if end is None else self._most(self.ends[1], end, axis, back=False)

    def _most(self, end: Any, usual: int | float, axis: Axis, back: bool) -> int | float:
        """Return how far an end reaches at most; `usual` is how far it is away on average."""
        by_calendar = self.by_calendar(end, axis)
        if by_calendar is None or usual <= 0:
            return max(0, usual)
        most, _ = axis.units((-by_calendar if back else by_calendar).lengths(axis.zoned)[1])
        return most + 1

    def last_times(self, at: Any, axis: Axis) -> Any:
        by_calendar = self.by_calendar(self.ends[1], axis)
        if by_calendar is None:
            return super().last_times(at, axis)
        from windrow.windows.calendar import moved

        return moved(at, by_calendar, self.timezone, axis)[0]

    @property
    def go_back(self) -> bool:  # type: ignore[override]
        """Whether the calendar measures one of the ends."""
        return any(self.by_calendar(end) is not None for end in self.ends)

    def _waiting(self, rows: SortedRows) -> Any:
        """Return which rows have windows that rows to come may be in."""
        from windrow.windows.calendar import moved

        assert rows.at is not None and rows.axis is not None
        by = signed_interval(self.measured, self.ends[1])
        ends, between = moved(rows.at, by, self.timezone, rows.axis)
        return ends >= rows.now if self.includes_end or between else ends > rows.now

    def _units(self, axis: Axis) -> tuple[Any, Any]:
        """Return both ends in units of the order, None for the first or the last row.

        Between two ticks there is nothing: an end between them is the tick before it, and a start
        the one behind it, which are then in the window.
        """
        written = [None if e == UNBOUNDED else signed(self.measured, e) for e in self.ends]
        units: list[Any] = [None if e is None else axis.units(e) for e in written]
        start, end = units
        if start is not None:
            whole, rest = start
            start = whole + 1 - (not self.includes_start) if rest else whole
        if end is not None:
            whole, rest = end
            end = whole + (not self.includes_end) if rest else whole
        return start, end

    def sketch(self) -> Sketch:
        return excluding(self.sketch_of(self.ends, self.closed), self.exclude)

    def cql(self) -> list[str]:
        return super().cql() + self.sides_cql()

    def __str__(self) -> str:
        start, end = self.ends
        ends = f"{measured_in_words(start, True)}, {measured_in_words(end, False)}"
        return self.in_brackets(ends) + self._and_without()
