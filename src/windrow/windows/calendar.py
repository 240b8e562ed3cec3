"""The calendar: times moved by months and local days, and windows that begin where those do.

    31 March − 1 month = 28 February                        the last day there is
    29 March 2026, 12:00 in Berlin − 1 day = 28 March, 12:00    23 hours, as clocks go forward
    a local time that clocks skip is as much later; of one that they show twice it is the one with
    the offset from UTC that the time had before, or else the first

That is what SQL's INTERVAL means, as Spark computes it. All of it is done with whole arrays: the
changes of a zone's offset from UTC are a table, in which times are searched.
"""

from __future__ import annotations

import difflib
import functools
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument
from windrow.windows.durations import NANOSECONDS, Interval
from windrow.windows.room import check_room
from windrow.windows.sizes import Axis

Times = NDArray[np.int64]

_DAY, _SECOND = NANOSECONDS["d"], NANOSECONDS["s"]
_MONDAY = 4  # 5 January 1970, in days from the epoch
_LEAST, _MOST = -(2**63), 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = 1, 9998  # that Python has dates of, the day after each included
_YEAR = 365.2425  # days
_FEW = 400 * 365


def check_timezone(name: Any) -> None:
    """Refuse what is not the name of a time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        near = difflib.get_close_matches(str(name), available_timezones(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "one is 'Europe/Berlin'"
        raise InvalidArgument(
            f"timezone={name!r} is no time zone that this machine knows; {hint}"
        ) from None


# -- the clocks of a zone -----------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _changes_in(zone: str, year: int) -> tuple[int, int, list[tuple[int, int]]]:
    """When a year begins, and the offset from UTC then; when it changes in the year, and to what.

    All are seconds. The offsets of all days are compared, as Python does not tell the changes.
    """
    clock = ZoneInfo(zone)

    def offset(second: int) -> int:
        there = (_EPOCH + timedelta(seconds=second)).astimezone(clock).utcoffset()
        assert there is not None
        return round(there.total_seconds())

    begin, end = (
        round((datetime(each, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())
        for each in (year, year + 1)
    )
    first = before = offset(begin) if year > _YEARS[0] else 0
    changes = []
    for after in range(begin + 86400, end + 1, 86400):
        there = offset(after)
        if there != before:
            low, high = after - 86400, after
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            changes.append((high, there))
            before = there
    return begin, first, changes


@dataclass(frozen=True)
class Clock:
    """What the clocks of a zone show, for some years; in the unit of an axis."""

    changes: Times  # when the offset from UTC changes
    offsets: Times  # before the first change, and from each change on

    def offset(self, at: Times) -> Times:
        """The offset from UTC at some instants."""
        return self.offsets[np.searchsorted(self.changes, at, side="right")]

    def instants(self, local: Times, wanted: Times | None = None) -> Times:
        """The instants at which clocks show some times: those with `wanted` offsets if there are.

        Else the first of two; and for a time that clocks skip, one that is as much later.
        """
        shown = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        made = local - self.offsets[np.searchsorted(shown, local, side="right")]
        if wanted is not None:
            same = local - wanted
            made = np.where(self.offset(same) == wanted, same, made)
        return made


_UTC_CLOCK = Clock(np.empty(0, np.int64), np.zeros(1, np.int64))


def clock_of(zone: str | None, axis: Axis, *days: Times) -> Clock:
    """The clock of a zone in the years of some days; of UTC for times that are local."""
    if zone is None or not axis.zoned:
        return _UTC_CLOCK
    scale = _SECOND // (axis.tick or 1)
    offsets: list[int] = []
    changes: list[int] = []
    for year in _years(days):
        begin, before, found = _changes_in(zone, year)
        for second, offset in [(begin, before), *found]:
            if not offsets:
                offsets.append(offset)
            elif offset != offsets[-1] and abs(second * scale) <= _MOST:
                changes.append(second * scale)
                offsets.append(offset)
    return Clock(np.array(changes, np.int64), np.array(offsets, np.int64) * scale)


def _years(days: tuple[Times, ...]) -> list[int]:
    """The years of some days, and one more before and behind each."""
    least, most = min(int(d.min()) for d in days), max(int(d.max()) for d in days)
    if most - least < _FEW:
        found = np.arange(least // _YEAR - 1, most // _YEAR + 2)
    else:  # some may be far out and only stand for no end
        each = np.unique(np.concatenate([np.unique(d // _YEAR) for d in days]))
        found = np.unique(each[:, None] + np.arange(-1, 2))
    years: list[int] = np.unique(np.clip(found.astype(np.int64) + 1970, *_YEARS)).tolist()
    return years


# -- times moved by an interval -----------------------------------------------------------------


def moved(at: Times, by: Interval, zone: str | None, axis: Axis) -> tuple[Times, bool]:
    """Times moved by months, then days, both of the local calendar, then a time. O(n).

    Where that lies between two ticks of the axis it is the tick before, and the second is true.

    >>> day = Axis(tick=NANOSECONDS["d"])
    >>> at = np.array(["2026-03-31", "2024-03-31"], "M8[D]").astype(np.int64)
    >>> moved(at, Interval(months=-1), None, day)[0].astype("M8[D]")
    array(['2026-02-28', '2024-02-29'], dtype='datetime64[D]')
    """
    assert axis.tick is not None
    day = _DAY // axis.tick
    fixed, rest = divmod(by.nanoseconds, axis.tick)
    if not at.size:
        return at, bool(rest)
    offset = None
    if zone is not None and axis.zoned:
        days = at // day
        clock = clock_of(zone, axis, days, _later(days, by.months) + by.days)
        offset = clock.offset(at)
    days, time = np.divmod(at if offset is None else at + offset, day)
    made = _in_ticks(_later(days, by.months) + by.days, day) + time
    if offset is not None:
        made = clock.instants(made, offset)
    if fixed:
        inside = (made <= _MOST - fixed) if fixed > 0 else (made >= _LEAST - fixed)
        made = np.where(inside, made + fixed, _MOST if fixed > 0 else _LEAST)
    return made, bool(rest)


def _later(days: Times, months: int) -> Times:
    """Days so many months later; the last day of a month that has no such day."""
    if not months:
        return days
    month = days.view("M8[D]").astype("M8[M]")
    into = days - month.astype("M8[D]").view(np.int64)
    month = month + months
    first = month.astype("M8[D]").view(np.int64)
    last = (month + 1).astype("M8[D]").view(np.int64) - 1
    made: Times = np.minimum(first + into, last)
    return made


def _in_ticks(days: Times, day: int) -> Times:
    """The beginnings of days in ticks, as far as these reach."""
    inside: Times = np.clip(days, _LEAST // day + 2, _MOST // day - 2)
    return inside * day


# -- windows that begin with months, days or weeks -----------------------------------------------


@dataclass(frozen=True)
class Calendar:
    """Windows [start, start + size), a start every so many months or local days.

    Starts are counted from January 1970, from 1 January 1970, or for whole weeks from a Monday, and
    lie at midnight in the `zone`; `offset` shifts them.
    """

    size: Interval
    slide: Interval
    offset: Interval
    zone: str | None

    @property
    def aligned(self) -> bool:
        """Whether windows end only where others begin."""
        size, slide = self.size, self.slide
        if size.nanoseconds or bool(size.months) == bool(size.days):
            return False
        step, whole = (slide.months, size.months) if slide.months else (slide.days, size.days)
        return bool(whole) and whole % step == 0

    @property
    def origin(self) -> int:
        """The day that days are counted from, or the first month: 0 is that of the epoch."""
        if self.slide.months:
            return self.offset.months
        return (_MONDAY if self.slide.days % 7 == 0 else 0) + self.offset.days

    def edges(self, at: Times, axis: Axis, named: str = "") -> tuple[Times, Times]:
        """The starts and ends of all windows around the times, and of one before and behind.

        Both never fall. `named` says whose windows they are, should memory have no room for them.
        """
        assert axis.tick is not None
        day = _DAY // axis.tick
        time = self.offset.nanoseconds // axis.tick
        narrow = int(at.max()) - int(at.min()) < _FEW * day
        at = np.array([at.min(), at.max()], np.int64) if narrow else at
        clock = clock_of(self.zone, axis, at // day)
        numbers = self._number((at + clock.offset(at) - time) // day)
        before = math.ceil(self.size.lengths(True)[1] / max(1, self.slide.lengths(False)[0])) + 1
        if narrow:
            check_room(int(numbers[1] - numbers[0]), named)
            numbers = np.arange(numbers[0] - before, numbers[1] + 3)
        else:  # some times may be far out and only stand for no end
            numbers = np.unique(numbers)
            check_room(numbers.size * before, named)
            numbers = np.unique(numbers[:, None] + np.arange(-before, 3))
        starts, stops = self._days(numbers)
        clock = clock_of(self.zone, axis, starts, stops)
        opens, closes = (clock.instants(_in_ticks(days, day) + time) for days in (starts, stops))
        return opens, closes + self.size.nanoseconds // axis.tick

    def _number(self, days: Times) -> Times:
        """The number of the newest window that begins by each day."""
        if self.slide.months:
            month = (days - self.offset.days).view("M8[D]").astype("M8[M]").view(np.int64)
            return np.asarray((month - self.origin) // self.slide.months)
        return np.asarray((days - self.origin) // self.slide.days)

    def _days(self, numbers: Times) -> tuple[Times, Times]:
        """The days on which windows begin and end."""
        if self.slide.months:
            month = numbers * self.slide.months + self.origin
            begin = month.view("M8[M]").astype("M8[D]").view(np.int64)
            shift = self.offset.days
        else:
            begin, shift = numbers * self.slide.days + self.origin, 0
        return begin + shift, _later(begin, self.size.months) + self.size.days + shift
