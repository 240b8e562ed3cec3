"""Which types an aggregation takes from a table, and which type its results have.

Everything is known from the schema, so that a mistake is found before any work, and Spark can be
told the type of a column that nobody has computed yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidValue
from windrow.windows.sizes import Axis

MOST_DIGITS = 38  # of a decimal
# An int64 holds any decimal of so many digits.
SHORT_DECIMAL = 18
# The numbers of compiled functions.
COMPILED = {"float64": pa.float64(), "int64": pa.int64(), "boolean": pa.bool_()}
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}  # of times, in nanoseconds
_DAY = 86400 * 10**9
# Types of values that lie in memory as numbers of a fixed width, and are computed with as they are:
# their ids in Arrow, and the types that NumPy has for those numbers.
NUMBERS = {
    kind.id: np.dtype(stored)
    for stored, kinds in {
        "i1": [pa.int8()],
        "i2": [pa.int16()],
        "i4": [pa.int32(), pa.date32(), pa.time32("s")],
        "i8": [pa.int64(), pa.date64(), pa.time64("us"), pa.timestamp("us"), pa.duration("us")],
        "u1": [pa.uint8()],
        "u2": [pa.uint16()],
        "u4": [pa.uint32()],
        "u8": [pa.uint64()],
        "f2": [pa.float16()],
        "f4": [pa.float32()],
        "f8": [pa.float64()],
    }.items()
    for kind in kinds
}


def plain(type_: pa.DataType) -> pa.DataType:
    """The type by which values are computed with: that of a dictionary's values, and the like.

    Arrow itself computes little with views of strings and with short decimals.

    >>> str(plain(pa.dictionary(pa.int8(), pa.date32()))), str(plain(pa.string_view()))
    ('date32[day]', 'string')
    """
    if type_.id in NUMBERS:  # which is known at once
        return type_
    if pt.is_dictionary(type_) or pt.is_run_end_encoded(type_):
        return plain(type_.value_type)
    if pt.is_string_view(type_):
        return pa.string()
    if pt.is_binary_view(type_):
        return pa.binary()
    if pt.is_decimal(type_) and type_.bit_width < 128:
        return pa.decimal128(type_.precision, type_.scale)
    return type_


def compiled_type(type_: pa.DataType) -> str:
    """The type that compiled functions take a column's numbers as."""
    return "float64" if pt.is_floating(type_) else "int64"


def kind_of(type_: pa.DataType) -> str:
    """The kind of a column, as plans know it.

    >>> kind_of(pa.int32()), kind_of(pa.timestamp("us")), kind_of(pa.list_(pa.int64()))
    ('int64', 'time', 'other')
    """
    type_ = plain(type_)
    if is_number(type_) or pt.is_null(type_):
        return compiled_type(type_)
    if is_time(type_) or pt.is_duration(type_) or pt.is_time(type_):
        return "time"
    if pt.is_decimal(type_):
        return "decimal" if type_.precision <= SHORT_DECIMAL else "long decimal"
    if is_text(type_):
        return "text"
    return "binary" if pt.is_binary(type_) or pt.is_large_binary(type_) else "other"


def is_text(type_: pa.DataType) -> bool:
    """Whether values are strings."""
    return any(kind(type_) for kind in (pt.is_string, pt.is_large_string, pt.is_string_view))


def is_number(type_: pa.DataType) -> bool:
    """Whether values can be added and compared as machine numbers."""
    return any(kind(type_) for kind in (pt.is_integer, pt.is_floating, pt.is_boolean))


def is_time(type_: pa.DataType) -> bool:
    """Whether values are points in time."""
    return any(kind(type_) for kind in (pt.is_timestamp, pt.is_date))


def is_ordered(type_: pa.DataType) -> bool:
    """Whether values have an order."""
    kinds = (is_number, is_time, is_text, pt.is_time, pt.is_duration, pt.is_decimal)
    return any(kind(type_) for kind in kinds) or pt.is_binary(type_) or pt.is_large_binary(type_)


