"""Durations as people write them: "1 hour", "90s", "1h 30min", timedelta."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

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
_CALENDAR = re.compile(r"mon?|months?|y|yrs?|years?|quarters?")
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+)\s*")


def nanoseconds(value: Any, name: str, *, least: int = 1) -> int:
    """A duration in nanoseconds; `name` is the argument that errors speak of.

    >>> nanoseconds("1h 30min", "range") == nanoseconds("90 minutes", "range")
    True
    """
    if isinstance(value, str):
        total = _parse(value, name)
    elif isinstance(value, datetime.timedelta):
        total = (value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000
        total += getattr(value, "nanoseconds", 0)  # pandas has some beyond
    elif getattr(value, "dtype", None) is not None and value.dtype.kind == "m":
        total = int(value.astype("timedelta64[ns]").astype("int64"))
    else:
        raise InvalidArgument(
            f'{name}={value!r} is not a duration; write "1 hour", "90s" or a timedelta'
        )
    if total < least:
        raise InvalidArgument(f"{name}={value!r}: a duration must be longer than nothing")
    return total


def is_duration(text: str) -> bool:
    """Whether a text is written as a duration is: numbers with words behind them.

    >>> is_duration("1h 30min"), is_duration("30 minuts"), is_duration("own_gap * 2")
    (True, True, False)
    """
    return re.fullmatch(f"\\s*-?(?:{_PART.pattern})+", text) is not None


def short(text: str) -> str:
    """A duration in as few letters as it has, or another word as it is.

    >>> short("7 days"), short("1 hour 30 minutes"), short("unbounded")
    ('7d', '1h30min', 'unbounded')
    """
    parts = _PART.findall(text)
    found = "".join(f"{n}{_WORDS.get(unit.lower(), unit.lower())}" for n, unit in parts)
    return re.sub(r"\W", "_", found or text.strip())


def _parse(text: str, name: str) -> int:
    total, at = Decimal(0), 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            break
        unit = part[2].lower()
        if _CALENDAR.fullmatch(unit):
            raise InvalidArgument(
                f"{name}={text!r}: months and years differ in length; give days, as in '30 days'"
            )
        unit = _WORDS.get(unit, unit)
        if unit not in NANOSECONDS:
            known = [*NANOSECONDS, *(w for w in _WORDS if len(w) > 3)]
            raise InvalidArgument(
                f"{name}={text!r}: {part[2]!r} is no unit of time; {did_you_mean(unit, known)}"
            )
        total += Decimal(part[1]) * NANOSECONDS[unit]
        at = part.end()
    if at == 0 or at < len(text):
        raise InvalidArgument(
            f'{name}={text!r} is not a duration; write a number and a unit, as in "1 hour" or "90s"'
        )
    if total != int(total):
        raise InvalidArgument(f"{name}={text!r} is not a whole number of nanoseconds")
    return int(total)
