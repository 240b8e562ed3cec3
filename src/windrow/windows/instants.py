"""Times as a window compares them: numbers, and of what kind they were."""

from __future__ import annotations

import datetime
import math
from typing import Any

from windrow.aggregations.base import is_null
from windrow.aggregations.ordering import plain
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
        seconds = since.days * 86400 + since.seconds
        small = since.microseconds * 1000 + getattr(since, "nanoseconds", 0)  # pandas has them
        return WITH_ZONE if zoned else WITHOUT_ZONE, seconds * NANOSECONDS["s"] + small
    at = plain(at)
    if is_number(at) and math.isfinite(at):
        return NUMBERS, at
    if type(at).__name__ == "datetime64" and at == at:  # NaT differs from itself
        return WITHOUT_ZONE, _numpy_instant(at)
    raise InvalidValue(f"at={at!r} is no time; give a datetime, datetime64 or finite number")


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
