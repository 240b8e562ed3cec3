"""Months and local days on Spark: by key, hot keys, ranges, slices and streams."""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.spark.frames import alike, frame_of
from tests.spark.sources import Source, told
from tests.spark.test_keys import setting
from tests.tables.test_calendar import BERLIN, rows
from windrow import ArgMax, Count, Max, Mean, StdDev, Sum, sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = {"n": Count(), "s": Sum("v"), "top": ArgMax("f", "id"), "d": StdDev("f")}


def joined(spark: SparkSession, table: pa.Table, size: str, keys: str) -> dict[int, Any]:
    """What lies in each trailing window, by Spark's own arithmetic with intervals in a join."""
    frame_of(spark, table).createOrReplaceTempView("rows")
    made = spark.sql(
        f"""SELECT a.id, count(*) AS n, sum(b.v) AS s, max_by(b.id, b.f) AS top, stddev(b.f) AS d
            FROM rows a JOIN rows b ON {keys} AND b.t <= a.t AND b.t >= a.t - INTERVAL {size}
            GROUP BY a.id"""
    )
    return {row["id"]: row.asDict() for row in made.collect()}


def compared(made: pa.Table, expected: dict[int, Any]) -> None:
    assert made.num_rows == len(expected)
    for got in made.to_pylist():
        want = expected[got["id"]]
        assert (got["n"], got["s"], got["top"]) == (want["n"], want["s"], want["top"])
        assert got["d"] == (None if want["d"] is None else pytest.approx(want["d"], abs=1e-9))


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small frames are cut into ranges, too."""
    groups, ranges = (import_module(f"windrow.spark.{name}") for name in ("groups", "ranges"))
    monkeypatch.setattr(ranges, "HOT_ROWS", 100)
    monkeypatch.setattr(ranges, "SMALL", 100)
    monkeypatch.setattr(ranges, "HOT_SAMPLE", 1.0)
    monkeypatch.setattr(groups, "FEWEST", 100)
    monkeypatch.setattr(groups, "SAMPLE", 1.0)
    monkeypatch.setattr(groups, "BINS", 4)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 6)


def test_trailing_windows_are_those_of_sparks_intervals(spark: SparkSession) -> None:
    table = rows(500, seed=1)
    with setting(spark, "spark.sql.session.timeZone", BERLIN):
        for size in ("1 month", "1 day"):
            query = sliding(PARTS, partition_by="key", order_by="t", range=size, timezone=BERLIN)
            made = frame_of(spark, table).transform(query).toArrow()
            compared(made, joined(spark, table, size, "a.key = b.key"))


@pytest.mark.slow
@pytest.mark.usefixtures("cut")
def test_ranges_and_hot_keys(spark: SparkSession) -> None:
    table = rows(1200, seed=2, keys=1)
    frame = frame_of(spark, table)
    with setting(spark, "spark.sql.session.timeZone", BERLIN):
        expected = joined(spark, table, "1 month", "true")
        for keys in (None, "key"):
            query = sliding(
                PARTS, partition_by=keys, order_by="t", range="1 month", timezone=BERLIN
            )
            assert "ranges" in query.explain(frame)
            compared(frame.transform(query).toArrow(), expected)
        frames = sliding(
            order_by="t", range=("-1 year", "-1 month"), timezone=BERLIN, n=Count(), s=Sum("v")
        )
        made = frame.transform(frames).toArrow().sort_by("id")
        whole = frames(table)
        assert made.column("s").to_pylist() == whole.column("s").to_pylist()


def test_hopping_windows_are_those_of_date_trunc(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    table = rows(600, seed=3)
    with setting(spark, "spark.sql.session.timeZone", BERLIN):
        frame = frame_of(spark, table)
        for unit in ("month", "day", "week", "quarter"):
            size = f"1 {unit}" if unit != "quarter" else "3 months"
            query = sliding(
                partition_by="key", order_by="t", range=size, slide=size, timezone=BERLIN,
                n=Count(), s=Sum("v"),
            )  # fmt: skip
            assert "Spark aggregates the slices" in query.explain(frame)
            start = sf.date_trunc(unit, "t")
            theirs = (
                frame.groupBy("key", start.alias("window_start"))
                .agg(sf.count("*").alias("n"), sf.sum("v").alias("s"))
                .select(
                    "key", "window_start",
                    sf.expr(f"window_start + INTERVAL {size}").alias("window_end"), "n", "s",
                )
            )  # fmt: skip
            alike(frame.transform(query).toArrow(), theirs.toArrow(), ["key", "window_start"])


@pytest.mark.slow
def test_hopping_windows_are_those_of_the_table(spark: SparkSession) -> None:
    """The session's zone has no say, be Spark the one that cuts slices or not."""
    table = rows(400, seed=4)
    local = table.set_column(2, "t", table.column("t").cast(pa.timestamp("us")))
    hops: list[dict[str, Any]] = [
        {"range": "3 months", "slide": "1 month"},
        {"range": "1 year", "slide": "1 year", "offset": "3 months 2 days"},
        {"range": "2 days", "slide": "1 day", "offset": "6 hours"},
        {"range": "1 month", "slide": "10 days"},
    ]
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        for given in (table, local):
            frame = frame_of(spark, given)
            for hop in hops[: None if given is table else 1]:
                query = sliding(
                    partition_by="key", order_by="t", timezone=BERLIN, n=Count(), m=Max("v"), **hop
                )
                made = frame.transform(query).toArrow()
                alike(made, query(given), ["key", "window_start"])


def readings() -> pa.Table:
    """Rows as the stream's source has them, an hour or so apart over some months."""
    rng = np.random.default_rng(6)
    at = 1_772_000_000_000_000 + np.cumsum(rng.integers(0, 8, 900)) * 3_600_000_000
    return pa.table(
        {
            "id": np.arange(900),
            "key": pa.array([f"k{k}" for k in rng.integers(0, 3, 900)]),
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "x": rng.integers(-9, 9, 900),
            "y": rng.normal(size=900),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"range": "1 month"},
        {"range": ("-1 day", "1 month")},
        {"range": "1 month", "slide": "1 month"},
    ],
    ids=str,
)
def test_a_stream_answers_as_the_table(spark: Any, tmp_path: Path, given: dict[str, Any]) -> None:
    source, table = Source(spark, tmp_path), readings()
    query = sliding(
        partition_by="key", order_by="ts", timezone=BERLIN, lateness="1 hour", n=Count(),
        s=Sum("x"), m=Mean("y"), **given,
    )  # fmt: skip
    for begin in range(0, table.num_rows, 300):
        source.add(table.slice(begin, 300))
    far = table.slice(table.num_rows - 1).to_pylist()[0]
    far |= {"key": "end", "ts": far["ts"] + dt.timedelta(days=400)}  # lets the watermark pass
    source.add(pa.Table.from_pylist([far], table.schema))
    source.run(query)
    assert told(source.result()) == told(query(table))
