"""CAST between types of Arrow: exact, or an error that names the value, as Spark in ANSI mode."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.tables.coercion import Misfit, family, floating, roomy
from windrow.tables.types import MOST_DIGITS

TYPES = {
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "INT": pa.int32(),
    "SMALLINT": pa.int16(),
    "TEXT": pa.string(),
    "TIMESTAMP": pa.timestamp("us"),
    "TINYINT": pa.int8(),
    "VARCHAR": pa.string(),
}


def convert(value: Any, target: pa.DataType) -> Any:
    """`value` as `target`: a float loses its fraction, a decimal is rounded, text is read.

    >>> convert(pa.array([1.9, -1.9]), pa.int64()).to_pylist()
    [1, -1]
    """
    source = family(value)
    if source == "null" or value.type == target:
        return pc.cast(value, target)
    if source == "text":
        return pc.cast(pc.utf8_trim_whitespace(value), target)
    if pt.is_string(target):
        return _written(value, source)
    if pt.is_timestamp(target) or pt.is_date(target):
        if source != "time":
            raise Misfit(f"means nothing: {value.type} is no time")
        return _time(value, target)
    if source not in ("number", "boolean"):
        raise Misfit(f"means nothing: {value.type} is no number")
    if pt.is_decimal(target):
        return _decimal(value, target)
    if pt.is_integer(target) and not pt.is_integer(value.type) and source == "number":
        return pc.cast(pc.trunc(value), target)
    return floating(value, target) if pt.is_floating(target) else pc.cast(value, target)


def _written(value: Any, source: str) -> Any:
    if source not in ("number", "boolean", "time"):
        raise Misfit(f"means nothing: {value.type} has no text")
    if pt.is_timestamp(value.type) and value.type.tz:
        value = pc.local_timestamp(value)
    text = pc.cast(value, pa.string())
    if pt.is_floating(value.type):  # as Spark writes it, large and small exponents apart
        for pattern, other in ((r"^(-?\d+)$", r"\1.0"), ("nan", "NaN"), ("inf", "Infinity")):
            text = pc.replace_substring_regex(text, pattern, other)
        return text
    if pt.is_timestamp(value.type) and value.type.unit != "s":  # a fraction without its last zeros
        return pc.replace_substring_regex(text, r"(\.\d*[1-9])?\.?0*$", r"\1")
    return text


def _time(value: Any, target: pa.DataType) -> Any:
    if pt.is_timestamp(value.type):
        if value.type.tz:
            value = pc.local_timestamp(value)
        if pt.is_timestamp(target):  # in its own unit: nothing is lost
            return value
    return pc.cast(value, target)


def _decimal(value: Any, target: pa.DataType) -> Any:
    if pt.is_floating(value.type):
        return pc.cast(value, target)
    if not pt.is_decimal(value.type):
        wide = pa.decimal128(MOST_DIGITS, 0)
        value = pc.cast(pc.cast(value, pa.int64()), wide)
    else:
        value = pc.round(roomy(value), ndigits=target.scale, round_mode="half_towards_infinity")
    return pc.cast(value, target)
