"""All that the demo runs, and what comes of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from windrow.cli.demo.agreement import Agreement, compare, rank_errors
from windrow.cli.demo.arrivals import Arrivals, arrive
from windrow.cli.demo.batch import Timed, by_spark, by_windrow, warm_up
from windrow.cli.demo.questions import LATENESS, QUANTILES, QUESTIONS, Question
from windrow.cli.demo.streaming import Streamed, stream_all
from windrow.cli.session import spark_session
from windrow.cli.terminal import Steps
from windrow.samples.plugs import readings

_FILES = 5
_FEW = 4_000
_SKETCHED = 0.05  # by how much a percentile of a sketch may miss its rank, on average
_SETTINGS = {
    # else the few rows of the warm-up go to one worker, and the other one is cold
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@dataclass(frozen=True)
class Result:
    """What was found about one question."""

    question: Question
    own: Timed
    spark: Timed
    streamed: Streamed
    agreement: Agreement  # of the stream and the batch
    sameness: str
    same: bool

    @property
    def ratio(self) -> float:
        """How many times as fast as Spark's own functions."""
        return self.spark.seconds / self.own.seconds


@dataclass(frozen=True)
class Findings:
    """Everything that was run and compared."""

    readings: pa.Table
    arrivals: Arrivals
    results: list[Result]

    @property
    def agree(self) -> bool:
        """Whether batch and stream have the same answers, and the streams the same late rows."""
        late = {result.streamed.tally.late for result in self.results}
        return late == {self.arrivals.late} and all(r.agreement.holds for r in self.results)

    @property
    def same(self) -> bool:
        """Whether Spark's own functions have the same answers as well."""
        return all(result.same for result in self.results)


def find(steps: Steps, rows: int, place: Path, verbose: bool) -> Findings:
    """Make the readings, run everything, and compare; files go to `place`."""
    with steps.step(f"making {rows:,} readings") as note:
        table = readings(rows)
        arrivals = arrive(table, place / "arrivals", files=_FILES, lateness=LATENESS)
        parquet.write_table(arrivals.kept, place / "kept.parquet", row_group_size=rows // 4)
        parquet.write_table(table.slice(0, _FEW), place / "few.parquet")
        note(f"{arrivals.late:,} of them too late")
    with ExitStack() as open_session:
        with steps.step("starting Spark"):
            started = spark_session(settings=_SETTINGS, verbose=verbose)
            spark = open_session.enter_context(started)
        with steps.step("warming up"):
            warm_up(spark.read.parquet(str(place / "few.parquet")))
        frame = spark.read.parquet(str(place / "kept.parquet")).cache()
        frame.count()
        own, theirs = {}, {}
        for question in QUESTIONS:
            with steps.step(f"batch: {question.name}") as note:
                own[question.name] = by_windrow(question, frame)
                note(f"{own[question.name].answers.num_rows:,} answers")
            with steps.step(f"batch: {question.name}, by Spark's own"):
                theirs[question.name] = by_spark(question, frame)
        frame.unpersist()
        with steps.step("stream: all three") as note:
            streamed = stream_all(spark, arrivals, place, note)
    results: list[Result] = []
    with steps.step("comparing row for row"):
        for question in QUESTIONS:
            name = question.name
            agreement = compare(
                own[name].answers,
                streamed[name].answers,
                question.keys,
                question.answers,
                question.close,
            )
            same, words = _sameness(
                question, arrivals.kept, own[name].answers, theirs[name].answers
            )
            results.append(
                Result(question, own[name], theirs[name], streamed[name], agreement, words, same)
            )
    return Findings(table, arrivals, results)


def _sameness(question: Question, rows: Any, own: Any, theirs: Any) -> tuple[bool, str]:
    """Whether Spark's own functions answer the same; sketches are held against the exact ranks."""
    if question.name == "percentiles":
        if own.num_rows != theirs.num_rows:
            return False, f"{own.num_rows:,} and {theirs.num_rows:,} windows"
        error = float(np.mean(rank_errors(rows, own, QUANTILES)))
        return error <= _SKETCHED, f"estimates: off their rank by {error:.1%} on average"
    agreement = compare(own, theirs, question.keys, question.answers)
    return agreement.holds, str(agreement)
