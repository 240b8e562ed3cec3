"""Several queries in one pass over a DataFrame: one shuffle, one sort, one hop to Python.

Queries with an answer a row give one DataFrame with the answers of all beside the rows. Hopping
windows give one with a row for each window, `query` telling whose it is; what another query would
answer is null there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.types import IntegerType, StructField, StructType

from windrow.errors import InvalidArgument, Unsupported
from windrow.spark.columns import column
from windrow.spark.schema import analysis_error, arrow_result, in_arrow, result_schema
from windrow.tables.bind import Bound
from windrow.tables.walk import Walk

QUERY = "query"


def together(bounds: list[Bound], frame: Any, columns: list[str]) -> Any:
    """The answers of all queries, which must look at the same rows in the same order."""
    _check(bounds, frame)
    first = bounds[0].query
    hops = bounds[0].hops
    fields: dict[str, StructField] = {}
    for bound in bounds:
        for field in result_schema(bound, frame).fields:
            if field.name in columns or field.name not in frame.columns:
                fields[field.name] = field
    if hops:
        fields = {QUERY: StructField(QUERY, IntegerType(), False), **fields}
    schema = StructType(list(fields.values()))
    keys = [column(name) for name in first.partition_by]
    order = [column(name) for name in first.order_by]
    spread = frame.repartition(*keys) if keys else frame.coalesce(1)
    work = (Interleaved if hops else Beside)(tuple(bounds), arrow_result(bounds[0], schema))
    return in_arrow(spread.sortWithinPartitions(*keys, *order), work, schema)


def _check(bounds: list[Bound], frame: Any) -> None:
    alike = {(b.query.partition_by, b.query.order_by) for b in bounds}
    kinds = {b.hops for b in bounds}
    if len(alike) > 1 or len(kinds) > 1:
        raise analysis_error(
            Unsupported(
                "shared queries over a DataFrame run in one pass, so they need the same "
                "partition_by and order_by, and all an answer a row or all hopping windows"
            ),
            frame,
        )
    if not kinds.pop() and any(not b.query.window.per_row or b.filters for b in bounds):
        raise analysis_error(
            Unsupported("shared queries over a DataFrame need an answer for every row"), frame
        )
    names = [name for b in bounds for name in b.query.parts]
    for name in names:
        if names.count(name) > 1:
            raise analysis_error(
                InvalidArgument(f"the name {name!r} is given to {names.count(name)} results"), frame
            )


@dataclass(frozen=True)
class Beside:
    """What a worker runs for queries with an answer a row: the answers of all, side by side."""

    bounds: tuple[Bound, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows with all answers, as soon as the slowest query has its own."""
        walks = [Walk(bound) for bound in self.bounds]
        ready: list[list[pa.Table]] = [[] for _ in walks]
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for walk, made in zip(walks, ready, strict=True):
                made.extend(walk.feed(table))
            yield from self._joined(ready)
        for walk, made in zip(walks, ready, strict=True):
            made.extend(walk.finish())
        yield from self._joined(ready)

    def _joined(self, ready: list[list[pa.Table]]) -> Iterator[pa.RecordBatch]:
        tables = [pa.concat_tables(made) for made in ready if made]
        n = min(t.num_rows for t in tables) if len(tables) == len(ready) else 0
        if not n:
            return
        columns = dict(zip(tables[0].column_names, tables[0].slice(0, n).columns, strict=True))
        for i, (bound, table) in enumerate(zip(self.bounds, tables, strict=True)):
            columns.update({name: table.column(name).slice(0, n) for name in bound.query.parts})
            ready[i] = [table.slice(n)] if table.num_rows > n else []
        yield from pa.table(columns).select(self.schema.names).cast(self.schema).to_batches()


@dataclass(frozen=True)
class Interleaved:
    """What a worker runs for hopping windows: the windows of all queries, one after the other."""

    bounds: tuple[Bound, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The windows of each query as they close."""
        walks = [Walk(bound) for bound in self.bounds]
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for i, walk in enumerate(walks):
                for made in walk.feed(table):
                    yield from self._named(i, made)
        for i, walk in enumerate(walks):
            for made in walk.finish():
                yield from self._named(i, made)

    def _named(self, i: int, made: pa.Table) -> Iterator[pa.RecordBatch]:
        n = made.num_rows
        columns = {}
        for field in self.schema:
            if field.name == QUERY:
                columns[field.name] = pa.array([i] * n, field.type)
            elif field.name in made.column_names:
                columns[field.name] = made.column(field.name).cast(field.type)
            else:
                columns[field.name] = pa.nulls(n, field.type)
        yield from pa.table(columns, self.schema).to_batches()
