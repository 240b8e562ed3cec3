"""A local Spark with nothing beside it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(cores: int, memory: str = "2g") -> Any:
    """A session on so many cores; its workers run this Python."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder = builder.master(f"local[{cores}]").appName("windrow bench")
    for name, value in {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    }.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@contextmanager
def stopped(spark: Any) -> Iterator[Any]:
    """The session, and an end of it."""
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def bounded(spark: Any, seconds: float) -> Iterator[None]:
    """End what runs in the session after so long: it fails with a TimeoutError."""
    over = threading.Event()

    def end() -> None:
        over.set()
        spark.sparkContext.cancelAllJobs()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if over.is_set():
            raise TimeoutError(f"it took longer than {seconds:.0f} s") from error
        raise
    finally:
        timer.cancel()


def cores() -> int:
    """How many this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
