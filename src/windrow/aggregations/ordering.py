"""Order as Spark SQL has it: NaN equals NaN and is larger than any other number."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from windrow.errors import InvalidValue

_NUMBERS = (int, float, Decimal, Fraction)
_PLAIN = frozenset({int, float, bool, str, bytes})


def plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, a Decimal's NaN or infinity as a float.

    NumPy's integers wrap around where Python's do not, so none may enter a state. Everything else
    stays as it is.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Decimal):  # a NaN of its kind cannot even be compared
        return value if value.is_finite() else float(value.copy_abs()) * (-1) ** value.is_signed()
    dtype = getattr(value, "dtype", None)
    number = dtype is not None and dtype.kind in "biuf" and getattr(value, "ndim", 0) == 0
    return value.item() if number else value


def number(value: Any, asker: object) -> Any:
    """Return `value` as a plain number; raise an error that names `asker` if it is none."""
    value = plain(value)
    if isinstance(value, _NUMBERS):
        return int(value) if isinstance(value, bool) else value
    hint = "; give its total_seconds()" if isinstance(value, datetime.timedelta) else ""
    raise InvalidValue(f"{asker!r} takes numbers, not {type(value).__name__} {value!r}{hint}")


def real(value: Any, asker: object) -> float:
    """Return a number as a float, an infinite one if no float can hold it."""
    value = number(value, asker)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def nanoseconds_of(passed: datetime.timedelta) -> int:
    """Return a timedelta in nanoseconds, of which that of pandas has some beyond its microseconds.

    >>> nanoseconds_of(datetime.timedelta(days=-1, microseconds=2))
    -86399999998000
    """
    micros = (passed.days * 86400 + passed.seconds) * 1_000_000 + passed.microseconds
    return micros * 1000 + getattr(passed, "nanoseconds", 0)


def instant(value: Any, asker: object) -> int:
    """Return a time in nanoseconds since 1970; numbers are seconds.

    >>> instant(datetime.datetime(1970, 1, 1, 0, 0, 2), "Rate"), instant(1.5, "Rate")
    (2000000000, 1500000000)
    """
    dtype = getattr(value, "dtype", None)
    if dtype is not None and dtype.kind in "mM":
        return int(value.astype(f"{dtype.kind}8[ns]").astype("int64"))
    if isinstance(value, datetime.date):
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo and datetime.UTC)
        return nanoseconds_of(value - epoch)
    seconds = number(value, asker)
    if not abs(seconds) < 2**63 / 10**9:
        raise InvalidValue(f"{asker!r}: numbers are seconds, and {seconds!r} is past 292 years")
    nanoseconds: int = round(seconds * 10**9)
    return nanoseconds


def is_nan(value: Any) -> bool:
    """Return whether `value` is a NaN, which differs from itself."""
    return bool(value != value)


def less(a: Any, b: Any) -> bool:
    """Return a < b, with NaN above all numbers.

    >>> less(float("inf"), float("nan")), less(float("nan"), 1.0)
    (True, False)
    """
    if b != b:
        return bool(a == a)
    return bool(a == a and a < b)  # a Decimal must not even be compared with NaN by <


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return the values from the smallest to the largest, NaN at the end.

    >>> in_order([2.0, float("nan"), 1.0])
    [1.0, 2.0, nan]
    """
    unordered = list(values)
    numbers = sorted(value for value in unordered if value == value)
    return numbers + [value for value in unordered if value != value]


def same(a: Any, b: Any) -> bool:
    """Return a = b, with NaN equal to NaN."""
    return bool(a == b) or (a != a and b != b)


def family(value: Any) -> Hashable:
    """Return the kind of values that `value` can be compared with.

    >>> family(3) == family(2.5), family(3) == family("three")
    (True, False)
    """
    if isinstance(value, _NUMBERS):
        return "number"
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return "number" if dtype.kind in "biuf" else str(dtype.kind)
    if isinstance(value, datetime.datetime):
        return "datetime with a time zone" if value.tzinfo else "datetime without a time zone"
    return type(value).__name__
