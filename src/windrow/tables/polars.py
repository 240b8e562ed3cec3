"""Queries over Polars frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa

from windrow.errors import InvalidArgument
from windrow.queries.plan import Plan
from windrow.queries.query import Query
from windrow.queries.select import Select
from windrow.queries.shared import Shared
from windrow.tables.bind import Bound, SchemaColumns
from windrow.tables.run import TableEngine, TableResult


def _schema_of(frame: Any) -> pa.Schema:
    if isinstance(frame, pl.LazyFrame):
        raise InvalidArgument("several queries give several frames: collect a LazyFrame first")
    if not isinstance(frame, pl.DataFrame):
        raise InvalidArgument(f"a query takes a DataFrame, not a {type(frame).__name__}")
    return frame.head(0).to_arrow().schema


def _table_of(frame: pl.DataFrame, names: list[str]) -> pa.Table:
    return frame.select(names).to_arrow() if names else pa.table({"": pa.nulls(frame.height)})


def _joined(bound: Bound, outcome: TableResult, frame: pl.DataFrame) -> pl.DataFrame:
    base = frame.select(bound.query.partition_by) if bound.own_rows else frame
    if outcome.rows is not None and base.width:
        base = base[outcome.rows]
    made = [pl.Series(name, pl.from_arrow(array)) for name, array in outcome.columns.items()]
    return base.with_columns(made) if base.width else pl.DataFrame(made)


def _selected(frame: pl.DataFrame, rows: Any, columns: dict[str, Any]) -> pl.DataFrame:
    base = frame if rows is None else frame[rows]
    return pl.DataFrame(
        [
            base[c].alias(name) if isinstance(c, str) else pl.Series(name, pl.from_arrow(c))
            for name, c in columns.items()
        ]
    )


_engine = TableEngine(_schema_of, _table_of, _joined, _selected)
run_shared = _engine.run_shared


def run(query: Query, frame: Any) -> Any:
    """The results of a query, of a LazyFrame as one that is run when it is collected."""
    return _now_or_later(_engine.run, query, frame)


def run_together(shared: Shared, frame: Any) -> Any:
    """The same for queries whose results stand beside the rows of one frame."""
    return _now_or_later(_engine.run_together, shared, frame)


def run_select(select: Select, frame: Any) -> Any:
    """The same for a statement of SQL."""
    return _now_or_later(_engine.run_select, select, frame)


def columns_of_frame(frame: Any) -> SchemaColumns:
    """The columns of a frame, as statements of SQL ask about them."""
    lazy = isinstance(frame, pl.LazyFrame)
    return _engine.columns_of_frame(_without_rows(frame) if lazy else frame)


def plan(query: Query, frame: Any) -> Plan:
    """What will run for a query over a frame."""
    return _engine.plan(query, _without_rows(frame) if isinstance(frame, pl.LazyFrame) else frame)


def _now_or_later(work: Callable[[Any, Any], Any], asked: Any, frame: Any) -> Any:
    if not isinstance(frame, pl.LazyFrame):
        return work(asked, frame)
    schema = work(asked, _without_rows(frame)).schema  # a mistake is told here
    return frame.map_batches(
        lambda collected: work(asked, collected), schema=schema, validate_output_schema=False
    )


def _without_rows(frame: pl.LazyFrame) -> pl.DataFrame:
    return pl.DataFrame(schema=frame.collect_schema())
