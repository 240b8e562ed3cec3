"""Every operator over operands of every type: the same values and types in memory and on Spark."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.queries.every_operator import operators, over
from tests.spark.frames import frame_of, slow
from windrow.errors import InvalidValue
from windrow.spark.expressions import spark_sql
from windrow.tables.arithmetic import evaluate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = dt.UTC
NAN, INF = math.nan, math.inf
LARGE, SMALL = 2**63 - 1, -(2**63)
TYPES = {
    "i8": pa.int8(),
    "i16": pa.int16(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "cost": pa.decimal128(10, 2),
    "wide": pa.decimal128(38, 4),
    "flag": pa.bool_(),
    "word": pa.string(),
    "day": pa.date32(),
    "local": pa.timestamp("us"),
    "at": pa.timestamp("us", "UTC"),
}
D, T = dt.date, dt.datetime
USUAL = {
    "i8": [7, -3, 0, None, 2],
    "i16": [7, -3, 0, 5, None],
    "i32": [7, -3, 0, 5, 2],
    "i64": [None, -3, 0, 5, 2],
    "f32": [1.5, -2.5, 0.0, None, NAN],
    "f64": [2.675, -2.5, -0.0, INF, NAN],
    "cost": [Decimal("1.50"), Decimal("-2.25"), Decimal(0), None, Decimal("3.05")],
    "wide": [Decimal("1.5000"), Decimal("-2.2501"), Decimal(0), None, Decimal("3.05")],
    "flag": [True, False, None, True, False],
    "word": ["a", "Bc", "", None, "ab"],
    "day": [D(2026, 1, 1), D(1969, 12, 31), None, D(2000, 2, 29), D(2026, 1, 1)],
    "local": [T(2026, 1, 1, 10, 30, 5, 7), T(1969, 12, 31), None, T(2000, 2, 29), T(2026, 1, 1)],
    "at": [T(2026, 1, 1, 10, 30, 5, 7), T(1969, 12, 31), None, T(2000, 2, 29), T(2026, 1, 1)],
}
EXTREME = {
    "i8": [127, -128, -1],
    "i16": [32767, -32768, -1],
    "i32": [2**31 - 1, -(2**31), -1],
    "i64": [LARGE, SMALL, -1],
    "f32": [INF, -INF, 3.0e38],
    "f64": [1.7e308, -INF, 5e-324],
    "cost": [Decimal("99999999.99"), Decimal("-99999999.99"), Decimal("0.01")],
    "wide": [Decimal("9" * 34 + ".9999"), Decimal("-" + "9" * 34), Decimal("0.0001")],
    "flag": [True, False, True],
    "word": ["ÄÖ", "x" * 99, " 12 "],
    "day": [D(1900, 1, 1), D(9998, 12, 31), D(1970, 1, 1)],
    "local": [T(1900, 1, 1), T(2200, 12, 31, 23, 59, 59, 999999), T(1970, 1, 1)],
    "at": [T(1900, 1, 1), T(2200, 12, 31, 23, 59, 59, 999999), T(1970, 1, 1)],
}
# Types that go with each other; every operator is asked over all choices from each group.
HOUR = "INTERVAL '1' HOUR"
GROUPS = [
    ["i8", "i16", "2"],
    ["i32", "i64", "cost", "NULL"],
    ["f32", "f64", "cost", "wide", "1.5"],
    ["cost", "wide", "i64", "NULL"],
    ["flag", "NULL", "i64"],
    ["word", "'a'", "NULL"],
    ["day", "local", "at", HOUR, "NULL"],
]
# How a very large or small double is written is the engine's own.
OWN = [f"CAST({name} AS {text})" for name in ("f32", "f64") for text in ("TEXT", "VARCHAR")]


def table(*parts: dict[str, list[Any]]) -> pa.Table:
    return pa.table(
        {
            name: pa.array([value for part in parts for value in part[name]], kind)
            for name, kind in TYPES.items()
        }
    )


def texts(key: str, schema: pa.Schema, every: bool) -> list[str]:
    """An operator over all operands with which it has a meaning, or over a third of them."""
    each = itertools.chain.from_iterable(over(key, group) for group in GROUPS)
    rows = schema.empty_table()
    known = [text for text in dict.fromkeys(each) if outcome(text, rows) is not None]
    assert known, key
    return known if every or len(known) < 9 else known[len(key) % 3 :: 3]


def outcome(text: str, rows: pa.Table) -> pa.ChunkedArray | None:
    """What memory says, or None for an error."""
    try:
        return evaluate(text, rows)
    except InvalidValue:
        return None


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return (ours != ours and theirs != theirs) or math.isclose(ours, theirs, rel_tol=1e-14)
    if isinstance(ours, dt.datetime) and isinstance(theirs, dt.datetime):
        return ours.replace(tzinfo=None) == theirs.replace(tzinfo=None)
    return type(ours) is type(theirs) and bool(ours == theirs)


def same_type(ours: pa.DataType, theirs: pa.DataType) -> bool:
    if pa.types.is_duration(ours) or pa.types.is_timestamp(ours):  # microseconds on Spark
        zone = getattr(ours, "tz", None) is None
        return ours.id == theirs.id and zone == (getattr(theirs, "tz", None) is None)
    return bool(ours == theirs)


@pytest.mark.parametrize("ansi", ["true", slow("false")])
@pytest.mark.parametrize("every", [False, slow(True)], ids=["a third", "every"])
def test_values_and_types_are_the_same(spark: SparkSession, ansi: str, every: bool) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    schema = table(USUAL).schema
    known = list(dict.fromkeys(t for key in operators() for t in texts(key, schema, every)))
    settings = {
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.codegen.wholeStage": "false",  # compiling thousands of columns takes minutes
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    wrong = []
    try:
        left = known
        if ansi == "false":  # where Spark is told otherwise
            left = [t for t in known if spark_sql(t, schema) != spark_sql(t, schema, ansi=False)]
        for rows in (table(USUAL, EXTREME), table(USUAL), table(EXTREME).slice(2)):
            expected = {text: outcome(text, rows) for text in left}
            asked = [text for text, made in expected.items() if made is not None]
            left = [text for text, made in expected.items() if made is None]
            sql = {text: spark_sql(text, schema, ansi=ansi == "true") for text in asked}
            frame = frame_of(spark, rows)
            made = frame.select(*[F.expr(sql[t]).alias(f"c{i}") for i, t in enumerate(asked)])
            theirs = made.toArrow()
            for i, text in enumerate(asked):
                ours, other = expected[text], theirs.column(f"c{i}")
                assert ours is not None
                pairs = zip(ours.to_pylist(), other.to_pylist(), strict=True)
                bad = [pair for pair in pairs if not same(*pair)]
                if (bad and text not in OWN) or not same_type(ours.type, other.type):
                    wrong.append((text, sql[text], str(ours.type), str(other.type), bad[:3]))
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))
    assert not wrong, (len(wrong), wrong[:20])


LATE = [
    *("i64 + i64", "i64 - 2", "i64 * i32", "i64 * i64 * 2", "-i64", "ABS(i64)", "ROUND(i64, -1)"),
    *("wide * 2", "wide + wide", "FLOOR(wide)", "CEIL(wide)", "ROUND(wide, 1)", "CAST(f64 AS INT)"),
    *("CAST(i64 AS TINYINT)", "CAST(word AS INT)", "CAST(cost AS DECIMAL(4, 2))", "-(i64 + 0)"),
    "CASE WHEN i64 > 0 THEN i64 + 1 ELSE 0 END",
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_does_not_fit_is_an_error_that_names_the_expression_or_the_value(
    spark: SparkSession, ansi: str
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    rows = table(USUAL, EXTREME)
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        frame = frame_of(spark, rows)
        for text in LATE:
            assert outcome(text, rows) is None, text
            sql = spark_sql(text, rows.schema, ansi=ansi == "true")
            column = next(name for name in TYPES if name in text)
            with pytest.raises(Exception, match=rf"{column}|CAST_\w+\] The value"):
                frame.select(F.expr(sql)).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))


def test_a_condition_guards_what_would_not_fit(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    rows = table(USUAL, EXTREME)
    text = "CASE WHEN i64 < 100 AND i64 > -100 THEN (i64 + 1) * (i64 - 1) END"
    for ansi in (True, False):
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        sql = spark_sql(text, rows.schema, ansi=ansi)
        made = frame_of(spark, rows).select(F.expr(sql).alias("x")).toArrow()["x"].to_pylist()
        assert made == evaluate(text, rows).to_pylist()
    spark.conf.unset("spark.sql.ansi.enabled")
