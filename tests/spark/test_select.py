"""Standard SQL over DataFrames: a few statements that Spark answers as well, held against it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.queries.random_statements import table
from tests.spark.frames import frame_of
from tests.tables.oracle import same
from windrow import sql
from windrow.errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Each in the words of both; u tells the rows apart.
STATEMENTS = [
    """
    SELECT u, x, MAX(x) OVER w AS peak, MAX(i) OVER w - MIN(i) OVER w AS spread,
           LAG(s, 2, 'none') OVER w AS before, LEAD(i) IGNORE NULLS OVER w AS behind,
           SUM(i) OVER (PARTITION BY g ORDER BY t, u ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s,
           COUNT(*) OVER (PARTITION BY g) AS n, NTILE(3) OVER w AS tile
    FROM data WHERE u % 7 <> 3 WINDOW w AS (PARTITION BY g ORDER BY t, u)
    """,
    """
    SELECT u, RANK() OVER w AS r, DENSE_RANK() OVER w AS d, PERCENT_RANK() OVER w AS p,
           CUME_DIST() OVER w AS c, FIRST_VALUE(i) OVER (PARTITION BY g ORDER BY t DESC, u) AS f,
           LAST_VALUE(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY u DESC) AS l,
           NTH_VALUE(s, 2) OVER (PARTITION BY g ORDER BY u) AS n2
    FROM data WINDOW w AS (PARTITION BY g ORDER BY t DESC)
    """,
    """
    SELECT u, SUM(i) OVER (PARTITION BY g ORDER BY d
                           RANGE BETWEEN INTERVAL 2 MINUTES PRECEDING AND CURRENT ROW) AS s,
           AVG(i) OVER (ORDER BY t, s NULLS LAST) AS a, COUNT(*) OVER () AS n,
           COUNT(x) FILTER (WHERE i > 0) OVER (PARTITION BY h ORDER BY s DESC NULLS FIRST) AS c
    FROM data
    """,
    """
    WITH begun AS (SELECT *, CASE WHEN t - LAG(t) OVER w <= 2 THEN 0 ELSE 1 END AS begins FROM data
                   WINDOW w AS (PARTITION BY g ORDER BY t, s DESC, d, u)),
         numbered AS (SELECT *, SUM(begins) OVER (PARTITION BY g ORDER BY t, u) AS n FROM begun)
    SELECT DISTINCT MAX(u) AS u, n, g, COUNT(*) AS rows, AVG(i) AS mean, SUM(n) + 1 AS more
    FROM numbered GROUP BY g, n HAVING COUNT(*) > 1
    """,
    """
    SELECT MAX(u) AS last, g, SUM(SUM(i)) OVER (ORDER BY MAX(u)) AS sums,
           RANK() OVER (ORDER BY AVG(i) DESC, g) AS place, LAG(COUNT(*), 1, 0) OVER w AS before,
           COUNT(*) / SUM(COUNT(*)) OVER () AS share
    FROM data WHERE u > 3 GROUP BY g HAVING COUNT(*) > 1 WINDOW w AS (ORDER BY MIN(u))
    """,
]


def rows_of(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: row[0])


@pytest.mark.parametrize("text", STATEMENTS, ids=["shared", "ranks", "several", "nested", "groups"])
def test_statements_have_the_answers_of_spark(spark: SparkSession, text: str) -> None:
    frame = frame_of(spark, table(5, rows=300))
    frame.createOrReplaceTempView("data")
    found = sql(text, data=frame)
    expected = spark.sql(text)
    assert found.columns == expected.columns
    for mine, theirs in zip(rows_of(found), rows_of(expected), strict=True):
        assert all(map(same, mine, theirs)), (mine, theirs)


def test_windows_of_one_order_are_one_shuffle_and_qualify_and_limit_follow(
    spark: SparkSession,
) -> None:
    frame = frame_of(spark, table(6, rows=60))
    made = sql(
        """
        SELECT u, MAX(x) OVER w AS peak, LAG(i) OVER w AS before, AVG(i) OVER (PARTITION BY g) AS m,
               SUM(i) OVER (PARTITION BY g ORDER BY u DESC ROWS 3 PRECEDING) AS s
        FROM data WINDOW w AS (PARTITION BY g ORDER BY u)
        QUALIFY ROW_NUMBER() OVER w <= 3 ORDER BY u DESC LIMIT 4
        """,
        data=frame,
    )
    plan = made._jdf.queryExecution().executedPlan().toString()
    assert plan.count("hashpartitioning") == 1
    found = [row.u for row in made.collect()]
    assert len(found) == 4
    assert found == sorted(found, reverse=True)


def test_what_a_dataframe_cannot_is_refused(spark: SparkSession) -> None:
    frame = frame_of(spark, table(6, rows=3))
    with pytest.raises(Unsupported, match="write OVER"):
        sql("SELECT ROW_NUMBER() OVER () AS n FROM data", data=frame)
    with pytest.raises(InvalidArgument, match="no column 'y'"):
        sql("SELECT MAX(y) OVER (ORDER BY u) AS n FROM data", data=frame)


def test_a_stream_of_rows_is_answered_as_they_come(spark: SparkSession, tmp_path: Path) -> None:
    minute = dt.timedelta(minutes=1)
    begin = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    rows = [("ab"[n % 2], begin + n * minute, float(n % 5)) for n in range(40)]
    data = pa.table(dict(zip(("g", "ts", "x"), map(list, zip(*rows, strict=True)), strict=True)))
    frame = frame_of(spark, data)
    frame.write.parquet(str(tmp_path / "in"))
    text = """
        SELECT g, ts, MAX(x) OVER w - 1 AS peak,
               SUM(x) OVER (PARTITION BY g ORDER BY ts ROWS 2 PRECEDING) AS s
        FROM data WHERE x > 0
        WINDOW w AS (PARTITION BY g ORDER BY ts RANGE INTERVAL '10' MINUTE PRECEDING)
    """
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    stream = stream.withWatermark("ts", "1 minute")
    writer = sql(text, data=stream).writeStream.format("memory").queryName("answered")
    writer = writer.option("checkpointLocation", str(tmp_path / "state"))
    writer.trigger(availableNow=True).start().awaitTermination()
    found = sorted(map(tuple, spark.table("answered").collect()))
    expected = sorted(map(tuple, sql(text, data=frame).collect()))
    assert 0 < len(found) <= len(expected)
    assert set(found) <= set(expected)
    twice = "SUM(x) OVER (ORDER BY ts) a, SUM(x) OVER (PARTITION BY g ORDER BY ts) b"
    for wrong, says in {
        "SELECT SUM(x) OVER (PARTITION BY g) AS s FROM data": "has no last row",
        "SELECT SUM(x) OVER (ORDER BY ts) AS s FROM data LIMIT 3": "has no last row",
        f"SELECT {twice} FROM data": "same PARTITION BY",
    }.items():
        with pytest.raises(Unsupported, match=says):
            sql(wrong, data=stream)
