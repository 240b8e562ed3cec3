"""The live page shows what Spark says of its streams, to this machine only."""

from __future__ import annotations

import html
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

from pyspark.sql import Row

import windrow.spark
from tests.browser import Browser
from tests.spark.test_progress import OPERATOR, told
from windrow import Max, Mean, sliding, streaming
from windrow.errors import InvalidArgument
from windrow.spark import live_results, live_view
from windrow.spark.progress import Progress, observed_name
from windrow.spark.progress_history import KEPT, PANELS, History
from windrow.spark.progress_page import PORT, LiveView, page_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = sliding(
    partition_by="key", order_by="ts", range="10 seconds", lateness="5 seconds",
    peak=Max("value"), mean=Mean("value"),
)  # fmt: skip
FOUND = "[...{}.querySelectorAll({!r})].find((each) => each.innerText.startsWith({!r}))"
found = FOUND.format
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def batch(number: int, query: str = "plugs", **more: Any) -> Progress:
    """What Spark would tell of a busy stream's batch."""
    minute, second = divmod(number, 60)
    plain: dict[str, Any] = {
        "name": query,
        "batchId": number,
        "timestamp": f"2026-01-01T00:{minute:02}:{second:02}.000Z",
        "inputRowsPerSecond": 1000.0 + number,
        "sink": SimpleNamespace(numOutputRows=300),
        "stateOperators": [SimpleNamespace(**OPERATOR)],
        "durationMs": {"addBatch": 1500, "queryPlanning": 200, "triggerExecution": 2000},
        "eventTime": {"watermark": "2025-12-31T23:59:30.000Z", "max": "2025-12-31T23:59:50.000Z"},
        "observedMetrics": {
            "windrow_1f": Row(late=2, partly_late=1),
            "results_windrow_2a": Row(
                **{"key 3": Row(at=1, peak=40.0 + number, mean=float("nan"))}
            ),
        },
    }
    return Progress.of(told(**{**plain, **more}))


def figures(values: list[list[float | None]]) -> dict[str, dict[str, float | None]]:
    """The figures of a batch by the chart and the line that shows them."""
    return {
        p.title: dict(zip(p.lines, v, strict=True)) for p, v in zip(PANELS, values, strict=True)
    }


# -- the feed --------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_batch() -> None:
    history = History()
    history.progress(batch(0))
    (query,) = history.snapshot()["queries"]
    (drawn,) = query["batches"]
    assert figures(drawn["values"]) == {
        "Rows a second": {"arriving": 1000, "processed": 5, "results": 150},
        "Batch time": {
            "rows and state": 1.5, "planning": 0.2, "sources": 0, "logs": 0, "other": 0.3,
        },
        "State work, all tasks added up": {"updates": 0.25, "commits": 0.125},
        "Watermark behind the newest row": {"behind": 20},
        "Watermark behind the clock": {"behind": 30},
        "Rows left out, in each batch": {"too late": 4, "partly late": 1, "too far ahead": 0},
        "State kept, rows": {"kept": 5},
        "State kept, memory": {"kept": 100},
        "State written, rows": {"updated": 3, "removed": 1},
        "State written, bytes": {"written": 512},
    }  # fmt: skip
    assert drawn["results"] == {"key 3 peak": 40, "key 3 mean": None}
    assert query["totals"]["too late so far"] == "4" and query["end"] is None
    history.progress(batch(1))
    assert history.snapshot()["queries"][0]["totals"]["too late so far"] == "8"
    json.dumps(history.snapshot(), allow_nan=False)


def test_what_spark_does_not_tell_is_not_drawn() -> None:
    history = History()
    history.progress(Progress.of(told(name="plugs")))
    (query,) = history.snapshot()["queries"]
    shown = figures(query["batches"][0]["values"])
    assert shown["Rows a second"]["results"] is None
    assert shown["Watermark behind the clock"]["behind"] is None
    assert query["totals"]["watermark"] == "none yet"


