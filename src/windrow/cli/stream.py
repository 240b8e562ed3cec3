"""`windrow run --stream`: a query over a directory that keeps growing, until Ctrl-C.

A micro-batch that is under way when the stream is stopped was never there: the next run with the
same checkpoint does it again, and files in --output hold each result once.
"""

from __future__ import annotations

import datetime as dt
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from windrow.cli.failures import Usage, usage
from windrow.cli.frames import malformed_records_named, read_stream
from windrow.cli.inputs import absolute, is_address
from windrow.cli.outputs import STDOUT, WRITTEN, Writer, is_directory
from windrow.cli.session import spark_session
from windrow.cli.terminal import Steps, say, show_json
from windrow.cli.watch import open_page
from windrow.queries.query import Query
from windrow.queries.streaming import streaming
from windrow.windows.durations import nanoseconds

if TYPE_CHECKING:
    from windrow.cli.run import Job
    from windrow.spark.progress_page import LiveView

LOOK = 0.2  # seconds between two looks at how far a stream is


@dataclass
class Tally:
    """What a stream has done so far, from the reports of its micro-batches."""

    batches: int = 0
    rows: int = 0
    late: int = 0
    ahead: int = 0
    watermark: dt.datetime | None = None
    _seen: int = field(default=-1, repr=False)

    def update(self, query: Any) -> bool:
        """Add the reports of a running query that are new; return whether it still runs."""
        running = bool(query.isActive)  # asked first: its last report comes before its end
        self.add(query.recentProgress)
        return running

    def add(self, reports: list[Any]) -> None:
        """Add the reports that are new."""
        from windrow.spark.progress import Progress

        for report in map(Progress.of, reports):
            if report.batch <= self._seen:
                continue
            self._seen = report.batch
            self.batches += 1
            self.rows += report.rows_in
            self.late += report.too_late
            self.ahead += report.ahead
            self.watermark = report.watermark or self.watermark

    def __str__(self) -> str:
        late = f", {self.late:,} too late" if self.late else ""
        ahead = f", {self.ahead:,} too far ahead" if self.ahead else ""
        return f"{self.rows:,} rows in {self.batches} batches{late}{ahead}"


def raise_failure(query: Any) -> None:
    """Raise the error that a streaming query has ended with, if there is one."""
    failure = query.exception()
    if failure is not None:
        raise failure


def run_stream(
    job: Job,
    checkpoint: str | None,
    once: bool,
    every: str | None,
    future: str | None,
    watch: bool,
    port: int | None,
    keys: tuple[str, ...],
) -> None:
    """Run until all is read (`once`), or until SIGINT or SIGTERM."""
    if not isinstance(job.query, Query):
        raise Usage(
            "--stream: standard SQL does not say how late a row may come; write CQL, as in FROM "
            "plugs [ORDER BY ts RANGE 1 HOUR LATENESS 10 MINUTES]"
        )
    _check(job, checkpoint)
    trigger = _trigger(once, every)
    with usage():
        query = streaming(job.query, future=future)
    tally, started = Tally(), time.perf_counter()
    with ExitStack() as stack:
        view = stack.enter_context(_live_view(port)) if watch else None
        # rows that go to the terminal and a progress bar there would disturb each other
        crowded = job.output == STDOUT and sys.stdout.isatty()
        steps = stack.enter_context(Steps(quiet=crowded or not sys.stderr.isatty()))
        stop = stack.enter_context(_Stop())
        if checkpoint is None:
            place = tempfile.TemporaryDirectory(prefix="windrow-checkpoint-")
            checkpoint = stack.enter_context(place)
        spark = stack.enter_context(spark_session(**job.session, steps=steps))
        with usage():
            results = read_stream(spark, job.source).transform(query)
            if view is not None:
                view.listen(spark)
                stack.callback(view.close)  # while there is a session to leave
                results = _with_lines(results, job.query, keys)
        with steps.step("streaming" if once else "streaming; Ctrl-C stops") as note:
            stop.listen()  # Spark has put a handler of its own there
            running = _start(results, job, absolute(checkpoint), trigger, stop)
            while tally.update(running) and not stop.wait(LOOK):
                note(str(tally))
            tally.update(running)
            note(str(tally))
            running.stop()
            if not stop.is_set():
                with malformed_records_named(spark, job.source):
                    raise_failure(running)
    if job.as_json and job.output != STDOUT:
        _summary(job, tally, time.perf_counter() - started)
    else:
        say(f"{'done' if once else 'stopped'}: {tally}")


