"""The progress of running streams: a listener that passes the figures of each batch to feeds.

    Spark ──▶ ProgressListener ──▶ Feed     progress_terminal   lines or a live table
                  Progress                  progress_metrics    Prometheus
                                            progress_page       a page with charts

It works on classic sessions and on Connect, for any streaming query, windrow's own or not; what
windrow counts itself, and the results of keys that `live_results` picks, are read from the observed
metrics whose names `observed_name` and `results_name` make.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark import SparkContext
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryProgressEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

PATIENCE = 5.0  # seconds that the news of a query's end may take
REMEMBERED, MOST_REMEMBERED = 600.0, 100  # seconds, and how many: queries that have ended
_OBSERVED = "windrow"
_RESULTS = "results_"  # before the name of counters
_WRITTEN = "rocksdbTotalBytesWritten"  # RocksDB alone reports it
_named: Counter[str] = Counter()
_queries: dict[str, Any] = {}  # the queries of this process by the names of their counters
Figure = str | Callable[["Progress"], float | None]  # a name of an attribute, or a function


@dataclass(frozen=True)
class Progress:
    """The figures of one micro-batch; those that Spark does not report are None."""

    query: str
    batch: int
    seconds: float
    rows_in: int
    in_per_second: float
    done_per_second: float
    rows_out: int | None
    state_rows: int
    state_bytes: int
    dropped: int  # by Spark's own operators, behind the watermark
    late: int  # counted by windrow: too late for all of their windows
    partly_late: int  # too late for some of them
    ahead: int  # further ahead of the clock than `future` allows
    watermark: dt.datetime | None
    started: dt.datetime | None
    newest: dt.datetime | None  # the newest time of the batch's rows
    steps: Mapping[str, float]  # the seconds of each step, by Spark's names
    state_updated: int  # rows
    state_removed: int
    state_written: int | None  # bytes
    update_seconds: float  # of all tasks together, as the next one
    commit_seconds: float
    counters: tuple[str, ...]  # the names of windrow's own
    results: Mapping[str, float]  # the newest of the keys that `live_results` picks

    @property
    def out_per_second(self) -> float | None:
        """Rows that the sink got, for each second that the batch took."""
        if self.rows_out is None or not self.seconds:
            return None
        return self.rows_out / self.seconds

    @property
    def too_late(self) -> int:
        """Rows that are in no window, as they came too late: by windrow's count and by Spark's."""
        return self.late + self.dropped

    @property
    def behind_newest(self) -> float | None:
        """Seconds from the watermark to the newest row."""
        return self._behind(self.newest)

    @property
    def behind_clock(self) -> float | None:
        """Seconds from the watermark to the time at which the batch began."""
        return self._behind(self.started)

    def _behind(self, time: dt.datetime | None) -> float | None:
        if self.watermark is None or time is None:
            return None
        return (time - self.watermark).total_seconds()

    def figure(self, of: Figure) -> float | None:
        """Return a figure of the batch, by the name of an attribute or by a function."""
        value: float | None = getattr(self, of) if isinstance(of, str) else of(self)
        return value

    @classmethod
    def of(cls, report: Any) -> Progress:
        """Return the figures of Spark's `StreamingQueryProgress`."""
        out = report.sink.numOutputRows
        operators = report.stateOperators
        metrics = [operator.customMetrics for operator in operators]
        written = [known[_WRITTEN] for known in metrics if known.get(_WRITTEN) is not None]
        return cls(
            query=report.name or str(report.id),
            batch=report.batchId,
            seconds=report.batchDuration / 1000,
            rows_in=report.numInputRows,
            in_per_second=_finite(report.inputRowsPerSecond),
            done_per_second=_finite(report.processedRowsPerSecond),
            rows_out=None if out is None or out < 0 else out,
            state_rows=sum(operator.numRowsTotal for operator in operators),
            state_bytes=sum(operator.memoryUsedBytes for operator in operators),
            dropped=sum(operator.numRowsDroppedByWatermark for operator in operators),
            late=_observed(report.observedMetrics, "late"),
            partly_late=_observed(report.observedMetrics, "partly_late"),
            ahead=_observed(report.observedMetrics, "ahead"),
            watermark=_instant((report.eventTime or {}).get("watermark")),
            started=_instant(report.timestamp),
            newest=_instant((report.eventTime or {}).get("max")),
            steps={name: ms / 1000 for name, ms in report.durationMs.items()},
            state_updated=sum(operator.numRowsUpdated for operator in operators),
            state_removed=sum(operator.numRowsRemoved for operator in operators),
            state_written=sum(written) if written else None,
            update_seconds=sum(o.allUpdatesTimeMs + o.allRemovalsTimeMs for o in operators) / 1000,
            commit_seconds=sum(operator.commitTimeMs for operator in operators) / 1000,
            counters=tuple(name for name in report.observedMetrics or () if name in _queries),
            results=_results(report.observedMetrics),
        )


def observed_name(identity: bytes, query: Any = None) -> str:
    """Return a name for the counters of a query, which no other one of this process has.

    Streams of one DataFrame must differ in it, even if their queries are equal. A program that
    starts again gives the same names in the same order. `query` is what `explained` explains.

    >>> observed_name(b"plugs"), observed_name(b"plugs")
    ('windrow_706c7567', 'windrow_706c7567_2')
    """
    name = f"{_OBSERVED}_{identity.hex()[:8]}"
    _named[name] += 1
    name = name if _named[name] == 1 else f"{name}_{_named[name]}"
    if query is not None:
        _queries[name] = query
    return name