def test_the_plan_is_that_of_the_query_whose_counters_are_told() -> None:
    asked = streaming(ASKED, idle="1 day")
    counters = observed_name(b"a plan of its own", asked)
    history = History()
    history.progress(batch(0, observedMetrics={counters: Row(late=0)}))
    history.progress(batch(1, observedMetrics={}))  # a batch without rows tells none
    history.progress(batch(0, "other", observedMetrics={"theirs": Row(n=1)}))
    plans = {each["query"]: each["plan"] for each in history.snapshot()["queries"]}
    assert plans == {"plugs": asked.explain(), "other": ""}


def test_a_reader_gets_all_there_is_and_then_each_event() -> None:
    history = History()
    history.progress(batch(0))
    reader = history.follow()
    first = next(reader)
    assert first is not None and first["queries"] == history.snapshot()["queries"]
    history.progress(batch(1))
    history.ended("plugs", None)
    history.ended("early", "no disk")  # before its first batch
    assert (next(reader) or {})["add"]["batch"] == 1
    assert next(reader) == {"query": "plugs", "end": ""}
    assert next(reader) == {"query": "early", "end": "no disk"}
    history.progress(batch(2))
    assert history.snapshot()["queries"][0]["end"] is None  # it runs again
    history.close()
    assert [(each or {})["add"]["batch"] for each in reader] == [2]
    assert list(history.follow()) == []


def test_a_reader_hears_that_there_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.spark.progress_history.BEAT", 0.01)
    history = History()
    reader = history.follow()
    next(reader)
    assert next(reader) is None
    reader.close()  # type: ignore[attr-defined]
    history.progress(batch(0))  # to nobody


def test_old_batches_and_ended_queries_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()
    for number in range(KEPT + 5):
        history.progress(batch(number))
    (query,) = history.snapshot()["queries"]
    assert [each["batch"] for each in query["batches"]] == list(range(5, KEPT + 5))
    assert len(history.snapshot(most=7)["queries"][0]["batches"]) == 7
    history.ended("plugs", None)
    after = time.monotonic() + 601
    monkeypatch.setattr(time, "monotonic", lambda: after)
    assert history.snapshot()["queries"] == []


# -- the server ------------------------------------------------------------------------------


class Session:
    """A session that only knows listeners."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.streams = SimpleNamespace(
            addListener=self.heard.append, removeListener=self.heard.remove, active=[]
        )

    def tell(self, *news: Any) -> None:
        for progress in news:
            self.heard[0].onQueryProgress(SimpleNamespace(progress=progress))


def busy(number: int, name: str = "plugs") -> Any:
    return told(name=name, runId=name, batchId=number, numInputRows=12_345,
                observedMetrics={"results_windrow_1": Row(**{"key 3": Row(at=1, peak=41.5)})},
                timestamp=f"2026-01-01T00:00:{number:02}.000Z")  # fmt: skip


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def view(session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveView]:
    monkeypatch.setattr("windrow.spark.progress.PATIENCE", 0.1)  # these streams never end
    with live_view(session, port=0) as view:
        yield view


def get(url: str, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10)


def test_the_page_is_small_and_needs_no_other_host(view: LiveView) -> None:
    with get(view.url) as answer:
        page, policy = answer.read(), answer.headers["Content-Security-Policy"]
    assert len(page) < 100_000
    assert "default-src 'none'" in policy and "http" not in policy
    text = page.decode()
    fetched = re.findall(r"""(?:src|href)=["']([^"'#]+)|url\(([^)]+)""", text)
    assert [a or b for a, b in fetched] == ["data:,"]
    assert "prefers-color-scheme: dark" in text and "<!-- " not in text


def test_events_go_on_as_batches_come(view: LiveView, session: Session) -> None:
    session.tell(busy(0))
    with get(f"{view.url}events") as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"

        def event() -> Any:
            line = answer.readline()
            assert answer.readline() == b"\n"
            return json.loads(line.removeprefix(b"data: "))

        assert [each["query"] for each in event()["queries"]] == ["plugs"]
        session.tell(busy(1), busy(0, "houses"))
        assert [(news["query"], news["add"]["batch"]) for news in (event(), event())] == [
            ("plugs", 1),
            ("houses", 0),
        ]
        view.close()
        assert answer.read() == b""
    assert session.heard == []
    with pytest.raises(urllib.error.URLError, match="refused"):
        get(view.url)


def test_only_this_machine_reads_it(view: LiveView) -> None:
    for path in ("", "events", "state.json"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(f"{view.url}{path}", Host="elsewhere.example")
    with get(f"{view.url}state.json", Origin="https://elsewhere.example") as answer:
        assert answer.headers["Access-Control-Allow-Origin"] is None
    with get(f"{view.url}state.json", Origin="http://localhost:8888") as answer:  # a notebook
        assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:8888"
        assert json.load(answer)["queries"] == []
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"{view.url}other")


def test_ports(session: Session) -> None:
    with live_view(session, port=0) as first:
        taken = int(first.url.rstrip("/").rpartition(":")[2])
        with pytest.raises(InvalidArgument, match=rf"127\.0\.0\.1:{taken}: .*port 0 takes any"):
            live_view(session, port=taken)
    with pytest.raises(InvalidArgument, match="port must be a whole number, got '80'"):
        live_view(session, port="80")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="0-65535"):
        live_view(session, port=70_000)
    assert session.heard == []


