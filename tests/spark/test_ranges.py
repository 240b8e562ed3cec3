"""Without a key: ranges that run in parallel give what Spark's one partition gives."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given

from tests.spark.frames import slow
from windrow import ArgMax, Concat, Count, Last, Max, Mean, StdDev, Sum, shared, sliding
from windrow.spark.cuts import (
    cut_by_count,
    cut_by_size,
    cut_frame_by_count,
    cut_frame_by_size,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = {
    "n": Count(), "c": Count("v"), "m": Max("v"), "s": Sum("v"), "d": StdDev("v"),
    "at": ArgMax("v", "id"), "word": Max("name"),
}  # fmt: skip


@given(
    edges=st.lists(st.integers(0, 60), min_size=1, max_size=24, unique=True).map(sorted),
    ranges=st.integers(2, 6),
    size=st.one_of(st.none(), st.integers(0, 80)),
)
def test_every_window_is_halo_middle_and_own(edges: list[int], ranges: int, size: Any) -> None:
    cuts = cut_by_size(edges, [], ranges, size, top=70)
    for t in range(70):
        b = sum(e <= t for e in edges)
        p = cuts.owner[b]
        first = cuts.owner.index(p)
        begin = 0 if size is None else sum(e <= t - size for e in edges)
        halo, middle = cuts.halos[p], cuts.middles[p]
        covered = [*halo, *middle, *range(first, b + 1)]
        assert covered == list(range(covered[0], b + 1))
        assert covered[0] <= begin or begin >= first
        assert not any(x < begin for x in middle), "the middle lies in every window"


@given(
    counts=st.lists(st.integers(0, 9), min_size=2, max_size=30),
    ranges=st.integers(2, 6),
    rows=st.integers(1, 200),
)
def test_every_window_of_rows_too(counts: list[int], ranges: int, rows: int) -> None:
    cuts = cut_by_count(list(range(len(counts) - 1)), counts, ranges, rows)
    bins = [b for b, count in enumerate(counts) for _ in range(count)]
    for i, b in enumerate(bins):
        begin = bins[max(0, i + 1 - rows)]
        p = cuts.owner[b]
        first = cuts.owner.index(p)
        inside = [*cuts.halos[p], *cuts.middles[p], *range(first, b + 1)]
        assert begin in inside
        assert not any(counts[x] and x < begin for x in cuts.middles[p])


@given(
    edges=st.lists(st.integers(0, 60), min_size=1, max_size=24, unique=True).map(sorted),
    ranges=st.integers(2, 6),
    size=st.integers(0, 30),
    ahead=st.integers(0, 30),
)
def test_a_range_has_all_that_its_frames_reach(
    edges: list[int], ranges: int, size: int, ahead: int
) -> None:
    cuts = cut_frame_by_size(edges, [], ranges, size, ahead, top=70)
    targets = cuts.targets()
    for t in range(71):
        p = cuts.owner[sum(e <= t for e in edges)]
        for other in range(max(0, t - size), min(70, t + ahead) + 1):
            assert p in targets[sum(e <= other for e in edges)]


@given(
    counts=st.lists(st.integers(0, 9), min_size=2, max_size=30),
    ranges=st.integers(2, 6),
    rows=st.integers(1, 60),
    ahead=st.integers(0, 60),
)
def test_frames_of_rows_too(counts: list[int], ranges: int, rows: int, ahead: int) -> None:
    cuts = cut_frame_by_count(list(range(len(counts) - 1)), counts, ranges, rows, ahead)
    targets = cuts.targets()
    bins = [b for b, count in enumerate(counts) for _ in range(count)]
    for i, b in enumerate(bins):
        for other in bins[max(0, i + 1 - rows) : i + ahead + 1]:
            assert cuts.owner[b] in targets[other]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    from pyspark.sql import functions as sf

    frame = spark.range(1500).select(
        "id",
        sf.when(
            sf.rand(9) > 0.01, sf.timestamp_seconds((sf.rand(1) * 7200 - 3600).cast("long"))
        ).alias("ts"),
        sf.when(sf.rand(5) > 0.1, sf.rand(3)).alias("v"),
        sf.concat(sf.lit("s"), sf.col("id") % 50).alias("name"),
    )
    frame = frame.cache()
    yield frame
    frame.unpersist()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of few rows, so that a small frame has several."""
    groups = import_module("windrow.spark.groups")
    run = import_module("windrow.spark.dataframe")
    monkeypatch.setattr(groups, "FEWEST", 200)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(groups, "BINS", 4)
    monkeypatch.setattr(run, "_tasks", lambda frame: 4)


