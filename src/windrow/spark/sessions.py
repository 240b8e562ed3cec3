"""Sessions in the plan "ranges": parts of them are made in ranges of the order, then merged.

    rows ──by ranges of key and order, sorted──▶ parts of sessions ──by key, sorted──▶ sessions

That is for sessions without a key, or with a hot one. Spark cuts the rows evenly by key and order,
so a session may lie in several ranges. Each range has a part of it, with its start, its length and
its state, and parts that touch are one session. Parts are few, so the second shuffle is small,
whatever key they are of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from windrow.spark.columns import column, unused
from windrow.spark.keys import Merged, Walked, every, needed_columns
from windrow.spark.workers import arrow_result, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.columns import from_numbers
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.row_sizes import SIZE
from windrow.tables.states import StateColumns, states_of
from windrow.tables.walk import Walk
from windrow.windows.sorted_rows import Bounds


def in_parts(bound: Bound, frame: Any, schema: StructType) -> Any:
    """Return the results of a query with sessions over a DataFrame that is cut by key and order."""
    query, parts = bound.query, states_of([bound])
    keys, order = [column(name) for name in query.partition_by], column(str(bound.order))
    frame = frame.select(*needed_columns([bound])).where(order.isNotNull())
    cut = frame.repartitionByRange(*keys, order).sortWithinPartitions(*keys, order)
    start = unused("windrow_start", frame.columns)
    over = _over_parts(bound, parts, start)
    key_fields = [frame.schema[name] for name in query.partition_by]
    other_fields = [
        StructField(field.name, from_arrow_type(field.type, True))
        for field in list(over.schema)[len(key_fields) :]
    ]
    part_schema = StructType([*key_fields, *other_fields])
    work = Parts((every(bound),), arrow_result(part_schema), over, parts)
    in_ranges = in_arrow(cut, work, part_schema)
    spread = in_ranges.repartition(*keys) if keys else in_ranges.coalesce(1)
    ready = spread.sortWithinPartitions(*keys, column(start))
    return in_arrow(ready, Merged((over,), arrow_result(schema), parts), schema)


def _over_parts(bound: Bound, parts: StateColumns, start: str) -> Bound:
    """Return the query over parts of sessions, which have their starts and lengths in columns."""
    query = bound.query
    keys = [bound.schema.field(name) for name in query.partition_by]
    size = pa.float64() if bound.axis.floating else pa.int64()
    own = [pa.field(start, bound.at_type), pa.field(SIZE, size)]
    query = query.replace(order_by=(start,), window=query.window.with_row_size(SIZE))
    return replace(bound, query=query, schema=pa.schema([*keys, *own, *parts.fields]))


@dataclass(frozen=True)
class Parts(Walked):
    """What a worker runs over a range: its sessions, which may go on elsewhere, with states."""

    over: Bound
    parts: StateColumns

    def walk(self, bound: Bound) -> Walk:
        """Return the walk over rows that makes states."""
        return Walk(bound, results=self._new_columns)

    def _new_columns(
        self, bound: Bound, columns: SortedColumns, windows: Bounds
    ) -> dict[str, pa.Array]:
        assert windows.ends is not None
        start, end = windows.ends
        fine, coarse = self.over.axis.tick, bound.axis.tick  # parts may be told in finer units
        # one that starts at infinity ends there, however long it is
        there = np.isfinite(start)
        sizes = np.subtract(end, start, out=np.ones_like(start), where=there)
        sizes *= 1 if fine is None or coarse is None else coarse // fine
        states = self.parts.make(WindowResults(columns, windows.windows))
        starts = from_numbers(start, None, bound.at_type)
        return {str(self.over.order): starts, SIZE: pa.array(sizes), **states}
