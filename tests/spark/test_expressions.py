"""An expression means in Spark what it means over Arrow, in ANSI mode and without."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.spark.frames import frame_of
from windrow import Sum, sliding
from windrow.spark.expressions import spark_sql
from windrow.tables.arithmetic import evaluate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = pa.table(
    {
        "i": [1, -7, None, 2**40, 0],
        "j": [0, 2, 3, None, 5],
        "f": [1.5, math.nan, None, -0.0, math.inf],
        "s": ["a", "B%", None, "12", ""],
        "c": ["x", "y", None, "x", "y"],
        "b": [True, False, None, True, False],
        "d": pa.array([Decimal("1.50"), None, Decimal("2.25"), None, None], pa.decimal128(10, 2)),
        "t": pa.array(
            [dt.datetime(2026, 1, 1, 10, 30, 5), None, dt.datetime(1969, 1, 1), None, None],
            pa.timestamp("us"),
        ),
        "my col": [1, 2, 3, 4, 5],
    }
)
TEXTS = [
    *("i + j", "i / j", "i % j", "f % 2", "-i", "- -i", "i - -1", "i * 1.5", "j * 0.1"),
    *("(i + j) / (j - 2)", "f / 0", "i % 0", "5 % 3", "0.1 + 0.2", '"my col" * 2'),
    *("i = 1", "f > 3", "f = f", "f < 2", "d = 1.5", "i IN (1, NULL)", "i IN (1.5, 1)"),
    *("f IN (1.5, CAST('NaN' AS DOUBLE))", "i BETWEEN -7 AND j", "i IS NULL", "b IS NOT TRUE"),
    *("b AND NULL", "b OR NULL", "NOT b", "IF(b, 1, 2)", "IF(b, i)", "NULLIF(i, 1)"),
    *("CASE WHEN j = 0 THEN 'zero' WHEN i > 1 THEN s END", "COALESCE(f, i, 0)"),
    *("CASE i WHEN 1 THEN 1 WHEN -7 THEN 2.5 END", "GREATEST(i, j, f)", "LEAST(s, c)"),
    *("ABS(i)", "ROUND(f)", "ROUND(2.5)", "ROUND(-2.5)", "ROUND(d, 1)", "ROUND(i, -1)"),
    *("FLOOR(f)", "CEIL(f)", "FLOOR(1e300)", "FLOOR(d)", "FLOOR(i / j)"),
    *("SQRT(i)", "LN(i)", "EXP(f)", "POWER(i, 2)", "POWER(0, -1)"),
    *("LOWER(s)", "UPPER(s)", "LENGTH(s)", "s || c", "CONCAT(s, 'x', c)", r"'it''s \ x'"),
    *(r"s LIKE '%\%'", "s LIKE 'a%'", "s LIKE '_'"),
    *("CAST(i AS VARCHAR)", "CAST(f AS VARCHAR)", "CAST(t AS VARCHAR)", "CAST(t AS DATE)"),
    *("CAST(d AS DOUBLE)", "CAST(1.9 AS INT)", "CAST(' 12 ' AS INT)", "CAST('true' AS BOOLEAN)"),
    *("EXTRACT(YEAR FROM t)", "EXTRACT(SECOND FROM t)", "HOUR(t)", "QUARTER(t)", "MONTH(t)"),
    *("t + INTERVAL '90' MINUTE", "t > '2026-01-01'", "CAST('2026-01-01' AS DATE) < t"),
    "t - INTERVAL '1 hour 30 minutes' > TIMESTAMP '2026-01-01'",
    "t - INTERVAL '1' DAY BETWEEN TIMESTAMP '2025-01-01' AND t",
]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and theirs is not None:
        theirs = float(theirs)
        return (ours != ours and theirs != theirs) or math.isclose(ours, theirs, rel_tol=1e-12)
    return bool(ours == theirs) and (ours is None) == (theirs is None)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_expressions_are_what_spark_says(spark: SparkSession, ansi: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        frame = frame_of(spark, TABLE)
        written = {text: spark_sql(text, TABLE.schema, ansi=ansi == "true") for text in TEXTS}
        rows = frame.select(*map(F.expr, written.values())).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))
    for text, theirs in zip(TEXTS, zip(*rows, strict=True), strict=True):
        ours = evaluate(text, TABLE).to_pylist()
        assert all(map(same, ours, theirs)), (text, written[text], ours, theirs)


def test_expressions_in_a_query_are_those_of_memory(spark: SparkSession) -> None:
    """What overflowed 32 and 16 bits on Spark, and had other types there."""
    rows = pa.table(
        {
            "id": range(4),
            "distance": pa.array([3_000, 40_000, None, -7], pa.int32()),
            "small": pa.array([300, -300, 2, None], pa.int16()),
            "cost": pa.array(
                [Decimal("1.00"), None, Decimal("2.50"), Decimal("0.10")], pa.decimal128(10, 2)
            ),
            "word": ["a", None, "bcd", ""],
        }
    )
    query = sliding(
        order_by="id",
        rows=2,
        where="small IS NULL OR small * small * small <> 7",
        far=Sum("distance * 1000000"),
        square=Sum("small * small"),
        third=Sum("cost / 3"),
        dear=Sum("cost + 1"),
        length=Sum("LENGTH(word)"),
        either=Sum("CASE WHEN id > 1 THEN small ELSE 1 END"),
    )
    here, there = query(rows), frame_of(spark, rows).transform(query).toArrow().sort_by("id")
    assert there.to_pylist() == here.to_pylist()
    assert [f.type for f in there.schema] == [f.type for f in here.schema]
