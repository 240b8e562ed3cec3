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

from windrow.errors import InvalidArgument, did_you_mean, whole_number
from windrow.windows.base import Kept, Window
from windrow.windows.rows import Rows
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
from windrow.windows.sketch import Sketch, between, excluding, grouped
from windrow.windows.span import CLOSED, Measured, Span

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.positions import Bounds, SortedRows, Windows

Ends = tuple[Any, Any]
# What may be left out of a frame; rows of equal order are known where windows go by the order.
EXCLUDE = ("current row", "group", "ties")


def framed(size: str, given: dict[str, Any]) -> Window:
    """The window of arguments of which `size` has two ends that were checked.

    >>> framed("rows", {"rows": (-2, 0)}), framed("range", {"range": (0, "1 hour")}).closed
    (Rows(rows=3, slide=None, gaps=False), 'both')
    """
    frame = FRAMES[size](**given)
    return frame if frame.exclude else frame.simplest()


def up_to_now(size: str, given: Any) -> Any:
    """Both ends of a window of one size, which ends with the current row.

    >>> up_to_now("rows", 3), up_to_now("range", "1 hour"), up_to_now("groups", 1)
    ((-2, 0), ('-1 hour', 0), (0, 0))
    """
    if isinstance(given, tuple):
        return given
    if given == UNBOUNDED:
        return UNBOUNDED, 0
    if size in ("rows", "groups"):
        return 1 - whole_number(size, given, least=1), 0
    if given == NOW:
        return 0, 0
    measure(size, given)
    return (f"-{given.strip()}" if isinstance(given, str) else -given), 0


def checked_ends(size: str, given: dict[str, Any]) -> Ends:
    """Both ends as they are written, or an error that says what is wrong with them."""
    ends = given[size]
    for name in ("slide", "offset", "gaps"):
        if name in given:
            raise InvalidArgument(
                f"{name}={given[name]!r} does not go with {size}={ends!r}, which has a result a "
                f"row; give {size}= one size"
            )
    if len(ends) != 2:
        raise InvalidArgument(
            f"{size}={ends!r} must have two ends, as in {size}=(-3, 3), or be one size"
        )
    numbers = [_end(size, end, first=i == 0) for i, end in enumerate(ends)]
    start, end = (0 if number is None else number for number in numbers)
    if None not in numbers and start > end:
        raise InvalidArgument(
            f"{size}={ends!r} ends before it begins: a negative end lies before the current row"
        )
    written = [UNBOUNDED if n is None else e for n, e in zip(numbers, ends, strict=True)]
    if size in ("rows", "groups"):
        written = [UNBOUNDED if n is None else n for n in numbers]
    sized = [each for each in written if each != UNBOUNDED and not _is_zero(each)]
    if len({is_number(each) for each in sized}) > 1 or (
        size == "delta" and not all(map(is_number, sized))
    ):
        kind = "numbers" if size == "delta" else "both numbers, or both durations"
        raise InvalidArgument(f"{size}={ends!r}: its ends must be {kind}")
    return written[0], written[1]


def _end(size: str, end: Any, first: bool) -> int | float | None:
    """One end as a number; None for the first or the last row."""
    if isinstance(end, str) and end.strip().lower() == UNBOUNDED:
        return None
    if size in ("rows", "groups"):
        try:
            return whole_number(f"{size}, {'start' if first else 'end'}", end, least=-(2**62))
        except InvalidArgument as error:
            raise InvalidArgument(f'{error}; or "unbounded"') from None
    return signed(size, end)


def _is_zero(end: Any) -> bool:
    return is_number(end) and end == 0


@dataclass(frozen=True)
class Frame(Window):
    """What the frames have in common; `ends` are the two of them as they are written."""

    exclude: str | None = field(default=None, kw_only=True)

    ends_now: ClassVar[bool] = False
    sizes: ClassVar[tuple[str, ...]] = ()  # the arguments of which one has the ends

    def __post_init__(self) -> None:
        if self.exclude is not None and self.exclude not in self.excludable:
            known = did_you_mean(str(self.exclude), self.excludable)
            raise InvalidArgument(f"exclude={self.exclude!r} is unknown here; {known}")

    @property
    def excludable(self) -> tuple[str, ...]:
        """What `exclude` may be."""
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
        """The same window as a kind that ends with the current row, if it does."""
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
        return "followed" if self._waits else "rows"

    @property
    def _waits(self) -> bool:
        """Whether windows hold rows behind the current one."""
        raise NotImplementedError

    def _bounds(self, rows: SortedRows, lo: Positions, hi: Positions, beside: Any) -> Bounds:
        """The windows of the rows that wait for no other, less what is left out of them."""
        bounds = rows.windows(lo[beside], hi[beside], beside, go_back=self.go_back)
        if self.exclude is None:
            return bounds
        return bounds.put_together(_without(rows, bounds, self.exclude))

    def arguments(self) -> dict[str, Any]:
        given = super().arguments()
        exclude = given.pop("exclude", None)
        return given if exclude is None else {**given, "exclude": exclude}

    def cql(self) -> list[str]:
        (name,) = (name for name in self.sizes if getattr(self, name) is not None)
        start, end = self.ends
        words = [f"{name.upper()} BETWEEN {_in_cql(start, True)} AND {_in_cql(end, False)}"]
        return words + ([] if self.exclude is None else [f"EXCLUDE {self.exclude.upper()}"])

    def _and_without(self) -> str:
        rest = "" if self.exclude is None else f", without the {self.exclude}"
        return f"{rest}, an answer a row"


