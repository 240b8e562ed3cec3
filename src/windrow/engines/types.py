"""Which types an aggregation takes from a table, and which type its answers have.

Everything is known from the schema, so that a mistake is found before any work, and Spark can be
told the type of a column that nobody has computed yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.errors import InvalidValue

COUNTS = ("Count", "CountDistinct", "HyperLogLog", "MaxCount", "MinCount")
# whose answers are values of the table itself, wherever those can be found again
PICKED = ("Max", "Min", "First", "Last", "ArgMax", "ArgMin")
LISTS = ("Collect", "CollectDistinct", "FirstN", "LastN")
SKETCHES = ("Bloom", "CountMin")

_NUMBERS = "a column of numbers"
_MOST_DIGITS = 38


def plain(type_: pa.DataType) -> pa.DataType:
    """The type of a dictionary's values, of an extension's storage; any other type as it is."""
    if pt.is_dictionary(type_):
        return plain(type_.value_type)
    return type_


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


def answer_type(name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> Any:
    """The type of the answers of `aggregation` over columns of `types`; None if only running tells.

    An InvalidValue says what the aggregation would take instead.
    """
    kind = type(aggregation).__name__
    if isinstance(aggregation, Custom):
        return None
    types = [plain(t) for t in types]
    if kind == "Count":
        return pa.int64()
    if pt.is_null(types[0]) and aggregation.takes != "text":  # nothing but nulls: any type fits
        types = [pa.int64() if pt.is_null(t) else t for t in types]
    first = types[0]
    _check(name, aggregation, first)
    if kind in COUNTS:
        return pa.int64()
    if kind in PICKED:
        return types[-1]
    if kind in LISTS:
        return pa.list_(first)
    if kind in ("Sum", "Mean"):
        return _total(kind, first)
    if kind == "Range":
        return _difference(first)
    if kind == "Concat":
        return pa.string()
    if kind in SKETCHES:
        return pa.binary()
    if kind == "LongestRun":
        ends = types[-1]
        parts = [
            ("start", ends),
            ("end", ends),
            ("length", pa.int64()),
            ("span", _difference(ends)),
        ]
        return pa.struct(parts)
    if kind == "MomentSketch":
        quantiles = aggregation.quantiles  # type: ignore[attr-defined]
        if quantiles is None:
            raise InvalidValue(
                f"{name}={aggregation!r}: a column needs numbers; give quantiles=0.99 or several"
            )
        return pa.list_(pa.float64()) if isinstance(quantiles, tuple) else pa.float64()
    return pa.float64()


def _check(name: str, aggregation: Aggregation, type_: pa.DataType) -> None:
    kind = type(aggregation).__name__
    wanted = None
    if aggregation.takes == "number":
        fits = is_number(type_) or pt.is_null(type_)
        fits = fits or (kind in ("Sum", "Mean") and (pt.is_decimal(type_) or pt.is_duration(type_)))
        wanted = None if fits else _NUMBERS
    elif kind == "Range":
        summable = is_number(type_) or is_time(type_) or pt.is_duration(type_)
        wanted = None if summable or pt.is_decimal(type_) else "a column of numbers or times"
    elif aggregation.takes in ("ordered", "ordered pair"):
        wanted = None if is_ordered(type_) else "a column with an order"
    elif aggregation.takes == "text":
        wanted = None if is_text(type_) else "a column of strings"
    elif aggregation.takes == "hashable":
        wanted = "a column of plain values" if pt.is_nested(type_) else None
    if wanted is not None:
        raise InvalidValue(
            f"{name}={aggregation!r} takes {wanted}, and {aggregation.columns[0]!r} is of type "
            f"{type_}"
        )


def _total(kind: str, type_: pa.DataType) -> pa.DataType:
    if pt.is_decimal(type_):
        if kind == "Sum":
            return pa.decimal128(min(_MOST_DIGITS, type_.precision + 10), type_.scale)
        digits = min(_MOST_DIGITS, type_.precision + 4)
        return pa.decimal128(digits, min(type_.scale + 4, digits))
    if pt.is_duration(type_):
        return type_
    if kind == "Mean" or pt.is_floating(type_):
        return pa.float64()
    return pa.int64()


def _difference(type_: pa.DataType) -> pa.DataType:
    if pt.is_timestamp(type_):
        return pa.duration(type_.unit)
    if pt.is_date32(type_) or pt.is_time32(type_):
        return pa.duration("s" if pt.is_date32(type_) else type_.unit)
    if pt.is_date64(type_) or pt.is_time64(type_):
        return pa.duration("ms" if pt.is_date64(type_) else type_.unit)
    if pt.is_decimal(type_) or pt.is_duration(type_):
        return type_
    return pa.float64() if pt.is_floating(type_) else pa.int64()
