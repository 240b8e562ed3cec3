"""Files of rows, and queries that read them as micro-batches."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DDL = "key long, ts timestamp, v double"


class Feed:
    """A directory to which files are added, and the checkpoint of what reads it."""

    def __init__(self, spark: Any, path: Path, keys: int, per_second: int) -> None:
        self.spark, self.path, self.keys, self.step = spark, path, keys, 10**6 // per_second
        self.rows = self.files = 0
        shutil.rmtree(path, ignore_errors=True)
        (path / "in").mkdir(parents=True)

    def add(self, rows: int) -> None:
        """One more file, one more micro-batch."""
        random = np.random.default_rng(self.files)
        at = 10**15 + (self.rows + np.arange(rows)) * self.step
        table = pa.table(
            {
                "key": random.integers(0, self.keys, rows),
                "ts": pa.array(at, pa.timestamp("us", "UTC")),
                "v": random.random(rows),
            }
        )
        file = self.path / "in" / f"{self.files:05}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1e9 + self.files, 1e9 + self.files))
        self.rows += rows
        self.files += 1

    def run(self, make: Callable[[Any], Any], mode: str = "append") -> tuple[list[Any], float]:
        """Read what there is: the progress of each micro-batch, and the seconds of all."""
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        start = time.perf_counter()
        query = (
            make(reader.parquet(str(self.path / "in")))
            .writeStream.format("noop")
            .outputMode(mode)
            .option("checkpointLocation", str(self.path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return list(query.recentProgress), time.perf_counter() - start

    def again(self) -> None:
        """Let the next query start from the first file."""
        shutil.rmtree(self.path / "checkpoint", ignore_errors=True)


def speed(progress: list[Any]) -> float:
    """Thousands of rows a second, of all micro-batches but the first."""
    rows = sum(p["numInputRows"] for p in progress[1:])
    return float(rows / sum(p["durationMs"]["triggerExecution"] for p in progress[1:]))


def written(progress: list[Any]) -> int:
    """Bytes that the state store wrote."""
    name = "rocksdbTotalBytesWritten"
    return sum(o["customMetrics"].get(name, 0) for p in progress for o in p["stateOperators"])