def test_the_next_free_port_is_taken(session: Session) -> None:
    with live_view(session) as one, live_view(session) as other:
        ports = [int(each.url.rstrip("/").rpartition(":")[2]) for each in (one, other)]
    assert PORT <= ports[0] < ports[1] < PORT + 10


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="spark='local' is no SparkSession"):
        live_view("local")


def test_the_names_are_those_of_the_package() -> None:
    assert windrow.spark.live_view is live_view and windrow.spark.live_results is live_results


# -- a notebook ------------------------------------------------------------------------------


def test_a_notebook_shows_the_page_as_it_is(view: LiveView, session: Session) -> None:
    for name in ("plugs", "houses", "a </script> name", "four", "five"):
        session.tell(*(busy(number % 60, name) for number in range(KEPT)))
    shown = view._repr_html_()
    assert len(shown.encode()) < 100_000
    (page,) = re.findall(r'^<iframe srcdoc="([^"]*)"', shown)
    page = html.unescape(page)
    (start,) = re.findall(r'id="start">(.*)</script>', page)
    assert json.loads(start)["events"] == f"{view.url}events"
    assert len(json.loads(start)["state"]["queries"]) == 5
    view.close()
    assert '"events":null' in html.unescape(view._repr_html_())
    assert repr(view) == f"<streams at {view.url}, closed>"


# -- a browser -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_the_page_in_a_browser(
    view: LiveView, session: Session, tmp_path: Path, dark: bool
) -> None:
    session.tell(*(busy(number) for number in range(30)), busy(3, "a-name-" * 20))
    with Browser(tmp_path, width=420, dark=dark) as browser:
        browser.open(view.url)
        browser.until("document.querySelectorAll('section.query').length === 2")
        assert browser.run(OVERFLOW) == 0
        assert browser.run("document.querySelectorAll('nav a').length") == 2
        ink = browser.run("getComputedStyle(document.body).color")
        assert (ink == "rgb(230, 233, 239)") == dark
        legend = "document.querySelector('figure .legend').textContent"
        assert browser.until(legend) == "key 3 peak 41.5"
        session.tell(busy(30))
        browser.until("document.querySelector('.fact b').textContent === '30'")
        # by keyboard: a chart takes the focus, and the arrows read other batches
        browser.run("document.querySelector('figure svg').focus()")
        browser.press("ArrowLeft")
        when = "document.querySelector('figcaption span').textContent"
        browser.until(f"{when}.startsWith('batch 29')")
        label = browser.run("document.querySelector('figure svg').getAttribute('aria-label')")
        assert label == "Newest results, batch 29: key 3 peak 41.5"
        browser.press("Home")
        browser.until(f"{when}.startsWith('batch 0')")
        browser.run("document.querySelectorAll('details')[1].open = true")
        assert browser.until("document.querySelectorAll('tbody tr').length") == 20
        assert browser.run(OVERFLOW) == 0
        view.close()
        browser.until("document.getElementById('link').textContent.startsWith('Not connected')")
        assert {url.partition("#")[0] for url in browser.requests} <= {
            view.url, f"{view.url}events", "data:,",
        }  # fmt: skip
        assert not [line for line in browser.console if "ERR_CONNECTION_REFUSED" not in line]


