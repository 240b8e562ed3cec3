"""Per key: shuffle, sort within partitions, and one streaming pass of each through Python.

Spark hands a partition over in Arrow batches, cut anywhere; a `Walk` carries what windows reach
back to from one to the next. Many keys lie in a partition and in a batch, so nothing is called
once a key, and a key may be longer than memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.engines.binding import Bound
from windrow.engines.spark.columns import column
from windrow.engines.spark.schema import arrow_result, in_arrow
from windrow.engines.walk import Walk


def keyed(bound: Bound, frame: Any, schema: Any) -> Any:
    """The answers over a DataFrame by its keys, as columns of `schema`."""
    query = bound.query
    keys = [column(name) for name in query.partition_by]
    order = [column(name) for name in query.order_by]
    spread = frame.repartition(*keys) if keys else frame.coalesce(1)
    walk = Walked(bound, arrow_result(bound, schema))
    return in_arrow(spread.sortWithinPartitions(*keys, *order), walk, schema)


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