def _in_cql(end: Any, first: bool) -> str:
    if end == UNBOUNDED:
        return f"UNBOUNDED {'PRECEDING' if first else 'FOLLOWING'}"
    size = signed("", end)
    if size == 0:
        return "CURRENT ROW"
    if size > 0:
        return f"{in_cql(end)} FOLLOWING"
    return f"{in_cql(-end) if is_number(end) else in_cql(end).lstrip('-')} PRECEDING"


def _without(rows: SortedRows, bounds: Bounds, exclude: str) -> list[Windows]:
    """The windows as parts before and behind what is left out of them; and the row among ties."""
    from windrow.windows.bounds import frame_edges, held_between
    from windrow.windows.positions import Windows

    lo, hi = bounds.windows.bounds()
    here = rows.positions(bounds.beside)
    first, past = here, here + 1
    if exclude != "current row":
        assert rows.at is not None
        equal = [
            frame_edges(rows.at, rows.starts, 0, keep, threads=rows.threads)
            for keep in (True, False)
        ]
        first, past = (edge[here] for edge in equal)
    ends = [lo, held_between(first, lo, hi), held_between(past, lo, hi), hi]
    if exclude == "ties":
        ends[2:2] = [held_between(here, lo, hi), held_between(here + 1, lo, hi)]
    back = bounds.windows.go_back
    parts = [
        Windows(rows.starts, lo=a, hi=b, go_back=back)
        for a, b in zip(ends[::2], ends[1::2], strict=True)
    ]
    return [part for part in parts if part.filled] or parts[:1]


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
        from windrow.windows.positions import LONGEST, Bounds, Windows

        start, end = self.rows
        start = -LONGEST if start == UNBOUNDED else start
        end = LONGEST if end == UNBOUNDED else end
        waiting = np.maximum(rows.starts[:-1], rows.starts[1:] - max(end, 0))
        beside = rows.ready(waiting, whole_keys=False)
        if self.by_rows and isinstance(beside, slice):
            first, past = beside.start or 0, beside.stop
            made = [
                Windows(rows.starts, b - a + 1, first, ahead=b, past=past)
                for a, b in self._stretches()
            ]
            return Bounds(made[0], beside).put_together(made)
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

    def _stretches(self) -> list[tuple[int, int]]:
        """The first and the last of the rows: of all of them, or before and behind the current one.

        >>> RowFrame((-2, 1))._stretches(), RowFrame((-2, 1), exclude="current row")._stretches()
        ([(-2, 1)], [(-2, -1), (1, 1)])
        """
        start, end = self.rows
        if self.exclude is None or not start <= 0 <= end:
            return [(start, end)]
        return [(a, b) for a, b in ((start, -1), (1, end)) if a <= b]

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        return UNBOUNDED not in self.rows and bool(self._stretches())

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

    @property
    def _waits(self) -> bool:
        return self.ahead_rows != 0

    def sketch(self) -> Sketch:
        return excluding(between(*self.rows), self.exclude)

    def __str__(self) -> str:
        return f"the rows from {_in_words(*self.rows, 'row')}{self._and_without()}"


# -- along the order --------------------------------------------------------------------------


