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
_NARROW = 400 * 365  # days: of times within so many all years are looked at
_MANY_TIMES = 1000  # are moved day by day, not each by itself


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
    """Return when a year begins, the offset from UTC then, and its changes in that year.

    All are seconds. The offsets of all days are compared, as Python does not tell the changes.
    """
    clock = ZoneInfo(zone)

    def offset(second: int) -> int:
        there = (_EPOCH + timedelta(seconds=second)).astimezone(clock).utcoffset()
        assert there is not None
        return round(there.total_seconds())

    begin, end = (
        round((datetime(y, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) for y in (year, year + 1)
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
class ZoneClock:
    """The offsets of a zone's clocks from UTC during some years, in the unit of an axis."""

    changes: Times  # when the offset from UTC changes
    offsets: Times  # before the first change, and from each change on

    def offset(self, at: Times) -> Times:
        """Return the offset from UTC at some instants."""
        return self.offsets[np.searchsorted(self.changes, at, side="right")]

    def instants(self, local: Times, wanted: Times | None = None) -> Times:
        """Return the instants at which clocks show local times, with `wanted` offsets if possible.

        Else the first of two; and for a time that clocks skip, one that is as much later.
        """
        shown = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        instants = local - self.offsets[np.searchsorted(shown, local, side="right")]
        if wanted is not None:
            same = local - wanted
            instants = np.where(self.offset(same) == wanted, same, instants)
        return instants


_UTC_CLOCK = ZoneClock(np.empty(0, np.int64), np.zeros(1, np.int64))


def clock_of(zone: str | None, axis: Axis, *days: Times) -> ZoneClock:
    """Return the clock of a zone in the years of some days; of UTC for times that are local."""
    if zone is None or not axis.zoned:
        return _UTC_CLOCK
    return _clock(zone, _SECOND // (axis.tick or 1), _years(days))


@functools.lru_cache(maxsize=256)
def _clock(zone: str, scale: int, years: tuple[int, ...]) -> ZoneClock:
    """Return the clock of a zone in some years, in units of which a second has `scale`."""
    offsets: list[int] = []
    changes: list[int] = []
    for year in years:
        begin, before, changes_of_year = _changes_in(zone, year)
        for second, offset in [(begin, before), *changes_of_year]:
            if not offsets:
                offsets.append(offset)
            elif offset != offsets[-1] and abs(second * scale) <= _MOST:
                changes.append(second * scale)
                offsets.append(offset)
    return ZoneClock(np.array(changes, np.int64), np.array(offsets, np.int64) * scale)


def _years(days: tuple[Times, ...]) -> tuple[int, ...]:
    """Return the years of some days, and one more before and behind each."""
    least, most = min(int(d.min()) for d in days), max(int(d.max()) for d in days)
    if most - least < _NARROW:
        years = np.arange(least // _YEAR - 1, most // _YEAR + 2)
    else:  # some may be far out and only stand for no end
        own_years = np.unique(np.concatenate([np.unique(d // _YEAR) for d in days]))
        years = np.unique(own_years[:, None] + np.arange(-1, 2))
    return tuple(np.unique(np.clip(years.astype(np.int64) + 1970, *_YEARS)).tolist())


# -- times moved by an interval -----------------------------------------------------------------


def moved(at: Times, by: Interval, zone: str | None, axis: Axis) -> tuple[Times, bool]:
    """Return times moved by months, then days, both of the local calendar, then a time. O(n).

    Where that lies between two ticks of the axis it is the tick before, and the second is true.

    >>> day = Axis(tick=NANOSECONDS["d"])
    >>> at = np.array(["2026-03-31", "2024-03-31"], "M8[D]").astype(np.int64)
    >>> moved(at, Interval(months=-1), None, day)[0].astype("M8[D]")
    array(['2026-02-28', '2024-02-29'], dtype='datetime64[D]')
    """
    assert axis.tick is not None
    fixed, rest = divmod(by.nanoseconds, axis.tick)
    zone = zone if axis.zoned else None
    move = _moved if at.size < _MANY_TIMES else _moved_by_days
    times = move(at, by, zone, axis)
    if fixed:
        inside = (times <= _MOST - fixed) if fixed > 0 else (times >= _LEAST - fixed)
        times = np.where(inside, times + fixed, _MOST if fixed > 0 else _LEAST)
    return times, bool(rest)


def _moved(at: Times, by: Interval, zone: str | None, axis: Axis) -> Times:
    """Return times moved by months and days, each by itself."""
    if not at.size:
        return at
    day = _DAY // (axis.tick or 1)
    if zone is None:
        days, time = np.divmod(at, day)
        return _in_ticks(_later(days, by.months) + by.days, day) + time
    days = at // day
    clock = clock_of(zone, axis, days, _later(days, by.months) + by.days)
    offset = clock.offset(at)
    days, time = np.divmod(at + offset, day)
    return clock.instants(_in_ticks(_later(days, by.months) + by.days, day) + time, offset)


def _moved_by_days(at: Times, by: Interval, zone: str | None, axis: Axis) -> Times:
    """Return what `_moved` does, fast for many times: those of a day mostly move alike."""
    day = _DAY // (axis.tick or 1)
    first, last = int(at.min()) // day - 2, int(at.max()) // day + 2
    if last - first > at.size:
        return _moved(at, by, zone, axis)
    days = np.arange(first, last + 1)
    there = _later(days, by.months) + by.days
    if max(-first, last, -int(there[0]), int(there[-1])) * day >= 2**62:
        return _moved(at, by, zone, axis)
    if zone is None:
        return at + ((there - days) * day)[at // day - first]
    clock = clock_of(zone, axis, days, there)
    starts, begin = clock.instants(days * day), clock.instants(there * day)
    end = clock.instants((there + 1) * day - 1)
    before = [np.searchsorted(clock.changes, t, side="right") for t in (starts, begin, end)]
    plain = (before[1] == before[2]) & (end - begin == day - 1)
    plain[:-1] &= (np.diff(starts) == day) & (np.diff(before[0]) == 0)
    number = np.searchsorted(starts, at, side="right") - 1
    times: Times = at + (begin - starts)[number]
    odd = np.flatnonzero(~plain[number])
    if odd.size:
        times[odd] = _moved(at[odd], by, zone, axis)
    return times


def _later(days: Times, months: int) -> Times:
    """Return days so many months later; the last day of a month that has no such day."""
    if not months:
        return days
    month = days.view("M8[D]").astype("M8[M]")
    into = days - month.astype("M8[D]").view(np.int64)
    month = month + months
    first = month.astype("M8[D]").view(np.int64)
    last = (month + 1).astype("M8[D]").view(np.int64) - 1
    later: Times = np.minimum(first + into, last)
    return later


def _in_ticks(days: Times, day: int) -> Times:
    """Return the beginnings of days in ticks, as far as these reach."""
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
        """Return the starts and ends of all windows around the times, and of one before and behind.

        Both never fall. `named` says whose windows they are, should memory have no room for them.
        """
        assert axis.tick is not None
        day = _DAY // axis.tick
        time = self.offset.nanoseconds // axis.tick
        narrow = int(at.max()) - int(at.min()) < _NARROW * day
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
        """Return the number of the newest window that begins by each day."""
        if self.slide.months:
            month = (days - self.offset.days).view("M8[D]").astype("M8[M]").view(np.int64)
            return np.asarray((month - self.origin) // self.slide.months)
        return np.asarray((days - self.origin) // self.slide.days)

    def _days(self, numbers: Times) -> tuple[Times, Times]:
        """Return the days on which windows begin and end."""
        if self.slide.months:
            month = numbers * self.slide.months + self.origin
            begin = month.view("M8[M]").astype("M8[D]").view(np.int64)
            shift = self.offset.days
        else:
            begin, shift = numbers * self.slide.days + self.origin, 0
        return begin + shift, _later(begin, self.size.months) + self.size.days + shift
