"""`windrow run --stream`: a query over a directory that keeps growing, until Ctrl-C.

A micro-batch that is under way when the stream is stopped was never there: the next run with the
same checkpoint does it again, and files in --output hold each answer once.
"""

from __future__ import annotations

import datetime as dt
import json
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.failures import Usage, usage
from windrow.cli.frames import read_stream
from windrow.cli.inputs import absolute, is_address
from windrow.cli.outputs import STDOUT, Writer, is_directory
from windrow.cli.session import spark_session
from windrow.cli.terminal import Steps, say
from windrow.windows.durations import nanoseconds

if TYPE_CHECKING:
    from windrow.cli.run import Job

_LOOK = 0.2  # seconds between two looks at how far the stream is


@dataclass
class Tally:
    """What a stream has done so far, from the reports of its micro-batches."""

    batches: int = 0
    rows: int = 0
    late: int = 0
    watermark: dt.datetime | None = None
    _seen: int = field(default=-1, repr=False)

    def add(self, reports: list[Any]) -> None:
        """Take the reports that are new."""
        from windrow.spark.progress import Progress

        for report in map(Progress.of, reports):
            if report.batch <= self._seen:
                continue
            self._seen = report.batch
            self.batches += 1
            self.rows += report.rows_in
            self.late += report.late + report.dropped
            self.watermark = report.watermark or self.watermark

    def __str__(self) -> str:
        late = f", {self.late:,} too late" if self.late else ""
        return f"{self.rows:,} rows in {self.batches} batches{late}"


def run_stream(job: Job, checkpoint: str | None, once: bool, every: str | None) -> None:
    """Run until all is read (`once`), or until SIGINT or SIGTERM."""
    _check(job, checkpoint, every)
    tally, started = Tally(), time.perf_counter()
    with ExitStack() as stack:
        # rows that go to the terminal and a progress bar there would disturb each other
        crowded = job.output == STDOUT and sys.stdout.isatty()
        steps = stack.enter_context(Steps(quiet=crowded or not sys.stderr.isatty()))
        stopped = stack.enter_context(_stop_signals())
        place = stack.enter_context(_place_for(checkpoint))
        with steps.step("starting Spark"):
            session = spark_session(job.master, job.settings, job.verbose)
            spark = stack.enter_context(session)
        answers = read_stream(spark, job).transform(job.query)
        with steps.step("streaming" if once else "streaming; Ctrl-C stops") as note:
            stopped.listen()  # Spark has put a handler of its own there
            _follow(_begin(answers, job, place, once, every), tally, stopped, note)
    told = {
        "output": job.output,
        "batches": tally.batches,
        "rows_in": tally.rows,
        "rows_late": tally.late,
        "watermark": tally.watermark and tally.watermark.isoformat(),
        "seconds": time.perf_counter() - started,
    }
    if job.as_json and job.output != STDOUT:
        click.echo(json.dumps(told))
    else:
        say(f"{'done' if once else 'stopped'}: {tally}")


def _check(job: Job, checkpoint: str | None, every: str | None) -> None:
    (path, *others) = job.source.paths
    if others or not (is_address(path) or Path(path).is_dir()):
        raise Usage(f"--stream reads a directory that grows, and {job.source.name} is none")
    if job.output != STDOUT and not is_directory(job.output):
        raise Usage(f"--stream writes a directory of files, or -: {job.output} is one file")
    if job.output != STDOUT and checkpoint is None:
        raise Usage("--stream: give --checkpoint DIR, so that the next run goes on from there")
    if every is not None:
        with usage():
            nanoseconds(every, "--every")


def _begin(answers: Any, job: Job, checkpoint: str, once: bool, every: str | None) -> Any:
    writer = answers.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    elif every is not None:
        milliseconds = max(1, nanoseconds(every, "--every") // 1_000_000)
        writer = writer.trigger(processingTime=f"{milliseconds} milliseconds")
    if job.output == STDOUT:
        out = Writer(sys.stdout.buffer, job.format)

        def write(batch: Any, _: int) -> None:
            out.write(batch.toArrow())
            sys.stdout.buffer.flush()

        return writer.foreachBatch(write).start()
    return writer.format(job.format).option("header", True).start(absolute(job.output))


def _follow(query: Any, tally: Tally, stopped: Stop, note: Callable[[str], None]) -> None:
    """Watch the stream until it ends or is to be stopped."""
    while query.isActive and not stopped.wait(_LOOK):
        tally.add(query.recentProgress)
        note(str(tally))
    tally.add(query.recentProgress)
    query.stop()
    failure = None if stopped.is_set() else query.exception()
    if failure is not None:
        raise failure


class Stop(threading.Event):
    """Set by SIGINT and SIGTERM."""

    def listen(self) -> None:
        """Take the signals; the second one ends the process at once."""
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        if self.is_set():
            raise KeyboardInterrupt
        self.set()


@contextmanager
def _stop_signals() -> Iterator[Stop]:
    """The event that signals set; afterwards they do again what they did."""
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield Stop()
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def _place_for(checkpoint: str | None) -> Iterator[str]:
    """The directory of the checkpoint; one that is thrown away if none is wanted."""
    if checkpoint is not None:
        yield absolute(checkpoint)
        return
    with tempfile.TemporaryDirectory(prefix="windrow-checkpoint-") as place:
        yield place
