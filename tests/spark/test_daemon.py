"""Workers that start with windrow loaded."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from windrow import Max, sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def started(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What started a worker, and how many objects are set apart from garbage."""
    for _ in batches:
        command = Path(f"/proc/{os.getppid()}/cmdline").read_text()
        yield pa.RecordBatch.from_pylist([{"daemon": command, "apart": gc.get_freeze_count()}])


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux tells")
def test_the_daemon_starts_workers_with_windrow_loaded(spark: SparkSession) -> None:
    frame = spark.range(1, numPartitions=1).mapInArrow(started, "daemon string, apart long")
    (row,) = frame.collect()
    assert "windrow.spark.daemon" in row.daemon
    assert row.apart > 50_000


def test_the_stages_of_a_stream_share_their_workers(spark: SparkSession) -> None:
    """Spark has a daemon for each environment, and tells all but stateful functions to be short."""
    rows = spark.readStream.format("rate").load()
    query = sliding(order_by="timestamp", rows=2, lateness="1 second", m=Max("value"))
    java: Any = rows.transform(query)._jdf  # type: ignore[operator]
    nodes = [java.queryExecution().analyzed()]
    while nodes[0].nodeName() != "TransformWithStateInPySpark":
        children = nodes[0].children()
        nodes = [*nodes[1:], *(children.apply(i) for i in range(children.size()))]
    told = nodes[0].functionExpr().func().envVars()
    wanted = spark.conf.get("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled")
    assert (wanted, told.get("SPARK_SIMPLIFIED_TRACEBACK")) == ("true", "1")
    assert "SPARK_SIMPLIFIED_TRACEBACK" not in spark.sparkContext.environment


def test_the_driver_need_not_load_windows_to_tell_the_states_of_a_stream() -> None:
    """Spark starts a process for it with every stream."""
    code = (
        "import sys, windrow.spark.stream_state; "
        "print([m for m in ('numba', 'numpy', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
