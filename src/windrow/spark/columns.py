"""Columns of a DataFrame in expressions: by their exact names, and times as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pyspark.sql import functions as sf
from pyspark.sql.types import DecimalType

from windrow.queries.query import Query
from windrow.tables.bind import Bound
from windrow.tables.types import SHORT_DECIMAL
from windrow.windows.sizes import Axis

DAY = 86_400_000_000  # microseconds


def column(name: str) -> Any:
    """Return a column by its exact name, whatever characters it has."""
    return sf.col(quoted(name))


def quoted(name: str) -> str:
    """Return the name of a column as Spark's SQL takes it, whatever characters it has.

    >>> quoted("a`b.c")
    '`a``b.c`'
    """
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def unused(name: str, taken: Iterable[str]) -> str:
    """Return a name that no column has: this one, or with underscores behind it.

    >>> unused("slice", ["id", "Slice"])
    'slice_'
    """
    known = {other.lower() for other in taken}
    while name.lower() in known:
        name += "_"
    return name


def ticks(bound: Bound, frame: Any) -> Any:
    """Return the order column as a number: microseconds for times, else what it is."""
    name = str(bound.order)
    return as_number(name, frame.schema[name].dataType.typeName())


def ticks_axis(bound: Bound) -> Axis:
    """Return what windows are measured in along `ticks`."""
    return bound.axis if bound.axis.tick is None else replace(bound.axis, tick=1000)


def as_number(name: str, kind: str) -> Any:
    """Return a column of times or numbers of Spark's type `kind` as a number."""
    order = column(name)
    if kind == "timestamp":
        return sf.unix_micros(order)
    if kind == "timestamp_ntz":
        return _clock(order)
    if kind == "date":
        return sf.unix_date(order).cast("long") * DAY
    return order if kind in ("double", "float") else order.cast("long")


def along_decimals(query: Query, frame: Any) -> tuple[Query, Any]:
    """Return a query along a column of decimals as one along whole numbers of the last digit.

    That is for a result a row, and decimals of up to 18 digits; other queries stay as they are.
    """
    window, order = query.window, query.order_by
    if not (window.measured and window.per_row and len(order) == 1) or frame.isStreaming:
        return query, frame
    kind = frame.schema[order[0]].dataType if order[0] in frame.columns else None
    if not (isinstance(kind, DecimalType) and kind.precision <= SHORT_DECIMAL):
        return query, frame

    def digits_of(size: int | float) -> int | float:
        exact = Decimal(str(size)).scaleb(kind.scale)
        return int(exact) if exact == int(exact) else float(exact)

    window = window.resized(digits_of)
    name = unused("__windrow_order", frame.columns)
    digits = (column(order[0]) * sf.lit(Decimal(10**kind.scale))).cast("long")
    return query.replace(window=window, order_by=(name,)), frame.withColumn(name, digits)


def _clock(order: Any) -> Any:
    """Return the microseconds of a time without a zone, from what a clock shows."""
    days = sf.unix_date(sf.to_date(order)).cast("long")
    minutes = (days * 24 + sf.hour(order)) * 60 + sf.minute(order)
    seconds = sf.extract(sf.lit("SECOND"), order)  # with six digits behind the point
    return minutes * 60_000_000 + (seconds * 1_000_000).cast("long")
