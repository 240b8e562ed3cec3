"""The interpreter's part: strings, lists, and functions that do not compile."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class, choose
from windrow.compiled.answers import Answers
from windrow.compiled.batch import Batch, Roller


class NotCompiledWarning(UserWarning):
    """An aggregation of the user's own runs in the interpreter."""


class Interpreted(Roller):
    """The algorithm in the interpreter: for strings, lists, and functions that do not compile."""

    def __init__(
        self, aggregation: Aggregation, rows: int | None, algorithm: str, reason: str
    ) -> None:
        if reason:
            warnings.warn(
                f"{aggregation!r} runs in the interpreter, far slower than compiled: {reason}",
                NotCompiledWarning,
                stacklevel=5,
            )
        self.aggregation, self.rows = aggregation, rows
        name = choose(aggregation)[0] if algorithm == "auto" else algorithm
        self.swag = algorithm_class(name).make(aggregation)
        self.waiting: deque[Any] = deque()
        self.head = 0

    def roll(self, batch: Batch) -> Answers:
        nulls = [None if c is None else c.nulls for c in batch.columns]
        self.waiting.extend(objects(batch.arrays, nulls))
        answers = []
        for row in range(batch.row, batch.stop):
            if batch.lo is None or batch.hi is None:
                first, past = max(0, row + 1 - (self.rows or 0)), row + 1
            else:
                first, past = int(batch.lo[row - batch.row]), int(batch.hi[row - batch.row])
            while self.head + len(self.swag) < past:
                self.swag.insert(self.waiting.popleft())
            gone = min(first, past) - self.head
            self.swag.evict(gone)
            self.head += gone
            answers.append(self.swag.query())
        return packed(answers)


def over_windows(
    aggregation: Aggregation, values: list[Any], lo: NDArray[np.int64], hi: NDArray[np.int64]
) -> list[Any]:
    """The aggregates of the windows [lo, hi) of `values`, which never fall.

    A window that shares no value with the one before begins anew, so values of two kinds may
    follow each other in it.
    """
    cls = algorithm_class(choose(aggregation)[0])
    swag = cls.make(aggregation)
    head = end = 0
    answers = []
    for first, past in zip(lo.tolist(), hi.tolist(), strict=True):
        if first >= end:
            swag = cls.make(aggregation)
            head = end = first
        for value in values[end:past]:
            swag.insert(value)
        end = max(end, past)
        swag.evict(first - head)
        head = first
        answers.append(swag.query())
    return answers


def objects(arrays: Sequence[NDArray[Any]], nulls: Sequence[NDArray[np.uint8] | None]) -> list[Any]:
    """Values as Python's own, None for nulls; tuples of them for several arrays."""
    lists = []
    for array, mask in zip(arrays, nulls, strict=True):
        values = np.asarray(array).tolist()
        if mask is not None:
            values = [None if null else v for v, null in zip(values, mask, strict=True)]
        lists.append(values)
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def packed(answers: list[Any]) -> Answers:
    """Numbers as an array of numbers, anything else as an array of objects; None is null."""
    kinds = {type(a) for a in answers}
    nothing = type(None) in kinds
    missing = np.array([a is None for a in answers]) if nothing else None
    if kinds and kinds <= {int, float, bool, type(None)} and kinds != {type(None)}:
        return Answers(np.array([0 if a is None else a for a in answers]), missing)
    made = np.empty(len(answers), object)
    made[:] = answers
    return Answers(made, missing)
