"""INTERVAL DAY TO SECOND on Spark: as Spark's own sum and avg of it, batch and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.frames import agree, alike, frame_of
from tests.tables.test_intervals import PARTS, rows
from windrow import Delta, First, Mean, Sum, Variance, sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = {
    "total": "sum(d)", "mean": "avg(d)", "low": "min(d)", "high": "max(d)",
    "range": "max(d) - min(d)", "first": "first(d, true)",
    "change": "last(d, true) - first(d, true)",
}  # fmt: skip


def test_windows_a_row_are_sparks_own(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    frame = frame_of(spark, rows(300, seed=1))
    query = sliding(PARTS, partition_by="key", order_by="ts", range="30 seconds")
    span = "RANGE BETWEEN INTERVAL 30 SECONDS PRECEDING AND CURRENT ROW"
    over = f"OVER (PARTITION BY key ORDER BY ts {span})"
    for name, text in TEXTS.items():
        parts = [f"{part} {over}" for part in text.split(" - ")]
        frame = frame.withColumn(f"spark_{name}", sf.expr(" - ".join(parts)))
    made = frame.transform(query)
    assert all(dict(made.dtypes)[name] == "interval day to second" for name in PARTS)
    agree(made.toArrow(), list(PARTS))


def test_hopping_windows_are_sparks_own(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    frame = frame_of(spark, rows(300, seed=2))
    few = {n: p for n, p in PARTS.items() if not isinstance(p, First | Delta)}
    query = sliding(few, partition_by="key", order_by="ts", range="1 minute", slide="20 seconds")
    assert "Spark aggregates the slices" in query.explain(frame)
    theirs = frame.groupBy("key", sf.window("ts", "1 minute", "20 seconds")).agg(
        *[sf.expr(TEXTS[name]).alias(name) for name in few]
    )
    theirs = theirs.select(
        "key", sf.col("window.start").alias("window_start"),
        sf.col("window.end").alias("window_end"), *few,
    )  # fmt: skip
    alike(frame.transform(query).toArrow(), theirs.toArrow(), ["key", "window_start"])


def test_what_takes_numbers_says_what_to_write(spark: SparkSession) -> None:
    frame = frame_of(spark, rows(10, seed=2))
    with pytest.raises(Exception, match="d div INTERVAL '1' SECOND in Spark"):
        frame.transform(sliding(order_by="ts", rows=2, v=Variance("d")))


@pytest.mark.slow
def test_a_stream(spark: SparkSession, tmp_path: object) -> None:
    table = rows(120, seed=4)
    path = f"{tmp_path}/in"
    frame = frame_of(spark, table)
    frame.write.parquet(path)
    query = sliding(
        partition_by="key", order_by="ts", rows=5, lateness="1 second", s=Sum("d"), m=Mean("d")
    )
    stream = spark.readStream.schema(frame.schema).parquet(path).transform(query)
    running = (
        stream.writeStream.format("memory")
        .queryName("intervals")
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    made = spark.table("intervals").toArrow().sort_by("id")
    whole = query(table).sort_by("id")
    assert made.num_rows > 100
    assert made.column("s").to_pylist() == whole.column("s").to_pylist()[: made.num_rows]
    assert made.column("m").to_pylist() == whole.column("m").to_pylist()[: made.num_rows]
