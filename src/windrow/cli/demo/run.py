"""Run the demo's queries as a Spark batch, by Spark's own functions and as streams; compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from windrow.cli.demo.agreement import Agreement, compare, rank_errors
from windrow.cli.demo.arrivals import Arrivals, arrive, without_closing
from windrow.cli.demo.questions import LATENESS, QUANTILES, QUESTIONS, Question
from windrow.cli.session import spark_session
from windrow.cli.stream import LOOK, Tally, raise_failure
from windrow.cli.terminal import Steps
from windrow.samples.plugs import readings

_FILES = 5
_FEW = 4_000  # rows of the warm-up
_SKETCHED = 0.05  # by how much a percentile of a sketch may miss its rank, on average
_SETTINGS = {
    # else the few rows of the warm-up go to one worker, and the other one is cold
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@dataclass(frozen=True)
class Timed:
    """The results of a query, the seconds until they were here, and its rows that were too late."""

    table: pa.Table
    seconds: float
    late: int = 0


@dataclass(frozen=True)
class Comparison:
    """What was found about one question."""

    question: Question
    windrow: Timed
    spark: Timed
    stream: Timed
    stream_agreement: Agreement
    spark_agreement: Agreement

    @property
    def ratio(self) -> float:
        """How many times as fast as Spark's own functions."""
        return self.spark.seconds / self.windrow.seconds


@dataclass(frozen=True)
class Findings:
    """Everything that was run and compared."""

    readings: pa.Table
    arrivals: Arrivals
    comparisons: list[Comparison]

    @property
    def stream_agrees(self) -> bool:
        """Whether batch and stream have the same results, and the streams the same late rows."""
        late = {each.stream.late for each in self.comparisons}
        agree = all(each.stream_agreement.holds for each in self.comparisons)
        return agree and late == {self.arrivals.late}

    @property
    def spark_agrees(self) -> bool:
        """Whether Spark's own functions have the same results as well."""
        return all(each.spark_agreement.holds for each in self.comparisons)


def run_all(steps: Steps, rows: int, place: Path, verbose: bool) -> Findings:
    """Make the readings, run everything, and compare; files go to `place`."""
    with steps.step(f"making {rows:,} readings") as note:
        table = readings(rows)
        arrivals = arrive(table, place / "arrivals", files=_FILES, lateness=LATENESS)
        parquet.write_table(arrivals.kept, place / "kept.parquet", row_group_size=rows // 4)
        parquet.write_table(table.slice(0, _FEW), place / "few.parquet")
        note(f"{arrivals.late:,} of them too late")
    by_windrow, by_spark = {}, {}
    with spark_session(settings=_SETTINGS, verbose=verbose, steps=steps) as spark:
        with steps.step("warming up"):  # workers start, and both sides compile what they need
            few = spark.read.parquet(str(place / "few.parquet"))
            for question in QUESTIONS:
                question.by_windrow(few).toArrow()
                question.by_spark(few).toArrow()
        frame = spark.read.parquet(str(place / "kept.parquet")).cache()
        frame.count()
        for question in QUESTIONS:
            with steps.step(f"batch: {question.name}") as note:
                by_windrow[question.name] = _timed(question.by_windrow(frame))
                note(f"{by_windrow[question.name].table.num_rows:,} results")
            with steps.step(f"batch: {question.name}, by Spark's own"):
                by_spark[question.name] = _timed(question.by_spark(frame))
        frame.unpersist()
        with steps.step("stream: all three") as note:
            streams = _stream_all(spark, arrivals, place, note)
    with steps.step("comparing row for row"):
        comparisons = [
            _comparison(q, by_windrow[q.name], by_spark[q.name], streams[q.name], arrivals.kept)
            for q in QUESTIONS
        ]
    return Findings(table, arrivals, comparisons)


def _timed(frame: Any) -> Timed:
    started = time.perf_counter()
    table = frame.toArrow()
    return Timed(table, time.perf_counter() - started)


def _stream_all(
    spark: Any, arrivals: Arrivals, place: Path, note: Callable[..., None]
) -> dict[str, Timed]:
    """Run a stream for each question, all at the same time; each file is a micro-batch."""
    schema = spark.read.parquet(str(arrivals.folder)).schema
    started = time.perf_counter()
    running = {}
    for question in QUESTIONS:
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        running[question.name] = (
            question.by_windrow(rows.parquet(str(arrivals.folder)))
            .writeStream.queryName(question.name)
            .trigger(availableNow=True)
            .option("checkpointLocation", str(place / "checkpoints" / question.name))
            .format("parquet")
            .start(str(place / "answers" / question.name))
        )
    tallies = {name: Tally() for name in running}
    seconds: dict[str, float] = {}
    while len(seconds) < len(running):
        time.sleep(LOOK)
        for name, query in running.items():
            if not tallies[name].update(query):
                seconds.setdefault(name, time.perf_counter() - started)
        done = sum(min(tally.batches, arrivals.files) for tally in tallies.values())
        most = max(tally.rows for tally in tallies.values())
        note(f"{most:,} rows", done / arrivals.files / len(running))
    for query in running.values():
        raise_failure(query)
    results = {name: spark.read.parquet(str(place / "answers" / name)) for name in running}
    return {
        name: Timed(without_closing(frame.toArrow()), seconds[name], tallies[name].late)
        for name, frame in results.items()
    }


def _comparison(
    question: Question, windrow: Timed, spark: Timed, stream: Timed, rows: pa.Table
) -> Comparison:
    columns = question.keys, question.results
    with_stream = compare(windrow.table, stream.table, *columns, question.close)
    if question.name == "percentiles":
        with_spark = _sketch_agreement(windrow.table, spark.table, rows)
    else:
        with_spark = compare(windrow.table, spark.table, *columns)
    return Comparison(question, windrow, spark, stream, with_stream, with_spark)


def _sketch_agreement(own: pa.Table, theirs: pa.Table, rows: pa.Table) -> Agreement:
    """Compare our estimates with the exact ranks: Spark's sketch makes other estimates."""
    windows = max(own.num_rows, theirs.num_rows)
    if own.num_rows != theirs.num_rows:
        says = f"{own.num_rows:,} and {theirs.num_rows:,} windows"
        return Agreement(windows, windows, says)
    error = float(np.mean(rank_errors(rows, own, QUANTILES)))
    says = f"estimates: off their rank by {error:.1%} on average"
    return Agreement(windows, 0 if error <= _SKETCHED else windows, says)
