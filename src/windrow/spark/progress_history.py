"""The feed of the live page: the last batches of each stream, and new ones as they come.

`PANELS` says which figures are drawn; the page's script knows none of them.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from windrow.spark.progress import Ended, Figure, Progress, explained
from windrow.spark.progress_terminal import size

KEPT = 240  # batches of a query
BEAT = 15.0  # seconds without news after which a reader is told that there is none


@dataclass(frozen=True)
class Panel:
    """A chart: its title, what it measures, its lines, and whether they are parts of a whole."""

    title: str
    unit: str  # "n" numbers, "s" seconds, "B" bytes
    lines: dict[str, Figure]
    stacked: bool = False


def _steps(*names: str) -> Figure:
    """Return the figure that adds up the seconds of these steps, by Spark's names."""
    return lambda news: sum(news.steps.get(name, 0.0) for name in names)


def _other_steps(news: Progress) -> float:
    """Return the seconds of a batch that are in none of the steps that Spark reports."""
    known = sum(seconds for name, seconds in news.steps.items() if name != "triggerExecution")
    return max(0.0, news.steps.get("triggerExecution", news.seconds) - known)


PANELS = (
    Panel(
        "Rows a second",
        "n",
        {"arriving": "in_per_second", "processed": "done_per_second", "results": "out_per_second"},
    ),
    Panel(
        "Batch time",
        "s",
        {
            "rows and state": _steps("addBatch", "commitBatch"),
            "planning": _steps("queryPlanning"),
            "sources": _steps("latestOffset", "getBatch", "getOffset", "setOffsetRange"),
            "logs": _steps("walCommit", "commitOffsets"),
            "other": _other_steps,
        },
        stacked=True,
    ),
    Panel(
        "State work, all tasks added up",
        "s",
        {"updates": "update_seconds", "commits": "commit_seconds"},
        stacked=True,
    ),
    Panel("Watermark behind the newest row", "s", {"behind": "behind_newest"}),
    Panel("Watermark behind the clock", "s", {"behind": "behind_clock"}),
    Panel(
        "Rows left out, in each batch",
        "n",
        {"too late": "too_late", "partly late": "partly_late", "too far ahead": "ahead"},
    ),
    Panel("State kept, rows", "n", {"kept": "state_rows"}),
    Panel("State kept, memory", "B", {"kept": "state_bytes"}),
    Panel("State written, rows", "n", {"updated": "state_updated", "removed": "state_removed"}),
    Panel("State written, bytes", "B", {"written": "state_written"}),
)


@dataclass
class _Shown:
    """The state of a query on the page."""

    batches: deque[dict[str, Any]]
    counters: tuple[str, ...] = ()  # of the queries that the plan is of
    plan: str = ""
    end: str | None = None  # "" without an error
    rows: int = 0
    late: int = 0
    totals: dict[str, str] = field(default_factory=dict)

    def add(self, news: Progress) -> dict[str, Any]:
        """Take a batch in, and return it as the page draws it."""
        self.end = None
        self.rows += news.rows_in
        self.late += news.too_late
        self.totals = {
            "batch": f"{news.batch:,}",
            "batch time": f"{news.seconds:.2f} s",
            "rows so far": f"{self.rows:,}",
            "too late so far": f"{self.late:,}",
            "state": f"{news.state_rows:,} rows, {size(news.state_bytes)}",
            "watermark": f"{news.watermark:%Y-%m-%d %H:%M:%S}" if news.watermark else "none yet",
        }
        drawn = {
            "batch": news.batch,
            "at": news.started.timestamp() if news.started else time.time(),
            "values": [[_finite(news.figure(f)) for f in p.lines.values()] for p in PANELS],
            "results": {name: _finite(value) for name, value in news.results.items()},
        }
        self.batches.append(drawn)
        return drawn


class History:
    """Keeps the last batches of each query, and sends new ones to readers.

    A query that has ended is forgotten after a while.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._shown: dict[str, _Shown] = {}
        self._readers: list[queue.SimpleQueue[dict[str, Any] | None]] = []
        self._ended = Ended(self._forget)
        self._closed = False

    def progress(self, news: Progress) -> None:
        """Keep a batch, and send it to readers."""
        self._ended.discard(news.query)
        with self._lock:
            shown = self._shown.setdefault(news.query, _Shown(deque(maxlen=KEPT)))
            change = {"query": news.query, "add": shown.add(news), "totals": shown.totals}
            if news.counters and news.counters != shown.counters:
                shown.counters = news.counters
                shown.plan = "\n\n".join(map(explained, news.counters))
                change["plan"] = shown.plan
            self._send(change)

    def ended(self, query: str, error: str | None) -> None:
        """Send the end of a query; its batches stay for a while."""
        with self._lock:
            shown = self._shown.setdefault(query, _Shown(deque(maxlen=KEPT)))
            shown.end = error or ""
            self._send({"query": query, "end": shown.end})
        self._ended.add(query)

    def snapshot(self, most: int = KEPT) -> dict[str, Any]:
        """Return the panels and, of each query, the last so many batches at most."""
        self._ended.expire()
        with self._lock:
            return {
                "panels": [
                    {"title": p.title, "unit": p.unit, "lines": [*p.lines], "stacked": p.stacked}
                    for p in PANELS
                ],
                "queries": [
                    {
                        "query": name,
                        "plan": shown.plan,
                        "end": shown.end,
                        "totals": shown.totals,
                        "batches": [*shown.batches][-most:],
                    }
                    for name, shown in self._shown.items()
                ],
            }

    def follow(self) -> Iterator[dict[str, Any] | None]:
        """Yield a snapshot, then each change as it comes, and None every `BEAT` seconds without."""
        news: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            if self._closed:
                return
            self._readers.append(news)
            everything = self.snapshot()
        try:
            yield everything
            while True:
                try:
                    change = news.get(timeout=BEAT)
                except queue.Empty:
                    yield None
                    continue
                if change is None:
                    return
                yield change
        finally:
            with self._lock:
                self._readers.remove(news)

    def close(self) -> None:
        """End the streams of all readers."""
        with self._lock:
            self._closed = True
            self._send(None)

    def _send(self, news: dict[str, Any] | None) -> None:
        for reader in self._readers:
            reader.put(news)

    def _forget(self, query: str) -> None:
        with self._lock:
            self._shown.pop(query, None)


def _finite(number: float | None) -> float | None:
    """Return a number with six digits, which are more than a chart shows; JSON knows no infinity.

    >>> _finite(1234567.8), _finite(0.123456789), _finite(float("nan"))
    (1234570.0, 0.123457, None)
    """
    return float(f"{number:.6g}") if number is not None and math.isfinite(number) else None
