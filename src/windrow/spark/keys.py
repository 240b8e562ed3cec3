"""Per key: shuffle, sort within partitions, and one streaming pass of each through Python.

Spark hands a partition over in Arrow batches, cut anywhere; a `Walk` carries what windows reach
back to from one to the next. Many keys lie in a partition and in a batch, so nothing is called
once a key, and a key may be longer than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from windrow.spark.columns import column
from windrow.spark.schema import arrow_result, in_arrow
from windrow.spark.workers import KEPT, Tables, beside
from windrow.tables.bind import Bound
from windrow.tables.filters import satisfies
from windrow.tables.walk import Walk, walk_together

QUERY = "query"  # whose result a row is, if several queries have rows of their own


def keyed(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """The results of queries over the same rows by their keys, as columns of `schema`."""
    query = bounds[0].query
    keys = [column(name) for name in query.partition_by]
    order = [column(name) for name in query.order_by]
    spread = frame.repartition(*keys) if keys else frame.coalesce(1)
    ready = spread.sortWithinPartitions(*keys, *order)
    if query.window.per_row and query.emit == "rstream":
        work, filtered = Answered(tuple(bounds)), query.having is not None
        return beside(ready, read(bounds), work, schema, filtered=filtered)
    return in_arrow(ready, Walked(tuple(bounds), arrow_result(schema)), schema)


def read(bounds: Sequence[Bound]) -> list[str]:
    """The columns that a worker reads for a result a row; one at least.

    Spark has sorted by the order columns: only ranges, policies and messages look at them again.
    """
    names: list[str] = []
    for bound in bounds:
        query = bound.query
        if not query.window.counts_rows or query.having or _runs_functions(bound):
            names += bound.needed
        names += [*query.partition_by, *(c for p in query.parts.values() for c in p.columns)]
    return list(dict.fromkeys(names)) or list(bounds[0].query.order_by[:1])


def _runs_functions(bound: Bound) -> bool:
    return any(part.functions is not None for part in bound.query.parts.values())


@dataclass(frozen=True)
class Answered:
    """What a worker runs for a result a row, over rows sorted by key and order."""

    bounds: tuple[Bound, ...]

    def __call__(self, tables: Tables) -> Tables:
        """The results, as long as the rows altogether."""
        every = [replace(b, query=b.query.replace(having=None)) for b in self.bounds]
        return map(self._kept, walk_together(every, tables))

    def _kept(self, made: pa.Table) -> pa.Table:
        having = self.bounds[0].query.having
        results = made.select([name for bound in self.bounds for name in bound.query.parts])
        if having is None:
            return results
        return results.append_column(KEPT, [satisfies(having, made)])


@dataclass(frozen=True)
class Walked:
    """What a worker runs over the batches of a partition that is sorted by key and order.

    Of several queries whose results are rows of their own, `QUERY` tells whose each is; what
    another query would answer is null there.
    """

    bounds: tuple[Bound, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result, batch by batch."""
        walks = [self._walk(bound) for bound in self.bounds]
        for batch in batches:
            table = self._table(batch)
            for i, walk in enumerate(walks):
                for made in walk.feed(table):
                    yield from self._full(i, made)
        for i, walk in enumerate(walks):
            for made in walk.finish():
                yield from self._full(i, made)

    def _walk(self, bound: Bound) -> Walk:
        return Walk(bound)

    def _table(self, batch: pa.RecordBatch) -> pa.Table:
        return pa.Table.from_batches([batch])

    def _full(self, i: int, made: pa.Table) -> Iterator[pa.RecordBatch]:
        """The results of one query, with all columns of the schema."""
        columns = {}
        for field in self.schema:
            if field.name in made.column_names:
                columns[field.name] = made.column(field.name).cast(field.type)
            elif field.name == QUERY:
                columns[field.name] = pa.array([i] * made.num_rows, field.type)
            else:
                columns[field.name] = pa.nulls(made.num_rows, field.type)
        yield from pa.table(columns, self.schema).to_batches()
