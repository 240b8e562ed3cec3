"""Queries over Arrow tables and record batches, and over whatever hands its rows over as Arrow.

Frames of other libraries do so by the PyCapsule interface, `__arrow_c_stream__`. A result is a
frame of the same class if that can make one of Arrow, by `from_arrow`, and else a table of Arrow.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.queries.frames import unknown_frame
from windrow.queries.query import Query
from windrow.tables.bind import Bound
from windrow.tables.columns import rows_at
from windrow.tables.run import TableEngine, TableResult
from windrow.tables.sources import Source, SourceEngine


def _joined(bound: Bound, result: TableResult, table: pa.Table) -> pa.Table:
    if result.rows is None and bound.plain_fields:
        for name, array in result.arrays.items():  # in half the time of a table of all columns
            table = table.append_column(name, array)
        return table
    base = table.select(bound.query.partition_by) if bound.own_rows else table
    if result.rows is not None:
        base = rows_at(base, result.rows)
    columns = [*base.columns, *result.arrays.values()]
    return pa.Table.from_arrays(columns, names=[*base.column_names, *result.columns])


def _selected(table: pa.Table, rows: Any, columns: dict[str, Any]) -> pa.Table:
    own = list(dict.fromkeys(column for column in columns.values() if isinstance(column, str)))
    base = table.select(own)
    if rows is not None:
        base = rows_at(base, rows)
    return pa.table({n: base.column(c) if isinstance(c, str) else c for n, c in columns.items()})


tables = TableEngine(lambda table: table.schema, lambda table, names: table, _joined, _selected)


def _source(frame: Any) -> Source:
    if isinstance(frame, pa.Table):
        return Source(frame.schema, lambda names: frame, lambda table: table)
    if isinstance(frame, pa.RecordBatch):
        return Source(frame.schema, lambda names: pa.Table.from_batches([frame]), _batch)
    if isinstance(frame, pa.ChunkedArray) or not hasattr(frame, "__arrow_c_stream__"):
        raise unknown_frame(frame)
    reader, back = pa.RecordBatchReader.from_stream(frame), pa.Table.to_reader
    if not isinstance(frame, pa.RecordBatchReader):
        back = getattr(type(frame), "from_arrow", lambda table: table)
    return Source(reader.schema, lambda names: reader.read_all(), back)


def _batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)


_engine = SourceEngine(tables, _source)


def run(query: Query, frame: Any) -> Any:
    """The results of a query; of a table of Arrow at once, as all its columns are there."""
    return (tables if isinstance(frame, pa.Table) else _engine).run(query, frame)


run_shared, plans = _engine.run_shared, _engine.plans
run_together, run_select = _engine.run_together, _engine.run_select
columns_of_frame, read = _engine.columns_of_frame, _engine.read
