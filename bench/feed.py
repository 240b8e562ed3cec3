"""Files that a stream reads, and queries that read them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet


class Feed:
    """A directory to which files are added, a file a micro-batch, and queries that read it."""

    def __init__(self, spark: Any, folder: Path, keys: int, per_second: int) -> None:
        self.spark, self.keys, self.step = spark, keys, 10**6 // per_second
        self.folder = folder / uuid.uuid4().hex
        self.rows = self.files = 0
        (self.folder / "in").mkdir(parents=True)

    def add(self, rows: int, table: pa.Table | None = None, groups: int = 1) -> None:
        """Write one more file: of made-up rows, or the next ones of a table; tasks share groups."""
        random = np.random.default_rng(self.files)
        if table is None:
            at = 10**15 + (self.rows + np.arange(rows)) * self.step
            table = pa.table(
                {
                    "key": random.integers(0, self.keys, rows),
                    "ts": pa.array(at, pa.timestamp("us", "UTC")),
                    "v": random.random(rows),
                }
            )
        else:
            table = table.slice(self.rows, rows)
        file = self.folder / "in" / f"{self.files:05}.parquet"
        parquet.write_table(table, file, row_group_size=-(-max(1, rows) // groups))
        os.utime(file, (1e9 + self.files, 1e9 + self.files))  # the order in which they are read
        self.rows += rows
        self.files += 1

    def run(
        self,
        make: Callable[[Any], Any],
        *,
        sink: str = "noop",
        checkpoint: str = "",
        seconds: float = 600.0,
    ) -> Any:
        """Read what there is, and return the query; with a name, a checkpoint is used again."""
        name = f"results_{uuid.uuid4().hex}"
        source = str(self.folder / "in")
        schema = self.spark.read.parquet(source).schema
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        writer = make(reader.parquet(source)).writeStream.format(sink).queryName(name)
        writer = writer.option("checkpointLocation", str(self.folder / (checkpoint or name)))
        query = writer.outputMode("append").trigger(availableNow=True).start()
        if not query.awaitTermination(max(1, int(seconds))):
            query.stop()
            raise TimeoutError(f"it took longer than {seconds:.0f} s")
        return query

    def row_seconds(self, make: Callable[[Any], Any], seconds: float) -> float:
        """Return the seconds a row of all micro-batches but the first, which starts workers."""
        progress = self.run(make, seconds=seconds).recentProgress[1:]
        rows = sum(batch["numInputRows"] for batch in progress)
        spent = sum(batch["durationMs"]["triggerExecution"] for batch in progress)
        return float(spent / 1e3 / max(1, rows))

    def total(self, make: Callable[[Any], Any], seconds: float) -> tuple[int, float]:
        """Return how many results there are, and the sum of their columns."""
        from pyspark.sql import functions as sf

        table = self.spark.table(self.run(make, sink="memory", seconds=seconds).name)
        row = table.agg(sf.count("m"), sf.sum("m") + sf.sum("a")).first()
        return int(row[0]), float(row[1] or 0.0)