def spark_own(frame: DataFrame, window: Any) -> pd.DataFrame:
    from pyspark.sql import functions as sf

    asked = {
        "n": sf.count(sf.lit(1)), "c": sf.count("v"), "m": sf.max("v"), "s": sf.sum("v"),
        "d": sf.stddev("v"), "at": sf.max_by("id", "v"), "word": sf.max("name"),
    }  # fmt: skip
    columns = [each.over(window).alias(name) for name, each in asked.items()]
    return frame.select("*", *columns).orderBy("id").toPandas()


def ours(frame: DataFrame, query: Any) -> pd.DataFrame:
    made = frame.transform(query)
    assert made.rdd.getNumPartitions() > 1, "it runs in parallel"
    return made.orderBy("id").toPandas()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seconds", [slow(10), 3000])
def test_ranges_by_time(rows: DataFrame, seconds: int) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    window = Window.orderBy(sf.col("ts").cast("long")).rangeBetween(-seconds, 0)
    made = ours(rows, sliding(order_by="ts", range=f"{seconds} s", **PARTS))
    pd.testing.assert_frame_equal(made, spark_own(rows, window), rtol=1e-9)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [slow(30), 1000, slow("unbounded")])
def test_ranges_by_rows(rows: DataFrame, size: Any) -> None:
    from pyspark.sql import Window

    begin = Window.unboundedPreceding if size == "unbounded" else 1 - size
    placed = rows.where("ts IS NOT NULL")
    window = Window.orderBy("id").rowsBetween(begin, 0)
    made = ours(placed, sliding(order_by="id", rows=size, **PARTS))
    pd.testing.assert_frame_equal(made, spark_own(placed, window), rtol=1e-9)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ends", [(-60, 45), slow((-300, -60)), slow((20, 90))], ids=str)
def test_frames_by_time(rows: DataFrame, ends: tuple[int, int]) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    window = Window.orderBy(sf.col("ts").cast("long")).rangeBetween(*ends)
    seconds = tuple(f"{end} s" for end in ends)
    made = ours(rows, sliding(order_by="ts", range=seconds, **PARTS))
    pd.testing.assert_frame_equal(made, spark_own(rows, window), rtol=1e-9)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ends", [(-30, 30), slow((-90, -20)), slow((5, 60))], ids=str)
def test_frames_by_rows(rows: DataFrame, ends: tuple[int, int]) -> None:
    from pyspark.sql import Window

    window = Window.orderBy("id").rowsBetween(*ends)
    made = ours(rows, sliding(order_by="id", rows=ends, **PARTS))
    pd.testing.assert_frame_equal(made, spark_own(rows, window), rtol=1e-9)


@pytest.mark.usefixtures("small")
def test_what_does_not_commute(rows: DataFrame) -> None:
    query = sliding(order_by="id", rows=700, all=Concat("name"), last=Last("v"))
    made = ours(rows.where("v IS NOT NULL"), query)
    frame = rows.where("v IS NOT NULL").orderBy("id").toPandas()
    pd.testing.assert_frame_equal(made, query(frame))


def test_shared_queries_in_one_pass(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    frame = spark.range(600).select((sf.col("id") % 3).alias("k"), "id", sf.rand(3).alias("v"))
    by_row = [
        sliding(partition_by="k", order_by="id", rows=10, m=Max("v")),
        sliding(partition_by="k", order_by="id", range=50, s=Sum("v * 2")),
    ]
    made = frame.transform(shared(*by_row)).orderBy("id").toPandas()
    for query in by_row:
        alone = frame.transform(query).orderBy("id").toPandas()
        pd.testing.assert_frame_equal(made[alone.columns], alone)
    hops = [
        sliding(partition_by="k", order_by="id", range=60, slide=20, m=Mean("v")),
        sliding(partition_by="k", order_by="id", range=100, slide=50, a=ArgMax("v", "id")),
    ]
    both = frame.transform(shared(*hops)).orderBy("k", "window_start").toPandas()
    for i, query in enumerate(hops):
        alone = frame.transform(query).orderBy("k", "window_start").toPandas()
        mine = both[both["query"] == i][alone.columns].reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, alone, check_dtype=False)
