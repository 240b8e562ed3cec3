"""The sketches of Apache DataSketches on Spark, and their bytes between Spark and windrow."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.spark.frames import alike, frame_of, slow
from windrow import HLL, KLL, TDigest, Theta, sliding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERY: dict[str, Any] = {
    "kll": KLL("f", q=(0.1, 0.5, 0.9)),
    "whole": KLL("x", q=0.5, k=400),
    "hll": HLL("s"),
    "numbers": HLL("x"),
    "theta": Theta("f"),
    "words": Theta("s"),
}
OURS = {"digest": TDigest("f", q=0.5), "floats": HLL("f")}  # which Spark has no function for
WINDOWS: dict[str, tuple[dict[str, Any], str]] = {
    "by key": ({"partition_by": "key", "order_by": "u", "rows": 40}, "keys"),
    "in ranges": ({"order_by": "u", "rows": 150}, "ranges"),
    "slices": ({"partition_by": "key", "order_by": "u", "range": 150, "slide": 50}, "slices"),
    "slices, no key": ({"order_by": "u", "range": 100, "slide": 50}, "slices"),
    "hopping": ({"partition_by": "key", "order_by": "u", "range": 150, "slide": 50}, "keys"),
}


def values(n: int = 600) -> pa.Table:
    """Rows of three keys; windows of fewer than 157 values have exact results."""
    rng = np.random.default_rng(5)
    f, s = np.round(rng.normal(size=n), 1), rng.integers(0, 30, n)
    return pa.table(
        {
            "key": rng.choice(["a", "b", "c"], n),
            "u": rng.permutation(n),
            "x": pa.array(rng.integers(-40, 40, n), mask=rng.random(n) < 0.1),
            "f": pa.array(f, mask=rng.random(n) < 0.1),
            "s": pa.array([f"plug {v}" if v else "" for v in s], mask=s == 3),
        }
    )


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, values()).repartition(3).cache()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges are short: windows hold whole ones."""
    groups = import_module("windrow.spark.groups")
    monkeypatch.setattr(groups, "FEWEST", 20)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(groups, "BINS", 4)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 8)


@pytest.mark.parametrize(
    "kind", ["in ranges", "slices", *map(slow, ("by key", "slices, no key", "hopping"))]
)
def test_spark_answers_as_the_table(
    frame: DataFrame, kind: str, request: pytest.FixtureRequest
) -> None:
    window, way = WINDOWS[kind]
    if way == "ranges":
        request.getfixturevalue("small")
    asked = EVERY if kind.startswith("slices") else EVERY | OURS
    query = sliding(asked, **window)
    assert import_module("windrow.spark.dataframe").plans([query], frame)[0].spark == way
    made = frame.transform(query)
    if way == "slices":  # Spark itself makes the sketches
        assert "kll_sketch_agg_double" in made._jdf.queryExecution().toString()  # type: ignore[operator]
    place = "window_start" if "slide" in window else "u"
    alike(made.toArrow(), query(values()), [*filter(None, [window.get("partition_by")]), place])


def test_spark_reads_sketches_that_are_made_here(spark: SparkSession) -> None:
    """The same estimates, to the last bit, of few values and of many."""
    from pyspark.sql import functions as sf

    rng = np.random.default_rng(8)
    table = pa.table(
        {
            "u": np.arange(9000),
            "f": rng.normal(size=9000),
            "x": rng.integers(0, 10**6, 9000),
            "s": [f"plug {v}" for v in rng.integers(0, 4000, 9000)],
        }
    )
    asked = {
        "kll": KLL("f", sketch=True),
        "hll": HLL("x", sketch=True),
        "theta": Theta("x", sketch=True),
        "words": HLL("s", sketch=True),
        "texts": Theta("s", sketch=True),
    }
    query = sliding(asked, order_by="u", range=3000, slide=1500)
    made = query(table)
    theirs = frame_of(spark, made).select(
        "window_start",
        sf.kll_sketch_get_quantile_double("kll", sf.array(sf.lit(0.1), sf.lit(0.5))).alias("kll"),
        sf.kll_sketch_get_n_double("kll").alias("n"),
        *(sf.hll_sketch_estimate(name).alias(name) for name in ("hll", "words")),
        *(sf.theta_sketch_estimate(name).alias(name) for name in ("theta", "texts")),
    )
    found = {row["window_start"]: row for row in theirs.collect()}
    ours = {
        "kll": KLL("kll", q=(0.1, 0.5), merge=True), "hll": HLL("hll", merge=True),
        "theta": Theta("theta", merge=True), "words": HLL("words", merge=True),
        "texts": Theta("texts", merge=True),
    }  # fmt: skip
    for name, one in ours.items():
        column = made.select(["window_start", name])
        read = sliding(rows=1, out=one)(column).to_pylist()
        assert [found[row["window_start"]][name] for row in read] == [row["out"] for row in read]
    assert {row["n"] for row in found.values()} == {1500, 3000}


def test_sketches_that_spark_made_are_read_and_merged_here(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    rows = spark.range(0, 24000, 1, 4).select(
        (sf.col("id") % 8).alias("day"),
        sf.hash("id").cast("double").alias("f"),
        (sf.xxhash64("id") % 50000).alias("x"),
        sf.concat(sf.lit("plug "), sf.xxhash64("id") % 7000).alias("s"),
    )
    daily = (
        rows.groupBy("day")
        .agg(
            sf.kll_sketch_agg_double("f").alias("kll_s"),
            sf.hll_sketch_agg("x").alias("hll_s"),
            sf.hll_sketch_agg("s", 10).alias("small_s"),
            sf.theta_sketch_agg("s").alias("theta_s"),
        )
        .cache()
    )
    table = daily.orderBy("day").toArrow()
    rolled = sliding(
        order_by="day",
        rows=3,
        hll=HLL("hll_s", merge=True),
        small=HLL("small_s", merge=True, lg_k=10),
        theta=Theta("theta_s", merge=True),
        kll=KLL("kll_s", q=0.5, merge=True),
    )(table).to_pylist()
    union = daily.where("day between 5 and 7").agg(
        sf.hll_sketch_estimate(sf.hll_union_agg("hll_s")).alias("hll"),
        sf.hll_sketch_estimate(sf.hll_union_agg("small_s")).alias("small"),
        sf.theta_sketch_estimate(sf.theta_union_agg("theta_s")).alias("theta"),
    )
    theirs = union.collect()[0].asDict()
    assert {name: rolled[-1][name] for name in theirs} == theirs
    values = np.sort([r["f"] for r in rows.where("day between 5 and 7").select("f").collect()])
    rank = np.searchsorted(values, rolled[-1]["kll"], "right") / values.size
    assert abs(rank - 0.5) < 0.03
    # what is merged here, Spark merges further
    three = sliding(order_by="day", rows=3, all=HLL("hll_s", merge=True, sketch=True))(table)
    ends = frame_of(spark, three.select(["day", "all"])).where("day in (2, 5, 7)")
    again = ends.agg(sf.hll_sketch_estimate(sf.hll_union_agg("all"))).collect()[0][0]
    assert again == daily.agg(sf.hll_sketch_estimate(sf.hll_union_agg("hll_s"))).collect()[0][0]