def results_name(identity: bytes) -> str:
    """Return a name for observed results: a struct of the order and numbers for each key."""
    return f"{_RESULTS}{observed_name(identity)}"


def explained(counters: str) -> str:
    """Return the plan of the query of this process whose counters are called so."""
    return str(_queries[counters].explain())


class Ended:
    """The queries that have ended: each is forgotten after ten minutes, or a hundred later ones."""

    def __init__(self, forget: Callable[[str], object]) -> None:
        self._forget, self._lock = forget, threading.Lock()
        self._at: dict[str, float] = {}  # the oldest first

    def add(self, query: str) -> None:
        """Take note that a query has ended."""
        with self._lock:
            self._at.pop(query, None)
            self._at[query] = time.monotonic()
        self.expire()

    def discard(self, query: str) -> None:
        """Take note that a query runs again."""
        with self._lock:
            self._at.pop(query, None)

    def expire(self) -> None:
        """Forget those whose time has come."""
        with self._lock:
            for query, at in list(self._at.items()):
                if len(self._at) <= MOST_REMEMBERED and time.monotonic() - at < REMEMBERED:
                    break
                del self._at[query]
                self._forget(query)


class Feed(Protocol):
    """What gets the figures, from the listener's thread, one call at a time."""

    def progress(self, news: Progress) -> None:
        """Take the figures of a micro-batch that is done."""

    def ended(self, query: str, error: str | None) -> None:
        """Take note that a query has ended, by itself or with an error."""


class _TakesText(JStreamingQueryListener):
    """Reads the report of a batch as one text, in two calls of Java.

    PySpark's own class makes a call for each of a hundred figures, which takes 50 ms of a core.
    """

    def onQueryProgress(self, jevent: Any) -> None:  # noqa: N802
        """Read the report, and pass it on."""
        report = StreamingQueryProgress.fromJson(json.loads(jevent.progress().json()))
        self.pylistener.onQueryProgress(QueryProgressEvent(report))


class ProgressListener(StreamingQueryListener):
    """Keeps the newest progress of each query, and passes all of it on to the feeds.

    Queries that have ended are forgotten after a while.
    """

    def __init__(self, *feeds: Feed) -> None:
        self.feeds = feeds
        self.latest: dict[str, Progress] = {}
        self.running: dict[str, str] = {}  # a run's id → what its query is called
        self._ended = Ended(lambda query: self.latest.pop(query, None))
        self._called: Any = None

    @property
    def _jlistener(self) -> Any:
        """The object that Java calls, on a classic session."""
        if self._called is None:
            java: Any = getattr(SparkContext, "_jvm", None)
            self._called = java.PythonStreamingQueryListenerWrapper(_TakesText(self))
        return self._called

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Learn the query's name: its end will come with an id only."""
        self.running[str(event.runId)] = event.name or str(event.id)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Pass a batch's figures on."""
        news = Progress.of(event.progress)
        self.running.setdefault(str(event.progress.runId), news.query)  # it began before us
        self._ended.discard(news.query)
        self.latest[news.query] = news
        for feed in self.feeds:
            feed.progress(news)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Do nothing: no row came, so nothing changed."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Pass the end on."""
        query = self.running.get(str(event.runId), str(event.id))
        for feed in self.feeds:
            feed.ended(query, event.exception)
        self.running.pop(str(event.runId), None)
        self._ended.add(query)


@contextmanager
def listening(spark: Any, *feeds: Feed) -> Iterator[ProgressListener]:
    """Listen to all streams of a session, and wait at the end for the last reports."""
    listener = ProgressListener(*feeds)
    spark.streams.addListener(listener)
    try:
        yield listener
        _await_reports(spark, listener)
    finally:
        spark.streams.removeListener(listener)


def _await_reports(spark: Any, listener: ProgressListener) -> None:
    """Wait for reports of queries that have ended: Spark sends them later."""
    active = {str(query.runId) for query in spark.streams.active}
    deadline = time.monotonic() + PATIENCE
    while set(listener.running) - active and time.monotonic() < deadline:
        time.sleep(0.02)


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


def _observed(metrics: Any, name: str) -> int:
    """Return one of windrow's own counters; a batch without late rows has none, or null."""
    rows = [row for group, row in (metrics or {}).items() if group.partition("_")[0] == _OBSERVED]
    return sum(int(getattr(row, name, None) or 0) for row in rows)


def _results(metrics: Any) -> dict[str, float]:
    """Return the newest results by key and name; the first field of a key is its order."""
    results = {}
    for group, row in (metrics or {}).items():
        if group.startswith(f"{_RESULTS}{_OBSERVED}_"):
            for key, values in row.asDict(recursive=True).items():
                for name, value in [*(values or {}).items()][1:]:
                    if value is not None:
                        results[f"{key} {name}".strip()] = float(value)
    return results


def _instant(text: str | None) -> dt.datetime | None:
    """Return a time of Spark's; the beginning of 1970 is how it says that there is none yet."""
    if text is None:
        return None
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.timestamp() else None
