"""A local Spark with nothing beside it, and the rows that it is asked about."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HOURS = 10  # that rows spread over, so that an hour is a tenth of them


@contextmanager
def session(
    cores: int = 0, memory: str = "3g", nodes: int = 0, settings: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """A session on so many cores, or on all of them; it ends with the block.

    With `nodes`, on a cluster of so many workers on this machine, each a process with one core.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    cores = cores or all_cores()
    builder: Any = SparkSession.builder
    master = f"local-cluster[{nodes},1,1024]" if nodes else f"local[{cores}]"
    builder = builder.master(master).appName("windrow bench")
    for name, value in {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        **(settings or {}),
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")  # it tells at length what it cannot compile
    try:
        yield spark
    finally:
        spark.stop()


def all_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def spark_rows(spark: Any, rows: int, keys: int, values: NDArray[np.float64] | None = None) -> Any:
    """Return rows of (key, ts, v) at equal steps over ten hours; v is random unless given."""
    from pyspark.sql import functions as sf

    step = HOURS * 3_600_000_000 / rows
    numbered = spark.range(rows).withColumn("v", sf.rand(1))
    if values is not None:
        table = pa.table({"id": np.arange(rows), "v": np.resize(values, rows)})
        numbered = spark.createDataFrame(table)
    return numbered.select(
        (sf.col("id") % keys).alias("key"),
        sf.timestamp_micros((sf.col("id") * step).cast("long")).alias("ts"),
        "v",
    )


def to_nowhere(frame: Any) -> None:
    """Compute all rows of a frame, and drop them."""
    frame.write.format("noop").mode("overwrite").save()