@dataclass(frozen=True)
class RangeFrame(Frame, Measured):
    """The rows whose order lies between two distances from the current row's."""

    closed: str = "both"

    takes: ClassVar[tuple[str, ...]] = ("range", "delta", "closed", "exclude", "timezone")
    sizes: ClassVar[tuple[str, ...]] = ("range", "delta")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_zone()
        if self.closed not in CLOSED:
            raise InvalidArgument(
                f"closed={self.closed!r} is unknown; {did_you_mean(str(self.closed), CLOSED)}"
            )

    @property
    def ends(self) -> Ends:
        found: Ends = self.size
        return found

    @property
    def by_peers(self) -> bool:  # type: ignore[override]
        return self.closed == "both" and all(e == UNBOUNDED or _is_zero(e) for e in self.ends)

    def simplest(self) -> Window:
        start, end = self.ends
        if not _is_zero(end) or (start == UNBOUNDED and self.closed != "both"):
            return self
        if start == UNBOUNDED or _is_zero(start):
            if self.delta is not None or self.closed != "both":
                return self
            return Span(UNBOUNDED if start == UNBOUNDED else NOW, timezone=self.timezone)
        if signed(self.measured, start) > 0:
            return self
        size = -start if not isinstance(start, str) else start.strip()[1:].strip()
        given: dict[str, Any] = {self.measured: size, "timezone": self.timezone}
        return Span(closed=self.closed, **given)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows between both ends; those without an order see each other."""
        import numpy as np

        from windrow.windows.bounds import frame_edges
        from windrow.windows.positions import PLACED

        assert rows.at is not None and rows.axis is not None
        start, end = self._units(rows.axis)
        length = np.diff(rows.starts)
        begin, stop = rows.starts[:-1], rows.starts[1:]
        from_calendar, to_calendar = (self.by_calendar(end) is not None for end in self.ends)
        if start is None:
            lo = np.repeat(rows.keys[:-1], np.diff(rows.keys))
        elif from_calendar:
            lo = self.positions(rows, self.ends[0], back=False, keep=self._from_start)
        else:
            lo = frame_edges(rows.at, rows.starts, start, self._from_start, threads=rows.threads)
        if end is None:
            hi = np.repeat(rows.keys[1:], np.diff(rows.keys))
        elif to_calendar:
            hi = self.positions(rows, self.ends[1], back=False, keep=not self._to_end)
        else:
            hi = frame_edges(rows.at, rows.starts, end, not self._to_end, threads=rows.threads)
        placed = np.ones(length.size, np.bool_)
        if rows.places > 1:
            placed = np.arange(length.size) % rows.places == PLACED
            alone = np.repeat(~placed, length)
            if start is not None:
                lo[alone] = np.repeat(begin, length)[alone]
            if end is not None:
                hi[alone] = np.repeat(stop, length)[alone]
        # nothing lies between two open ends that are one, or a month and the days that it has
        if start == end or self.go_back:
            np.minimum(lo, hi, out=lo)
        if rows.over is None:
            waiting = stop
        elif end is None:
            waiting = np.repeat(rows.keys[:-1], rows.places)
        else:
            waiting = begin
            if rows.now is not None and to_calendar:
                waiting = rows.first(self._waiting(rows))
            elif rows.now is not None:
                last = rows.now - end
                waiting = rows.since(last) if self._to_end else rows.since(last, behind=True)
            waiting = np.where(placed, waiting, begin)
        return self._bounds(rows, lo, hi, rows.ready(waiting, whole_keys=self.endless))

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
        """How far an end reaches at most to its side, of which it is so far away as a rule."""
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
        """Which rows have windows that rows to come may be in."""
        from windrow.windows.calendar import moved

        assert rows.at is not None and rows.axis is not None
        by = signed_interval(self.measured, self.ends[1])
        ends, between = moved(rows.at, by, self.timezone, rows.axis)
        return ends >= rows.now if self._to_end or between else ends > rows.now

    @property
    def _waits(self) -> bool:
        return self.endless or signed(self.measured, self.ends[1]) > 0

    @property
    def _from_start(self) -> bool:
        return self.closed in ("both", "left")

    @property
    def _to_end(self) -> bool:
        return self.closed in ("both", "right")

    def _units(self, axis: Axis) -> tuple[Any, Any]:
        """Both ends in units of the order, None for the first or the last row.

        Between two ticks there is nothing: an end between them is the tick before it, and a start
        the one behind it, which are then in the window.
        """
        written = [None if e == UNBOUNDED else signed(self.measured, e) for e in self.ends]
        found: list[Any] = [None if e is None else axis.units(e) for e in written]
        start, end = found
        if start is not None:
            whole, rest = start
            start = whole + 1 - (not self._from_start) if rest else whole
        if end is not None:
            whole, rest = end
            end = whole + (not self._to_end) if rest else whole
        return start, end

    def sketch(self) -> Sketch:
        return excluding(self.sketch_of(self.ends, self.closed), self.exclude)

    def cql(self) -> list[str]:
        words = super().cql()
        words += [] if self.closed == "both" else [f"CLOSED {self.closed.upper()}"]
        return words + self.zone_cql()

    def __str__(self) -> str:
        left = "[" if self._from_start else "("
        ends = [_from_now(end, first) for end, first in zip(self.ends, (True, False), strict=True)]
        right = "]" if self._to_end else ")"
        return f"{left}{', '.join(ends)}{right}{self.zone_in_words()}{self._and_without()}"


# -- groups of equal order --------------------------------------------------------------------


@dataclass(frozen=True)
class GroupFrame(Frame):
    """The rows of groups of equal order, counted from the current row's group."""

    groups: Ends

    takes: ClassVar[tuple[str, ...]] = ("groups", "exclude")
    sizes: ClassVar[tuple[str, ...]] = ("groups",)
    measured: ClassVar[str] = "groups"
    by_peers: ClassVar[bool] = True
    in_ranges: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        return self.groups

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows of the groups between both ends; those without an order are a group, too."""
        import numpy as np

        first, group = _groups(rows)
        key_first = np.repeat(np.searchsorted(first, rows.keys[:-1]), np.diff(rows.keys))
        key_past = np.repeat(np.searchsorted(first, rows.keys[1:]), np.diff(rows.keys))
        start, end = self.groups
        lo = key_first if start == UNBOUNDED else np.clip(group + start, key_first, key_past)
        hi = key_past if end == UNBOUNDED else np.clip(group + end + 1, key_first, key_past)
        waiting = np.repeat(self._waiting(rows, first), rows.places)
        beside = rows.ready(np.maximum(waiting, rows.starts[:-1]), whole_keys=True)
        return self._bounds(rows, first[lo], first[hi], beside)

    def _waiting(self, rows: SortedRows, first: Positions) -> Positions:
        """For each key, the first position that waits for groups to come or to be complete."""
        import numpy as np

        if rows.over is None:
            return rows.keys[1:]
        end = self.groups[1]
        if end == UNBOUNDED:
            return rows.keys[:-1]
        past = np.searchsorted(first, rows.keys[1:])
        # rows to come may be of the last group, unless it is before all of them
        last = np.maximum(rows.keys[1:] - 1, 0)
        grows = np.ones(past.size, np.bool_)
        if rows.now is not None and rows.at is not None and rows.size:
            grows = (rows.at[last] >= rows.now) | (rows.places > 1)
        waiting = np.clip(past - grows - end, np.searchsorted(first, rows.keys[:-1]), past)
        found: Positions = first[waiting]
        return found

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The groups that wait, and those that they and rows to come reach back to."""
        import numpy as np

        key_first = rows.keys[:-1]
        if UNBOUNDED not in self.groups:
            start, end = self.groups
            first, _ = _groups(rows)
            past = np.searchsorted(first, rows.keys[1:])
            reach = past - 1 - max(end, 0) + min(start, 0)
            key_first = first[np.clip(reach, np.searchsorted(first, key_first), past)]
        kept: Positions = np.repeat(key_first, rows.places)
        return kept

    @property
    def _waits(self) -> bool:
        return self.endless or self.groups[1] > 0

    def check_axis(self, axis: Axis) -> None:
        """Groups of equal order are counted along any column of times or numbers."""

    def sketch(self) -> Sketch:
        return grouped(between(*self.groups), self.exclude)

    def __str__(self) -> str:
        return f"the groups of equal order from {_in_words(*self.groups, '')}{self._and_without()}"