def _summary(job: Job, tally: Tally, seconds: float) -> None:
    """Print what a stream has done, as a line of JSON."""
    fields = {
        "output": job.output,
        "batches": tally.batches,
        "rows_in": tally.rows,
        "rows_late": tally.late,
        "rows_ahead": tally.ahead,
        "watermark": tally.watermark and tally.watermark.isoformat(),
        "seconds": seconds,
    }
    show_json(fields, indent=None)


def _check(job: Job, checkpoint: str | None) -> None:
    """Refuse a source that does not grow, and an output that a stream cannot write."""
    path, *others = job.source.paths
    if others or not (is_address(path) or Path(path).is_dir()):
        raise Usage(f"--stream reads a directory that grows, and {job.source.name} is none")
    if job.output != STDOUT and not is_directory(job.output):
        raise Usage(f"--stream writes a directory of files, or -: {job.output} is one file")
    if job.output != STDOUT and checkpoint is None:
        raise Usage("--stream: give --checkpoint DIR, so that the next run goes on from there")


def _trigger(once: bool, every: str | None) -> dict[str, Any]:
    """Return when Spark begins a micro-batch; nothing is as soon as it can."""
    if once:
        return {"availableNow": True}
    if every is None:
        return {}
    with usage():
        milliseconds = max(1, nanoseconds(every, "--every") // 1_000_000)
    return {"processingTime": f"{milliseconds} milliseconds"}


def _name(job: Job) -> str:
    """Return what the stream is called: as the query calls its rows, or else their directory."""
    source = job.query.source if isinstance(job.query, Query) else None
    return source or PurePath(job.source.paths[0]).name or "stream"


def _live_view(port: int | None) -> LiveView:
    """Return a page that waits for a session, and open it."""
    import_module("pyspark")  # if it is missing, that is told first
    from windrow.spark.progress_page import LiveView

    with usage():
        view = LiveView(port)
    open_page(view.url)
    return view


def _with_lines(results: Any, query: Query, keys: tuple[str, ...]) -> Any:
    """Return the results, those of the keys (or of a query without keys) drawn as lines."""
    from pyspark.sql.types import IntegralType, NumericType

    from windrow.spark.observed_results import MOST_LINES, live_results

    by, order = query.partition_by, (*query.order_by[:1], *query.window.columns)[-1:]
    if keys and not by:
        raise Usage(f"--key {keys[0]}: the query has no keys, and is drawn without them")
    numeric = [n for n in query.parts if isinstance(results.schema[n].dataType, NumericType)]
    values = numeric[: MOST_LINES // max(1, len(keys))]
    if not values or not order or bool(by) != bool(keys):
        return results

    def value_of(name: str, text: str) -> Any:
        kind = results.schema[name].dataType
        try:
            if isinstance(kind, IntegralType):
                return int(text)
            return float(text) if isinstance(kind, NumericType) else text
        except ValueError:
            raise Usage(f"--key {text}: {name} is of type {kind.simpleString()}") from None

    picked = []
    for key in keys:
        texts = key.split(",") if len(by) > 1 else [key]
        if len(texts) != len(by):
            raise Usage(f"--key {key}: write a value for each of {', '.join(by)}, as in 3,7")
        picked.append(tuple(map(value_of, by, texts)))
    return live_results(results, values=values, order_by=order[0], partition_by=by, keys=picked)


def _start(
    results: Any, job: Job, checkpoint: str, trigger: dict[str, Any], stop: threading.Event
) -> Any:
    """Start the query that writes the results, and return it."""
    writer = results.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    writer = writer.queryName(_name(job))
    if trigger:
        writer = writer.trigger(**trigger)
    if job.output != STDOUT:
        return writer.format(job.format).options(**WRITTEN).start(absolute(job.output))
    out = Writer(sys.stdout.buffer, job.format)

    def write(batch: Any, _: int) -> None:
        try:
            out.write(batch.toArrow())
        except BrokenPipeError:  # whoever read has enough
            stop.set()

    return writer.foreachBatch(write).start()


class _Stop(threading.Event):
    """Set by SIGINT and SIGTERM while it is open; the second signal ends the process at once."""

    def __enter__(self) -> _Stop:
        self._before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, handler)

    def listen(self) -> None:
        """Take the signals."""
        for kind in self._before:
            signal.signal(kind, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        if self.is_set():
            raise KeyboardInterrupt
        self.set()
