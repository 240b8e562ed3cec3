"""The plan "slices": for hopping windows, Spark aggregates each slice, and Python merges slices.

    rows ──groupBy(key, slice)──▶ one row a slice ──sort──▶ windows over slices ──▶ one row a window

Windows begin and end at the edges of slices only (pairs, paper 002), so a row is touched once,
whatever range / slide is, and Python sees slices, not rows. That is for aggregations whose partials
Spark can compute and whose order does not matter; the others walk over the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_type

from windrow.spark.columns import DAY, column, ticks, ticks_axis, unused
from windrow.spark.keys import Merged
from windrow.spark.workers import arrow_result, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.states import StateColumns, states_of
from windrow.windows.calendar import Calendar

SLICE = "windrow_slice"


def slices_natively(bound: Bound) -> bool:
    """Whether Spark can cut rows into the slices of a query and make their states itself.

    Slices are counted in microseconds, or in the whole numbers of the order column.
    """
    if bound.query.window.kept != "slices" or not bound.query.window.sliced_by_rule:
        return False
    kind = bound.at_type
    counted = pt.is_integer(kind) or (pt.is_timestamp(kind) and kind.unit != "ns")
    return counted and native_states(states_of([bound])) is not None


def hopping(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """Return the results of queries over a DataFrame, a row for each window that holds a row.

    Slices are cut where a window of any query begins or ends, and aggregated once for all.
    """
    query, at = bounds[0].query, ticks(bounds[0], frame)
    parts = states_of(bounds)
    keys = [column(name) for name in query.partition_by]
    start = unused(SLICE, frame.columns)
    starts = [_slice_of(at, bound) for bound in bounds]
    sliced = (
        frame.where(at.isNotNull())
        .withColumn(start, sf.greatest(*starts) if len(starts) > 1 else starts[0])
        .groupBy(*keys, start)
        .agg(*(native_states(parts) or ()))
    )
    spread = sliced.repartition(*keys) if keys else sliced.coalesce(1)
    over = tuple(_over_slices(bound, parts, start) for bound in bounds)
    work = MergedSlices(over, arrow_result(schema), parts)
    return in_arrow(spread.sortWithinPartitions(*keys, start), work, schema)


def _slice_of(at: Any, bound: Bound) -> Any:
    """Return where the slice of a row starts: at the last start or end of a window before it."""
    window: Any = bound.query.window
    if window.calendar is not None:
        return _calendar_slice(at, window.calendar, bound.axis.zoned)
    size, slide, offset = window.sizes(ticks_axis(bound))
    into = sf.pmod(at - sf.lit(offset), sf.lit(slide))
    start = at - into
    rest = size % slide
    return start if not rest else sf.when(into >= rest, start + rest).otherwise(start)


def _calendar_slice(at: Any, calendar: Calendar, zoned: bool) -> Any:
    """Return the same where windows begin with months or local days, and end where others begin.

    Spark's functions that go by a zone move microseconds by its offset from UTC, and no more, so
    the zone of the session has no say.
    """
    zone = calendar.zone if zoned else None
    slide, offset = calendar.slide, calendar.offset
    time = offset.nanoseconds // 1000
    shown = at if zone is None else _micros(sf.from_utc_timestamp, at, zone)
    day = _divided(shown - sf.lit(time), DAY).cast("int")
    if slide.months:
        date = sf.date_from_unix_date(day - sf.lit(offset.days))
        month = (sf.year(date) - 1970) * 12 + sf.month(date) - 1 - sf.lit(calendar.origin)
        first = month - sf.pmod(month, sf.lit(slide.months)) + sf.lit(calendar.origin)
        year, in_year = _divided(first, 12).cast("int"), sf.pmod(first, sf.lit(12))
        start = sf.unix_date(sf.make_date(year + 1970, in_year + 1, sf.lit(1))) + offset.days
    else:
        start = day - sf.pmod(day - sf.lit(calendar.origin), sf.lit(slide.days))
    local = start.cast("long") * DAY + sf.lit(time)
    return local if zone is None else _micros(sf.to_utc_timestamp, local, zone)


def _divided(whole: Any, by: int) -> Any:
    """Return a whole number divided by another, rounded down, as a float that is exact."""
    return (whole - sf.pmod(whole, sf.lit(by))) / sf.lit(by)


def _micros(moved: Any, at: Any, zone: str) -> Any:
    """Return microseconds moved by a function that goes by a zone."""
    return sf.unix_micros(moved(sf.timestamp_micros(at), sf.lit(zone)))


def native_states(parts: StateColumns) -> list[Any] | None:
    """Return the state columns as Spark computes them; None if it cannot."""
    texts = parts.native()
    if texts is None:
        return None
    return [
        sf.expr(texts[field.name]).cast(from_arrow_type(field.type, True)).alias(field.name)
        for field in parts.fields
    ]


def _over_slices(bound: Bound, parts: StateColumns, start: str) -> Bound:
    """Return the query over slices: the same windows, measured along their starts."""
    keys = [bound.schema.field(name) for name in bound.query.partition_by]
    schema = pa.schema([*keys, pa.field(start, bound.at_type), *parts.fields])
    return replace(bound, query=bound.query.replace(order_by=(start,)), schema=schema)


@dataclass(frozen=True)
class MergedSlices(Merged):
    """What a worker runs over slices that are sorted by key: windows merged from their states."""

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """Return a batch with the slices' starts as times."""
        table, bound = pa.Table.from_batches([batch]), self.bounds[0]
        kind, start = bound.at_type, str(bound.order)
        starts = whole(table.column(start)).cast(pa.int64())
        if pt.is_timestamp(kind):
            starts = starts.view(pa.timestamp("us", kind.tz))
        return table.set_column(table.column_names.index(start), start, starts.cast(kind))
