"""Queries over Arrow tables and record batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.errors import InvalidArgument
from windrow.queries.query import Query
from windrow.queries.shared import Shared
from windrow.tables.bind import Bound, bind
from windrow.tables.run import Outcome, answer_all


def run(query: Query, frame: pa.Table | pa.RecordBatch) -> Any:
    """The answers as a table, or a batch for a batch."""
    (made,) = run_shared(Shared((query,)), frame)
    return made


def run_shared(shared: Shared, frame: pa.Table | pa.RecordBatch) -> list[Any]:
    """The answers of each query."""
    if not isinstance(frame, pa.Table | pa.RecordBatch):
        raise InvalidArgument(f"a query takes a Table or a RecordBatch, not {type(frame).__name__}")
    table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    bounds = [bind(query, table.schema) for query in shared]
    made = [_joined(b, o, table) for b, o in zip(bounds, answer_all(bounds, table), strict=True)]
    return made if isinstance(frame, pa.Table) else [_batch(each) for each in made]


def _joined(bound: Bound, outcome: Outcome, table: pa.Table) -> pa.Table:
    base = table.select(bound.query.partition_by) if bound.hops else table
    if outcome.rows is not None:
        base = base.take(pa.array(outcome.rows))
    return pa.table({**dict(zip(base.column_names, base.columns, strict=True)), **outcome.columns})


def _batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)
