"""Queries over streaming DataFrames: as over tables, as Spark's own windows, with restarts."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import functions as sf

from tests.spark.frames import slow
from tests.spark.sources import ASKED, DDL, Source, Told, counted, fed, refused, told
from tests.streams.feeding import disordered, readings
from windrow import Collect, Count, Max, Query, Sum, shared, sliding, sql, streaming
from windrow.spark.checkpoint import read_checkpoint
from windrow.spark.progress import Progress

pytestmark = pytest.mark.xdist_group("streams")


@pytest.mark.parametrize("kind", [kind if kind == "rows" else slow(kind) for kind in ASKED])
def test_a_stream_answers_as_the_table_with_a_restart(source: Source, kind: str) -> None:
    rows = disordered(readings(300, 5, seed=3, spread=400), 30_000_000, seed=3)
    query = ASKED[kind]()
    source.add(rows.slice(0, 150))
    source.run(query)
    source.add(rows.slice(150))
    source.close(rows)
    progress = source.run(query)
    made = source.result()
    assert made.column_names == query(rows).column_names
    assert told(made) == told(query(rows).select(made.column_names))
    assert counted(progress[-1:], "late") == 0


def test_hopping_windows_are_sparks_own_late_rows_included(source: Source, spark: Any) -> None:
    rows = readings(400, 4, seed=5, spread=3000)
    random = np.random.default_rng(5)
    came = rows.column("ts").cast(pa.int64()).to_numpy() + random.integers(0, 20_000_000, 400)
    came += np.where(random.random(400) < 0.3, random.integers(0, 2 * 10**9, 400), 0)
    rows = rows.take(pa.array(np.argsort(came, kind="stable")))
    fed(source, rows, files=4)
    query = sliding(
        partition_by="key", order_by="ts", range="2 minutes", slide="30 seconds",
        lateness="20 seconds", a=Max("x"), s=Sum("x"), n=Count(),
    )  # fmt: skip
    progress = source.run(query)
    late, partly = counted(progress, "late"), counted(progress, "partly_late")
    assert late > 0 and partly > 0
    own = Source(spark, source.path / "own")
    for file in sorted((source.path / "in").glob("*.parquet")):
        own.add(pq.read_table(file))
    grouped = (
        own.frame()
        .withWatermark("ts", "20 seconds")
        .groupBy("key", sf.window("ts", "2 minutes", "30 seconds"))
        .agg(sf.max("x").alias("a"), sf.sum("x").alias("s"), sf.count("*").alias("n"))
        .select("key", "window.start", "window.end", "a", "s", "n")
        .toDF("key", "window_start", "window_end", "a", "s", "n")
    )
    own.run(lambda _: grouped)
    assert told(source.result()) == told(own.result())


def test_late_rows_come_out_marked(source: Source) -> None:
    rows = readings(60, 2, seed=1, spread=600)
    source.add(rows.slice(20))
    source.add(rows.slice(0, 20))
    source.close(rows)
    query = sliding(partition_by="key", order_by="ts", rows=2, lateness="1 second", a=Max("x"))
    progress = source.run(streaming(query, late="too_late"))
    made = source.result()
    aside = made.filter(made.column("too_late"))
    assert sorted(aside.column("id").to_pylist()) == list(range(20))
    assert counted(progress, "late") == 20
    rest = made.filter(pa.array(~np.array(made.column("too_late")))).drop_columns(["too_late"])
    assert told(rest) == told(query(rows.slice(20)).select(rest.column_names))


def test_update_tells_windows_as_they_change(source: Source) -> None:
    rows = readings(200, 3, seed=2, spread=300)
    fed(source, rows)
    query = sliding(
        partition_by="key", order_by="ts", range="1 minute", slide="10 seconds",
        lateness="1 minute", a=Max("x"), n=Count(),
    )  # fmt: skip
    source.run(streaming(query, mode="update"), mode="update")
    seen = {
        (row["key"], row["window_start"]): row for table in source.seen for row in table.to_pylist()
    }
    assert told(pa.Table.from_pylist(list(seen.values()))) == told(query(rows))


def test_rows_as_they_come(source: Source) -> None:
    rows = readings(200, 3, seed=4)
    for begin in (0, 120):
        source.add(rows.slice(begin, 120))
    query = sliding(partition_by="key", rows=3, c=Collect("id"))
    source.run(query)
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))


def test_columns_of_every_plain_type_come_out_as_they_went_in(source: Source, spark: Any) -> None:
    kinds = [
        "*", "cast(y as decimal(12, 3)) as price", "cast(ts as date) as day",
        "cast(x as byte) as b", "x > 0 as flag", "cast(key as binary) as raw",
        "cast(ts as timestamp_ntz) as clock",
        "make_dt_interval(0, 0, x, y) as span", "cast(y as float) as short", "x as late",
    ]  # fmt: skip
    rows = readings(50, 3, seed=5)
    source.add(rows.slice(0, 30))
    source.add(rows.slice(30))
    query = sliding(partition_by="key", rows=3, last=Max("day"))
    source.run(lambda frame: frame.selectExpr(*kinds).transform(query))
    made = source.result()
    assert made.schema.field("price").type == pa.decimal128(12, 3)
    given = spark.read.schema(DDL).parquet(str(source.path / "in")).selectExpr(*kinds).toArrow()
    assert told(made.drop_columns(["last"])) == told(given)


@pytest.mark.slow
def test_queries_share_a_stream(source: Source) -> None:
    rows = disordered(readings(200, 3, seed=6, spread=300), 10_000_000, seed=6)
    fed(source, rows)
    common = {"partition_by": "key", "order_by": "ts", "lateness": "10 seconds"}
    one = sliding(**common, rows=3, a=Max("x"))
    two = sliding(**common, range="9 seconds", b=Sum("x"))
    source.run(shared(one, two))
    made = source.result().drop_columns(["b"])
    assert told(made) == told(one(rows).select(made.column_names))
    made = source.result().drop_columns(["a"])
    assert told(made) == told(two(rows).select(made.column_names))


@pytest.mark.slow  # tests/streams/test_bucket.py asks the same without Spark
def test_count_windows_share_a_stream(source: Source) -> None:
    rows = disordered(readings(200, 3, seed=8, spread=300), 10_000_000, seed=8)
    fed(source, rows)
    common = {"partition_by": "key", "order_by": "ts", "lateness": "10 seconds"}
    queries = [
        sliding(**common, rows=6, slide=2, a=Max("x"), b=Collect("id")),
        sliding(**common, rows=2, slide=5, gaps=True, c=Sum("x")),
    ]
    source.run(shared(*queries))
    made = source.result()
    for i, query in enumerate(queries):
        alone = query(rows)
        mine = made.filter(pc.equal(made.column("query"), i)).select(alone.column_names)
        assert told(mine) == told(alone)


@pytest.mark.slow
def test_cql_over_a_stream_with_its_own_watermark(source: Source) -> None:
    rows = readings(150, 3, seed=7, spread=300)
    fed(source, rows)
    query = sql(
        "SELECT key, MAX(x) AS a "
        "FROM s [PARTITION BY key ORDER BY ts RANGE 1 MINUTE SLIDE 30 SECONDS]"
    )
    source.run(lambda frame: frame.withWatermark("ts", "5 seconds").transform(query))
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))


def unlike(query: Query) -> dict[str, tuple[Any, list[str]]]:
    """Other queries over other frames, and what tells them from `query` in words."""
    common = {"partition_by": "key", "rows": 3, "where": "x > -1000", "a": Max("x * 2")}
    other = sliding(**{**common, "a": Max("x * 3")})
    return {
        "expression and type": (
            lambda f: f.withColumn("y", sf.col("y").cast("float")).transform(other),
            ["Max('x * 2')", "Max('x * 3')", "column y ", "double", "≠", "float"],
        ),
        "window": (sliding(**{**common, "rows": 5}), ["rows  ", "3", "≠", "5"]),
        "where": (sliding(**{**common, "where": "x > 1000"}), ["≠", "'x > 1000'"]),
        "idle": (streaming(query, idle="7 days"), ["idle", "≠", "7 days"]),
    }


@pytest.mark.parametrize("change", ["expression and type", *map(slow, ("window", "where", "idle"))])
def test_the_state_can_be_read_and_is_refused_by_another_query_before_a_row_meets_it(
    source: Source, spark: Any, change: str
) -> None:
    rows = readings(60, 2, seed=1)
    source.add(rows)
    query = sliding(partition_by="key", rows=3, where="x > -1000", a=Max("x * 2"))
    source.run(query)
    columns = "id: int64, key: string, ts: timestamp[us, tz=UTC], x: int64, y: double"
    held = read_checkpoint(spark, str(source.path / "checkpoint"))
    assert held.query == (
        f"{query!r}\nover {columns}\nin 2 buckets of keys, one for each partition of the state"
    )
    assert sum(bucket.chunks for bucket in held.buckets) > 0
    # rows of a key that has no state yet, so that buckets with state get none
    others = rows.set_column(1, "key", pa.array(["new"] * 60))
    source.add(others)
    other, words = unlike(query)[change]
    with pytest.raises(StreamingQueryException, match="holds the state of another query") as caught:
        source.run(other)
    assert all(word in str(caught.value) for word in ("Max('x * 2')", *words))
    source.run(query)
    made = source.result()
    assert told(made) == told(query(pa.concat_tables([rows, others])).select(made.column_names))


@pytest.mark.slow
def test_a_row_from_the_future_is_set_aside(source: Source) -> None:
    rows = readings(200, 3, seed=8, spread=300)
    query = sliding(partition_by="key", order_by="ts", rows=3, lateness="1 second", a=Max("x"))
    ahead = rows.slice(0, 1).set_column(
        2, "ts", pa.array([datetime.datetime(2100, 1, 1)], pa.timestamp("us", "UTC"))
    )
    timeless = rows.slice(0, 1).set_column(2, "ts", pa.array([None], ahead["ts"].type))
    source.add(pa.concat_tables([rows.slice(0, 100), ahead, timeless]))
    source.add(rows.slice(100))
    source.close(rows)
    asked = streaming(query, future="1 hour")
    progress = [Progress.of(Told(p)) for p in source.run(asked)]
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))
    assert (sum(p.ahead for p in progress), sum(p.late for p in progress)) == (1, 1)
    assert progress[-1].watermark is not None and progress[-1].watermark.year == 2001
    marked = source.frame().withWatermark("ts", "1 second")
    with pytest.raises(AnalysisException, match="has followed rows from the future already"):
        marked.transform(streaming(query.replace(lateness=None), future="1 hour"))
    refused(
        source,
        streaming(sliding(rows=3, a=Max("x")), future="1 hour"),
        "future='1 hour' is about the times of rows: give the query order_by=",
    )


@pytest.mark.slow
@pytest.mark.parametrize("late", [None, "too_late"])
def test_rows_without_a_time_are_counted_by_hopping_windows(
    source: Source, late: str | None
) -> None:
    rows = readings(90, 3, seed=2, spread=300)
    timeless = rows.slice(0, 30).set_column(2, "ts", pa.nulls(30, rows["ts"].type))
    source.add(timeless)  # a batch without any time
    source.add(pa.concat_tables([rows, timeless]))
    source.close(rows)
    query = sliding(
        partition_by="key", order_by="ts", range="1 minute", slide="10 seconds",
        lateness="10 minutes", a=Max("x"), n=Count(),
    )  # fmt: skip
    progress = source.run(streaming(query, late=late))
    assert counted(progress, "late") == 60
    made = source.result()
    if late is not None:
        marked = np.array(made.column(late))
        assert int(marked.sum()) == 60
        made = made.filter(pa.array(~marked)).select(query(rows).column_names)
    assert told(made) == told(query(rows).select(made.column_names))


@pytest.mark.parametrize(
    "window",
    [
        pytest.param({"range": ("-2 minutes", "1 minute")}, id="frame", marks=pytest.mark.slow),
        pytest.param({"range": "2 minutes", "slide": "30 seconds"}, id="hopping"),
    ],
)
def test_times_without_a_zone_are_what_a_clock_shows(
    source: Source, spark: Any, window: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = disordered(readings(300, 3, seed=4, spread=5000), 30_000_000, seed=4)
    at = rows.column("ts").cast(pa.int64()).to_numpy()
    gap = int(datetime.datetime(2001, 4, 1, 2, tzinfo=datetime.UTC).timestamp()) * 10**6
    at = at - int(np.median(at)) + gap  # New York's clocks did not show 2 to 3 on that day
    rows = rows.set_column(2, "ts", pa.array(at, pa.timestamp("us")))
    ahead = pa.array([datetime.datetime(2100, 1, 1)], pa.timestamp("us"))
    source.add(pa.concat_tables([rows.slice(0, 1).set_column(2, "ts", ahead), rows.slice(0, 150)]))
    fed(source, rows.slice(150), files=1)
    query = sliding(
        partition_by="key", order_by="ts", lateness="31 seconds", a=Max("x"), n=Count(), **window
    )
    monkeypatch.setattr("tests.spark.sources.DDL", DDL.replace("timestamp", "timestamp_ntz"))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        progress = [Progress.of(Told(p)) for p in source.run(streaming(query, future="1 day"))]
        made = source.result()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert told(made) == told(query(rows).select(made.column_names))
    assert (sum(p.late for p in progress), sum(p.ahead for p in progress)) == (0, 1)


@pytest.mark.parametrize("name", ["event time", "event.time", "event`time"])
def test_the_order_column_may_have_any_name(spark: Any, name: str) -> None:
    frame = spark.readStream.format("rate").load().withColumnRenamed("timestamp", name)
    query = sliding(order_by=name, range="1 minute", lateness="1 second", n=Count())
    assert frame.transform(query).schema[name].metadata == {"spark.watermarkDelayMs": 1000}


def test_what_a_stream_cannot_do_is_said_before_it_starts(source: Source) -> None:
    refused(source, sliding(order_by="ts", rows=3, a=Max("x")), "how late may a row come")
    refused(
        source,
        sliding(order_by="id", range=5, lateness="1 second", a=Max("x")),
        "order_by='id' is of type bigint, and a stream is ordered by a timestamp",
    )
    per_row = sliding(order_by="ts", rows=3, lateness="1 second", a=Max("x"))
    refused(source, streaming(per_row, late="x"), "late='x' is the name of another column")
    marked = source.frame().withWatermark("ts", "9 seconds")
    with pytest.raises(AnalysisException, match="has a watermark of 9000 ms along 'ts' already"):
        marked.transform(per_row)
    two = sliding(order_by="ts", rows=3, lateness="2 seconds", b=Max("x"))
    refused(source, shared(per_row, two), "need the same lateness")
    endless = sliding(order_by="ts", rows=(0, "unbounded"), lateness="1 second", a=Max("x"))
    refused(source, endless, "such a window ends with the last row, and a stream has none")
    around = sliding(order_by="ts", rows=(-1, 1), lateness="1 second", b=Max("x"))
    refused(source, shared(per_row, around), "does not share a stream with others")
    loose = sliding(partition_by="key", rows=(-1, 1), b=Max("x"))
    refused(source, streaming(loose, idle="1 hour"), "would be forgotten; give order_by=")
    with pytest.raises(AnalysisException, match="'windrow_bucket' of its own: rename the frame's"):
        source.frame().withColumnRenamed("y", "Windrow_Bucket").transform(per_row)


def test_streams_of_one_frame_have_metrics_of_their_own(source: Source) -> None:
    query = streaming(ASKED["rows"](), future="1 hour")
    both = source.frame().transform(query).union(source.frame().transform(query))
    assert both.union(source.frame().transform(query)).isStreaming


@pytest.mark.slow
def test_a_union_of_streams_counts_the_late_rows_of_both(source: Source, spark: Any) -> None:
    other = Source(spark, source.path / "other")
    rows = readings(200, 3, seed=9, spread=400)
    late = rows.slice(0, 10)
    for each in (source, other):
        each.add(rows)
        each.close(rows)
        each.add(late)
    query = ASKED["rows"]()
    both = source.frame().transform(query).union(other.frame().transform(query))
    writer = both.writeStream.format("memory").queryName("both").trigger(availableNow=True)
    running = writer.option("checkpointLocation", str(source.path / "checkpoint")).start()
    running.awaitTermination()
    assert sum(Progress.of(p).late for p in running.recentProgress) == 2 * late.num_rows
    alone = told(query(rows))
    assert told(spark.table("both").toArrow()) == sorted(alone + alone)
