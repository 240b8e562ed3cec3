"""Columns of a DataFrame in expressions: by their exact names, and times as numbers."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as sf

from windrow.engines.binding import Bound


def column(name: str) -> Any:
    """A column by its exact name, whatever characters it has."""
    escaped = name.replace("`", "``")
    return sf.col(f"`{escaped}`")


def ticks(bound: Bound, frame: Any) -> Any:
    """The order column as a number: microseconds for times, else what it is."""
    name = str(bound.order)
    kind = frame.schema[name].dataType.typeName()
    order = column(name)
    if kind == "timestamp":
        return sf.unix_micros(order)
    if kind == "timestamp_ntz":
        return _clock(order)
    if kind == "date":
        return sf.unix_date(order).cast("long") * 86_400_000_000
    return order if kind in ("double", "float") else order.cast("long")


def _clock(order: Any) -> Any:
    """Microseconds of a time without a zone, from what a clock shows: no zone has a say in it."""
    days = sf.unix_date(sf.to_date(order)).cast("long")
    minutes = (days * 24 + sf.hour(order)) * 60 + sf.minute(order)
    seconds = sf.extract(sf.lit("SECOND"), order)  # with six digits behind the point
    return minutes * 60_000_000 + (seconds * 1_000_000).cast("long")
