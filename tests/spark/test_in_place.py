"""Without a key: partitions that follow each other along the order keep their rows."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.spark.frames import same_bits, slow
from windrow import ArgMax, Collect, Count, First, Last, Max, Min, Sum, shared, sliding
from windrow.kernels.routes import traced

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PARTS = {
    "n": Count(), "c": Count("v"), "high": Max("v"), "low": Min("v"), "total": Sum("id"),
    "at": ArgMax("v", "id"), "first": First("name"), "last": Last("v"),
}  # fmt: skip
ROWS = 1200


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred rows are enough."""
    for name in ("in_place", "groups"):
        monkeypatch.setattr(import_module(f"windrow.spark.{name}"), "FEWEST", 100)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 4)


def frame_of(spark: SparkSession, at: Column | None = None, partitions: int = 5) -> DataFrame:
    """Rows whose order column `t` is this expression of their number."""
    from pyspark.sql import functions as sf

    made = sf.timestamp_seconds(sf.col("id") * 7) if at is None else at
    return spark.range(0, ROWS, 1, partitions).select(
        "id",
        made.alias("t"),
        sf.when(sf.rand(5) > 0.1, sf.rand(3)).alias("v"),
        sf.concat(sf.lit("s"), sf.col("id") % 50).alias("name"),
    )


def run(frame: DataFrame, query: Any, way: str = "partitions") -> pa.Table:
    """The result in the order of the rows' numbers, by this plan."""
    with traced() as chosen:
        result = frame.transform(query)
    assert {each for _, each in chosen} == {way}
    return result.orderBy("id").toArrow()


def locally(frame: DataFrame, query: Any, like: pa.Table) -> pa.Table:
    """The result of the rows as one table."""
    return query(frame.orderBy("id").toArrow()).cast(like.schema)


@pytest.mark.parametrize("size", ["1 second", "3 minutes", "5 hours"])
def test_results_are_those_of_one_table(spark: SparkSession, size: str) -> None:
    frame = frame_of(spark).cache()
    query = sliding(order_by="t", range=size, all=Collect("id"), **PARTS)
    made = run(frame, query)
    same_bits(made, locally(frame, query, made))
    frame.unpersist()


@pytest.mark.parametrize("power", [slow(1), 3])  # later rows lie farther apart
@pytest.mark.parametrize("size", [slow(1), slow(2), 40, slow(300), 700])
def test_windows_of_rows_are_those_of_spark(spark: SparkSession, size: int, power: int) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    frame = frame_of(spark, (sf.col("id") ** power).cast("long"))
    query = sliding(order_by="t", rows=size, n=Count(), c=Count("v"), high=Max("v"), low=Min("id"))
    made = run(frame, query)
    over = Window.orderBy("t").rowsBetween(1 - size, 0)
    asked = {"n": sf.count(sf.lit(1)), "c": sf.count("v"), "high": sf.max("v"), "low": sf.min("id")}
    theirs = frame.select("*", *[each.over(over).alias(name) for name, each in asked.items()])
    same_bits(made, theirs.orderBy("id").toArrow().cast(made.schema))


