"""Queries over Polars frames.

Over a LazyFrame, results beside its rows are an expression of the plan, so that Polars reads no
column that is not needed, and runs no query whose results are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from windrow.errors import InvalidValue, Unsupported
from windrow.queries.frames import unknown_frame
from windrow.queries.plan import Plan
from windrow.queries.query import Query
from windrow.queries.select import Select
from windrow.queries.shared import Shared
from windrow.tables.bind import Bound, SchemaColumns
from windrow.tables.columns import lent
from windrow.tables.filters import FrameColumns
from windrow.tables.run import TableEngine, TableResult, needed

_RESULTS, _KEPT = "windrow:results", "windrow:kept"


def _schema_of(frame: Any) -> pa.Schema:
    if isinstance(frame, pl.LazyFrame):
        raise Unsupported("several queries give several frames; give them frame.collect()")
    if not isinstance(frame, pl.DataFrame):
        raise unknown_frame(frame)
    return _arrow_schema(tuple(frame.columns), tuple(frame.dtypes))


@lru_cache(maxsize=64)
def _arrow_schema(names: tuple[str, ...], types: tuple[pl.DataType, ...]) -> pa.Schema:
    return pa.schema(zip(names, map(_arrow_type, types), strict=True))


@lru_cache(maxsize=64)
def _arrow_type(kind: pl.DataType) -> pa.DataType:
    """The type that Arrow has for a type of Polars, or one with which nothing is computed."""
    unknown = pa.opaque(pa.null(), str(kind), "polars")
    try:
        return unknown if kind == pl.Object else pl.Series([], dtype=kind).to_arrow().type
    except pa.ArrowInvalid:  # such as Int128
        return unknown


def _table_of(frame: pl.DataFrame, names: list[str]) -> FrameColumns:
    columns = {name: _column(frame.get_column(name)) for name in names}
    return FrameColumns(columns, frame.height)


def _column(series: pl.Series) -> Any:
    """A column: its own memory, if all are numbers or times, or as Arrow has it."""
    kind = _number_type(series.dtype)
    if kind is not None and not series.null_count():
        return lent(series.to_numpy(), kind)
    if isinstance(_arrow_type(series.dtype), pa.OpaqueType):
        raise InvalidValue(
            f"the column {series.name!r} is of type {series.dtype}, which Arrow has not: cast it"
        )
    return series.to_arrow()


@lru_cache(maxsize=64)
def _number_type(kind: pl.DataType) -> pa.DataType | None:
    """The type that Arrow has for numbers and times which NumPy has in the same bits, or None."""
    if isinstance(kind, (pl.Datetime, pl.Duration)) or kind in _NUMBERS:
        return _arrow_type(kind)
    return None


_NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
            pl.Float32, pl.Float64)  # fmt: skip


def _joined(bound: Bound, result: TableResult, frame: pl.DataFrame) -> pl.DataFrame:
    base = frame.select(bound.query.partition_by) if bound.own_rows else frame
    if result.rows is not None and base.width:
        base = base[result.rows]
    new = _series(result.arrays)
    return base.hstack(new) if base.width else pl.DataFrame(new)


def _series(columns: dict[str, pa.Array]) -> list[pl.Series]:
    return [pl.Series(name, array) for name, array in columns.items()]


def _selected(frame: pl.DataFrame, rows: Any, columns: dict[str, Any]) -> pl.DataFrame:
    base = frame if rows is None else frame[rows]
    return pl.DataFrame(
        [
            base[c].alias(name) if isinstance(c, str) else pl.Series(name, c)
            for name, c in columns.items()
        ]
    )


_engine = TableEngine(_schema_of, _table_of, _joined, _selected)
run_shared = _engine.run_shared


def run(query: Query, frame: Any) -> Any:
    """The results of a query, of a LazyFrame as one that is run when it is collected."""
    if not isinstance(frame, pl.LazyFrame):
        return _engine.run(query, frame)
    return _later(Shared((query,)), frame, lambda collected: _engine.run(query, collected))


def run_together(shared: Shared, frame: Any) -> Any:
    """The same for queries whose results stand beside the rows of one frame."""
    if not isinstance(frame, pl.LazyFrame):
        return _engine.run_together(shared, frame)
    return _later(shared, frame, lambda collected: _engine.run_together(shared, collected))


def run_select(select: Select, frame: Any) -> Any:
    """The same for a statement of SQL."""
    if not isinstance(frame, pl.LazyFrame):
        return _engine.run_select(select, frame)
    names = frame.collect_schema().names()
    uses = select.steps(columns_of_frame(frame)).uses(names)
    chosen = frame.select(uses) if uses else frame
    return _mapped(chosen, lambda collected: _engine.run_select(select, collected))


def read(queries: Sequence[Query], frame: Any) -> tuple[list[Bound], pa.Table]:
    """The queries as they fit the frame, and the columns that they need, collected."""
    if isinstance(frame, pl.LazyFrame):
        bounds, _ = _engine.read(queries, _without_rows(frame))
        frame = frame.select(needed(bounds) or pl.all()).collect()
    return _engine.read(queries, frame)


def columns_of_frame(frame: Any) -> SchemaColumns:
    """The columns of a frame, as statements of SQL ask about them."""
    lazy = isinstance(frame, pl.LazyFrame)
    return _engine.columns_of_frame(_without_rows(frame) if lazy else frame)


def plans(queries: Sequence[Query], frame: Any) -> list[Plan]:
    """What will run for queries over a frame."""
    lazy = isinstance(frame, pl.LazyFrame)
    return _engine.plans(queries, _without_rows(frame) if lazy else frame)


# -- lazy frames ---------------------------------------------------------------------------------


def _later(shared: Shared, frame: pl.LazyFrame, work: Callable[[Any], Any]) -> pl.LazyFrame:
    """The plan of what `work` gives for the rows of a frame."""
    bounds, empty = _engine.results(shared, _without_rows(frame))  # a mistake is told here
    if bounds[0].own_rows:
        return _mapped(frame.select(needed(bounds)), work)
    if any(kind is None for bound in bounds for kind in bound.types.values()):
        return _mapped(frame, work)  # only running tells the type of an expression
    no_results = pl.DataFrame(_beside(empty))
    chooses = bounds[0].chooses
    types = {**no_results.schema, **({_KEPT: pl.Boolean()} if chooses else {})}

    def results(columns: Sequence[pl.Series]) -> pl.Series:
        return _results_of_rows(shared, pl.DataFrame(columns), chooses)

    reads = needed(bounds) or frame.collect_schema().names()[:1]  # one, to tell how many rows
    beside = pl.map_batches(reads, results, return_dtype=pl.Struct(types)).alias(_RESULTS)
    frame = frame.with_columns(beside)
    if chooses:
        frame = frame.filter(pl.col(_RESULTS).struct.field(_KEPT))
    fields = [pl.col(_RESULTS).struct.field(name) for name in no_results.columns]
    return frame.with_columns(fields).drop(_RESULTS)


def _results_of_rows(shared: Shared, frame: pl.DataFrame, chooses: bool) -> pl.Series:
    """The results beside each row of a frame, and if rows are chosen, whether it is."""
    _, results = _engine.results(shared, frame)
    beside = pl.DataFrame(_beside(results))
    if chooses:
        rows = results[0].rows
        place = np.full(frame.height, -1)
        place[slice(None) if rows is None else rows] = np.arange(beside.height)
        kept = pl.Series(_KEPT, place >= 0)
        beside = beside.select(pl.all().gather(pl.Series(place).set(~kept, None))).with_columns(
            kept
        )
    return beside.to_struct(_RESULTS)


def _beside(results: Sequence[TableResult]) -> list[pl.Series]:
    return [series for result in results for series in _series(result.arrays)]


def _mapped(frame: pl.LazyFrame, work: Callable[[Any], Any]) -> pl.LazyFrame:
    """The plan of a function of all rows."""
    schema = work(_without_rows(frame)).schema  # a mistake is told here
    return frame.map_batches(
        work,
        schema=schema,
        validate_output_schema=False,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def _without_rows(frame: pl.LazyFrame) -> pl.DataFrame:
    return pl.DataFrame(schema=frame.collect_schema())
