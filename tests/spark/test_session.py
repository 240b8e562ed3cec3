"""The ground under the Spark tests: Arrow batches reach a worker that runs this very Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_run_this_python(spark: SparkSession) -> None:
    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import windrow

        for _ in batches:
            found = [f"{sys.executable} {windrow.__version__}"]
            yield pa.RecordBatch.from_pydict({"found": found})

    import windrow

    rows = spark.range(1).mapInArrow(tell, "found string").collect()
    assert [row.found for row in rows] == [f"{sys.executable} {windrow.__version__}"]


def test_times_are_utc(spark: SparkSession) -> None:
    row = spark.sql("SELECT cast(timestamp'1970-01-01 00:00:01' AS double) AS t").first()
    assert row is not None and row.t == 1.0


def test_frames_convert_without_warnings(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, timestamp_micros(id) AS ts FROM range(3)")
    assert frame.toPandas()["id"].tolist() == [0, 1, 2]
    assert frame.toArrow().column("id").to_pylist() == [0, 1, 2]
    assert spark.createDataFrame(frame.toPandas()).count() == 3
    assert spark.createDataFrame(frame.toArrow()).count() == 3
