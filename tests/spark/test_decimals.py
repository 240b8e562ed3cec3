"""Means and signs of decimals on Spark are the exact ones of tables."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.spark.frames import frame_of
from tests.tables.test_decimals import MEASURES, SO_FAR, expected, prices
from windrow import Max, Mean, sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_means_are_exact(spark: SparkSession) -> None:
    running = sliding(order_by="ts", range="unbounded", mean=Mean("m"))
    hopping = sliding(order_by="ts", range="160 s", slide="160 s", mean=Mean("m"))
    for digits in (10, 24):
        rows = prices(digits)
        made = frame_of(spark, rows).transform(running).toArrow().sort_by("id")
        assert made["mean"].to_pylist() == expected(rows, SO_FAR)
        here = hopping(rows).sort_by("window_start")["mean"]
        there = frame_of(spark, rows).transform(hopping).toArrow().sort_by("window_start")["mean"]
        assert there.to_pylist() == here.to_pylist()
        assert there.type == here.type


def test_what_takes_only_numbers_takes_decimals_as_doubles(spark: SparkSession) -> None:
    rows = prices(10)
    rows = rows.append_column("n", pc.multiply(rows["m"], Decimal("0.125")))
    query = sliding(order_by="ts", range="20 s", **MEASURES)
    frame = frame_of(spark, rows)
    made, here = frame.transform(query).toArrow().sort_by("id"), query(rows)
    for name in MEASURES:
        assert made[name].to_pylist() == here[name].to_pylist()
    own = frame.selectExpr("stddev(m) AS deviation", "median(m) AS middle", "corr(m, n) AS along")
    names = ["deviation", "middle", "along"]
    whole = sliding(order_by="id", rows="unbounded", **{n: MEASURES[n] for n in names})
    ours = frame.transform(whole).orderBy("id", ascending=False).select(names).first()
    assert ours == pytest.approx(own.first(), rel=1e-12)


def test_spark_s_own_mean_rounds_alike_where_it_is_exact(spark: SparkSession) -> None:
    """Up to 11 digits it goes by doubles, and may be off by one in the last digit of a half."""
    values = [Decimal("2104.41"), *[Decimal("0.00")] * 159]
    rows = pa.table({"id": range(160), "m": pa.array(values, pa.decimal128(10, 2))})
    frame = frame_of(spark, rows).selectExpr("id", "m", "CAST(m AS DECIMAL(12, 2)) AS longer")
    theirs = frame.selectExpr("avg(m) AS m", "avg(longer) AS longer").first()
    query = sliding(order_by="id", rows="unbounded", mean=Mean("longer"), short=Mean("m"))
    ours = frame.transform(query).orderBy("id", ascending=False).first()
    assert theirs is not None and ours is not None
    assert ours["mean"] == ours["short"] == theirs["longer"] == Decimal("13.152563")
    assert abs(ours["short"] - theirs["m"]) <= Decimal("0.000001")


def test_a_sign_costs_no_digit(spark: SparkSession) -> None:
    digits = "1234567890123456789012345678901234567"
    values = [Decimal(f"{sign}{digits}{last}") for sign in ("", "-") for last in range(10)]
    scales = (0, 6, 7, 10, 38)
    columns = {f"s{scale}": pa.array([v.scaleb(-scale) for v in values] + [None, Decimal(0)],
                                     pa.decimal128(38, scale)) for scale in scales}  # fmt: skip
    rows = pa.table({"id": range(22), **columns})
    asked = {f"n{s}": Max(f"- s{s}") for s in scales} | {f"a{s}": Max(f"ABS(s{s})") for s in scales}
    query = sliding(order_by="id", rows=1, **asked)
    made = frame_of(spark, rows).transform(query).toArrow().sort_by("id")
    assert made.select(list(asked)) == query(rows).select(list(asked))
    assert made["n10"].to_pylist()[:20] == [v.scaleb(-10).copy_negate() for v in values]
