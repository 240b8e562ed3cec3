"""What listeners, terminals and Prometheus see of a stream is what Spark says of it."""

from __future__ import annotations

import datetime as dt
import io
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")
pytest.importorskip("prometheus_client", reason="not installed: windrow[metrics]")
pytest.importorskip("rich", reason="not installed: windrow[cli]")

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import Row

from windrow.errors import InvalidArgument
from windrow.spark.events import register_events
from windrow.spark.progress import Progress, ProgressListener
from windrow.spark.progress_metrics import COUNTERS, GAUGES, READERS, Metrics, prometheus_metrics
from windrow.spark.progress_terminal import HEADS, Lines, Table, progress_view, size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 3000

OPERATOR: dict[str, Any] = {
    "numRowsTotal": 5, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 2,
    "numRowsUpdated": 3, "numRowsRemoved": 1, "allUpdatesTimeMs": 200, "allRemovalsTimeMs": 50,
    "commitTimeMs": 125, "customMetrics": {"rocksdbTotalBytesWritten": 512},
}  # fmt: skip


def told(**more: Any) -> Any:
    """What Spark tells of a batch, as little of it as there may be."""
    plain: dict[str, Any] = {
        "id": "1234-abcd",
        "runId": "run",
        "name": None,
        "timestamp": "2026-01-01T00:01:00.000Z",
        "durationMs": {},
        "batchId": 3,
        "batchDuration": 2000,
        "numInputRows": 10,
        "inputRowsPerSecond": float("nan"),
        "processedRowsPerSecond": 5.0,
        "eventTime": {},
        "stateOperators": [],
        "sink": SimpleNamespace(numOutputRows=-1),
        "observedMetrics": {},
    }
    return SimpleNamespace(**{**plain, **more})


def test_what_spark_does_not_tell_is_none() -> None:
    seen = Progress.of(told())
    assert seen.query == "1234-abcd" and seen.seconds == 2.0
    assert seen.in_per_second == 0.0 and seen.done_per_second == 5.0
    assert seen.rows_out is None and seen.out_per_second is None and seen.watermark is None
    assert seen.late == seen.dropped == seen.state_rows == 0
    assert seen.newest is None and seen.state_written is None and seen.results == {}


def test_what_spark_tells_is_added_up() -> None:
    operator = SimpleNamespace(**OPERATOR)
    seen = Progress.of(
        told(
            name="plugs",
            stateOperators=[operator, operator],
            sink=SimpleNamespace(numOutputRows=8),
            observedMetrics={
                "windrow_1f": Row(late=3, partly_late=1),
                "windrow_1f_2": Row(late=1, partly_late=0),
                "windrow_1f_input": Row(ahead=3),
                "other": Row(late=9),
                "windrows": Row(late=9),
                "results_windrow_3c": Row(
                    **{"plug 3": Row(at=1, peak=4.5, low=None), "plug 4": None}
                ),
                "results_windrow_4d": Row(
                    **{" ": {"at": "2026", "mean": 2.0}}
                ),  # as Connect has it
            },
            eventTime={"watermark": "2026-01-01T00:00:05.500Z", "max": "2026-01-01T00:00:15.500Z"},
            durationMs={"addBatch": 1500, "triggerExecution": 2000},
        )
    )
    assert (seen.query, seen.state_rows, seen.state_bytes, seen.dropped) == ("plugs", 10, 200, 4)
    assert (
        (seen.late, seen.partly_late, seen.ahead) == (4, 1, 3)
        and seen.rows_out == 8
        and seen.out_per_second == 4.0
    )
    assert seen.watermark == dt.datetime(2026, 1, 1, 0, 0, 5, 500_000, dt.UTC)
    assert seen.newest == seen.watermark + dt.timedelta(seconds=10)
    assert seen.started == dt.datetime(2026, 1, 1, 0, 1, tzinfo=dt.UTC)
    assert seen.steps == {"addBatch": 1.5, "triggerExecution": 2.0}
    assert (seen.state_updated, seen.state_removed, seen.state_written) == (6, 2, 1024)
    assert (seen.update_seconds, seen.commit_seconds) == (0.5, 0.25)
    assert seen.results == {"plug 3 peak": 4.5, "mean": 2.0}


