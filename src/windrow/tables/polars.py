"""Queries over Polars frames."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from windrow.errors import InvalidArgument
from windrow.tables.bind import Bound
from windrow.tables.run import TableEngine, TableResult


def _schema_of(frame: Any) -> pa.Schema:
    if isinstance(frame, pl.LazyFrame):
        raise InvalidArgument("a LazyFrame has no rows yet: query(frame.collect())")
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


_engine = TableEngine(_schema_of, _table_of, _joined)
run, run_shared, plan = _engine.run, _engine.run_shared, _engine.plan
run_together = _engine.run_together
