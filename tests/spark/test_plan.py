"""What a plan says of a DataFrame is what runs: on the driver, and in the workers."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from tests.queries.test_plan import policy_routes
from windrow import Collect, Count, Max, StdDev, Sum, shared, sliding, streaming
from windrow.kernels.routes import traced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANY = {"peak": Max("v"), "total": Sum("v"), "n": Count()}
QUERIES: dict[str, dict[str, Any]] = {
    "rows by key": {"partition_by": "key", "rows": 5, "deviation": StdDev("v"), **MANY},
    "range by key": {"partition_by": "key", "range": "9 s", **MANY},
    "range": {"range": "9 s", **MANY},
    "rows": {"rows": 7, **MANY},
    "so far": {"rows": "unbounded", **MANY},
    "hopping": {"partition_by": "key", "range": "9 s", "slide": "3 s", **MANY},
    "hopping lists": {"range": "9 s", "slide": "3 s", "all": Collect("v")},
    "policy": {"partition_by": "key", "until": lambda total, old: False, **MANY},
    "punctuation": {"on": "v > 0.9", **MANY},
    "sessions": {"partition_by": "key", "gap": "9 s", **MANY},
    "sessions without a key": {"gap": "9 s", **MANY},
}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as sf

    return spark.range(4000).select(
        (sf.col("id") % 5).alias("key"),
        sf.timestamp_seconds(sf.col("id")).alias("ts"),
        sf.rand(3).alias("v"),
    )


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of few rows, so that a small frame has several."""
    groups = import_module("windrow.spark.groups")
    monkeypatch.setattr(groups, "FEWEST", 400)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 4)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("name", QUERIES)
def test_a_frame_runs_its_plan(frame: DataFrame, name: str, trace: Any) -> None:
    query = sliding(order_by="ts", **QUERIES[name])
    plan = import_module("windrow.spark").plans([query], frame)[0]
    with traced() as chosen:
        result = frame.transform(query)
    assert chosen == [(repr(query.window), plan.spark)]
    said = {(repr(r.aggregation), r.route().name) for r in plan.results} | policy_routes(plan)
    if plan.spark in ("keys", "tables", "one task"):
        result.toArrow()
        assert trace() == said


def test_hopping_queries_share_their_slices(frame: DataFrame) -> None:
    hop = {"partition_by": "key", "order_by": "ts"}
    queries = [
        sliding(**hop, range="9 s", slide="3 s", peak=Max("v")),
        sliding(**hop, range="20 s", slide="7 s", mean=Sum("v"), n=Count()),
    ]
    with traced() as chosen:
        both = frame.transform(shared(*queries))
    assert {way for _, way in chosen} == {"slices"}
    made = both.toArrow().to_pylist()
    for i, query in enumerate(queries):
        alone = frame.transform(query).toArrow()
        mine = [{n: row[n] for n in alone.column_names} for row in made if row["query"] == i]
        order = operator.itemgetter("key", "window_start")
        wanted = sorted(alone.to_pylist(), key=order)
        assert [*map(rounded, sorted(mine, key=order))] == [*map(rounded, wanted)]


@pytest.mark.usefixtures("cut")
def test_queries_for_each_row_share_their_ranges(frame: DataFrame) -> None:
    queries = [
        sliding(order_by="ts", range="9 s", peak=Max("v")),
        sliding(order_by="ts", rows=30, total=Sum("v")),
    ]
    with traced() as chosen:
        both = frame.transform(shared(*queries))
    assert {way for _, way in chosen} == {"ranges"}
    assert both.rdd.getNumPartitions() > 1
    made = both.orderBy("ts").toArrow()
    for query, name in zip(queries, ("peak", "total"), strict=True):
        alone = frame.transform(query).orderBy("ts").toArrow()
        got, wanted = made.column(name).to_pylist(), alone.column(name).to_pylist()
        assert got == pytest.approx(wanted, rel=1e-12)


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {n: round(v, 9) if isinstance(v, float) else v for n, v in row.items()}


def test_of_a_stream_the_plan_says_what_waits_and_is_kept_and_nothing_of_frames(
    spark: SparkSession, frame: DataFrame
) -> None:
    stream = spark.readStream.format("rate").load().withColumnsRenamed({"timestamp": "ts"})
    stream = stream.selectExpr("value % 5 AS key", "ts", "CAST(value AS double) AS v")
    keyed = {"partition_by": "key", "order_by": "ts", "lateness": "9 s"}
    short = sliding(**keyed, rows=3, peak=Max("v"))
    hourly = sliding(**keyed, range="1 hour", peak=Max("v"), where="v > 1")
    sizes = sliding(**keyed, rows=[2, 7], peak=Max("v"))
    both = shared(hourly.replace(where=None), sliding(**keyed, rows=3, top=Max("v")))
    for query in (short, hourly, sizes, both, streaming(hourly, idle="1 day")):
        text = query.explain(stream)
        assert "on Spark" not in text
        assert "on a stream rows wait for the watermark; kept are rows" in text
    assert "where       v > 1" in hourly.explain(stream)
    own = stream.withWatermark("ts", "9 seconds")
    assert "on a stream" in hourly.replace(lateness=None).explain(own)
    as_they_come = sliding(partition_by="key", rows=3, peak=Max("v")).explain(stream)
    assert "on a stream rows go as they come; kept are rows" in as_they_come


def test_queries_that_run_together_are_explained_together(frame: DataFrame) -> None:
    keyed = {"partition_by": "key", "order_by": "ts"}
    for query in (
        sliding(**keyed, rows=[3, 7], peak=Max("v")),
        shared(sliding(**keyed, rows=3, a=Max("v")), sliding(**keyed, rows=7, b=Max("v"))),
    ):
        with traced() as chosen:
            frame.transform(query)
        assert [way for _, way in chosen] == ["keys", "keys"]  # alone each runs in Spark's frames
        assert query.explain(frame).count("one pass over each partition") == 2
