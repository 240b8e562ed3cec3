"""Hopping windows by slices: Spark aggregates each slice, on both sides of its shuffle.

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

from windrow.spark.columns import column, ticks, ticks_axis, unused
from windrow.spark.keys import Merged
from windrow.spark.workers import arrow_result, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.states import StateColumns, states_of

SLICE = "windrow_slice"


def slices_natively(bound: Bound) -> bool:
    """Whether Spark can cut rows into the slices of a query and make their states itself.

    Slices are counted in microseconds, or in the whole numbers of the order column.
    """
    if bound.query.window.kept != "slices":
        return False
    kind = bound.at_type
    counted = pt.is_integer(kind) or (pt.is_timestamp(kind) and kind.unit != "ns")
    return counted and native_states(states_of([bound])) is not None


def hopping(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """The results of queries over a DataFrame, a row for each window that holds a row.

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
    work = Slices(over, arrow_result(schema), parts)
    return in_arrow(spread.sortWithinPartitions(*keys, start), work, schema)


def _slice_of(at: Any, bound: Bound) -> Any:
    """Where the slice of a row starts: at the last start or end of a window before it."""
    window: Any = bound.query.window
    size, slide, offset = window.sizes(ticks_axis(bound))
    into = sf.pmod(at - sf.lit(offset), sf.lit(slide))
    start = at - into
    rest = size % slide
    return start if not rest else sf.when(into >= rest, start + rest).otherwise(start)


def native_states(parts: StateColumns) -> list[Any] | None:
    """The state columns as Spark computes them; None if it cannot."""
    found = parts.native()
    if found is None:
        return None
    return [
        sf.expr(found[field.name]).cast(from_arrow_type(field.type, True)).alias(field.name)
        for field in parts.fields
    ]


def _over_slices(bound: Bound, parts: StateColumns, start: str) -> Bound:
    """The same windows, measured along the slices."""
    keys = [bound.schema.field(name) for name in bound.query.partition_by]
    schema = pa.schema([*keys, pa.field(start, bound.at_type), *parts.fields])
    return replace(bound, query=bound.query.replace(order_by=(start,)), schema=schema)


@dataclass(frozen=True)
class Slices(Merged):
    """What a worker runs over slices that are sorted by key: windows merged from their states."""

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """A batch with the slices' starts as times."""
        table, bound = pa.Table.from_batches([batch]), self.bounds[0]
        kind, start = bound.at_type, str(bound.order)
        starts = whole(table.column(start)).cast(pa.int64())
        if pt.is_timestamp(kind):
            starts = starts.view(pa.timestamp("us", kind.tz))
        return table.set_column(table.column_names.index(start), start, starts.cast(kind))
