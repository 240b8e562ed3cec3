"""A local Spark, and the rows that all questions are asked about."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

KEYS = 1000
HOURS = 10  # that the rows of a frame spread over, so that an hour is a tenth of them


def session(cores: int, memory: str) -> Any:
    """A local Spark with nothing beside it."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").appName("windrow benchmark")
    for name, value in {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("FATAL")  # Spark tells at length what it cannot compile
    return made


def data(spark: Any, rows: int, keys: int = KEYS) -> Any:
    """Rows of (key, ts, v) at equal steps over ten hours."""
    from pyspark.sql import functions as sf

    step = HOURS * 3_600_000_000 / rows
    return spark.range(rows).select(
        (sf.col("id") % keys).alias("key"),
        sf.timestamp_micros((sf.col("id") * step).cast("long")).alias("ts"),
        sf.rand(1).alias("v"),
    )


def seconds(frame: Any) -> float:
    """How long all rows of a frame take to come out."""
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start
