"""The plans "keys" and "tables": shuffle by key, and one pass of each partition through Python.

Spark sorts a partition and hands it over in Arrow batches, cut anywhere; a `Walk` carries what
windows reach back to from one to the next. Many keys lie in a partition and in a batch, so nothing
is called once a key, and a key may be longer than memory.

Where Spark's plan knows that partitions are small, it does not sort them: a worker holds the
columns that windows need as a table, and sorts that in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.spark.columns import column
from windrow.spark.workers import KEPT, Batches, Tables, arrow_result, beside, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.filters import columns_of, satisfies
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.run import (
    QUERY,
    needed,
    run_queries,
    told_apart,
    window_columns,
    with_columns,
)
from windrow.tables.sort import sort_rows
from windrow.tables.states import StateColumns
from windrow.tables.walk import Walk, walk_together
from windrow.windows.sorted_rows import Bounds

# Bytes of a partition that a worker holds at most, as Spark's plan knows them; and of a frame
# below which results come in the order of keys and times, since it makes no difference in time.
HELD, SORTED = 1 << 25, 1 << 20


def keyed(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """Return the results of queries over the same rows by their keys, as columns of `schema`."""
    query = bounds[0].query
    keys = [column(name) for name in query.partition_by]
    order = [column(name) for name in query.order_by]
    if bounds[0].own_rows:
        frame = frame.select(*needed_columns(bounds))
    spread = frame.repartition(*keys) if keys else frame.coalesce(1)
    ready = spread.sortWithinPartitions(*keys, *order)
    if _beside_rows(bounds):
        work, filtered = Answered(tuple(bounds)), query.having is not None
        return beside(ready, read(bounds), work, schema, filtered=filtered)
    return in_arrow(ready, Walked(tuple(bounds), arrow_result(schema)), schema)


def held(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """Return the same by workers that hold the columns that they need, and sort them."""
    query = bounds[0].query
    spread = frame.repartition(*[column(name) for name in query.partition_by])
    work, filtered = Held(tuple(bounds)), query.having is not None
    return beside(spread, needed(bounds), work, schema, filtered=filtered)


def is_held(bounds: Sequence[Bound], frame: Any) -> bool:
    """Whether workers can hold their partitions: Spark's plan knows how large they are."""
    if not bounds[0].query.partition_by or not _beside_rows(bounds):
        return False
    if any(bound.query.window.row_size is not None for bound in bounds):
        return False
    size = plan_bytes(frame)
    return size is not None and SORTED <= size <= HELD * shuffle_partitions(frame)


def shuffle_partitions(frame: Any) -> int:
    """Return how many partitions a shuffle makes."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))


def plan_bytes(frame: Any) -> int | None:
    """Return the bytes of a frame as Spark's plan knows them; None on Connect. It runs no job."""
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        return None
    return int(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))


def is_smaller(frame: Any, size: int) -> bool:
    """Whether Spark's plan knows that a frame has fewer bytes than `size`."""
    known = plan_bytes(frame)
    return known is not None and known < size


def _beside_rows(bounds: Sequence[Bound]) -> bool:
    """Whether every row has a result, of all queries, to stand beside it."""
    query = bounds[0].query
    return query.window.per_row and query.emit == "rstream" and not told_apart(bounds)


def needed_columns(bounds: Sequence[Bound]) -> list[Any]:
    """Return the columns of a frame that queries read, as expressions."""
    return [column(name) for name in needed(bounds)]


def read(bounds: Sequence[Bound]) -> list[str]:
    """Return the names of the columns that a worker reads for a result a row; one at least.

    Spark has sorted by the order columns: only ranges, policies and messages look at them again.
    """
    names: list[str] = []
    for bound in bounds:
        query = bound.query
        own = any(part.functions is not None for part in query.parts.values())
        if not query.window.counts_rows or query.having or own:
            names += bound.needed
        names += [*query.partition_by, *(c for p in query.parts.values() for c in p.columns)]
    return list(dict.fromkeys(names)) or list(bounds[0].query.order_by[:1])


def every(bound: Bound) -> Bound:
    """Return the query without `having`, so that every row has a result."""
    return replace(bound, query=bound.query.replace(having=None))


@dataclass(frozen=True)
class Answered:
    """What a worker runs for a result a row, over rows sorted by key and order."""

    bounds: tuple[Bound, ...]

    def __call__(self, tables: Tables) -> Tables:
        """Yield the results, as many as there are rows altogether."""
        return map(self._kept, self.walk(tables))

    def walk(self, tables: Tables) -> Tables:
        """Yield the rows with all of their results beside them."""
        return walk_together([every(bound) for bound in self.bounds], tables)

    def own(self, rows: pa.Table) -> NDArray[np.bool_] | None:
        """Return which results are of rows that come out; None for all."""
        return None

    def _kept(self, rows: pa.Table) -> pa.Table:
        """Return the results, and, unless all come out, a column that says which do."""
        kept, having = self.own(rows), self.bounds[0].query.having
        if having is not None:
            passed = satisfies(having, rows)
            kept = passed if kept is None else kept & passed
        results = rows.select([name for bound in self.bounds for name in bound.query.parts])
        return results if kept is None else results.append_column(KEPT, [kept])


@dataclass(frozen=True)
class Held(Answered):
    """What a worker runs for a result a row, over rows in any order, all of which it holds."""

    def walk(self, tables: Tables) -> Tables:
        """Yield one table: the rows with all of their results beside them."""
        batches = list(tables)
        if not batches:
            return
        table = pa.concat_tables(batches).combine_chunks()
        del batches
        try:
            results = run_queries([every(bound) for bound in self.bounds], table, threads=1)
        except OverflowError:  # a pass over the sorted rows says at which of them
            order = sort_rows(self.bounds[0], columns_of(table), table.num_rows).order
            ready = table if order is None else table.take(pa.array(order.rows))
            yield from super().walk(iter([ready]))
            return
        for result in results:
            for name, values in result.arrays.items():
                table = table.append_column(name, values)
        yield table


@dataclass(frozen=True)
class Walked:
    """What a worker runs over the batches of a partition that is sorted by key and order.

    Where several queries have results for different rows, the column `QUERY` says whose a row is,
    and the columns of the other queries are null in it.
    """

    bounds: tuple[Bound, ...]
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Yield the results, batch by batch."""
        walks = [self.walk(bound) for bound in self.bounds]
        for batch in batches:
            table = self.table(batch)
            for i, walk in enumerate(walks):
                yield from self._full(i, walk.feed(table))
        for i, walk in enumerate(walks):
            yield from self._full(i, walk.finish())

    def walk(self, bound: Bound) -> Walk:
        """Return the walk of one query."""
        return Walk(bound)

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """Return a batch as the walks read it."""
        return pa.Table.from_batches([batch])

    def _full(self, i: int, results: Tables) -> Batches:
        """Yield the results of one query, with all columns of the schema."""
        values = {QUERY: i} if len(self.bounds) > 1 else {}
        for table in results:
            yield from with_columns(table, self.schema, values).to_batches()


@dataclass(frozen=True)
class Merged(Walked):
    """What a worker runs over states that are sorted by key: windows that are merged from them."""

    parts: StateColumns

    def walk(self, bound: Bound) -> Walk:
        """Return the walk of one query over states."""
        return Walk(bound, results=self._new_columns)

    def _new_columns(
        self, bound: Bound, columns: SortedColumns, windows: Bounds
    ) -> dict[str, pa.Array]:
        over = WindowResults(columns, windows.windows)
        return {**window_columns(bound, windows), **self.parts.results(over, bound.types)}
