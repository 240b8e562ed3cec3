"""Sizes of windows as they are written: numbers, durations, "unbounded" and "now".

A size is kept as the user wrote it, since "1 hour" prints better than 3600000000000, and becomes a
number when it is known what windows are measured along (`Axis`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.durations import NANOSECONDS, Interval, interval, nanoseconds

UNBOUNDED = "unbounded"
NOW = "now"
# What `closed=` may be: whether a window holds what lies exactly at its start, and at its end.
CLOSED = {
    "both": (True, True),
    "right": (False, True),
    "left": (True, False),
    "neither": (False, False),
}

_UNITS = dict(
    zip(
        ("week", "day", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond"),
        sorted(NANOSECONDS.values(), reverse=True),
        strict=True,
    )
)
# Units that a finer axis may have, in nanoseconds, the coarsest first.
_TICKS = (10**9, 10**6, 10**3, 1)
_INTERVAL = re.compile(r"\d+(\.\d+)? [a-z]+( \d+(\.\d+)? [a-z]+)*")


@dataclass(frozen=True)
class Axis:
    """What windows are measured along: a column of times or of numbers.

    `tick` is the unit of a column of times in nanoseconds, None for numbers; these are instants if
    they are `zoned`, else what a clock on the wall shows. Numbers with a `scale` are decimals, as
    counts of their last digit, which is so many digits behind the point. `name` and `type` are
    those of the column, for errors.
    """

    tick: int | None
    floating: bool = False
    name: str = ""
    type: str = ""
    zoned: bool = False
    scale: int = 0

    def units(self, size: int | float) -> tuple[int | float, int | float]:
        """Return a size, in nanoseconds for times, as whole units and what is left of it.

        >>> Axis(tick=1000).units(1500), Axis(tick=None, floating=True).units(2.5)
        ((1, 500), (2.5, 0))
        >>> Axis(tick=None, scale=2).units(0.1)
        (10, 0.0)
        """
        if self.floating:
            return float(size), 0
        whole, rest = divmod(size, self.tick or 1)
        if self.scale:
            digits = Fraction(str(size)) * Fraction(10) ** self.scale
            whole, rest = digits // 1, float(digits % 1)
        if abs(whole) >= 2**63:
            raise InvalidValue(
                "a size of 2**63 units of the column or more is too large; "
                'range="unbounded" reaches back to the first row'
            )
        return int(whole), rest

    def holding(self, sizes: Sequence[int | float]) -> Axis:
        """Return this axis, or a finer one in which all sizes (as in `units`) are whole.

        >>> Axis(tick=10**9).holding([1_500_000_000]).tick, Axis(None).holding([2.5]).floating
        (1000000, True)
        """
        if self.tick is None:
            fractions = any(float(size) != int(size) for size in sizes)
            return replace(self, floating=True, type="double") if fractions else self
        limit = self.tick
        tick = next(t for t in _TICKS if t <= limit and all(int(size) % t == 0 for size in sizes))
        return replace(self, tick=tick, floating=False)

    def check(self, argument: str, size: Any) -> None:
        """Refuse a duration along numbers, a number along times, and what is beyond either."""
        if size in (None, UNBOUNDED, NOW) or (is_number(size) and size == 0):
            return
        if self.tick is not None and is_number(size):
            raise InvalidValue(
                f"{argument}={size!r} is a number, and {self.name!r} is of type {self.type}; give "
                f'a duration such as "1 hour"'
            )
        if self.tick is None and not is_number(size):
            raise InvalidValue(
                f"{argument}={size!r} is a duration, and {self.name!r} is of type {self.type}; "
                f"give a number in its unit"
            )
        try:
            self.units(signed(argument, size))
        except InvalidValue as error:
            raise InvalidValue(f"{argument}={size!r} along {self.name!r}: {error}") from None


def is_number(value: Any) -> bool:
    """Return whether `value` is a number, which an order column of numbers takes; bool is none.

    >>> is_number(1.5), is_number("1 hour"), is_number(True)
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def measure(name: str, value: Any) -> int | float:
    """Return a size: a duration in nanoseconds, of months on average, or the number that it is.

    >>> measure("range", "90s"), measure("delta", 2.5)
    (90000000000, 2.5)
    """
    if not is_number(value):
        length = interval(value, name).length
        if length <= 0:
            raise InvalidArgument(f"{name}={value!r}: a duration must be longer than nothing")
        return length
    if not (value > 0 and math.isfinite(value)):
        raise InvalidArgument(f"{name}={value!r} must be larger than 0")
    return value  # type: ignore[no-any-return]


def signed(name: str, value: Any) -> int | float:
    """Return a number, or a duration in nanoseconds; both may be negative, and None is 0.

    Months are of the length that they have on average.

    >>> signed("offset", "-2 s"), signed("offset", None)
    (-2000000000, 0)
    """
    if is_number(value):
        if not math.isfinite(value):
            raise InvalidArgument(f"{name}={value!r} must be finite")
        return value  # type: ignore[no-any-return]
    return signed_interval(name, value).length


def signed_interval(name: str, value: Any) -> Interval:
    """Return a duration as months, days and a time, all of which may be negative; None is nothing.

    >>> signed_interval("range", "-1 month")
    Interval(months=-1, days=0, nanoseconds=0)
    """
    if value is None or (is_number(value) and value == 0):
        return Interval()
    if isinstance(value, str) and value.lstrip().startswith("-"):
        return -interval(value.lstrip()[1:], name)
    return interval(value, name)


def opposite(size: Any) -> Any:
    """Return a size on the other side of the current row.

    >>> opposite(3), opposite("-1 hour"), opposite("unbounded")
    (-3, '1 hour', 'unbounded')
    """
    if not isinstance(size, str):
        return -size
    text = size.strip()
    if text == UNBOUNDED:
        return text
    return text[1:].lstrip() if text.startswith("-") else f"-{text}"


def in_cql(value: Any) -> str:
    """Return a size as CQL has it: a number, an interval in words if it is read back, or quoted.

    >>> import datetime
    >>> in_cql(2.5), in_cql("1 hour"), in_cql(datetime.timedelta(minutes=90)), in_cql("1h")
    ('2.5', '1 HOUR', '90 MINUTES', "'1h'")
    """
    if is_number(value):
        return str(value)
    text = value if isinstance(value, str) else _in_words(value)
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + (text.upper() if _INTERVAL.fullmatch(text) else quoted(text))


def quoted(text: str) -> str:
    """Return a string as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _in_words(value: Any) -> str:
    """Return a timedelta in the coarsest unit that holds it."""
    sign, value = ("-", -value) if value < type(value)(0) else ("", value)
    months = interval(value, "size").months
    if months:
        return f"{sign}{months} month{'s' if months > 1 else ''}"
    size = nanoseconds(value, "size")
    unit, word = next((n, word) for word, n in _UNITS.items() if size % n == 0)
    return f"{sign}{size // unit} {word}{'s' if size > unit else ''}"
