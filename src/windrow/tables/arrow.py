"""Queries over Arrow tables and record batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.errors import InvalidArgument
from windrow.tables.bind import Bound
from windrow.tables.run import TableEngine, TableResult


def _schema_of(frame: Any) -> pa.Schema:
    if not isinstance(frame, pa.Table | pa.RecordBatch):
        raise InvalidArgument(f"a query takes a Table or a RecordBatch, not {type(frame).__name__}")
    return frame.schema


def _table_of(frame: pa.Table | pa.RecordBatch, names: list[str]) -> pa.Table:
    return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame


def _joined(bound: Bound, outcome: TableResult, frame: pa.Table | pa.RecordBatch) -> Any:
    table = _table_of(frame, [])
    base = table.select(bound.query.partition_by) if bound.own_rows else table
    if outcome.rows is not None:
        base = base.take(pa.array(outcome.rows))
    columns = dict(zip(base.column_names, base.columns, strict=True))
    result = pa.table({**columns, **outcome.columns})
    return result if isinstance(frame, pa.Table) else _batch(result)


def _batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)


def _selected(frame: pa.Table | pa.RecordBatch, rows: Any, columns: dict[str, Any]) -> Any:
    table = _table_of(frame, [])
    own = list(dict.fromkeys(column for column in columns.values() if isinstance(column, str)))
    base = table.select(own)
    if rows is not None:
        base = base.take(pa.array(rows))
    made = {name: base.column(c) if isinstance(c, str) else c for name, c in columns.items()}
    result = pa.table(made)
    return result if isinstance(frame, pa.Table) else _batch(result)


_engine = TableEngine(_schema_of, _table_of, _joined, _selected)
run, run_shared, plan = _engine.run, _engine.run_shared, _engine.plan
run_together, run_select = _engine.run_together, _engine.run_select
columns_of_frame = _engine.columns_of_frame
