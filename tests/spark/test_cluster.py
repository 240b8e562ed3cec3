"""A cluster of two machines' worth of processes on this one: nothing is shared but what is sent."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
    import os, sys
    from pathlib import Path
    from pyspark.sql import SparkSession, functions as F
    from tests.spark.conftest import SETTINGS
    from tests.spark.frames import alike, frame_of, rows
    from windrow import Collect, Count, Sum, aggregation, sliding

    cache = Path(sys.argv[1])
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    settings = {
        **SETTINGS,
        "spark.executorEnv.WINDROW_CACHE_DIR": str(cache),
        "spark.executorEnv.PYTHONPATH": "",  # workers have what is installed, and nothing of ours
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
    }
    for name, value in settings.items():
        builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # no aggregation of windrow's own has these functions: it must be compiled on the cluster
    own = aggregation(
        "x", lift=lambda v: (v, 3 * v - 7), combine=lambda a, b: (a[0] + b[0], a[1] + b[1] - 1),
        lower=lambda s: s[0] - s[1] % 1013,
    )
    table = rows(400)
    query = sliding(
        partition_by=["key", "part"], order_by=["t", "id"], rows=6,
        n=Count(), total=Sum("m"), own=own, all=Collect("s"),
    )
    frame = frame_of(spark, table).repartition(6)

    def compiled():
        return sorted(path.name for path in cache.rglob("*.code"))

    alike(frame.transform(query).toArrow(), query(table), ["id"])
    first = compiled()
    assert first, "nothing was compiled into the cache of the workers"
    spark.conf.set("spark.sql.shuffle.partitions", "24")
    alike(frame.transform(query).toArrow(), query(table), ["id"])
    assert compiled() == first, (first, compiled())

    def tell(batches):
        import os
        import pyarrow as pa
        for batch in batches:
            pids = pa.array([os.getppid()] * batch.num_rows, pa.int64())
            yield pa.record_batch({"pid": pids})

    pids = spark.range(0, 100, 1, 8).mapInArrow(tell, "pid long").distinct().count()
    print("all agree; daemons:", pids)
    assert pids == 2, pids
    spark.stop()
"""


@pytest.mark.slow
def test_two_workers(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")
    home = tmp_path / "spark"  # workers write beside what they run
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    cache = tmp_path / "cache"
    cache.mkdir()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    script = tmp_path / "script.py"  # a file, as functions compile from their source
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(cache)],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    assert "all agree" in done.stdout
