"""The options of `windrow-events`, read from text and checked, and the columns it can make."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from windrow.errors import InvalidArgument, did_you_mean
from windrow.spark.events_recipe import FURTHEST, SECOND, TYPES
from windrow.windows.durations import nanoseconds

SPARK_TYPES = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "double": pa.float64(),
}
START = "2026-01-01T00:00:00+00:00"


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns that were asked for, in Arrow's types, or an error that names the wrong one."""
    fields = []
    for field in schema.fields:
        if field.name not in TYPES:
            raise InvalidArgument(
                f"windrow-events has no column {field.name!r}; {did_you_mean(field.name, TYPES)}"
            )
        text = field.dataType.simpleString()
        kind = SPARK_TYPES.get(text)
        if kind not in TYPES[field.name]:
            allowed = [name for name, known in SPARK_TYPES.items() if known in TYPES[field.name]]
            raise InvalidArgument(f"{field.name} is {' or '.join(allowed)}, not {text}")
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)


def _whole(least: int, most: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        number = int(text) if text.strip().lstrip("-").isdecimal() else None
        if number is None or not least <= number <= most:
            raise InvalidArgument(f"{name} must be a whole number from {least}, got {text!r}")
        return number

    return read


def _share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise InvalidArgument(f"{name} must be a number from 0 up to 1, got {text!r}")
    return share


def _duration(name: str, text: str) -> int:
    span = nanoseconds(text, name)
    if span % 1000:
        raise InvalidArgument(f"{name} must be whole microseconds, got {text!r}")
    return span // 1000


def _instant(name: str, text: str) -> int:
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(f"{name} must be a time like {START!r}, got {text!r}") from None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=dt.UTC)
    return (instant - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


# What may be set: how it is read, and what it is when it is not.
OPTIONS: dict[str, tuple[Callable[[str, str], Any], Any]] = {
    "rowsPerSecond": (_whole(1, 10**9), 1000),
    "keys": (_whole(1, 2**32 - 1), 100),
    "disorder": (_duration, 0),
    "late": (_share, 0.0),
    "lateBy": (_duration, 60 * SECOND),
    "bursts": (_duration, 0),
    "burstShare": (_share, 0.9),
    "start": (_instant, _instant("start", START)),
    "seed": (_whole(0, 2**64 - 1), 0),
    "numRows": (_whole(0, FURTHEST), None),
    "until": (_instant, None),
    "maxRowsPerTrigger": (_whole(1, FURTHEST), None),
    "partitions": (_whole(1, 10_000), 1),
}
FIELDS = {
    "rowsPerSecond": "rate",
    "keys": "keys",
    "disorder": "disorder",
    "late": "late",
    "lateBy": "late_by",
    "bursts": "bursts",
    "burstShare": "burst_share",
    "start": "start",
    "seed": "seed",
}


def checked(options: Mapping[str, str]) -> dict[str, Any]:
    """The value of every option; Spark hands names over in lower case."""
    known = {name.lower(): name for name in OPTIONS}
    found = {name: default for name, (_, default) in OPTIONS.items()}
    for given, text in options.items():
        name = known.get(given.lower())
        if name is None:
            raise InvalidArgument(
                f"windrow-events has no option {given!r}; {did_you_mean(given, OPTIONS)}"
            )
        found[name] = OPTIONS[name][0](name, text)
    return found
