"""Times as a window compares them: numbers, and of what kind they were."""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Callable
from typing import Any

from windrow.aggregations.base import is_null
from windrow.aggregations.ordering import nanoseconds_of, plain
from windrow.errors import InvalidValue
from windrow.windows.durations import NANOSECONDS
from windrow.windows.sizes import is_number

NO_TIMES = "no times"
NUMBERS = "numbers"
WITH_ZONE = "times with a zone"
WITHOUT_ZONE = "times without a zone"
_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = _EPOCH.replace(tzinfo=datetime.UTC)


def distance(at: Any, newest: Any, size: Any) -> int:
    """Return 1 if `at` lies further before `newest` than `size`, 0 if just so far, −1 if nearer.

    >>> distance(3, 10, 5), distance(5, 10, 5), distance(9.5, 10, 5)
    (1, 0, -1)
    """
    # Whole numbers are exact both ways; floats round as they do in `rolling`.
    whole = isinstance(at, int) and isinstance(newest, int)
    a, b = (newest - at, size) if whole else (newest - size, at)
    return int(a > b) - int(a < b)


def instant(at: Any) -> tuple[str, int | float]:
    """Return the kind of `at` and its number; for a time, nanoseconds from the epoch.

    >>> instant(datetime.datetime(1970, 1, 1, 0, 0, 1))
    ('times without a zone', 1000000000)
    """
    if isinstance(at, datetime.datetime) and not is_null(at):
        zoned = at.utcoffset() is not None
        since = at - (_UTC_EPOCH if zoned else _EPOCH)
        return WITH_ZONE if zoned else WITHOUT_ZONE, nanoseconds_of(since)
    at = plain(at)
    if is_number(at) and math.isfinite(at):
        return NUMBERS, at
    if type(at).__name__ == "datetime64" and at == at:  # NaT differs from itself
        return WITHOUT_ZONE, _numpy_instant(at)
    raise InvalidValue(f"at={at!r} is no time; give a datetime, datetime64 or finite number")


def number_of_times_like(at: Any) -> Callable[[Any], Any]:
    """Return a function that makes the number of a time that has the type of `at`, in no time.

    It returns what `instant` does, or None for a time of another kind, or that it does not know.

    >>> number = number_of_times_like(datetime.datetime(2026, 1, 1))
    >>> number(datetime.datetime(1970, 1, 1, 0, 0, 1)), number(_UTC_EPOCH)
    (1000000000, None)
    """
    kind, _ = instant(at)
    if kind == NUMBERS:
        return _itself if type(at) in (int, float) else plain
    zoned = kind == WITH_ZONE
    if type(at) is datetime.datetime:
        return _zoned_number if zoned else _plain_number
    if isinstance(at, datetime.datetime) and hasattr(at, "nanosecond"):  # that of pandas
        return functools.partial(_pandas_number, zoned)
    if type(at).__name__ == "datetime64":
        return functools.partial(_numpy_number, at.dtype, at.dtype.name == "datetime64[ns]")
    return _unknown


def _itself(at: Any) -> Any:
    return at


def _unknown(at: Any) -> None:
    """Leave it to `instant`."""


def _plain_number(at: datetime.datetime) -> int | None:
    if at.tzinfo is not None:
        return None
    since = at - _EPOCH
    micros = (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
    return micros * 1000


def _zoned_number(at: datetime.datetime) -> int | None:
    if at.tzinfo is None:
        return None
    try:
        since = at - _UTC_EPOCH
    except TypeError:  # the zone has no offset then
        return None
    micros = (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
    return micros * 1000


def _pandas_number(zoned: bool, at: Any) -> int | None:
    try:
        return int(at.value) if (at.tzinfo is not None) == zoned else None
    except OverflowError:  # too far away for an int64 of nanoseconds
        return None


def _numpy_number(dtype: Any, in_nanoseconds: bool, at: Any) -> int | None:
    item = at.item()  # a number if it is in nanoseconds, else a datetime where there is one
    if in_nanoseconds:
        return item if at.dtype == dtype else None
    return _plain_number(item) if type(item) is datetime.datetime else None


def time_of(kind: str | None, number: Any) -> Any:
    """Return a time for messages: what `instant` was given, to the microsecond.

    >>> time_of(WITHOUT_ZONE, 1_000_000_000)
    datetime.datetime(1970, 1, 1, 0, 0, 1)
    """
    if kind not in (WITH_ZONE, WITHOUT_ZONE):
        return number
    try:
        since = datetime.timedelta(microseconds=number // 1000)
        return (_UTC_EPOCH if kind == WITH_ZONE else _EPOCH) + since
    except OverflowError:  # past the year 9999
        return number


def _numpy_instant(at: Any) -> int:
    """Return a datetime64 as nanoseconds, also where NumPy's own would overflow."""
    import numpy as np

    unit, count = np.datetime_data(at.dtype)
    if unit in ("Y", "M"):
        at, unit, count = at.astype("datetime64[D]"), "D", 1
    scale = NANOSECONDS.get({"m": "min"}.get(unit, unit.lower()))
    if scale is None:
        raise InvalidValue(f"at={at!r} is finer than a nanosecond")
    count *= int(at.astype("int64"))
    return count * scale
