"""The schema of a result is known before anything runs; columns that ride along come unharmed."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.spark.frames import frame_of
from windrow import (
    ArgMax,
    Bloom,
    Collect,
    Count,
    CountDistinct,
    First,
    HyperLogLog,
    LongestRun,
    Max,
    Mean,
    MomentSketch,
    Range,
    StdDev,
    Sum,
    aggregation,
    sliding,
)  # fmt: skip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

N = 40
NESTED = pa.table(
    {
        "id": pa.array(range(N), pa.int64()),
        "key": pa.array([i % 3 for i in range(N)], pa.int32()),
        "list": pa.array([[i, None] if i % 4 else None for i in range(N)], pa.list_(pa.int32())),
        "struct": pa.array(
            [{"a": i, "b": [{"c": str(i)}]} if i % 5 else None for i in range(N)],
            pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))]),
        ),
        "map": pa.array(
            [[("k", i), ("l", None)] for i in range(N)], pa.map_(pa.string(), pa.int64())
        ),
        "bytes": pa.array([bytes([i, 0, 255]) for i in range(N)], pa.binary()),
        "decimal": pa.array([Decimal(i).scaleb(-18) for i in range(N)], pa.decimal128(38, 18)),
        "date": pa.array([dt.date(1960 + i, 1, 1) for i in range(N)], pa.date32()),
        "ntz": pa.array([dt.datetime(1960 + i, 1, 1) for i in range(N)], pa.timestamp("us")),
        "ltz": pa.array(
            [dt.datetime(1960 + i, 1, 1, tzinfo=dt.UTC) for i in range(N)],
            pa.timestamp("us", "UTC"),
        ),
        "times": pa.array(
            [[dt.datetime(1960 + i, 1, 1, tzinfo=dt.UTC)] for i in range(N)],
            pa.list_(pa.timestamp("us", "UTC")),
        ),
        "void": pa.nulls(N),
        "flag": pa.array([i % 2 == 0 for i in range(N)], pa.bool_()),
        "span": pa.array([dt.timedelta(hours=i) for i in range(N)], pa.duration("us")),
        "short": pa.array(range(N), pa.int16()),
    }
)


def test_what_rides_along_is_unharmed(spark: SparkSession) -> None:
    query = sliding(
        partition_by="key", order_by="id", rows=3,
        n=Count(), lists=Collect("list"), structs=First("struct"), at=ArgMax("id", "map"),
    )  # fmt: skip
    frame = frame_of(spark, NESTED).repartition(2)
    made = frame.transform(query)
    assert made.schema[: len(frame.columns)] == frame.schema
    table = made.toArrow().sort_by("id")
    for name in NESTED.column_names:
        assert table.column(name).to_pylist() == NESTED.column(name).to_pylist(), name
    wanted = query(NESTED)
    for name in ("lists", "structs", "at"):
        assert table.column(name).to_pylist() == wanted.column(name).to_pylist(), name


def types_of(spark: SparkSession, query: Any) -> dict[str, str]:
    fields = frame_of(spark, NESTED).transform(query).schema.fields
    return {field.name: field.dataType.simpleString() for field in fields}


def test_types_are_known_beforehand(spark: SparkSession) -> None:
    parts: dict[str, tuple[Any, str]] = {
        "n": (Count(), "bigint"),
        "distinct": (CountDistinct("bytes"), "bigint"),
        "about": (HyperLogLog("id"), "bigint"),
        "high": (Max("short"), "smallint"),
        "late": (Max("ntz"), "timestamp_ntz"),
        "latest": (Max("ltz"), "timestamp"),
        "sum": (Sum("short"), "bigint"),
        "exact": (Sum("decimal"), "decimal(38,18)"),
        "mean": (Mean("decimal"), "decimal(38,22)"),
        "total": (Sum("span"), "interval day to second"),
        "years": (Range("ntz"), "interval day to second"),
        "days": (Range("date"), "interval day to second"),
        "deviation": (StdDev("id"), "double"),
        "all": (Collect("ntz"), "array<timestamp_ntz>"),
        "bloom": (Bloom("id"), "binary"),
        "quantile": (MomentSketch("id", quantiles=0.5), "double"),
        "quantiles": (MomentSketch("id", quantiles=(0.5, 0.9)), "array<double>"),
        "run": (
            LongestRun("id", "ltz"),
            "struct<start:timestamp,end:timestamp,length:bigint,span:interval day to second>",
        ),
        "own": (
            aggregation("id", lift=float, combine=lambda a, b: a + b, lower=lambda s: s),
            "double",
        ),
    }
    query = sliding(
        {name: part for name, (part, _) in parts.items()}, partition_by="key", order_by="id", rows=4
    )
    frame = frame_of(spark, NESTED)
    made = frame.transform(query)
    found = {name: made.schema[name].dataType.simpleString() for name in parts}
    assert found == {name: kind for name, (_, kind) in parts.items()}
    never = {name for name in parts if not made.schema[name].nullable}
    assert never == {"n", "distinct", "about"}
    table = made.toArrow().sort_by("id")  # and they are what comes
    wanted = query(NESTED)
    for name in parts:
        assert table.column(name).to_pylist() == wanted.column(name).to_pylist(), name


def test_hopping_windows_have_keys_and_ends(spark: SparkSession) -> None:
    frame = frame_of(spark, NESTED)
    for order, kind in (("ltz", "timestamp"), ("ntz", "timestamp_ntz"), ("date", "timestamp_ntz")):
        query = sliding(
            partition_by="key", order_by=order, range="730 days", slide="365 days", n=Count()
        )
        made = frame.transform(query)
        assert made.columns == ["key", "window_start", "window_end", "n"]
        assert [f.dataType.simpleString() for f in made.schema] == ["int", kind, kind, "bigint"]
    query = sliding(partition_by="key", order_by="id", range=10, slide=5, high=Max("short"))
    types = types_of(spark, query)
    assert list(types.values()) == ["int", "bigint", "bigint", "smallint"]


NAMES = {
    "a.b": "dots",
    "a b": "spaces",
    "back`tick": "backticks",
    'quo"te': "quotes",
    "select": "words of SQL",
    "ÜÄ": "letters",
    "__windrow_0": "what the engine calls its own",
    "$x{}": "signs",
    "window_start": "what hopping windows call their own",
}


def test_names_with_any_characters(spark: SparkSession) -> None:
    n = 30
    table = pa.table({name: [(i * 7 + j) % 11 for i in range(n)] for j, name in enumerate(NAMES)})
    table = table.append_column("the.order", pa.array(range(n)))
    parts: dict[str, Any] = {f"max of {name}": Max(name) for name in NAMES}
    parts["sum.of `two`"] = Sum('"a b" + "select"')
    query = sliding(
        parts, partition_by=["a.b", "back`tick"], order_by="the.order", rows=3,
        where='"select" >= 0', having='"max of a b" >= 0',
    )  # fmt: skip
    made = frame_of(spark, table).transform(query).toArrow().sort_by("the.order")
    assert made.to_pylist() == query(table).to_pylist()


def test_a_settled_plan_stays_lazy_and_composes(spark: SparkSession) -> None:
    frame = frame_of(spark, NESTED)
    query = sliding(partition_by="key", order_by="id", rows=2, s=Sum("id"))
    again = sliding(partition_by="key", order_by="id", rows=2, top=Max("s"))
    both = frame.transform(query).filter("flag").transform(again).select("id", "s", "top")
    wanted = query(NESTED)
    wanted = again(wanted.filter(wanted.column("flag"))).select(["id", "s", "top"])
    assert both.toArrow().sort_by("id").to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("large", ["true", "false"])
def test_strings_of_either_width(spark: SparkSession, large: str) -> None:
    name = "spark.sql.execution.arrow.useLargeVarTypes"
    before = str(spark.conf.get(name))
    spark.conf.set(name, large)
    try:
        table = pa.table({"k": ["a", "b", "a"], "t": [1, 2, 3], "s": ["x", None, "y"]})
        query = sliding(partition_by="k", order_by="t", rows=2, all=Collect("s"), top=Max("s"))
        made = frame_of(spark, table).transform(query).toArrow().sort_by("t")
        assert made.to_pylist() == query(table).to_pylist()
    finally:
        spark.conf.set(name, before)


def test_names_of_our_own_columns_are_free(spark: SparkSession) -> None:
    """A frame may have the names that hidden columns would get."""
    from pyspark.sql import functions as sf

    names = ["windrow_made", "windrow_slice", "windrow_tag", "__windrow_7", "__windrow_8", "v"]
    frame = spark.range(30).select("id", *[(sf.col("id") % 7).alias(name) for name in names])
    rows = sliding(partition_by="windrow_made", order_by="id", rows=3, s=Sum("v * 2"), n=Count())
    made = frame.transform(rows)
    assert made.columns == ["id", *names, "s", "n"]
    table = frame.toArrow()
    assert made.toArrow().sort_by("id").to_pydict() == rows(table).to_pydict()
    hops = sliding(partition_by="windrow_slice", order_by="id", range=9, slide=3, n=Count())
    made = frame.transform(hops)
    by = [("windrow_slice", "ascending"), ("window_start", "ascending")]
    assert made.toArrow().sort_by(by).to_pydict() == hops(table).sort_by(by).to_pydict()


def test_a_range_along_decimals(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    frame = spark.range(60).select(
        "id",
        sf.expr("CAST(id % 3 AS INT)").alias("key"),
        sf.expr("CAST((id * 37 % 50) / 8 - 2 AS DECIMAL(12, 3))").alias("price"),
    )
    made = frame.withColumn(
        "theirs",
        sf.expr(
            "count(1) OVER (PARTITION BY key ORDER BY price "
            "RANGE BETWEEN 1.125 PRECEDING AND CURRENT ROW)"
        ),
    ).transform(sliding(partition_by="key", order_by="price", range=1.125, n=Count()))
    assert made.columns == ["id", "key", "price", "theirs", "n"]
    table = made.toArrow()
    assert table.column("n").to_pylist() == table.column("theirs").to_pylist()


@pytest.mark.parametrize("more", [{}, {"high": Max("id")}], ids=["one", "two"])
def test_limits_and_filters_stay_behind_the_answers(spark: SparkSession, more: Any) -> None:
    """What Spark moves through a function of rows would change which rows a window holds."""
    frame = spark.range(0, 40, 1, 1).selectExpr("id", "id DIV 10 AS t", "id % 2 AS k")
    made = frame.transform(sliding(partition_by="k", order_by="t", range=1, n=Count(), **more))
    assert {row["n"] for row in made.limit(3).collect()} == {5}
    assert {row["n"] for row in made.where("t = 2").collect()} == {10}
    assert made.where("k = 1").groupBy("k").agg({"n": "max"}).collect()[0][1] == 10
    assert made.select("id").count() == 40


def test_rows_whose_only_result_is_null_come_out(spark: SparkSession) -> None:
    frame = spark.range(0, 40, 1, 2).selectExpr("id", "id % 3 AS k", "nullif(id % 4, 3) AS v")
    made = frame.transform(sliding(partition_by="k", order_by="id", range=1, high=Max("v")))
    assert made.schema["high"].nullable
    found = {row["id"]: row["high"] for row in made.collect()}
    assert found == {i: None if i % 4 == 3 else i % 4 for i in range(40)}
    assert made.where("high IS NULL").count() == made.where("v IS NULL").count() == 10
    assert made.orderBy("id").limit(4).tail(1)[0]["high"] is None
