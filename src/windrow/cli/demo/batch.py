"""The demo's queries over all rows at once, by windrow and by Spark's own functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.cli.demo.questions import QUESTIONS, Question


@dataclass(frozen=True)
class Timed:
    """Answers, and the seconds until they were here."""

    answers: pa.Table
    seconds: float


def warm_up(few: Any) -> None:
    """Each query once over a few rows: workers start, and both sides compile what they need."""
    for question in QUESTIONS:
        by_windrow(question, few)
        by_spark(question, few)


def by_windrow(question: Question, frame: Any) -> Timed:
    """The answers of ``df.transform(query)``."""
    return _timed(lambda: frame.transform(question.query).toArrow())


def by_spark(question: Question, frame: Any) -> Timed:
    """The answers of Spark's own functions."""
    return _timed(lambda: question.by_spark(frame).toArrow())


def _timed(work: Callable[[], pa.Table]) -> Timed:
    started = time.perf_counter()
    answers = work()
    return Timed(answers, time.perf_counter() - started)
