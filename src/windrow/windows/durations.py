"""Durations as people write them: "1 hour", "90s", "1h 30min", "1 month", timedelta."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from windrow.aggregations.ordering import nanoseconds_of
from windrow.errors import InvalidArgument, did_you_mean

NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
    "w": 7 * 86400 * 10**9,
}
_WORDS = {
    **dict.fromkeys(("nanosecond", "nanoseconds", "nano", "nanos"), "ns"),
    **dict.fromkeys(("µs", "microsecond", "microseconds", "micro", "micros"), "us"),
    **dict.fromkeys(("millisecond", "milliseconds", "milli", "millis"), "ms"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}
_MONTHS = {
    **dict.fromkeys(("mo", "mon", "mos", "month", "months"), "mo"),
    **dict.fromkeys(("q", "quarter", "quarters"), "q"),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), "y"),
}
_IN_MONTHS = {"mo": 1, "q": 3, "y": 12}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+)\s*")
_DAY = NANOSECONDS["d"]


@dataclass(frozen=True)
class Interval:
    """A duration as SQL has it: months, days and a time, of which only the time has one length.

    A month is 28 to 31 days; a day is one of some time zone's calendar, 23 to 25 hours there.
    """

    months: int = 0
    days: int = 0
    nanoseconds: int = 0

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.nanoseconds)

    @property
    def length(self) -> int:
        """The length on average, in nanoseconds: a year has 365.2425 days.

        >>> Interval(days=1).length, Interval(months=12).length / Interval(days=1).length
        (86400000000000, 365.2425)
        """
        return self.months * 2629746 * 10**9 + self.days * _DAY + self.nanoseconds

    def lengths(self, zoned: bool) -> tuple[int, int]:
        """Return the least and the most nanoseconds that a positive interval can last.

        With `zoned`, clocks may be set forward or back meanwhile, by a day at most as in Samoa.

        >>> [length // Interval(days=1).length for length in Interval(months=13).lengths(False)]
        [393, 397]
        """
        years, months = divmod(self.months, 12)
        rest = self.days * _DAY + self.nanoseconds
        slack = _DAY if zoned and (self.months or self.days) else 0
        least, most = (365 * years + 28 * months), (366 * years + 31 * months)
        return max(0, least * _DAY + rest - slack), most * _DAY + rest + slack


def nanoseconds(value: Any, name: str, *, least: int = 1) -> int:
    """Return a duration in nanoseconds; `name` is the argument that errors speak of.

    >>> nanoseconds("1h 30min", "range") == nanoseconds("90 minutes", "range")
    True
    """
    parts = interval(value, name)
    if parts.months:
        raise InvalidArgument(
            f"{name}={value!r}: months and years differ in length; give days, as in '30 days'"
        )
    if parts.length < least:
        raise InvalidArgument(f"{name}={value!r}: a duration must be longer than nothing")
    return parts.length


def interval(value: Any, name: str) -> Interval:
    """Return a duration as months, days and a time; `name` is the argument that errors speak of.

    >>> interval("1 year 1.5 days", "range")
    Interval(months=12, days=1, nanoseconds=43200000000000)
    """
    if isinstance(value, str):
        return _parse(value, name)
    if isinstance(value, datetime.timedelta):
        return Interval(nanoseconds=nanoseconds_of(value))
    if getattr(value, "dtype", None) is not None and value.dtype.kind == "m":
        for unit, months in (("M", 1), ("Y", 12)):
            if value.dtype.str.endswith(f"[{unit}]"):
                return Interval(months=months * int(value.astype("int64")))
        return Interval(nanoseconds=int(value.astype("timedelta64[ns]").astype("int64")))
    raise InvalidArgument(
        f'{name}={value!r} is not a duration; write "1 hour", "90s" or a timedelta'
    )


def is_duration(text: str) -> bool:
    """Return whether a text is written as a duration is: numbers with words behind them.

    >>> is_duration("1h 30min"), is_duration("30 minuts"), is_duration("own_gap * 2")
    (True, True, False)
    """
    return re.fullmatch(f"\\s*-?(?:{_PART.pattern})+", text) is not None


def short(text: str) -> str:
    """Return a duration in as few letters as it has, or another word as it is.

    >>> short("7 days"), short("1 hour 30 minutes"), short("1 month"), short("unbounded")
    ('7d', '1h30min', '1mo', 'unbounded')
    """
    words = _WORDS | _MONTHS
    parts = [(n, unit.lower()) for n, unit in _PART.findall(text)]
    abbreviated = "".join(f"{n}{words.get(unit, unit)}" for n, unit in parts)
    return re.sub(r"\W", "_", abbreviated or text.strip())


@lru_cache(maxsize=256)
def _parse(text: str, name: str) -> Interval:
    months, days, total, at = Decimal(0), Decimal(0), Decimal(0), 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            break
        number, unit = Decimal(part[1]), part[2].lower()
        unit = _WORDS.get(unit) or _MONTHS.get(unit, unit)
        if unit in _IN_MONTHS:
            months += number * _IN_MONTHS[unit]
        elif unit in ("d", "w"):
            days += number * (7 if unit == "w" else 1)
        elif unit in NANOSECONDS:
            total += number * NANOSECONDS[unit]
        else:
            known = [*NANOSECONDS, *(w for w in _WORDS | _MONTHS if len(w) > 3)]
            raise InvalidArgument(
                f"{name}={text!r}: {part[2]!r} is no unit of time; {did_you_mean(unit, known)}"
            )
        at = part.end()
    if at == 0 or at < len(text):
        raise InvalidArgument(
            f'{name}={text!r} is not a duration; write a number and a unit, as in "1 hour" or "90s"'
        )
    if months != int(months):
        raise InvalidArgument(f"{name}={text!r}: a part of a month is of no length; give days")
    total += days % 1 * _DAY
    if total != int(total):
        raise InvalidArgument(f"{name}={text!r} is not a whole number of nanoseconds")
    return Interval(int(months), int(days), int(total))
