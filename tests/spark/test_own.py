"""A subclass of the user's own that states its fields and its result, over DataFrames.

Every way that rows go: by key, in ranges without one, by slices of hopping windows that Spark
aggregates itself, and on a stream; each against brute force, and compiled in the workers.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from tests.spark.frames import slow
from tests.spark.sources import Source
from tests.streams.feeding import disordered, readings
from windrow import Aggregation, sliding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MINUTE = 60 * 10**6
ROWS = readings(1500, keys=4, seed=11, spread=4000)


def spread_of() -> Aggregation:
    """An aggregation whose class is not importable by name, as one of a notebook is not."""

    class Spread(Aggregation):
        """The largest value minus the smallest, and how many there were."""

        takes = "number"
        commutative = True
        fields = {"low": "value", "high": "value", "n": "int64"}
        result = {"spread": "difference", "n": "int64"}
        spark_fields = {"low": "min({0})", "high": "max({0})", "n": "count({0})"}

        @staticmethod
        def unit(x: Any) -> Any:
            return x, x, 1

        @staticmethod
        def plus(a: Any, b: Any) -> Any:
            return min(a[0], b[0]), max(a[1], b[1]), a[2] + b[2]

        @staticmethod
        def answer(state: Any) -> Any:
            return state[1] - state[0], state[2]

    return Spread("x")


def brute(rows: list[dict[str, Any]]) -> Any:
    known = [row["x"] for row in rows if row["x"] is not None]
    return {"spread": max(known) - min(known), "n": len(known)} if known else None


def micros(row: dict[str, Any]) -> int:
    return int(row["ts"].timestamp() * 10**6 + 0.5)


def last_rows(rows: list[dict[str, Any]], w: int, key: str | None) -> dict[int, Any]:
    seen: dict[Any, list[dict[str, Any]]] = {}
    made = {}
    for row in sorted(rows, key=lambda row: (micros(row), row["id"])):
        mine = seen.setdefault(row[key] if key else None, [])
        mine.append(row)
        made[row["id"]] = brute(mine[-w:])
    return made


def hops(rows: list[dict[str, Any]], size: int, slide: int) -> dict[Any, Any]:
    held: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        start = micros(row) // slide * slide
        while start + size > micros(row):
            held.setdefault((row["key"], start), []).append(row)
            start -= slide
    return {name: brute(inside) for name, inside in held.items()}


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    # every row has a time of its own, so that no result depends on ties
    apart = [at + i for i, at in enumerate(ROWS.column("ts").cast(pa.int64()).to_pylist())]
    times = pa.array(apart, pa.timestamp("us", "UTC"))
    return spark.createDataFrame(ROWS.set_column(2, "ts", times))


def test_by_key(frame: DataFrame, trace: Any) -> None:
    query = sliding(partition_by="key", order_by="ts", rows=20, result=spread_of())
    rows = frame.toArrow().to_pylist()
    made = frame.transform(query).toArrow().to_pylist()
    assert {row["id"]: row["result"] for row in made} == last_rows(rows, 20, "key")
    assert trace() == {("Spread('x')", "two_stacks")}


@pytest.mark.parametrize("w", [slow(30), 900])  # shorter than a range, and longer
def test_in_ranges_without_a_key(frame: DataFrame, w: int, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = import_module("windrow.spark.groups")
    monkeypatch.setattr(groups, "FEWEST", 200)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 4)
    query = sliding(order_by="ts", rows=w, result=spread_of())
    result = frame.transform(query)
    assert result.rdd.getNumPartitions() > 1
    made = {row["id"]: row["result"] for row in result.toArrow().to_pylist()}
    assert made == last_rows(frame.toArrow().to_pylist(), w, None)


def test_hopping_by_slices(frame: DataFrame) -> None:
    query = sliding(
        partition_by="key", order_by="ts", range="10 minutes", slide="4 minutes", r=spread_of()
    )
    assert "Spark aggregates the slices" in query.explain(frame)
    made = {
        (row["key"], int(row["window_start"].timestamp()) * 10**6): row["r"]
        for row in frame.transform(query).toArrow().to_pylist()
    }
    assert made == hops(frame.toArrow().to_pylist(), 10 * MINUTE, 4 * MINUTE)


@pytest.mark.xdist_group("streams")
def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    rows = readings(300, keys=3, seed=4, spread=2000)
    source = Source(spark, tmp_path)
    query = sliding(
        partition_by="key", order_by="ts", range="10 minutes", slide="5 minutes", r=spread_of(),
        lateness="10 minutes",
    )  # fmt: skip
    came = disordered(rows, 10 * MINUTE, seed=2)
    for begin in (0, 150):
        source.add(came.slice(begin, 150))
    source.close(rows)
    source.run(query)
    made = {
        (row["key"], int(row["window_start"].timestamp()) * 10**6): row["r"]
        for row in source.result().to_pylist()
    }
    assert made == hops(rows.to_pylist(), 10 * MINUTE, 5 * MINUTE)