def test_a_page_without_streams_says_so(view: LiveView, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(view.url)
        browser.until("document.getElementById('link').textContent.startsWith('Live')")
        assert "No stream has finished" in browser.run("document.body.innerText")


# -- Spark -----------------------------------------------------------------------------------


FILES, ROWS = 5, 2000


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A file in each micro-batch, of ten seconds; a few rows of it are a minute late."""
    folder = tmp_path_factory.mktemp("events")
    rng = np.random.default_rng(7)
    start = 1_767_225_600_000_000
    for i in range(FILES):
        late = np.where(rng.random(ROWS) < 0.01, 60_000_000, 0)
        columns = {
            "key": rng.integers(0, 5, ROWS),
            "ts": pa.array(
                start + rng.integers(10 * i, 10 * i + 10, ROWS) * 1_000_000 - late,
                pa.timestamp("us", "UTC"),
            ),
            "value": rng.integers(0, 1000, ROWS) / 8,
        }
        path = folder / f"{i}.parquet"
        parquet.write_table(pa.table(columns), path)
        os.utime(path, (start // 1_000_000 + i,) * 2)  # their order
    rows = spark.readStream.schema("key bigint, ts timestamp, value double")
    return rows.option("maxFilesPerTrigger", 1).parquet(str(folder))


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "column": ({"values": "peek"}, r"values: there is no column 'peek'; did you mean 'peak'"),
    "order": ({"order_by": "time"}, "order_by: there is no column 'time'"),
    "text": ({"values": "name"}, "'name' is of type string, and a line is of numbers"),
    "none": ({"values": []}, r"values=\['peak'\]"),
    "keys": ({"keys": []}, "give both"),
    "wide": ({"keys": [(1, 2)]}, r"\(1, 2\) is not one value for each of \['key'\]"),
    "narrow": ({"partition_by": ["key", "name"]}, r"\(3,\) is not one value for each of"),
    "kind": ({"keys": ["3"]}, "'3' is none of the values of 'key', which are of type bigint"),
    "many": ({"keys": range(13)}, "13 lines, and 12 can be told apart"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_results_that_cannot_be_drawn_are_refused(events: Any, name: str) -> None:
    from pyspark.sql import functions as sf

    frame = events.withColumns({"peak": sf.col("value"), "name": sf.lit("x")})
    plain: dict[str, Any] = {"values": "peak", "order_by": "ts", "partition_by": "key", "keys": [3]}
    wrong, message = MISTAKES[name]
    with pytest.raises(InvalidArgument, match=message):
        live_results(frame, **{**plain, **wrong})
    with pytest.raises(InvalidArgument, match="is for a streaming DataFrame"):
        live_results(frame.sparkSession.range(3), **plain)


def test_a_stream_on_the_page(events: Any, spark: SparkSession, tmp_path: Path) -> None:
    """Two streams run while a browser looks: what it shows is what Spark says of them."""
    lines = {"values": ["peak", "mean"], "partition_by": "key", "keys": [3, 4], "order_by": "ts"}
    results = events.transform(ASKED).transform(live_results, **lines)
    counts = events.withWatermark("ts", "1 second").groupBy("key", "ts").count()
    held: dict[int, Any] = {}

    def keep(frame: Any, number: int) -> None:
        held[number] = frame.toPandas()

    writers = {
        "peaks": results.writeStream.foreachBatch(keep),
        "counts": counts.writeStream.format("noop").outputMode("append"),
    }
    with live_view(spark, port=0) as view, Browser(tmp_path, width=420) as browser:
        browser.open(view.url)
        queries = {
            name: writer.queryName(name)
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(availableNow=True)
            .start()
            for name, writer in writers.items()
        }
        running = "[...document.querySelectorAll('.state')].some((s) => s.innerText === 'running')"
        browser.until(running, 120)
        assert all(query.awaitTermination(120) for query in queries.values())
        browser.until("document.querySelectorAll('section.query').length === 2")
        browser.until(f"!{running}")
        assert browser.run("document.querySelectorAll('.state.bad').length") == 0
        shown = {each["query"]: each for each in view.snapshot()["queries"]}
        for name, query in queries.items():
            section = found("document", "section.query", name)
            check_figures(shown[name], query.recentProgress, browser, section)
        section = found("document", "section.query", "peaks")
        plan = browser.run(f"{section}.querySelector('pre').textContent")
        assert shown["peaks"]["plan"] == ASKED.explain() == plan
        assert shown["counts"]["plan"] == ""
        for batch in shown["peaks"]["batches"]:
            assert batch["results"] == pytest.approx(newest(held[batch["batch"]], [3, 4]))
        assert sum(bool(batch["results"]) for batch in shown["peaks"]["batches"]) > 2
        assert browser.run(OVERFLOW) == 0
        hosts = {url.split("/")[2] for url in browser.requests if not url.startswith("data:")}
        assert hosts == {view.url.split("/")[2]}
        assert browser.console == []


def check_figures(shown: Any, spoken: list[Any], browser: Browser, section: str) -> None:
    """The charts have each batch as Spark tells it, and the screen the newest figures."""
    drawn = {each["batch"]: figures(each["values"]) for each in shown["batches"]}
    assert list(drawn) == [progress.batchId for progress in spoken]
    for progress in spoken:
        told, state = drawn[progress.batchId], progress.stateOperators[0]
        rates = told["Rows a second"]
        assert rates["processed"] == pytest.approx(progress.processedRowsPerSecond, abs=0.06)
        assert told["State kept, rows"]["kept"] == state.numRowsTotal
        assert told["State kept, memory"]["kept"] == pytest.approx(state.memoryUsedBytes, rel=1e-5)
        assert told["State written, rows"]["updated"] == state.numRowsUpdated
        took = sum(seconds or 0 for seconds in told["Batch time"].values())
        assert took == pytest.approx(progress.durationMs["triggerExecution"] / 1000, abs=0.002)
    assert drawn[1]["State written, bytes"]["written"] > 0
    assert drawn[2]["Watermark behind the newest row"]["behind"] > 0
    assert sum(each["Rows left out, in each batch"]["too late"] for each in drawn.values()) > 0
    facts = browser.run(f"{section}.querySelector('.facts').innerText")
    assert f"{FILES * ROWS:,}" in facts
    kept = int(drawn[max(drawn)]["State kept, rows"]["kept"])
    legend = f"{found(section, 'figure', 'State kept, rows')}.querySelector('.legend b')"
    assert browser.run(f"{legend}.textContent") == f"{kept:,}"


def newest(rows: Any, keys: list[int]) -> dict[str, float]:
    """The results of the newest row of each key that has one."""
    told = {}
    for key in keys:
        for row in (
            rows[rows["key"] == key].sort_values(["ts", "peak", "mean"]).tail(1).itertuples()
        ):
            told |= {f"key {key} peak": row.peak, f"key {key} mean": row.mean}
    return told


# -- Grafana ---------------------------------------------------------------------------------


def test_the_dashboard_asks_for_what_is_exported() -> None:
    metrics = pytest.importorskip("windrow.spark.progress_metrics")
    text = (Path(__file__).parents[2] / "docs" / "grafana.json").read_text("utf-8")
    board = json.loads(text)
    asked = {name for panel in board["panels"] for target in panel["targets"]
             for name in re.findall(r"windrow_\w+", target["expr"])}  # fmt: skip
    assert asked == {f"{name}_total" for name in metrics.COUNTERS} | set(metrics.GAUGES)
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in board["panels"]})
    assert "http" not in text


def test_a_page_starts_with_what_it_is_given() -> None:
    page = page_text({"state": None, "events": "</script><!-- style -->"})
    assert page.count("</script>") == 2 and "\\u003c/script>" in page
