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

from windrow.spark.columns import column, ticks, unused
from windrow.spark.keys import Walked
from windrow.spark.schema import arrow_result, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.run import window_columns
from windrow.tables.states import StateColumns
from windrow.tables.walk import Walk
from windrow.windows.positions import Bounds

SLICE = "windrow_slice"


def slices_natively(bound: Bound) -> bool:
    """Whether Spark can cut rows into the slices of a query and make their states itself."""
    if bound.query.window.kept != "slices" or not pt.is_integer(_counted(bound)):
        return False
    return native_states(StateColumns(bound.query.aggregations, _types(bound))) is not None


def _counted(bound: Bound) -> pa.DataType:
    """What slices are counted in: microseconds, or the whole numbers of the order column."""
    kind = bound.at_type
    if pt.is_timestamp(kind):
        return pa.int64() if kind.unit != "ns" else pa.null()
    return kind


def hopping(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """The results of queries over a DataFrame, a row for each window that holds a row.

    Slices are cut where a window of any query begins or ends, and aggregated once for all.
    """
    query, at = bounds[0].query, ticks(bounds[0], frame)
    parts = StateColumns([each for b in bounds for each in b.query.aggregations], _types(bounds[0]))
    keys = [column(name) for name in query.partition_by]
    start = unused(SLICE, frame.columns)
    starts = [_slice_of(at, *_sizes(bound)) for bound in bounds]
    sliced = (
        frame.where(at.isNotNull())
        .withColumn(start, sf.greatest(*starts) if len(starts) > 1 else starts[0])
        .groupBy(*keys, start)
        .agg(*(native_states(parts) or ()))
    )
    spread = sliced.repartition(*keys) if keys else sliced.coalesce(1)
    over = tuple(_over_slices(bound, parts, start) for bound in bounds)
    work = Merged(over, arrow_result(schema), parts)
    return in_arrow(spread.sortWithinPartitions(*keys, start), work, schema)


def _types(bound: Bound) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in bound.schema}


def _sizes(bound: Bound) -> tuple[int, int, int]:
    """Size, slide and offset in the unit that slices are counted in."""
    window: Any = bound.query.window
    axis = replace(bound.axis, tick=1000) if pt.is_timestamp(bound.at_type) else bound.axis
    size, slide, offset = window.sizes(axis)
    return size, slide, offset


def _slice_of(at: Any, size: int, slide: int, offset: int) -> Any:
    """Where the slice of a row starts: at the last start or end of a window before it."""
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
class Merged(Walked):
    """What a worker runs over slices that are sorted by key: windows merged from their states."""

    parts: StateColumns

    def _walk(self, bound: Bound) -> Walk:
        return Walk(bound, results=self._new_columns)

    def _table(self, batch: pa.RecordBatch) -> pa.Table:
        """A batch with the slices' starts as times."""
        table, bound = pa.Table.from_batches([batch]), self.bounds[0]
        kind, start = bound.at_type, str(bound.order)
        starts = whole(table.column(start)).cast(pa.int64())
        if pt.is_timestamp(kind):
            starts = starts.view(pa.timestamp("us", kind.tz))
        return table.set_column(table.column_names.index(start), start, starts.cast(kind))

    def _new_columns(
        self, bound: Bound, columns: SortedColumns, windows: Bounds
    ) -> dict[str, pa.Array]:
        over = WindowResults(columns, windows.windows)
        made = window_columns(bound, windows)
        for name in bound.query.parts:
            made[name] = self.parts.parts[name].results(over, bound.types[name])
        return made