@pytest.mark.parametrize("row", [Row(late=None), Row(other=3)])
def test_a_counter_that_is_not_there_is_nought(row: Row) -> None:
    assert Progress.of(told(observedMetrics={"windrow": row})).late == 0


def test_no_watermark_yet() -> None:
    assert Progress.of(told(eventTime={"watermark": "1970-01-01T00:00:00.000Z"})).watermark is None


class Heard:
    def __init__(self) -> None:
        self.all: list[tuple[str, Any]] = []

    def progress(self, news: Progress) -> None:
        self.all.append((news.query, news.batch))

    def ended(self, query: str, error: str | None) -> None:
        self.all.append((query, error))


def test_an_end_is_told_by_the_name_of_the_query() -> None:
    heard = Heard()
    listener = ProgressListener(heard)
    listener.onQueryStarted(SimpleNamespace(id="i", runId="r", name="plugs"))
    listener.onQueryProgress(SimpleNamespace(progress=told(runId="r", name="plugs")))
    listener.onQueryIdle(SimpleNamespace(id="i", runId="r"))
    listener.onQueryTerminated(SimpleNamespace(id="i", runId="r", exception="no disk"))
    assert heard.all == [("plugs", 3), ("plugs", "no disk")]
    assert listener.latest["plugs"].batch == 3 and not listener.running


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [Lines, Table])
def test_views_show_the_newest_batch_and_all_late_rows(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    with kind(file) as view:
        for batch in (7, 8):
            view.progress(
                Progress.of(
                    told(
                        name="plugs",
                        batchId=batch,
                        observedMetrics={"windrow": Row(late=21, partly_late=5)},
                    )
                )
            )
        view.ended("plugs", "no disk\nat line 3")
    last = file.getvalue().rstrip().splitlines()
    assert "plugs: failed: no disk" in file.getvalue() and "line 3" not in file.getvalue()
    row = next(line for line in reversed(last) if "plugs" in line and "8" in line)
    assert "42 + 10 partly" in row and "2.00 s" in row
    assert all(head in file.getvalue() for head in HEADS[1:])


def test_sizes() -> None:
    assert [size(n) for n in (0, 1023, 2**30, 2**50)] == ["0 B", "1023 B", "1.0 GiB", "1024.0 TiB"]


def test_a_port_in_use_is_an_error() -> None:
    first = Metrics(0, "127.0.0.1")
    try:
        with pytest.raises(InvalidArgument, match=f"cannot serve at 127.0.0.1:{first.port}"):
            Metrics(first.port, "127.0.0.1")
    finally:
        first.close()


def test_queries_that_have_ended_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    metrics, view = Metrics(0, "127.0.0.1"), Lines(io.StringIO())
    listener = ProgressListener(metrics, view)

    def run(query: str, ends: bool = True) -> None:
        news = told(runId=query, name=query)
        listener.onQueryProgress(SimpleNamespace(progress=news))
        if ends:
            event = SimpleNamespace(id="i", runId=query, exception=None)
            listener.onQueryTerminated(event)

    def known() -> set[str]:
        on_page = {query for _, query in scraped(metrics.port)}
        assert on_page == set(listener.latest) == set(view.rows)
        return on_page

    try:
        for i in range(150):
            run(f"q{i}")
        assert known() == {f"q{i}" for i in range(50, 150)}
        now += 599
        run("q149", ends=False)
        assert len(known()) == 100
        now += 2
        run("new")
        assert known() == {"q149", "new"}
    finally:
        metrics.close()


def test_the_page_has_few_threads() -> None:
    metrics = Metrics(0, "127.0.0.1")
    before = threading.active_count()
    idle = []
    try:
        for _ in range(2 * READERS):
            idle.append(socket.create_connection(("127.0.0.1", metrics.port)))
            if len(idle) == READERS:
                while threading.active_count() < before + READERS:
                    time.sleep(0.01)
        assert threading.active_count() <= before + READERS
    finally:
        for each in idle:
            each.close()
    while threading.active_count() > before:
        time.sleep(0.01)
    assert scraped(metrics.port) == {}
    metrics.close()


def scraped(port: int) -> dict[tuple[str, str], float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = [*text_string_to_metric_families(answer.read().decode())]
    return {(s.name, s.labels["query"]): s.value for family in families for s in family.samples}


def test_a_stream_is_seen_by_all(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    register_events(spark)
    source = spark.readStream.format("windrow-events").options(
        rowsPerSecond=100, keys=4, late=0.05, numRows=ROWS, maxRowsPerTrigger=ROWS // 3
    )
    seen = source.load().withWatermark("ts", "1 second")
    seen = seen.observe("windrow", sf.count_if(sf.expr("id % 100 = 0")).alias("late"))
    counts = seen.groupBy("key", sf.window("ts", "5 seconds")).count()
    writer = counts.writeStream.format("noop").outputMode("append").queryName("plugs")
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    file = io.StringIO()
    with prometheus_metrics(spark, 0) as metrics:
        with progress_view(spark, file) as listener:
            query = writer.start()
            assert query.awaitTermination(120)
        spoken = query.recentProgress
        deadline = time.monotonic() + 10
        while scraped(metrics.port).get(("windrow_query_running", "plugs")) != 0:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        got = {name: value for (name, label), value in scraped(metrics.port).items()
               if label == "plugs"}  # fmt: skip
    with pytest.raises(OSError, match="refused"):
        scraped(metrics.port)

    dropped = sum(o.numRowsDroppedByWatermark for p in spoken for o in p.stateOperators)
    out = sum(p.sink.numOutputRows for p in spoken)
    assert dropped > 0 and out > 0
    assert got["windrow_batches_total"] == len(spoken) >= 3
    assert got["windrow_input_rows_total"] == ROWS
    assert got["windrow_output_rows_total"] == out
    assert got["windrow_dropped_rows_total"] == dropped
    assert got["windrow_late_rows_total"] == ROWS // 100
    last = spoken[-1]
    assert got["windrow_state_rows"] == last.stateOperators[0].numRowsTotal
    assert got["windrow_state_bytes"] == last.stateOperators[0].memoryUsedBytes
    assert got["windrow_batch_seconds"] == last.batchDuration / 1000
    watermark = dt.datetime.fromisoformat(last.eventTime["watermark"])
    assert got["windrow_watermark_seconds"] == watermark.timestamp()
    wanted = {f"{name}_total" for name in COUNTERS} | set(GAUGES)
    assert wanted <= set(got)

    lines = file.getvalue().splitlines()
    assert lines[-1] == "plugs: ended" and len(lines) == len(spoken) + 1
    assert f"late rows {dropped + ROWS // 100}, " in lines[-2]
    assert listener.latest["plugs"] == Progress.of(last)


SCRIPT = """
    import io, sys
    from pyspark.sql import SparkSession, functions as sf
    from tests.spark.conftest import SETTINGS
    from windrow.spark.events import register_events
    from windrow.spark.progress_terminal import progress_view

    builder = SparkSession.builder.remote("local[2]")
    for name, value in SETTINGS.items():
        builder.config(name, value)
    spark = builder.getOrCreate()
    register_events(spark)
    rows = spark.readStream.format("windrow-events").options(numRows=500, seed=3).load()
    assert "connect" in type(rows).__module__
    rows = rows.observe("windrow", sf.count_if(sf.expr("id % 100 = 0")).alias("late"))
    writer = rows.writeStream.format("noop").queryName("plugs").trigger(availableNow=True)
    file = io.StringIO()
    with progress_view(spark, file) as listener:
        query = writer.option("checkpointLocation", sys.argv[1]).start()
        assert query.awaitTermination(120)
    lines = file.getvalue().splitlines()
    assert lines[-1] == "plugs: ended", lines
    assert listener.latest["plugs"].rows_in == 500, listener.latest
    assert listener.latest["plugs"].late == 5, listener.latest
    print("all heard")
    spark.stop()
"""


@pytest.mark.slow
def test_connect_tells_the_same(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed: windrow[spark-connect]")
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "SPARK_TESTING": "1",  # any free port, and not one for all
    }
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "log")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    assert "all heard" in done.stdout
