"""The rows of the soak: a function of the batch's number, so that they can be made again.

Of each twenty micro-batches two are empty, one is a burst, one comes with a flood of late rows,
and in four the watermark is stuck; of each hundred it is stuck in twenty more, one after the other.
A tenth of the keys comes in twenty micro-batches and is then gone for 180.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

SECOND = 10**6  # times are microseconds
START = 1_767_225_600 * SECOND  # 2026-01-01
LATENESS = 30 * SECOND
DISORDER = 20 * SECOND  # how far rows of a batch lie behind the minute in which they come
PERIOD, LONG = 20, 100
COHORTS = 10  # one a period: a tenth of the keys each
EMPTY, BURST, FLOOD, STUCK = (3, 18), 6, 9, range(12, 16)
LONG_STUCK = range(60, 80)
BURST_SIZE, FLOOD_SIZE = 10, 5  # times an ordinary batch
SCHEMA = pa.schema(
    {
        "key": pa.int64(),
        "ts": pa.timestamp("us", "UTC"),
        "value": pa.float64(),
        "id": pa.int64(),
    }.items()
)


def is_stuck(batch: int) -> bool:
    """Whether no row of a batch is later than those before it."""
    return batch % PERIOD in STUCK or batch % LONG in LONG_STUCK


def minute(batch: int) -> int:
    """Return the minute in which the rows of a batch come: each but a stuck one has a new one.

    >>> [minute(batch) for batch in (0, 1, 11, 12, 15, 16)]
    [0, 1, 11, 11, 11, 12]
    """
    moving = [not is_stuck(b) for b in range(LONG)]
    return batch // LONG * sum(moving) + sum(moving[: batch % LONG + 1]) - 1


@dataclass(frozen=True)
class Workload:
    """How much comes: keys in all, and rows in an ordinary batch."""

    keys: int = 200_000
    rows: int = 4_000

    def late_rows(self, batch: int) -> int:
        """Return how many rows of a batch are too late."""
        return FLOOD_SIZE * self.rows if batch % PERIOD == FLOOD else 0

    def ordinary_rows(self, batch: int) -> int:
        """Return how many rows of a batch are not too late."""
        place = batch % PERIOD
        return 0 if place in EMPTY else self.rows * (BURST_SIZE if place == BURST else 1)

    def rows_of(self, batch: int) -> pa.Table:
        """Return the rows of a batch, late ones among the others.

        No two of all rows have the same value, and sums of values are exact.
        """
        ordinary, late = self.ordinary_rows(batch), self.late_rows(batch)
        chance = np.random.default_rng(batch)
        cohort = batch // PERIOD % COHORTS
        key = cohort + COHORTS * chance.integers(0, self.keys // COHORTS, ordinary + late)
        spread = (35 * SECOND, 50 * SECOND) if is_stuck(batch) else (-DISORDER, 60 * SECOND)
        at = START + minute(batch) * 60 * SECOND + chance.integers(*spread, ordinary + late)
        at[ordinary:] -= 3600 * SECOND
        order = chance.permutation(ordinary + late)
        number = (batch << 20) + np.arange(ordinary + late)
        value = (number.astype(np.uint64) * np.uint64(2_654_435_761) % np.uint64(1 << 31)) / 64
        return pa.table([key[order], at[order], value, number], SCHEMA.names).cast(SCHEMA)


class SoakSource(DataSource):
    """The rows as a stream: a batch for each micro-batch, until there is a file `stop`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "windrow-soak"

    def __init__(self, options: Mapping[str, str]) -> None:
        self.workload = Workload(int(options["keys"]), int(options["rows"]))
        self.stop = Path(options["stop"])

    def schema(self) -> str:
        """Return the columns."""
        return "key bigint, ts timestamp, value double, id bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return the reader of the rows."""
        return SoakReader(self)


@dataclass
class Batch(InputPartition):
    """A batch, which one task makes."""

    number: int


class SoakReader(DataSourceStreamReader):
    """An offset is the number of the next batch."""

    def __init__(self, source: SoakSource) -> None:
        self.source = source

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first batch."""
        return {"batch": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        """Return an offset of one batch more, unless it is time to stop."""
        return {"batch": start["batch"] + (not self.source.stop.exists())}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return a task for each batch."""
        return [Batch(number) for number in range(start["batch"], end["batch"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a batch."""
        assert isinstance(partition, Batch)
        yield from self.source.workload.rows_of(partition.number).to_batches()
