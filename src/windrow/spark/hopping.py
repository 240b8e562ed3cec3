"""Hopping windows by slices: Spark aggregates each slice, on both sides of its shuffle.

    rows ──groupBy(key, slice)──▶ one row a slice ──sort──▶ windows over slices ──▶ one row a window

Windows begin and end at the edges of slices only (pairs, paper 002), so a row is touched once,
whatever range / slide is, and Python sees slices, not rows. That is for aggregations whose partials
Spark can compute and whose order does not matter; the others walk over the rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_type

from windrow.spark.columns import column, ticks, unused
from windrow.spark.schema import arrow_result, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.results import Answerer, SortedColumns
from windrow.tables.run import spans
from windrow.tables.sort import Asked
from windrow.tables.states import PartialColumns
from windrow.tables.walk import Walk

SLICE = "windrow_slice"


def slices_well(bound: Bound) -> bool:
    """Whether Spark can aggregate the slices of this query."""
    if not bound.hops or not pt.is_integer(_counted(bound)):
        return False
    parts = PartialColumns(bound.query.aggregations, _types(bound))
    commutes = all(part.commutative for _, part in bound.query.aggregations)
    return commutes and native_states(parts) is not None


def _counted(bound: Bound) -> pa.DataType:
    """What slices are counted in: microseconds, or the whole numbers of the order column."""
    kind = bound.hop_type
    if pt.is_timestamp(kind):
        return pa.int64() if kind.unit != "ns" else pa.null()
    return kind


def hopping(bound: Bound, frame: Any, schema: Any) -> Any:
    """The answers over a DataFrame, a row for each window that holds a row."""
    parts = PartialColumns(bound.query.aggregations, _types(bound))
    keys = [column(name) for name in bound.query.partition_by]
    at, start = ticks(bound, frame), unused(SLICE, frame.columns)
    sliced = (
        frame.where(at.isNotNull())
        .withColumn(start, _slice_of(at, *_sizes(bound)))
        .groupBy(*keys, start)
        .agg(*(native_states(parts) or ()))
    )
    spread = sliced.repartition(*keys) if keys else sliced.coalesce(1)
    walk = Merged(_over_slices(bound, parts, start), parts, arrow_result(bound, schema))
    return in_arrow(spread.sortWithinPartitions(*keys, start), walk, schema)


def _types(bound: Bound) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in bound.schema}


def _sizes(bound: Bound) -> tuple[int, int, int]:
    """Size, slide and offset in the unit that slices are counted in."""
    if not pt.is_timestamp(bound.hop_type):
        return bound.hop_sizes()
    scale = {"s": 10**6, "ms": 10**3, "us": 1}[bound.hop_type.unit]
    size, slide, offset = (scale * each for each in bound.hop_sizes())
    return size, slide, offset


def _slice_of(at: Any, size: int, slide: int, offset: int) -> Any:
    """Where the slice of a row starts: at the last start or end of a window before it."""
    into = sf.pmod(at - sf.lit(offset), sf.lit(slide))
    start = at - into
    rest = size % slide
    return start if not rest else sf.when(into >= rest, start + rest).otherwise(start)


def native_states(parts: PartialColumns) -> list[Any] | None:
    """The state columns as Spark computes them; None if it cannot."""
    found = parts.native()
    if found is None:
        return None
    return [
        sf.expr(found[field.name]).cast(from_arrow_type(field.type, True)).alias(field.name)
        for field in parts.fields
    ]


def _over_slices(bound: Bound, parts: PartialColumns, start: str) -> Bound:
    """The same windows, measured along the slices."""
    keys = [bound.schema.field(name) for name in bound.query.partition_by]
    schema = pa.schema([*keys, pa.field(start, bound.hop_type), *parts.fields])
    return replace(bound, query=bound.query.replace(order_by=(start,)), schema=schema)


@dataclass(frozen=True)
class Merged:
    """What a worker runs over slices that are sorted by key: windows merged from their partials."""

    bound: Bound
    parts: PartialColumns
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result, batch by batch."""
        walk = Walk(self.bound, answers=self._answers)
        for result in walk.run(map(self._table, batches)):
            yield from result.cast(self.schema).to_batches()

    def _table(self, batch: pa.RecordBatch) -> pa.Table:
        """A batch with the slices' starts as times."""
        table = pa.Table.from_batches([batch])
        kind, start = self.bound.hop_type, str(self.bound.order)
        starts = whole(table.column(start)).cast(pa.int64())
        if pt.is_timestamp(kind):
            starts = starts.view(pa.timestamp("us", kind.tz))
        return table.set_column(table.column_names.index(start), start, starts.cast(kind))

    def _answers(self, bound: Bound, columns: SortedColumns, asked: Asked) -> dict[str, pa.Array]:
        made = self.parts.answer(Answerer(columns, asked.windows), bound.types)
        return {**spans(bound, asked), **made}
