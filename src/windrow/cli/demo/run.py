"""The demo's acts: readings; three engines; a race with Spark's own functions; a stream killed.

Spark works in a process of its own (`job`), which reports what it does, and is killed on the way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from windrow.cli.demo.agreement import Agreement, compare
from windrow.cli.demo.arrivals import Arrivals, arrive, without_closing
from windrow.cli.demo.job import FEW, KEPT, LATE, SOME
from windrow.cli.demo.questions import LATENESS, MANY, QUESTIONS, Question
from windrow.cli.failures import Failed
from windrow.cli.trials import kill_session
from windrow.samples.plugs import readings

_FILES = 4
_FEW = 4_000  # rows of the warm-up
_MIDDLE = 1  # micro-batches that are over when the stream is killed
_WITHIN = 0.4  # seconds into the next one
Note = Callable[..., None]
Timed = tuple[pa.Table, float]  # the results of a query, and the seconds until they were here


@dataclass(frozen=True)
class Comparison:
    """The results of one question in this process, as a Spark batch and as a stream."""

    name: str
    answers: int
    table_seconds: float
    spark_seconds: float
    batch_agrees: bool
    batch_agreement: str
    stream_agrees: bool = False
    stream_agreement: str = "not yet"


@dataclass(frozen=True)
class Race:
    """Many aggregations by windrow and by Spark's own functions, over the same rows."""

    rows: int
    numbers: int
    windrow_seconds: float
    spark_seconds: float
    agrees: bool
    agreement: str

    @property
    def ratio(self) -> float:
        """How many times as fast as Spark's own functions."""
        return self.spark_seconds / self.windrow_seconds


@dataclass(frozen=True)
class Kill:
    """How far the stream of the first query was when it was killed."""

    micro_batches: int
    committed: int
    begun: int
    rows_late: int  # that it marks as too late, in the end


@dataclass(frozen=True)
class Findings:
    """Everything that was run and compared, as `--json` has it."""

    rows: int  # that came
    rows_late: int
    rows_out: int  # of the first stream, with a result or marked as too late
    queries: list[Comparison]
    race: Race
    kill: Kill

    @property
    def engines_agree(self) -> bool:
        """Whether all engines have the same results, and the stream lost nothing."""
        same = [query.batch_agrees and query.stream_agrees for query in self.queries]
        return all(same) and self.kill.rows_late == self.rows_late and self.rows_out == self.rows

    @property
    def agree(self) -> bool:
        """Whether Spark's own functions have the same results as well."""
        return self.engines_agree and self.race.agrees


class Job:
    """The process that has Spark; it is gone, its Java included, when the `with` block is over."""

    def __init__(self, place: Path, verbose: bool, url: str = "") -> None:
        command = [sys.executable, "-m", "windrow.cli.demo.job", str(place)]
        port = [str(urlsplit(url).port)] if url else []
        self.process = subprocess.Popen(
            [*command, *port, *["--verbose"] * verbose],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is for the demo, which ends it
        )

    def until(self, what: str, seen: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
        """Return the next report of this name; `seen` gets those before it, and true ends it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            report: dict[str, Any] = json.loads(line)
            if report["what"] == "failed":
                raise Failed(report["message"])
            if report["what"] == what or seen(report) is True:
                return report
        raise Failed(f"Spark's process ended before {what!r}; --verbose shows Spark's log")

    def kill(self) -> None:
        """Kill the process and its Java, as a power cut would."""
        kill_session(self.process)
        self.process.wait()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def make_readings(rows: int, place: Path) -> tuple[pa.Table, Arrivals]:
    """Write readings as files that arrive one by one, and those that are in time as one file."""
    table = readings(rows)
    arrivals = arrive(table, place / "arrivals", files=_FILES, lateness=LATENESS)
    parquet.write_table(arrivals.kept, place / KEPT, row_group_size=rows // 4)
    parquet.write_table(table.slice(0, _FEW), place / FEW)
    parquet.write_table(table.slice(0, rows // 2), place / SOME, row_group_size=rows // 8)
    return table, arrivals


def in_this_process(question: Question, arrivals: Arrivals) -> Timed:
    """Answer a question over a table, without Spark."""
    question.query(arrivals.kept.slice(0, _FEW))  # compiles what it needs
    started = time.perf_counter()
    table = question.query(arrivals.kept)
    return table, time.perf_counter() - started


def as_batch(job: Job, question: Question, own: Timed, place: Path) -> Comparison:
    """Wait for the results of a Spark batch, and compare them."""
    table, seconds = own
    batch, spark_seconds = on_spark(job, question.name, place)
    same = compare(table, batch, question.keys, question.results)
    return Comparison(question.name, table.num_rows, seconds, spark_seconds, same.holds, same.says)


def on_spark(job: Job, name: str, place: Path) -> Timed:
    """Return the results that the job reports next."""
    seconds = job.until(name)["seconds"]
    return parquet.read_table(place / f"{name}.parquet"), seconds


def race(job: Job, place: Path, note: Note) -> Race:
    """Wait for the results of both sides, and compare them."""
    own, seconds = on_spark(job, MANY.name, place)
    note(f"windrow {seconds:.1f} s, Spark's own functions …")
    theirs, spark_seconds = on_spark(job, "own", place)
    same = compare(own, theirs, MANY.keys, MANY.results)
    numbers = own.num_rows * len(MANY.results)
    return Race(own.num_rows, numbers, seconds, spark_seconds, same.holds, same.says)


def run_and_kill(job: Job, arrivals: Arrivals, place: Path, note: Note) -> tuple[int, int]:
    """Kill the streams in a micro-batch in the middle; return how many were over, and begun."""

    def seen(report: dict[str, Any]) -> bool:
        note(f"{report['rows']:,} rows", report["done"] / arrivals.files)
        committed, begun = _micro_batches(place)
        return bool(report["done"] >= _MIDDLE and begun > committed)

    job.until("streamed", seen)
    time.sleep(_WITHIN)
    job.kill()
    return _micro_batches(place)


def _micro_batches(place: Path) -> tuple[int, int]:
    """Return how many micro-batches of the first stream are over, and how many were begun."""
    checkpoint = place / "checkpoints" / QUESTIONS[0].name
    committed, begun = (
        sum(file.name.isdigit() for file in checkpoint.glob(f"{part}/*"))
        for part in ("commits", "offsets")
    )
    return committed, begun


def go_on(job: Job, arrivals: Arrivals, committed: int, note: Note) -> None:
    """Wait until the streams that were started again are done."""

    def seen(report: dict[str, Any]) -> None:
        done = committed + report["done"]
        note(f"micro-batch {min(done, arrivals.files)} of {arrivals.files}", done / arrivals.files)

    job.until("streamed", seen)


def as_stream(question: Question, own: pa.Table, place: Path) -> tuple[Agreement, int, int]:
    """Return how a stream's results compare, how many rows it has, and how many are too late."""
    stream = without_closing(parquet.read_table(place / f"{question.name}-streamed.parquet"))
    rows, late = stream.num_rows, 0
    if LATE in stream.column_names:
        marked = stream.column(LATE)
        late = pc.sum(marked).as_py() or 0
        stream = stream.filter(pc.invert(marked))
    return compare(own, stream, question.keys, question.results), rows, late