def test_windows_of_rows_along_a_falling_order(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    frame = frame_of(spark, sf.lit(0.5) - sf.col("id") * 0.25)
    query = sliding(order_by="t", rows=260, words=Collect("id"), **PARTS)
    made = run(frame, query)
    wanted = query(frame.orderBy("t").toArrow()).sort_by("id").combine_chunks()
    same_bits(made, wanted.cast(made.schema))


@pytest.mark.parametrize("size", [slow("10 seconds"), "50 minutes"])
def test_windows_of_rows_and_of_time_together(spark: SparkSession, size: str) -> None:
    frame = frame_of(spark)
    queries = [
        sliding(order_by="t", rows=100, n=Count(), first=First("name")),
        sliding(order_by="t", range=size, high=Max("v"), ids=Collect("id")),
    ]
    made = run(frame, shared(*queries))
    for query in queries:
        alone = locally(frame, query, run(frame, query))
        names = list(query.parts)
        same_bits(made.select(names), alone.select(names))


@pytest.mark.slow
def test_more_rows_than_the_driver_takes_are_moved(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as sf

    monkeypatch.setattr(import_module("windrow.spark.in_place"), "MOST_BYTES", 1 << 12)
    run(frame_of(spark), sliding(order_by="t", rows=20, n=Count(), high=Max("v")))
    run(frame_of(spark), sliding(order_by="t", rows=200, n=Count(), high=Max("v")), "ranges")
    # half of a partition lies at the end of its span
    crowded = sf.when(sf.col("id") % 240 < 5, sf.col("id") * 1000).otherwise(
        sf.col("id") + sf.floor(sf.col("id") / 240 + 1) * 239_000
    )
    run(frame_of(spark, crowded), sliding(order_by="t", rows=20, n=Count()), "ranges")


def test_nothing_is_shuffled(spark: SparkSession) -> None:
    frame = frame_of(spark)
    query = sliding(order_by="t", range="3 minutes", **PARTS)
    plan = frame.transform(query)._jdf.queryExecution().executedPlan().toString()
    assert "Exchange" not in plan
    assert "rows stay in them" in query.explain(frame)


def test_partitions_need_not_be_numbered_along_the_order(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    frame = frame_of(spark, -sf.col("id"))
    query = sliding(order_by="t", range=300, **PARTS)
    made = run(frame, query)
    same_bits(made, locally(frame, query, made))


@pytest.mark.parametrize(
    "kind", ["double", *map(slow, ("float", "short", "date")), "timestamp_ntz"]
)
def test_every_type_of_order(spark: SparkSession, kind: str) -> None:
    from pyspark.sql import functions as sf

    at = sf.col("id").cast("double").cast(kind)
    size: Any = 250
    if kind in ("date", "timestamp_ntz"):
        at = sf.date_add(sf.lit("2024-01-01").cast("date"), sf.col("id").cast("int")).cast(kind)
        size = "250 days"
    frame = frame_of(spark, at)
    for window in ({"range": size}, {"rows": 250}):
        query = sliding(order_by="t", **window, **PARTS)
        made = run(frame, query)
        same_bits(made, locally(frame, query, made))


def test_shared_queries_and_having(spark: SparkSession) -> None:
    frame = frame_of(spark)
    by = {"order_by": "t", "having": "n > 2"}
    query = sliding(**by, range="30 seconds", **PARTS)
    made = run(frame, query)
    assert 0 < made.num_rows < ROWS
    same_bits(made, locally(frame, query, made))
    queries = [
        sliding(order_by="t", range="10 seconds", n=Count()),
        sliding(order_by="t", range="1 hour", high=Max("v")),
    ]
    made = run(frame, shared(*queries))
    for query, name in zip(queries, ("n", "high"), strict=True):
        same_bits(made.select([name]), run(frame, query).select([name]))


@pytest.mark.slow
def test_what_comes_after_may_join_partitions(spark: SparkSession) -> None:
    frame = frame_of(spark)
    query = sliding(order_by="t", range="10 minutes", **PARTS)
    made = run(frame, query)
    result = frame.transform(query)
    joined = result.coalesce(2).orderBy("id").toArrow()
    same_bits(joined, made)
    assert result.where("id % 2 = 0").limit(7).count() == 7
    twice = result.union(result).orderBy("id").toArrow()
    assert twice.num_rows == 2 * ROWS
    same_bits(twice.take(pa.array(range(0, 2 * ROWS, 2))), made)


def test_rows_that_overlap_are_moved(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as sf

    monkeypatch.setattr(import_module("windrow.spark.groups"), "FEWEST", 100)
    query = sliding(order_by="t", range=100, **PARTS)
    for at in (
        sf.col("id").bitwiseXOR(sf.lit(255)),  # partitions overlap
        sf.floor(sf.col("id") / 7) * 7,  # rows with one place lie in two partitions
        sf.when(sf.col("id") != 500, sf.col("id")),  # a row has no place
    ):
        with traced() as chosen:
            frame_of(spark, at).transform(sliding(order_by="t", range=100, n=Count()))
        assert {way for _, way in chosen} == {"ranges"}
    shuffled = frame_of(spark, sf.col("id")).repartition(3)
    made = run(shuffled, query, "ranges")
    same_bits(made, locally(shuffled, query, made))


@pytest.mark.slow
def test_long_halos_are_not_collected(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    in_place = import_module("windrow.spark.in_place")
    monkeypatch.setattr(in_place, "MOST_BYTES", 1 << 12)
    frame = frame_of(spark)
    run(frame, sliding(order_by="t", range="1 minute", n=Count()))
    run(frame, sliding(order_by="t", range="2 hours", n=Count()), "ranges")


def test_rows_that_change_are_noticed(spark: SparkSession) -> None:
    in_place = import_module("windrow.spark.in_place")
    frame = frame_of(spark)
    query = sliding(order_by="t", range="3 minutes", n=Count())
    dataframe = import_module("windrow.spark.dataframe")
    bounds, _, frame = dataframe._prepared_all(query, frame)
    found = in_place.stretches_of(bounds, frame, 4)
    schema = import_module("windrow.spark.schema").result_schema(bounds, frame, frame.columns)
    for gone in (700, 720):  # a row in the middle of its partition, and a first one
        fewer = frame.where(f"id != {gone}")
        with pytest.raises(Exception, match="its rows change from one run to the next"):
            in_place.in_place(bounds, fewer, schema, found).toArrow()


def test_a_small_frame_runs_no_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("windrow.spark.groups"), "FEWEST", 1 << 16)
    frame = frame_of(spark).cache()
    frame.count()
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    with traced() as chosen:
        frame.transform(sliding(order_by="t", range="3 minutes", n=Count()))
    assert {way for _, way in chosen} == {"one task"}
    assert set(tracker.getJobIdsForGroup()) == before
    frame.unpersist()
