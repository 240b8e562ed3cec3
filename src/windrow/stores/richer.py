"""The encoding's other words: exact numbers, dates and times, records, NumPy's arrays.

D q c         Decimal as text, Fraction as two integers, complex as two floats
Y H y e       date, time, datetime, timedelta: their fields as integers, and the time zone
R             a record: its registered name, then its items
A a           a NumPy array: dtype, shape, bytes; a NumPy number: dtype, bytes
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from windrow.errors import InvalidValue
from windrow.stores.errors import CorruptValue
from windrow.stores.primitives import (
    NUMPY,
    READERS,
    Out,
    Writer,
    read,
    read_bytes,
    read_items,
    read_text,
    word,
    write,
    write_bytes,
    write_items,
    write_text,
)

RECORDS: dict[str, Callable[[list[Any]], Any]] = {}


def _parts(kind: type, tag: str, take: Callable[[Any], Any], make: Callable[..., Any]) -> None:
    """A type that is taken apart into storable values and made from them again."""
    writer: Writer = lambda value, out: write_items(take(value), out)  # noqa: E731

    def reader(data: bytes, at: int) -> tuple[Any, int]:
        values, at = read_items(data, at)
        return make(*values), at

    word(kind, tag, writer, reader)


# -- numbers ---------------------------------------------------------------------------------

_parts(Decimal, "D", lambda value: (str(value),), Decimal)
_parts(Fraction, "q", lambda value: (value.numerator, value.denominator), Fraction)
_parts(complex, "c", lambda value: (value.real, value.imag), complex)

# -- dates and times -------------------------------------------------------------------------


def _zone(zone: datetime.tzinfo | None) -> Any:
    """A time zone as something storable: None, its name, or its distance from UTC."""
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    if isinstance(zone, datetime.timezone):
        return zone.utcoffset(None)
    raise InvalidValue(
        f"a store cannot hold the time zone {zone!r}; take a ZoneInfo or a datetime.timezone"
    )


def _zone_of(stored: Any) -> datetime.tzinfo | None:
    if stored is None:
        return None
    return ZoneInfo(stored) if isinstance(stored, str) else datetime.timezone(stored)


def _clock(value: Any) -> tuple[Any, ...]:
    fields = value.hour, value.minute, value.second, value.microsecond
    return *fields, value.fold, _zone(value.tzinfo)


def _time(
    hour: int, minute: int, second: int, microsecond: int, fold: int, zone: Any
) -> datetime.time:
    return datetime.time(hour, minute, second, microsecond, _zone_of(zone), fold=fold)


def _datetime(year: int, month: int, day: int, *clock: Any) -> datetime.datetime:
    return datetime.datetime.combine(datetime.date(year, month, day), _time(*clock))


_parts(datetime.date, "Y", lambda v: (v.year, v.month, v.day), datetime.date)
_parts(datetime.time, "H", _clock, _time)
_parts(datetime.datetime, "y", lambda v: (v.year, v.month, v.day, *_clock(v)), _datetime)
_parts(datetime.timedelta, "e", lambda v: (v.days, v.seconds, v.microseconds), datetime.timedelta)

# -- records ---------------------------------------------------------------------------------


def _read_record(data: bytes, at: int) -> tuple[Any, int]:
    name, at = read_text(data, at)
    values, at = read_items(data, at)
    if name not in RECORDS:
        raise CorruptValue(
            f"a stored value is a record {name!r}, which is unknown here; register its class "
            f"with windrow.stores.register before the window is opened"
        )
    return RECORDS[name](values), at


READERS[ord("R")] = _read_record

# -- NumPy -----------------------------------------------------------------------------------


def _write_array(value: Any, out: Out) -> None:
    out += b"A"
    write_text(value.dtype.str, out)
    write(value.shape, out)
    write_bytes(value.tobytes(), out)


def _read_array(data: bytes, at: int) -> tuple[Any, int]:
    import numpy as np

    dtype, at = read_text(data, at)
    shape, at = read(data, at)
    raw, at = read_bytes(data, at)
    return np.frombuffer(raw, dtype).reshape(shape), at  # read-only, as states are


def _write_scalar(value: Any, out: Out) -> None:
    out += b"a"
    write_text(value.dtype.str, out)
    write_bytes(value.tobytes(), out)


def _read_scalar(data: bytes, at: int) -> tuple[Any, int]:
    import numpy as np

    dtype, at = read_text(data, at)
    raw, at = read_bytes(data, at)
    kind = np.dtype(dtype)
    return (np.frombuffer(raw, kind)[0] if kind.itemsize else kind.type()), at  # or empty text


NUMPY["ndarray"], NUMPY["generic"] = _write_array, _write_scalar
READERS[ord("A")], READERS[ord("a")] = _read_array, _read_scalar
