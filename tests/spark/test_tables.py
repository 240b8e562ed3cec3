"""Small partitions that workers hold and sort: chosen by size, and equal to the other plans."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from tests.spark.frames import agree, frame_of, rivals, rows, same_bits
from windrow import ArgMax, Collect, Count, Last, Max, Mean, Min, StdDev, Sum, shared, sliding
from windrow.kernels.routes import traced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS: dict[str, Any] = {
    "high": Max("odd"),
    "low": Min("f"),
    "total": Sum("f"),
    "mean": Mean("x"),
    "deviation": StdDev("f32"),
    "text": Max("s"),
    "at": ArgMax("u", "s"),
    "n": Count(),
}
# of what depends on the order of rows that share a time, there is no right last bit
TIED = {name: part for name, part in PARTS.items() if name != "deviation"}
QUERIES: dict[str, dict[str, Any]] = {
    "rows": {"order_by": "u", "rows": 7, "last": Last("m"), "all": Collect("x"), **PARTS},
    "a key of NaN": {"partition_by": ["part"], "order_by": "u", "rows": 50, **PARTS},
    "two columns": {"partition_by": ["key", "b"], "order_by": ["s", "u"], "rows": 9, **PARTS},
    "times with ties": {"order_by": "t", "range": "20 minutes", **TIED},
    "numbers with nulls": {"order_by": "o", "range": 10, **TIED},
    "numbers with NaN": {"order_by": "g", "range": 2.0, **TIED},
    "before and behind": {"order_by": "u", "rows": (-5, 3), **PARTS},
    "so far": {"order_by": "u", "rows": "unbounded", **PARTS},
    "fewest": {"order_by": "u", "rows": 5, "min_rows": 3, **PARTS},
    "having": {"order_by": "u", "rows": 5, "having": "n > 4 AND low < 1", **PARTS},
    "policy": {"order_by": "u", "until": lambda total, old: False, "total": Sum("x"), "n": Count()},
}  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, rows(900)).repartition(3).cache()


def run(frame: DataFrame, query: Any, way: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The result by a plan, in the order of the rows' numbers."""
    keys = import_module("windrow.spark.keys")
    monkeypatch.setattr(keys, "SORTED", 0 if way == "tables" else 1 << 62)
    with traced() as chosen:
        result = frame.transform(query)
    assert {each for _, each in chosen} == {way}
    return result.orderBy("id").toArrow()


@pytest.mark.parametrize("name", QUERIES)
def test_results_are_those_of_sorted_partitions(
    frame: DataFrame, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = sliding(**{"partition_by": "key", **QUERIES[name]})
    same_bits(*(run(frame, query, way, monkeypatch) for way in ("tables", "keys")))


def test_queries_share_a_partition(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    by_key = {"partition_by": "key", "order_by": "t"}
    query = shared(
        sliding(**by_key, range="1 hour", peak=Max("f"), n=Count()),
        sliding(**by_key, range="5 hours", total=Sum("x")),
    )
    same_bits(*(run(frame, query, way, monkeypatch) for way in ("tables", "keys")))


def test_results_are_those_of_spark(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    monkeypatch.setattr(import_module("windrow.spark.keys"), "SORTED", 0)
    query = sliding(partition_by="key", order_by="u", rows=20, **PARTS)
    over = Window.partitionBy("key").orderBy("u").rowsBetween(-19, 0)
    sql = {
        "high": "max(odd)", "low": "min(f)", "total": "sum(f)", "mean": "avg(x)",
        "deviation": "stddev(f32)", "text": "max(s)", "at": "max_by(s, u)", "n": "count(*)",
    }  # fmt: skip
    theirs = {name: sf.expr(text).over(over) for name, text in sql.items()}
    agree(rivals(frame, query, theirs)[0], list(sql))


def test_an_overflow_says_at_which_row(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("windrow.spark.keys"), "SORTED", 0)
    big = "IF(id = 17, 9223372036854775807, 9) AS big"
    frame = spark.range(40).selectExpr("id", "id % 3 AS key", big)
    query = sliding(partition_by="key", order_by="id", rows=3, total=Sum("big"))
    with pytest.raises(Exception, match=r"at the row \{'key': 2"):
        frame.transform(query).toArrow()


def test_only_partitions_that_are_known_to_be_small(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = import_module("windrow.spark.keys")
    monkeypatch.setattr(keys, "HELD", 1 << 20)
    query = sliding(partition_by="key", order_by="id", rows=20, total=Sum("id"))
    ways = []
    for n in (1_000, 100_000, 300_000):  # bytes below SORTED, and of two partitions above HELD
        with traced() as chosen:
            spark.range(n).selectExpr("id", "id % 5 AS key").transform(query)
        ways += [way for _, way in chosen]
    assert ways == ["keys", "tables", "keys"]
    unknown = spark.createDataFrame(spark.range(100_000).selectExpr("id", "id % 5 AS key").rdd)
    with traced() as chosen:
        unknown.transform(query)
    assert [way for _, way in chosen] == ["keys"]


def test_no_job_runs_before_the_results_are_asked_for(spark: SparkSession) -> None:
    sc, group = spark.sparkContext, "no job for a small frame"
    frame = spark.range(300_000).selectExpr("id", "id % 5 AS key", "rand(1) AS v")
    sc.setJobGroup(group, group)
    try:
        frame.transform(sliding(partition_by="key", order_by="id", rows=20, peak=Max("v")))
        frame.transform(sliding(partition_by="key", order_by="id", rows=4, peak=Max("v")))
        assert list(sc.statusTracker().getJobIdsForGroup(group)) == []
    finally:
        sc.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_the_plan_says_so(spark: SparkSession) -> None:
    frame = spark.range(300_000).selectExpr("id", "id % 5 AS key")
    text = sliding(partition_by="key", order_by="id", rows=20, total=Sum("id")).explain(frame)
    assert "held and sorted by a worker" in text
