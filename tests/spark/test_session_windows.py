"""Sessions are those of Spark's own `session_window`: batches, ranges, hot keys, streams."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from tests.spark.frames import alike, slow
from tests.spark.sources import Source, counted, fed, told
from tests.streams.feeding import disordered, readings
from windrow import (
    Collect,
    Concat,
    Count,
    First,
    Max,
    Mean,
    StdDev,
    Sum,
    shared,
    sliding,
    streaming,
)
from windrow.kernels.routes import traced
from windrow.spark.keys import Merged
from windrow.spark.sessions import Parts, _over_parts
from windrow.tables.bind import bind
from windrow.tables.states import states_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = {"n": Count(), "c": Count("v"), "m": Max("v"), "s": Sum("v"), "d": StdDev("v")}
OWN = "CASE WHEN v IS NULL THEN NULL WHEN v < 0.3 THEN '2 seconds' WHEN v < 0.4 THEN '0 seconds' \
ELSE '9 seconds' END"


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """The key "a" has four rows of ten, some rows no key, some no time; many times are equal."""
    share = sf.col("id") % 10
    other = sf.concat(sf.lit("k"), (sf.col("id") * 7919 % 10).cast("string"))
    frame = spark.range(3000).select(
        "id",
        sf.when(share < 4, "a").when(share >= 7, other).alias("key"),
        sf.when(
            sf.rand(9) > 0.01, sf.timestamp_seconds((sf.rand(1) * 9000 - 4500).cast("long"))
        ).alias("ts"),
        sf.when(sf.rand(5) > 0.1, sf.rand(3)).alias("v"),
    )
    frame = frame.cache()
    yield frame
    frame.unpersist()


@pytest.fixture
def uneven(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of a thousand rows is hot, and no frame is small."""
    ranges = import_module("windrow.spark.ranges")
    monkeypatch.setattr(ranges, "HOT_ROWS", 1000)
    monkeypatch.setattr(ranges, "SMALL", 1000)
    monkeypatch.setattr(ranges, "HOT_SAMPLE", 1.0)
    monkeypatch.setattr(import_module("windrow.spark.dataframe"), "_tasks", lambda frame: 8)


def spark_s_own(frame: DataFrame, keys: list[str], gap: Any) -> pa.Table:
    """What `session_window` gives, under the names of our results."""
    grouped = frame.groupBy(*keys, sf.session_window("ts", gap)).agg(
        sf.count(sf.lit(1)).alias("n"), sf.count("v").alias("c"), sf.max("v").alias("m"),
        sf.sum("v").alias("s"), sf.stddev("v").alias("d"),
    )  # fmt: skip
    ends = [sf.col(f"session_window.{end}").alias(f"session_{end}") for end in ("start", "end")]
    return grouped.select(*keys, *ends, "n", "c", "m", "s", "d").toArrow()


@pytest.mark.parametrize("keys", [["key"], []], ids=["keys", "no key"])
@pytest.mark.parametrize("gap", ["5 seconds", slow("1 second"), slow("1 hour")])
@pytest.mark.parametrize("way", ["even", "uneven"])
def test_sessions_are_sparks_own(
    rows: DataFrame, keys: list[str], gap: str, way: str, request: Any
) -> None:
    if way == "uneven":
        request.getfixturevalue("uneven")
    query = sliding(PARTS, partition_by=keys, order_by="ts", gap=gap)
    with traced() as chosen:
        made = rows.transform(query)
    ((_, ran),) = chosen
    assert ran == ("ranges" if way == "uneven" else "keys" if keys else "one task")
    assert import_module("windrow.spark").plans([query], rows)[0].spark == ran
    alike(made.toArrow(), spark_s_own(rows, keys, gap), [*keys, "session_start"])


@pytest.mark.parametrize("way", ["even", "uneven"])
def test_a_gap_of_each_row_s_own_is_sparks(rows: DataFrame, way: str, request: Any) -> None:
    """Rows whose gap is null or nothing are in no session."""
    if way == "uneven":
        request.getfixturevalue("uneven")
    query = sliding(PARTS, partition_by="key", order_by="ts", gap=OWN)
    wanted = spark_s_own(rows, ["key"], sf.expr(OWN))
    assert sum(wanted.column("n").to_pylist()) < rows.count() - 300
    alike(rows.transform(query).toArrow(), wanted, ["key", "session_start"])


@pytest.mark.slow
@pytest.mark.parametrize("gap", ["1 month", "3 weeks"])
def test_a_gap_of_the_calendar_is_sparks(rows: DataFrame, gap: str) -> None:
    """The zone of the session is UTC."""
    seconds = (sf.unix_seconds("ts") + 4500) * 100_000
    far = rows.withColumn("ts", sf.timestamp_seconds(seconds)).where("id % 10 > 6")
    query = sliding(PARTS, partition_by="key", order_by="ts", gap=gap)
    wanted = spark_s_own(far, ["key"], gap)
    assert 20 < wanted.num_rows < 0.9 * far.count()
    alike(far.transform(query).toArrow(), wanted, ["key", "session_start"])


@pytest.mark.usefixtures("uneven")
def test_what_depends_on_the_order_of_rows_is_as_in_memory(rows: DataFrame) -> None:
    """Also `where`, `having`, conditions and expressions, in ranges that cut sessions."""
    table = rows.where("ts IS NOT NULL").dropDuplicates(["ts"]).toArrow()
    frame = rows.sparkSession.createDataFrame(table)
    query = sliding(
        order_by="ts", gap="9 seconds", where="id % 11 <> 0", having="n > 2", min_rows=2,
        n=Count(), all=Collect("id"), first=First("v * 2"), words=Concat("key"),
        big=Mean("v").where("v > 0.5"),
    )  # fmt: skip
    alike(frame.transform(query).toArrow(), query(table), ["session_start"])


