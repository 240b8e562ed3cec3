"""Values of one type, for an operator of expressions: which kinds mix, and into what.

Values are arrays or scalars of Arrow; a null goes with everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.tables.types import MOST_DIGITS, UNITS

_FINENESS = list(UNITS).index
_WHOLE = pa.decimal128(19, 0)  # that every int64 is


class Misfit(TypeError):
    """Types that an operator has no meaning for; begins with a verb, as the text goes before it."""


def family(value: Any) -> str:
    """What kind of thing a value is, by its type."""
    kind = value.type
    if pt.is_null(kind):
        return "null"
    if pt.is_boolean(kind):
        return "boolean"
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        return "number"
    if pt.is_string(kind) or pt.is_large_string(kind):
        return "text"
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return "time"
    return "duration" if pt.is_duration(kind) else str(kind)


def null_like(kind: pa.DataType) -> Any:
    """The null of a type."""
    return pa.scalar(None, kind)


def numbers(*values: Any) -> list[Any]:
    """Numbers of one kind: doubles if one is a float, else decimals if one is, else int64."""
    if any(family(value) not in ("number", "null") for value in values):
        raise Misfit(f"takes numbers, not {types_of(values)}")
    if any(pt.is_floating(value.type) for value in values):
        return [floating(value) for value in values]
    decimals = [pt.is_decimal(value.type) for value in values]
    whole = [v if d else pc.cast(v, pa.int64()) for v, d in zip(values, decimals, strict=True)]
    if not any(decimals):
        return whole
    return [v if pt.is_decimal(v.type) else pc.cast(v, _WHOLE) for v in whole]


def _of_columns_type(values: Sequence[Any]) -> list[Any]:
    """Numbers of the one type that all columns among them have; none if a constant does not fit.

    >>> [str(each.type) for each in _of_columns_type([pa.array([1], pa.int8()), pa.scalar(0)])]
    ['int8', 'int8']
    >>> _of_columns_type([pa.array([1], pa.int8()), pa.scalar(1000)])
    []
    """
    types = {v.type for v in values if family(v) == "number" and not isinstance(v, pa.Scalar)}
    if len(types) != 1:
        return []
    (kind,) = types
    made = [_fitted(v, kind) if isinstance(v, pa.Scalar) else pc.cast(v, kind) for v in values]
    return [] if any(each is None for each in made) else made


def _fitted(constant: Any, kind: pa.DataType) -> Any:
    """A constant as one of a type; None if it would not be the same number there."""
    number = constant.as_py()
    try:
        made = pa.scalar(number, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    return made if made.as_py() == number else None


def _of_one_size(values: list[Any]) -> list[Any]:
    """Decimals with as many digits before and after the point as the largest have."""
    sizes = [(v.type.precision, v.type.scale) for v in values if pt.is_decimal(v.type)]
    if not sizes:
        return values
    scale = max(after for _, after in sizes)
    before = max(all_ - after for all_, after in sizes)
    kind = pa.decimal128(min(MOST_DIGITS, before + scale), scale)
    return [pc.cast(value, kind) for value in values]


def roomy(value: Any) -> Any:
    """A decimal with room for one digit more, which rounding may need; others as they are."""
    if not pt.is_decimal(value.type):
        return value
    return pc.cast(value, pa.decimal256(value.type.precision + 1, value.type.scale))


def floats(*values: Any) -> list[Any]:
    """Numbers as doubles."""
    return [floating(value) for value in numbers(*values)]


def floating(value: Any, target: pa.DataType | None = None) -> Any:
    """A number as the nearest double, or float of another type.

    By way of text for decimals: Arrow's own cast misses the nearest double in one of seven.

    >>> from decimal import Decimal
    >>> floating(pa.array([Decimal("-6.24625")])).to_pylist()
    [-6.24625]
    """
    if pt.is_decimal(value.type):
        value = pc.cast(value, pa.string())
    return pc.cast(value, target or pa.float64(), safe=False)


def booleans(*values: Any) -> list[Any]:
    """Values of three-valued logic."""
    if any(family(value) not in ("boolean", "null") for value in values):
        raise Misfit(f"takes booleans, not {types_of(values)}")
    return [pc.cast(value, pa.bool_()) for value in values]


def texts(*values: Any) -> list[Any]:
    """Strings of one type."""
    if any(family(value) not in ("text", "null") for value in values):
        raise Misfit(f"takes strings, not {types_of(values)}")
    large = any(pt.is_large_string(value.type) for value in values)
    return [pc.cast(value, pa.large_string() if large else pa.string()) for value in values]


def instants(*values: Any) -> list[Any]:
    """Times of one type; one without a zone is taken to be in the zone of the others.

    A string that is written in the expression may stand for a time.
    """
    known = [value.type for value in values if family(value) == "time"]
    if known and all(pt.is_date(kind) for kind in known) and len(known) == len(values):
        return [pc.cast(value, pa.date32()) for value in values]
    unit = max((k.unit for k in known if pt.is_timestamp(k)), key=_FINENESS, default="us")
    zone = next((k.tz for k in known if pt.is_timestamp(k) and k.tz), None)
    times = []
    for value in values:
        if pt.is_timestamp(value.type) and value.type.tz:
            times.append(pc.cast(value, pa.timestamp(unit, zone)))
            continue
        value = pc.cast(value, pa.timestamp(unit))
        times.append(pc.assume_timezone(value, zone) if zone else value)
    return times


def alike(*values: Any) -> list[Any]:
    """Values of one type, so that they can be compared or stand for each other."""
    families = {family(value) for value in values} - {"null"}
    written = all(isinstance(value, pa.Scalar) for value in values if family(value) == "text")
    if families == {"time"} or (families == {"time", "text"} and written):
        return instants(*values)
    if len(families) > 1:
        raise Misfit(f"takes values of one kind, not {types_of(values)}")
    if families == {"number"}:
        return _of_columns_type(values) or _of_one_size(numbers(*values))
    if families == {"text"}:
        return texts(*values)
    types = list(dict.fromkeys(value.type for value in values if family(value) != "null"))
    if families == {"duration"}:
        types = [pa.duration(max((kind.unit for kind in types), key=_FINENESS))]
    return [pc.cast(value, types[0]) for value in values] if types else list(values)


def comparable(*values: Any) -> list[Any]:
    """Values of one type that has an order or equality: nulls alone are integers."""
    return [pc.cast(v, pa.int64()) if pt.is_null(v.type) else v for v in alike(*values)]


def addends(a: Any, b: Any) -> list[Any]:
    """What + adds: numbers, a time and a duration, two durations."""
    if not _timely(a, b):
        return numbers(a, b)
    kinds = (family(a), family(b))
    if kinds == ("time", "time") or not set(kinds) <= {"time", "duration", "null"}:
        raise Misfit(f"takes numbers, or a time and an INTERVAL, not {types_of((a, b))}")
    return [_moment(a), _moment(b)]


def minuend_and_subtrahend(a: Any, b: Any) -> list[Any]:
    """What - subtracts: numbers, durations from times or durations, and times from times."""
    if not _timely(a, b):
        return numbers(a, b)
    kinds = (family(a), family(b))
    if kinds == ("time", "time"):
        return instants(a, b)
    if kinds == ("duration", "time") or not set(kinds) <= {"time", "duration", "null"}:
        raise Misfit(f"takes numbers, two times, or a time and an INTERVAL, not {types_of((a, b))}")
    return [_moment(a), _moment(b)]


def divided(a: Any, b: Any) -> list[Any]:
    """What % divides: decimals as doubles, other numbers as they are computed with."""
    return floats(a, b) if pt.is_decimal(a.type) or pt.is_decimal(b.type) else numbers(a, b)


def signed(a: Any) -> list[Any]:
    """What - turns round: a number, or a duration."""
    return [a] if family(a) == "duration" else numbers(a)


def moments(a: Any) -> list[Any]:
    """A time that has a year and an hour: a date is the time at which it begins."""
    if family(a) not in ("time", "null"):
        raise Misfit(f"takes times, not {types_of((a,))}")
    return [a if pt.is_timestamp(a.type) else pc.cast(a, pa.timestamp("s"))]


def lengths(a: Any) -> list[Any]:
    """What has a length in seconds: a duration, or a time."""
    return [a] if family(a) == "duration" else moments(a)


def _timely(a: Any, b: Any) -> bool:
    return bool({family(a), family(b)} & {"time", "duration"})


def _moment(value: Any) -> Any:
    """A date as the time at which it begins, a null as a duration, others as they are."""
    if pt.is_date(value.type):
        return pc.cast(value, pa.timestamp("s"))
    return pc.cast(value, pa.duration("us")) if pt.is_null(value.type) else value


def types_of(values: Any) -> str:
    """The types of some values, for an error."""
    return " and ".join(dict.fromkeys(str(value.type) for value in values))
