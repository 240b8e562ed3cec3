"""The same through Spark Connect, where a frame is a plan and the session is another process'."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
    from pyspark.errors import AnalysisException
    from pyspark.sql import SparkSession
    from tests.spark.conftest import SETTINGS
    from tests.spark.frames import alike, frame_of, rows
    from windrow import ArgMax, Collect, Count, Max, Sum, aggregation, sliding

    builder = SparkSession.builder.remote("local[2]")
    for name, value in SETTINGS.items():
        builder.config(name, value)
    spark = builder.getOrCreate()
    table = rows(120)
    frame = frame_of(spark, table)
    assert "connect" in type(frame).__module__
    own = aggregation("x", lift=lambda v: v * v, combine=lambda a, b: a + b, lower=lambda s: s)
    parts = dict(n=Count(), total=Sum("x * 2"), at=ArgMax("u", "t"), all=Collect("m"), own=own)

    keyed = sliding(parts, partition_by=["key", "part"], order_by=["t", "id"], rows=4)
    alike(frame.transform(keyed).toArrow(), keyed(table), ["id"])
    hops = sliding(partition_by="key", order_by="t", range="2 hours", slide="1 hour", n=Count())
    alike(frame.transform(hops).toArrow(), hops(table), ["key", "window_start"])
    whole = sliding(parts, order_by="u", range=15)
    alike(frame.transform(whole).toArrow(), whole(table), ["id"])
    try:
        frame.transform(sliding(order_by="id", rows=2, m=Max("y")))
    except AnalysisException as error:
        assert "The DataFrame's columns are:" in str(error), error
    else:
        raise AssertionError("no error")
    print("all agree")
    spark.stop()
"""


@pytest.mark.slow
def test_connect_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed: windrow[spark-connect]")
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(root),
        "SPARK_TESTING": "1",  # any free port, and not one for all
    }
    script = tmp_path / "script.py"  # a file, as functions compile from their source
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    assert "all agree" in done.stdout
