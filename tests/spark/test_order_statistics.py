"""Exact quantiles, extremes, ranks, modes and histograms on Spark: by key, in ranges, by slices."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.frames import agree, alike, frame_of, rivals, rows, slow
from windrow import (
    BottomK,
    Count,
    Histogram,
    Median,
    Mode,
    PercentRank,
    Quantile,
    Rank,
    TopK,
    sliding,
)  # fmt: skip

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLICED: dict[str, Any] = {  # whose states Spark makes; whole lists of values are no gain
    "top": TopK("odd", k=3),
    "times": TopK("t", k=2),
    "bottom": BottomK("s", k=2),
}
EVERY = {
    **SLICED,
    "median": Median("f"),
    "shares": Quantile("x", q=(0.1, 0.9)),
    "middle": Quantile("day", q=0.5, interpolation="inverted_cdf"),
    "mode": Mode("wide"),
    "rank": Rank("odd"),
    "percent": PercentRank("s"),
    "bins": Histogram("f", edges=(-2, 0, 2.5)),
}
WINDOWS: dict[str, tuple[dict[str, Any], str]] = {
    "by key": ({"partition_by": "key", "order_by": "u", "rows": 40}, "keys"),
    "in ranges": ({"order_by": "u", "rows": 150}, "ranges"),
    "in ranges by time": ({"order_by": "u", "range": 90}, "ranges"),
    "slices": ({"partition_by": "key", "order_by": "u", "range": 90, "slide": 20}, "slices"),
    "slices, no key": ({"order_by": "u", "range": 90, "slide": 40}, "slices"),
    "by key, hopping": ({"partition_by": "key", "order_by": "u", "range": 90, "slide": 20}, "keys"),
    "no key, hopping": ({"order_by": "u", "range": 90, "slide": 40}, "one task"),
}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, rows(400)).repartition(3).cache()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of thirty rows is hot, and ranges are short: windows hold whole ones."""
    groups = import_module("windrow.spark.groups")
    ranges = import_module("windrow.spark.ranges")
    monkeypatch.setattr(ranges, "HOT_ROWS", 30)
    monkeypatch.setattr(ranges, "SMALL", 30)
    monkeypatch.setattr(ranges, "HOT_SAMPLE", 1.0)
    monkeypatch.setattr(groups, "FEWEST", 20)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(groups, "BINS", 4)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 4)


def frame_plan(query: Any, frame: DataFrame) -> str:
    return str(import_module("windrow.spark.dataframe").plans([query], frame)[0].spark)


@pytest.mark.parametrize(
    "kind", ["in ranges", "slices", *map(slow, ("by key", "in ranges by time", "slices, no key",
                                                 "by key, hopping", "no key, hopping"))],
)  # fmt: skip
def test_spark_answers_as_the_table(
    frame: DataFrame, kind: str, request: pytest.FixtureRequest
) -> None:
    window, way = WINDOWS[kind]
    if way == "ranges":
        request.getfixturevalue("small")
    query = sliding(SLICED if way == "slices" else EVERY, **window)
    assert frame_plan(query, frame) == way
    made = frame.transform(query).toArrow()
    place = "window_start" if "slide" in window else "u"
    alike(made, query(rows(400)), [*filter(None, [window.get("partition_by")]), place])


def test_hot_keys(spark: SparkSession, small: None) -> None:
    from pyspark.sql import functions as sf

    hot = frame_of(spark, rows(400)).withColumn("key", sf.when(sf.col("id") % 3 > 0, "a"))
    query = sliding(EVERY, n=Count(), partition_by="key", order_by="u", rows=120)
    made = hot.transform(query)
    assert "windrow_tag" in made._jdf.queryExecution().toString(), "no key was cut"  # type: ignore[operator]
    alike(made.toArrow(), query(hot.toArrow()), ["u"])


def test_spark_s_own_functions_agree(frame: DataFrame) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    over = Window.partitionBy("key").orderBy("u").rowsBetween(-24, 0)
    theirs = {
        "median": sf.percentile("f", 0.5).over(over),
        "several": sf.percentile("x", [0.1, 0.9]).over(over),
        "mode": sf.mode("x", True).over(over),
        "top": sf.slice(sf.sort_array(sf.collect_list("odd").over(over), False), 1, 3),
    }
    query = sliding(
        partition_by="key", order_by="u", rows=25, median=Median("f"),
        several=Quantile("x", q=(0.1, 0.9)), top=TopK("odd", k=3), mode=Mode("x"),
    )  # fmt: skip
    made, _ = rivals(frame, query, theirs)
    some = made.column("spark_top").to_pylist()
    made = made.set_column(
        made.column_names.index("spark_top"), "spark_top", [[found or None for found in some]]
    )
    agree(made, ["median", "several", "top", "mode"])