# The frames by the arguments that have their ends.
FRAMES: dict[str, type[Frame]] = {
    "rows": RowFrame, "range": RangeFrame, "delta": RangeFrame, "groups": GroupFrame,
}  # fmt: skip


def _groups(rows: SortedRows) -> tuple[Positions, Positions]:
    """The first position of each group of equal order, and the end; and the group of each row."""
    import numpy as np

    assert rows.at is not None
    begins = np.ones(rows.size + 1, np.bool_)
    begins[1:-1] = rows.at[1:] != rows.at[:-1]
    begins[rows.starts] = True
    return np.flatnonzero(begins), np.cumsum(begins[:-1]) - 1


# -- in words ---------------------------------------------------------------------------------


def _in_words(start: Any, end: Any, noun: str) -> str:
    """Two counted ends.

    >>> _in_words(-3, UNBOUNDED, "row"), _in_words(0, 2, "row")
    ('3 before the current one to the last', 'the current one to 2 behind it')
    """
    first = "the first" if start == UNBOUNDED else _counted(start, "the current one")
    it = "it" if start != UNBOUNDED and "current" in first else "the current one"
    last = "the last" if end == UNBOUNDED else _counted(end, it)
    return f"{first} to {last}"


def _counted(end: int, it: str) -> str:
    if end == 0:
        return "the current one"
    return f"{abs(end)} {'behind' if end > 0 else 'before'} {it}"


def _from_now(end: Any, first: bool) -> str:
    """An end along the order, t being the current row's."""
    if end == UNBOUNDED:
        return "the first row" if first else "the last row"
    size = signed("", end)
    if size == 0:
        return "t"
    text = str(abs(end)) if is_number(end) else in_cql(end).lower().lstrip("- ").strip("'")
    return f"t {'+' if size > 0 else '−'} {text}"
