"""Per key: shuffle, sort within partitions, and one streaming pass of each through Python.

Spark hands a partition over in Arrow batches, cut anywhere; a `Walk` carries what windows reach
back to from one to the next. Many keys lie in a partition and in a batch, so nothing is called
once a key, and a key may be longer than memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from windrow.spark.columns import column
from windrow.spark.hop import KEPT, Tables, beside
from windrow.spark.schema import arrow_result, in_arrow
from windrow.tables.bind import Bound
from windrow.tables.filters import satisfies
from windrow.tables.walk import Walk
from windrow.windows.kinds import Rows


def keyed(bound: Bound, frame: Any, schema: Any) -> Any:
    """The answers over a DataFrame by its keys, as columns of `schema`."""
    query = bound.query
    keys = [column(name) for name in query.partition_by]
    order = [column(name) for name in query.order_by]
    spread = frame.repartition(*keys) if keys else frame.coalesce(1)
    ready = spread.sortWithinPartitions(*keys, *order)
    if query.window.per_row and query.emit == "rstream":
        work, filtered = Answered(bound), query.having is not None
        return beside(ready, read(bound), work, schema, filtered=filtered)
    return in_arrow(ready, Walked(bound, arrow_result(bound, schema)), schema)


def read(bound: Bound) -> list[str]:
    """The columns that a worker reads for an answer a row; one at least.

    Spark has sorted by the order columns: only spans, policies and messages look at them again.
    """
    query = bound.query
    parts = query.parts.values()
    if not isinstance(query.window, Rows) or query.having or _runs_functions(bound):
        return list(bound.needed)
    names = [*query.partition_by, *(text for part in parts for text in part.columns)]
    return list(dict.fromkeys(names)) or list(query.order_by[:1])


def _runs_functions(bound: Bound) -> bool:
    return any(part.functions is not None for part in bound.query.parts.values())


@dataclass(frozen=True)
class Answered:
    """What a worker runs for an answer a row, over rows sorted by key and order."""

    bound: Bound

    def __call__(self, tables: Tables) -> Tables:
        """The answers, as long as the rows altogether."""
        every = replace(self.bound, query=self.bound.query.replace(having=None))
        return map(self._kept, Walk(every).run(tables))

    def _kept(self, made: pa.Table) -> pa.Table:
        having, answers = self.bound.query.having, made.select(list(self.bound.query.parts))
        if having is None:
            return answers
        return answers.append_column(KEPT, [satisfies(having, made)])


@dataclass(frozen=True)
class Walked:
    """What a worker runs over the batches of a partition that is sorted by key and order."""

    bound: Bound
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result, batch by batch."""
        walk = Walk(self.bound)
        for result in walk.run(pa.Table.from_batches([batch]) for batch in batches):
            yield from result.select(self.schema.names).cast(self.schema).to_batches()