def anything_as(takes: str) -> pa.DataType:
    """The type that an aggregation which `takes` so has a column for that has nothing but nulls."""
    known = {"text": pa.string(), "boolean": pa.bool_(), "sketch": pa.binary()}
    return known.get(takes, pa.int64())


def result_type(name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> Any:
    """The type of the results of `aggregation` over columns of `types`; None if only running tells.

    An InvalidValue says what the aggregation would take instead.
    """
    result = aggregation.result
    if result is None:
        return None
    types = [plain(t) for t in types] or [pa.int64()]
    if any(map(pt.is_null, types[: aggregation.inputs])):
        types = [anything_as(aggregation.takes) if pt.is_null(t) else t for t in types]
    _check(name, aggregation, types)
    if isinstance(result, str):
        return _of_kind(name, aggregation, result, types)
    return pa.struct(
        [(part, _of_kind(name, aggregation, kind, types)) for part, kind in result.items()]
    )


def _of_kind(
    name: str, aggregation: Aggregation, kind: str, types: Sequence[pa.DataType]
) -> pa.DataType:
    """The type of a result of such a kind."""
    first, last = types[0], types[-1]
    known: dict[str, Callable[[], pa.DataType]] = {
        "int64": pa.int64,
        "float64": pa.float64,
        "boolean": pa.bool_,
        "text": pa.string,
        "bytes": pa.binary,
        "value": lambda: first,
        "argument": lambda: last,
        "list": lambda: pa.list_(first),
        "list of float64": lambda: pa.list_(pa.float64()),
        "list of int64": lambda: pa.list_(pa.int64()),
        "difference": lambda: difference_type(first),
        "change": lambda: difference_type(first),
        "span": lambda: difference_type(last),
        "total": lambda: _total_type(first),
        "mean": lambda: _mean_type(first),
    }
    if kind not in known:
        raise InvalidValue(
            f"{name}={aggregation!r}: a column needs numbers; give quantiles=0.99 or several"
        )
    return known[kind]()


_TAKES: dict[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "number": ("a column of numbers", lambda t: is_number(t) or pt.is_null(t)),
    "number pair": ("two columns of numbers", lambda t: is_number(t) or pt.is_null(t)),
    "summable": (
        "a column of numbers",
        lambda t: is_number(t) or pt.is_null(t) or pt.is_decimal(t) or pt.is_duration(t),
    ),
    "measurable": (
        "a column of numbers or times",
        lambda t: is_number(t) or is_time(t) or pt.is_duration(t) or pt.is_decimal(t),
    ),
    "timed": ("a column of numbers", lambda t: is_number(t)),
    "instant": ("times or numbers of seconds", lambda t: is_number(t) or is_time(t)),
    "integer": ("a column of integers", lambda t: pt.is_integer(t)),
    "boolean": ("a column of booleans", lambda t: pt.is_boolean(t)),
    "ordered": ("a column with an order", lambda t: is_ordered(t)),
    "ordered pair": ("a column with an order", lambda t: is_ordered(t)),
    "text": ("a column of strings", lambda t: is_text(t)),
    "number or text": (
        "a column of numbers or strings",
        lambda t: is_number(t) or is_text(t),
    ),
    "sketch": ("a column of sketches, as bytes", lambda t: kind_of(t) == "binary"),
    "hashable": ("a column of plain values", lambda t: not pt.is_nested(t)),
    "any": ("any column", lambda t: True),
}


_IN_SECONDS = (
    "; give its length as a number: d.dt.total_seconds() in pandas and Polars, d.cast('int64') in "
    "Arrow, d div INTERVAL '1' SECOND in Spark"
)


def takes_as_double(aggregation: Aggregation, i: int, type_: pa.DataType) -> bool:
    """Whether the i-th column is cast to double first: decimals where only numbers are taken.

    >>> from windrow import StdDev, Sum
    >>> [takes_as_double(each, 0, pa.decimal128(9, 2)) for each in (StdDev(), Sum())]
    [True, False]
    """
    if not pt.is_decimal(type_) or aggregation.takes not in ("number", "number pair", "timed"):
        return False
    return i < aggregation.inputs and not (i and aggregation.takes == "timed")


def _check(name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> None:
    for i, type_ in enumerate(types[: aggregation.inputs]):
        wanted, fits = _TAKES[
            "instant" if i and aggregation.takes == "timed" else aggregation.takes
        ]
        if not fits(type_):
            hint = "" if not pt.is_duration(type_) else _IN_SECONDS
            raise InvalidValue(
                f"{asked_for(name, aggregation)} takes {wanted}, and {aggregation.columns[i]!r} is "
                f"of type {type_}{hint}"
            )


def asked_for(name: str, aggregation: Aggregation) -> str:
    """An aggregation as it was asked for, by a name or by none."""
    return f"{name}={aggregation!r}" if name else repr(aggregation)


def _total_type(type_: pa.DataType) -> pa.DataType:
    if pt.is_decimal(type_):
        return pa.decimal128(min(MOST_DIGITS, type_.precision + 10), type_.scale)
    if pt.is_duration(type_):
        return type_
    return pa.float64() if pt.is_floating(type_) else pa.int64()


def _mean_type(type_: pa.DataType) -> pa.DataType:
    if pt.is_decimal(type_):
        digits = min(MOST_DIGITS, type_.precision + 4)
        return pa.decimal128(digits, min(type_.scale + 4, digits))
    return type_ if pt.is_duration(type_) else pa.float64()


def difference_type(type_: pa.DataType) -> pa.DataType:
    """The type of what lies between two values."""
    if pt.is_timestamp(type_):
        return pa.duration(type_.unit)
    if pt.is_date32(type_) or pt.is_time32(type_):
        return pa.duration("s" if pt.is_date32(type_) else type_.unit)
    if pt.is_date64(type_) or pt.is_time64(type_):
        return pa.duration("ms" if pt.is_date64(type_) else type_.unit)
    if pt.is_decimal(type_) or pt.is_duration(type_):
        return type_
    return pa.float64() if pt.is_floating(type_) else pa.int64()


# -- the units of times --------------------------------------------------------------------------


def axis_of(kind: pa.DataType, name: str = "") -> Axis:
    """What windows along a column of this type are measured in."""
    tick = None
    if pt.is_timestamp(kind) or pt.is_duration(kind):
        tick = UNITS[kind.unit]
    elif pt.is_date(kind):
        tick = _DAY if pt.is_date32(kind) else UNITS["ms"]
    zoned = pt.is_timestamp(kind) and kind.tz is not None
    scale = kind.scale if pt.is_decimal(kind) else 0
    return Axis(tick, pt.is_floating(kind), name, str(kind), zoned, scale)


def type_along(axis: Axis, kind: pa.DataType) -> pa.DataType:
    """The type of values along `axis`, which was chosen for a column of type `kind`.

    Numbers have 64 bits: a window may begin below the least number of a shorter type.

    >>> str(type_along(Axis(tick=1000), pa.date32())), str(type_along(Axis(None), pa.uint8()))
    ('timestamp[us]', 'int64')
    """
    if pt.is_decimal(kind):  # in counts of the last digit
        return pa.decimal128(min(kind.precision, SHORT_DECIMAL), kind.scale)
    if axis.tick is None:
        return pa.float64() if axis.floating else pa.int64()
    if axis == axis_of(kind, axis.name):
        return kind
    unit = next(unit for unit, size in UNITS.items() if size == axis.tick)
    if pt.is_duration(kind):
        return pa.duration(unit)
    return pa.timestamp(unit, kind.tz if pt.is_timestamp(kind) else None)
