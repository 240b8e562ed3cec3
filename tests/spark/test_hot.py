"""Keys with most of the rows are cut into ranges, and everything is as Spark's own windows say."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from tests.spark.frames import slow
from windrow import ArgMax, Collect, Concat, Count, Last, Max, StdDev, Sum, sliding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = {"n": Count(), "c": Count("v"), "m": Max("v"), "s": Sum("v"), "d": StdDev("v")}
TIED = {"at": ArgMax("v", "id"), "word": Max("name")}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """The key "a" has four rows of ten, no key three, and ten others the rest."""
    from pyspark.sql import functions as sf

    share = sf.col("id") % 10
    other = sf.concat(sf.lit("k"), (sf.col("id") * 7919 % 10).cast("string"))
    frame = spark.range(2000).select(
        "id",
        sf.when(share < 4, "a").when(share >= 7, other).alias("key"),
        sf.when(share < 4, sf.lit(0.0)).otherwise(sf.lit(float("nan"))).alias("part"),
        sf.when(
            sf.rand(9) > 0.01, sf.timestamp_seconds((sf.rand(1) * 7200 - 3600).cast("long"))
        ).alias("ts"),
        sf.when(sf.rand(5) > 0.1, sf.rand(3)).alias("v"),
        sf.concat(sf.lit("s"), sf.col("id") % 50).alias("name"),
    )
    frame = frame.cache()
    yield frame
    frame.unpersist()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of five hundred rows is hot, and ranges are short."""
    groups = import_module("windrow.spark.groups")
    ranges = import_module("windrow.spark.ranges")
    run = import_module("windrow.spark.dataframe")
    monkeypatch.setattr(ranges, "HOT_ROWS", 500)
    monkeypatch.setattr(ranges, "SMALL", 500)
    monkeypatch.setattr(ranges, "HOT_SAMPLE", 1.0)
    monkeypatch.setattr(groups, "FEWEST", 150)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(groups, "BINS", 4)
    monkeypatch.setattr(run, "_tasks", lambda frame: 4)


def both(frame: DataFrame, query: Any, window: Any, tied: bool = False) -> None:
    """The results of the query are those of Spark's window."""
    from pyspark.sql import functions as sf

    asked = {
        "n": sf.count(sf.lit(1)), "c": sf.count("v"), "m": sf.max("v"), "s": sf.sum("v"),
        "d": sf.stddev("v"), "at": sf.max_by("id", "v"), "word": sf.max("name"),
    }  # fmt: skip
    made = frame.transform(query)
    assert "windrow_tag" in made._jdf.queryExecution().toString(), "no key was cut"  # type: ignore[operator]
    names = list(query.parts)
    theirs = frame.select("*", *[asked[name].over(window).alias(name) for name in names])
    pd.testing.assert_frame_equal(
        made.orderBy("id").toPandas(), theirs.orderBy("id").toPandas(), rtol=1e-9
    )


@pytest.mark.parametrize("seconds", [slow(10), 5000])
def test_two_hot_keys_by_time(rows: DataFrame, seconds: int) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    window = Window.partitionBy("key").orderBy(sf.col("ts").cast("long")).rangeBetween(-seconds, 0)
    query = sliding(partition_by="key", order_by="ts", range=f"{seconds} s", **PARTS, **TIED)
    both(rows, query, window)


@pytest.mark.parametrize("size", [slow(30), 700, slow("unbounded")])
def test_two_hot_keys_by_rows(rows: DataFrame, size: Any) -> None:
    from pyspark.sql import Window

    begin = Window.unboundedPreceding if size == "unbounded" else 1 - size
    window = Window.partitionBy("key").orderBy("id").rowsBetween(begin, 0)
    both(rows, sliding(partition_by="key", order_by="id", rows=size, **PARTS), window)


@pytest.mark.parametrize("ends", [(-90, 60), slow((-600, -300))], ids=str)
def test_frames_of_two_hot_keys(rows: DataFrame, ends: tuple[int, int]) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    window = Window.partitionBy("key").orderBy(sf.col("ts").cast("long")).rangeBetween(*ends)
    seconds = tuple(f"{end} s" for end in ends)
    both(rows, sliding(partition_by="key", order_by="ts", range=seconds, **PARTS, **TIED), window)


@pytest.mark.slow
def test_keys_of_several_columns(rows: DataFrame) -> None:
    from pyspark.sql import Window

    window = Window.partitionBy("part", "key").orderBy("id").rowsBetween(-99, 0)
    query = sliding(partition_by=["part", "key"], order_by="id", rows=100, **PARTS)
    both(rows, query, window)


@pytest.mark.slow
@pytest.mark.parametrize("size", [slow(100), 600])
def test_what_does_not_commute(rows: DataFrame, size: int) -> None:
    query = sliding(
        partition_by="key", order_by="id", rows=size, having="n > 3",
        words=Concat("name"), all=Collect("v"), last=Last("v"), n=Count(),
    )  # fmt: skip
    made = rows.transform(query).orderBy("id").toArrow()
    wanted = query(rows.orderBy("id").toArrow())
    assert made.num_rows == wanted.num_rows < 2000
    for name in ("id", "words", "all", "last", "n"):
        assert made.column(name).to_pylist() == wanted.column(name).to_pylist(), name


def test_times_as_keys(spark: SparkSession) -> None:
    """The hour that comes twice in autumn is two keys, whatever the zone of the session."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        frame = spark.range(1500).select(
            "id",
            sf.timestamp_seconds(1792886400 + 3600 * (sf.col("id") % 2)).alias("key"),
            sf.rand(1).alias("v"),
        )
        window = Window.partitionBy("key").orderBy("id").rowsBetween(-9, 0)
        both(frame, sliding(partition_by="key", order_by="id", rows=10, m=Max("v")), window)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_small_frames_are_not_looked_at(rows: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = import_module("windrow.spark.ranges")
    monkeypatch.setattr(ranges, "SMALL", 1 << 20)
    monkeypatch.setattr(ranges, "HOT_SAMPLE", None)  # a job would fail
    query = sliding(partition_by="key", order_by="id", rows=10, m=Max("v"))
    assert "windrow_tag" not in rows.transform(query)._jdf.queryExecution().toString()  # type: ignore[operator]
