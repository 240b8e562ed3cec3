"""Queries over Polars frames."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from windrow.errors import InvalidArgument
from windrow.queries.query import Query
from windrow.queries.shared import Shared
from windrow.tables.bind import Bound, bind
from windrow.tables.run import Outcome, answer_all


def run(query: Query, frame: pl.DataFrame) -> pl.DataFrame:
    """The answers as a DataFrame."""
    (made,) = run_shared(Shared((query,)), frame)
    return made


def run_shared(shared: Shared, frame: pl.DataFrame) -> list[pl.DataFrame]:
    """The answers of each query."""
    if isinstance(frame, pl.LazyFrame):
        raise InvalidArgument("a LazyFrame has no rows yet: query(frame.collect())")
    if not isinstance(frame, pl.DataFrame):
        raise InvalidArgument(f"a query takes a DataFrame, not a {type(frame).__name__}")
    schema = frame.head(0).to_arrow().schema
    bounds = [bind(query, schema) for query in shared]
    needed = list(dict.fromkeys(name for bound in bounds for name in bound.needed))
    table = frame.select(needed).to_arrow() if needed else pa.table({"": pa.nulls(frame.height)})
    outcomes = answer_all(bounds, table)
    return [_joined(b, o, frame) for b, o in zip(bounds, outcomes, strict=True)]


def _joined(bound: Bound, outcome: Outcome, frame: pl.DataFrame) -> pl.DataFrame:
    base = frame.select(bound.query.partition_by) if bound.hops else frame
    if outcome.rows is not None and base.width:
        base = base[outcome.rows]
    made = [pl.Series(name, pl.from_arrow(array)) for name, array in outcome.columns.items()]
    return base.with_columns(made) if base.width else pl.DataFrame(made)
