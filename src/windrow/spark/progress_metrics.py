"""Streams watched by Prometheus: an endpoint on a port of the user's choice.

with prometheus_metrics(spark, port=9108):
    query.awaitTermination()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from windrow.errors import extra
from windrow.spark.local_server import LOCAL, LocalServer
from windrow.spark.progress import Ended, Figure, Progress, listening

READERS = 4  # are answered at a time

# Each metric: what it is, and its value for a batch; None where Spark does not report it.
COUNTERS: dict[str, tuple[str, Figure]] = {
    "windrow_batches": ("Micro-batches done.", lambda news: 1),
    "windrow_input_rows": ("Rows read from the sources.", "rows_in"),
    "windrow_output_rows": ("Rows given to the sink, where it counts them.", "rows_out"),
    "windrow_late_rows": ("Rows behind the watermark, counted and left out by windrow.", "late"),
    "windrow_partly_late_rows": (
        "Rows behind some of their windows, and counted in the others.", "partly_late"),
    "windrow_ahead_rows": (
        "Rows further ahead of the clock than `future` allows, counted and left out.", "ahead"),
    "windrow_dropped_rows": (
        "Rows behind the watermark, left out by Spark's own operators.", "dropped"),
}  # fmt: skip
GAUGES: dict[str, tuple[str, Figure]] = {
    "windrow_input_rows_per_second": (
        "Rows that arrived, each second, at the last batch.", "in_per_second"),
    "windrow_processed_rows_per_second": (
        "Rows processed, each second, in the last batch.", "done_per_second"),
    "windrow_state_rows": ("Rows in the state store.", "state_rows"),
    "windrow_state_bytes": ("Memory that the state store uses.", "state_bytes"),
    "windrow_watermark_seconds": (
        "The watermark, in seconds of Unix time.",
        lambda news: None if news.watermark is None else news.watermark.timestamp()),
    "windrow_batch_seconds": ("What the last batch took.", "seconds"),
    "windrow_query_running": ("1 while the query runs, 0 when it has ended.", lambda news: 1),
}  # fmt: skip


@contextmanager
def prometheus_metrics(spark: Any, port: int, address: str = LOCAL) -> Iterator[Metrics]:
    """Serve the figures of all streams of a session at ``http://address:port/metrics``.

    Port 0 takes any free one; `Metrics.port` tells which. Only this machine can read it, unless
    `address` says otherwise ("0.0.0.0" for all).
    """
    metrics = Metrics(port, address)
    try:
        with listening(spark, metrics):
            yield metrics
    finally:
        metrics.close()


class Metrics:
    """The endpoint, and a metric for each figure, labelled with the query's name or id."""

    def __init__(self, port: int, address: str) -> None:
        prometheus = extra("an endpoint for Prometheus", "prometheus_client", "metrics")
        registry = prometheus.CollectorRegistry()  # ours alone: nothing of the process leaks in
        self._metrics: dict[str, Any] = {}
        for kind, metrics in ((prometheus.Counter, COUNTERS), (prometheus.Gauge, GAUGES)):
            for name, (text, _) in metrics.items():
                self._metrics[name] = kind(name, text, ["query"], registry=registry)
        self._ended = Ended(self._forget)
        page = prometheus.make_wsgi_app(registry)

        def current_page(environment: Any, respond: Any) -> Any:
            self._ended.expire()
            return page(environment, respond)

        self._server = LocalServer(current_page, port, address, READERS)
        self.port = self._server.port

    def progress(self, news: Progress) -> None:
        """Take a batch in."""
        self._ended.discard(news.query)
        for name, (_, figure) in {**COUNTERS, **GAUGES}.items():
            value = news.figure(figure)
            if value is not None:
                metric = self._metrics[name].labels(news.query)
                (metric.inc if name in COUNTERS else metric.set)(value)

    def ended(self, query: str, error: str | None) -> None:
        """Mark a query as ended; its last figures stay for a while, for the next scrape."""
        self._metrics["windrow_query_running"].labels(query).set(0)
        self._ended.add(query)

    def _forget(self, query: str) -> None:
        for metric in self._metrics.values():
            with suppress(KeyError):  # it has none of the figures that Spark did not report
                metric.remove(query)

    def close(self) -> None:
        """Give the port back."""
        self._server.close()