def test_parts_of_sessions_end_at_infinity() -> None:
    table = pa.table({"at": [-math.inf, 0.5, 1.0, math.inf, math.inf]})
    query = sliding(order_by="at", gap=3, n=Count())
    bound = bind(query, table.schema)
    parts = states_of([bound])
    over = _over_parts(bound, parts, "start")
    made = Parts((bound,), over.schema, over, parts)(iter(table.to_batches()))
    sessions = Merged((over,), query(table).schema, parts)(made)
    assert pa.Table.from_batches(sessions).equals(query(table))


def test_shared_sessions_say_whose_they_are(rows: DataFrame) -> None:
    queries = [
        sliding(partition_by="key", order_by="ts", gap="5 seconds", n=Count()),
        sliding(partition_by="key", order_by="ts", gap="1 minute", s=Max("v")),
    ]
    both = rows.transform(shared(*queries)).toArrow()
    for i, query in enumerate(queries):
        alone = rows.transform(query).toArrow()
        own = both.filter(pa.compute.equal(both.column("query"), i)).select(alone.column_names)
        alike(own, alone, ["key", "session_start"])


def test_sessions_and_hopping_windows_do_not_run_in_one_pass(rows: DataFrame) -> None:
    both = shared(
        sliding(order_by="ts", gap="5 seconds", n=Count()),
        sliding(order_by="ts", range="5 seconds", slide="5 seconds", m=Max("v")),
    )
    with pytest.raises(AnalysisException, match="all sessions or none"):
        rows.transform(both)


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.xdist_group("streams")
@pytest.mark.parametrize(
    "gap", [slow("40 seconds"), slow("CASE WHEN x > 0 THEN '1 minute' ELSE '5 seconds' END")]
)
def test_append_is_sparks_own_late_rows_included(source: Source, spark: Any, gap: str) -> None:
    rows = readings(300, 4, seed=5, spread=3000)
    random = np.random.default_rng(5)
    came = rows.column("ts").cast(pa.int64()).to_numpy() + random.integers(0, 20_000_000, 300)
    came += np.where(random.random(300) < 0.3, random.integers(0, 2 * 10**9, 300), 0)
    rows = rows.take(pa.array(np.argsort(came, kind="stable")))
    fed(source, rows, files=7)
    query = sliding(
        partition_by="key", order_by="ts", gap=gap, lateness="20 seconds",
        a=Max("x"), s=Sum("x"), n=Count(),
    )  # fmt: skip
    progress = source.run(query)
    assert counted(progress, "late") > 0
    own = Source(spark, source.path / "own")
    for file in sorted((source.path / "in").glob("*.parquet")):
        own.add(pq.read_table(file))
    width: Any = sf.expr(gap) if gap.startswith("CASE") else gap
    grouped = (
        own.frame()
        .withWatermark("ts", "20 seconds")
        .groupBy("key", sf.session_window("ts", width))
        .agg(sf.max("x").alias("a"), sf.sum("x").alias("s"), sf.count("*").alias("n"))
        .select("key", "session_window.start", "session_window.end", "a", "s", "n")
        .toDF("key", "session_start", "session_end", "a", "s", "n")
    )
    own.run(lambda _: grouped)
    assert told(source.result()) == told(own.result())


@pytest.mark.xdist_group("streams")
def test_a_stream_answers_as_the_table_with_a_restart(source: Source) -> None:
    rows = disordered(readings(300, 5, seed=3, spread=1500), 30_000_000, seed=3)
    query = sliding(
        partition_by="key", order_by="ts", gap="9 seconds", lateness="30 seconds",
        a=Max("x + 1"), c=Collect("id"), n=Count(),
    )  # fmt: skip
    for begin in (0, 100):
        source.add(rows.slice(begin, 100))
    source.run(query)
    source.add(rows.slice(200, 100))
    source.close(rows)
    progress = source.run(query)
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))
    assert counted(progress[-1:], "late") == 0


@pytest.mark.slow  # tests/streams/test_sessions.py asks the same without Spark
@pytest.mark.xdist_group("streams")
def test_update_tells_sessions_as_they_change(source: Source) -> None:
    rows = disordered(readings(200, 3, seed=2, spread=900), 60_000_000, seed=2)
    fed(source, rows)
    query = sliding(
        partition_by="key", order_by="ts", gap="9 seconds", lateness="1 minute",
        a=Max("x"), n=Count(),
    )  # fmt: skip
    source.run(streaming(query, mode="update"), mode="update")
    seen: dict[Any, Any] = {}
    for row in (row for table in source.seen for row in table.to_pylist()):
        where = row["key"], row["session_start"]
        if row["session_end"] is None:
            del seen[where]
        else:
            seen[where] = row
    assert told(pa.Table.from_pylist(list(seen.values()))) == told(query(rows))


@pytest.mark.xdist_group("streams")
def test_what_a_stream_refuses(source: Source) -> None:
    rows = readings(5, 2, seed=1)
    source.add(rows)
    asked = {"partition_by": "key", "order_by": "ts", "lateness": "1 minute"}
    nine, ten = (sliding(**asked, gap=gap, **{f"n{gap[0]}": Count()}) for gap in ("9 s", "10 s"))
    with pytest.raises(AnalysisException, match="sessions of different gaps do not share"):
        source.frame().transform(shared(nine, ten))
    with pytest.raises(AnalysisException, match="leave one of them out"):
        source.frame().transform(streaming(nine.replace(emit="istream"), mode="update"))
