"""Streams watched by Prometheus: an endpoint on a port of the user's choice.

with prometheus_metrics(spark, port=9108):
    query.awaitTermination()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from windrow.errors import InvalidArgument, Unsupported
from windrow.spark.progress import Progress, listening

COUNTERS = {
    "windrow_batches": "Micro-batches done.",
    "windrow_input_rows": "Rows read from the sources.",
    "windrow_output_rows": "Rows given to the sink, where it counts them.",
    "windrow_late_rows": "Rows behind the watermark, counted and left out by windrow.",
    "windrow_partly_late_rows": "Rows behind some of their windows, and counted in the others.",
    "windrow_dropped_rows": "Rows behind the watermark, left out by Spark's own operators.",
}
GAUGES = {
    "windrow_input_rows_per_second": "Rows that arrived, each second, at the last batch.",
    "windrow_processed_rows_per_second": "Rows processed, each second, in the last batch.",
    "windrow_state_rows": "Rows in the state store.",
    "windrow_state_bytes": "Memory that the state store uses.",
    "windrow_watermark_seconds": "The watermark, in seconds of Unix time.",
    "windrow_batch_seconds": "What the last batch took.",
    "windrow_query_running": "1 while the query runs, 0 when it has ended.",
}


@contextmanager
def prometheus_metrics(spark: Any, port: int, address: str = "127.0.0.1") -> Iterator[Metrics]:
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
        try:
            import prometheus_client as prometheus
        except ImportError as missing:
            raise Unsupported(
                "Prometheus metrics need its client: pip install 'windrow[metrics]'"
            ) from missing
        registry = prometheus.CollectorRegistry()  # ours alone: nothing of the process leaks in
        self._metrics: dict[str, Any] = {}
        for kind, texts in ((prometheus.Counter, COUNTERS), (prometheus.Gauge, GAUGES)):
            for name, text in texts.items():
                self._metrics[name] = kind(name, text, ["query"], registry=registry)
        try:
            self._server, self._thread = prometheus.start_http_server(port, address, registry)
        except (OSError, OverflowError) as refused:
            raise InvalidArgument(f"cannot serve at {address}:{port}: {refused}") from refused
        self.port: int = self._server.server_port

    def progress(self, news: Progress) -> None:
        """Take a batch in."""
        self._add("windrow_batches", news.query, 1)
        self._add("windrow_input_rows", news.query, news.rows_in)
        self._add("windrow_late_rows", news.query, news.late)
        self._add("windrow_partly_late_rows", news.query, news.partly_late)
        self._add("windrow_dropped_rows", news.query, news.dropped)
        if news.rows_out is not None:
            self._add("windrow_output_rows", news.query, news.rows_out)
        self._set("windrow_input_rows_per_second", news.query, news.in_per_second)
        self._set("windrow_processed_rows_per_second", news.query, news.done_per_second)
        self._set("windrow_state_rows", news.query, news.state_rows)
        self._set("windrow_state_bytes", news.query, news.state_bytes)
        self._set("windrow_batch_seconds", news.query, news.seconds)
        self._set("windrow_query_running", news.query, 1)
        if news.watermark is not None:
            self._set("windrow_watermark_seconds", news.query, news.watermark.timestamp())

    def ended(self, query: str, error: str | None) -> None:
        """The last figures stay, for the next scrape to find."""
        self._set("windrow_query_running", query, 0)

    def close(self) -> None:
        """Give the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _add(self, name: str, query: str, amount: float) -> None:
        self._metrics[name].labels(query).inc(amount)

    def _set(self, name: str, query: str, value: float) -> None:
        self._metrics[name].labels(query).set(value)
