"""Times in the session's zone, over the hours that a clock skips or shows twice."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from tests.spark.frames import AUTUMN, SPRING, agree, alike, frame_of, rows
from tests.spark.test_keys import setting
from windrow import ArgMax, Count, Max, Sum, sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONES = ["Europe/Berlin", "America/St_Johns", "+05:45"]


@pytest.mark.parametrize("zone", ZONES)
def test_ranges_over_the_change_of_clocks(spark: SparkSession, zone: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    table = rows(200)
    parts = {"n": Count(), "total": Sum("x"), "late": Max("t"), "where": ArgMax("u", "local")}
    texts = {"n": "count(*)", "total": "sum(x)", "late": "max(t)", "where": "max_by(local, u)"}
    query = sliding(parts, partition_by="key", order_by="t", range="5 hours")
    with setting(spark, "spark.sql.session.timeZone", zone):
        frame = frame_of(spark, table)
        span = "RANGE BETWEEN INTERVAL 5 HOURS PRECEDING AND CURRENT ROW"
        for name, text in texts.items():
            theirs = F.expr(f"{text} OVER (PARTITION BY key ORDER BY t {span})")
            frame = frame.withColumn(f"spark_{name}", theirs)
        made = frame.transform(query)
        assert dict(made.dtypes)["late"] == "timestamp"
        assert dict(made.dtypes)["where"] == "timestamp_ntz"
        found = made.toArrow()
        agree(found, list(parts))
        # instants come back as they went, and clocks without a zone are left alone
        found = found.sort_by("id")
        assert found.column("t").to_pylist() == table.column("t").to_pylist()
        assert found.column("local").to_pylist() == table.column("local").to_pylist()


def test_a_day_is_24_hours(spark: SparkSession) -> None:
    """Spark's RANGE over an INTERVAL of a day goes by the calendar; a duration does not."""
    times = [base + dt.timedelta(hours=h) for base in (SPRING, AUTUMN) for h in range(-30, 30)]
    table = rows(len(times))
    table = table.set_column(table.column_names.index("t"), "t", [times])
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    with setting(spark, "spark.sql.session.timeZone", "Europe/Berlin"):
        frame = frame_of(spark, table)
        spec = Window.orderBy(F.unix_micros("t")).rangeBetween(-86_400_000_000, 0)
        frame = frame.withColumn("spark_n", F.count("*").over(spec))
        agree(frame.transform(sliding(order_by="t", range="1 day", n=Count())).toArrow(), ["n"])


@pytest.mark.parametrize("zone", ZONES[:2])
def test_hopping_windows_start_at_utc_as_sparks_do(spark: SparkSession, zone: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    query = sliding(
        partition_by="key", order_by="t", range="3 hours", slide="90 minutes", n=Count(),
        where_=ArgMax("u", "s"),
    )  # fmt: skip
    with setting(spark, "spark.sql.session.timeZone", zone):
        frame = frame_of(spark, rows(200))
        theirs = frame.groupBy("key", F.window("t", "3 hours", "90 minutes")).agg(
            F.count("*").alias("n"), F.max_by("s", "u").alias("where_")
        )
        theirs = theirs.select(
            "key", F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"), "n", "where_",
        )  # fmt: skip
        alike(frame.transform(query).toArrow(), theirs.toArrow(), ["key", "window_start"])


def test_conditions_tell_the_hour_in_the_sessions_zone(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    with setting(spark, "spark.sql.session.timeZone", "Asia/Kolkata"):
        frame = frame_of(spark, rows(200))
        query = sliding(
            order_by=["t", "id"], rows=1, where="HOUR(t) < 9", having="HOUR(late) > 5",
            late=Max("t"), hour=Max("HOUR(t)"),
        )  # fmt: skip
        found = frame.transform(query).withColumn("theirs", F.hour("t")).toArrow()
        assert found.num_rows
        assert found.column("hour").to_pylist() == found.column("theirs").to_pylist()
        assert set(found.column("hour").to_pylist()) <= {6, 7, 8}
        wanted = frame.filter("hour(t) BETWEEN 6 AND 8").count()
        assert found.num_rows == wanted


def test_times_of_all_years(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    years = [1, 2, 1581, 1582, 1583, 1900, 1969, 1970, 2262, 2263, 9998, 9999]
    last = [dt.datetime(year, 12, 31, 23, 59, 59, 999_999, dt.UTC) for year in years]
    times = [*last, *(time.replace(day=1) for time in last)]
    table = rows(len(times))
    table = table.set_column(table.column_names.index("t"), "t", [times])
    frame = frame_of(spark, table)
    span = "RANGE BETWEEN INTERVAL 400 DAYS PRECEDING AND CURRENT ROW"
    for name, text in {"n": "count(*)", "late": "max(t)", "total": "sum(x)"}.items():
        frame = frame.withColumn(f"spark_{name}", F.expr(f"{text} OVER (ORDER BY t {span})"))
    parts = {"n": Count(), "late": Max("t"), "total": Sum("x")}
    agree(frame.transform(sliding(parts, order_by="t", range="400 days")).toArrow(), list(parts))
