"""Short windows by Spark's own window functions: chosen where they pay, and equal to ours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from windrow import BitAnd, BitOr, Count, Max, Min, Sum, shared, sliding
from windrow.kernels.routes import traced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE = {"partition_by": "key", "order_by": "ts"}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """Values with nulls, NaN, infinities and both zeros; texts and whole numbers."""
    from pyspark.sql import functions as sf

    i = sf.col("id")
    odd = sf.when(i % 7 == 0, None).when(i % 11 == 0, sf.lit(float("nan")))
    odd = odd.when(i % 13 == 0, sf.lit(float("-inf"))).when(i % 5 == 0, -0.0).when(i % 3 == 0, 0.0)
    return spark.range(3000).select(
        (i % 37).alias("key"),
        sf.timestamp_seconds(i).alias("ts"),
        odd.otherwise(sf.rand(3)).alias("v"),
        sf.when(i % 9 != 0, sf.xxhash64(i) % 50).alias("n"),
        sf.when(i % 4 != 0, sf.concat(sf.lit("é"), sf.hash(i).cast("string"))).alias("a`b.c"),
    )


RESULTS: dict[str, Any] = {
    "largest": Max("v"),
    "smallest": Min("v"),
    "text": Max("a`b.c"),
    "many": Count("v"),
    "every": Count(),
    "both": BitAnd("n"),
    "either": BitOr("n"),
    "chosen": Max("v").where("n > 0"),
}


@pytest.mark.parametrize("rows", [1, 5, "unbounded"])
def test_frames_say_what_a_pass_over_the_rows_says(
    frame: DataFrame, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = sliding(**ONE, rows=rows, **RESULTS)
    module = import_module("windrow.spark.frames")
    tables = []
    for work, way in ((1000, "frames"), (0, "keys")):
        monkeypatch.setattr(module, "WORK", work)
        with traced() as chosen:
            result = frame.transform(query)
        assert chosen == [(repr(query.window), way)]
        tables.append(result.orderBy("ts").toArrow())
    ours, theirs = tables
    assert ours.schema.equals(theirs.schema)
    for name in ours.column_names:
        pairs = zip(*(t.column(name).to_pylist() for t in (ours, theirs)), strict=True)
        assert all(a == b or (a != a and b != b) for a, b in pairs), name


@pytest.mark.parametrize(
    ("query", "way"),
    [
        (sliding(**ONE, rows=8, peak=Max("v")), "frames"),
        (sliding(**ONE, rows="unbounded", peak=Max("v"), low=Min("v")), "frames"),
        (sliding(**ONE, rows=1000, peak=Max("v")), "keys"),
        (sliding(**ONE, rows=(-2, 1), peak=Max("v")), "keys"),  # not the last rows
        (sliding(**ONE, rows=8, total=Sum("v")), "keys"),  # another order, another last bit
        (sliding(**ONE, rows=8, min_rows=3, peak=Max("v")), "keys"),
        (sliding(**ONE, rows=8, having="peak > 1", peak=Max("v")), "keys"),
        (sliding(order_by="ts", rows=8, peak=Max("v")), "one task"),
        (
            shared(sliding(**ONE, rows=4, peak=Max("v")), sliding(**ONE, rows=2, low=Min("v"))),
            "frames",
        ),
    ],
    ids=str,
)
def test_frames_are_for_few_rows(frame: DataFrame, query: Any, way: str) -> None:
    with traced() as chosen:
        result = frame.transform(query)
    assert {each for _, each in chosen} == {way}
    assert result.count() > 0


def test_frames_are_not_for_segment_trees(spark: SparkSession, frame: DataFrame) -> None:
    queries = [sliding(**ONE, rows=rows, peak=Max("v")) for rows in (8, "unbounded")]
    spark.conf.set("spark.sql.window.segmentTree.enabled", "true")
    try:
        with traced() as chosen:
            for query in queries:
                frame.transform(query)
    finally:
        spark.conf.unset("spark.sql.window.segmentTree.enabled")
    assert [way for _, way in chosen] == ["keys", "frames"]


def test_nothing_comes_between_the_windows_and_the_result(frame: DataFrame) -> None:
    made = frame.transform(sliding(**ONE, rows=8, peak=Max("v")))
    plan = made._jdf.queryExecution().executedPlan().toString()
    names = [line.strip(" +-:") for line in plan.splitlines()]
    assert names[0].startswith("AdaptiveSparkPlan")
    assert names[1].startswith("Window")


def test_the_plan_says_so(frame: DataFrame) -> None:
    text = sliding(**ONE, rows=8, peak=Max("v")).explain(frame)
    assert "Spark's own window functions" in text
