"""The interpreter's part: strings, lists, and functions that do not compile."""

from __future__ import annotations

import warnings
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class, choose
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

    def roll(self, batch: Batch) -> Any:
        self.waiting.extend(_objects(batch))
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
        return _array(answers)


def _objects(batch: Batch) -> list[Any]:
    """The values of a batch as Python's own, None for nulls."""
    lists = []
    for column, array in zip(batch.columns, batch.arrays, strict=True):
        values = np.asarray(array).tolist()
        if column is not None and column.nulls is not None:
            values = [None if null else v for v, null in zip(values, column.nulls, strict=True)]
        lists.append(values)
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _array(answers: list[Any]) -> NDArray[Any]:
    """Numbers as an array of numbers, anything else as an array of objects."""
    kinds = {type(a) for a in answers}
    if kinds and kinds <= {int, float, bool, type(None)} and kinds != {type(None)}:
        if type(None) not in kinds:
            return np.array(answers)
        if float in kinds:
            return np.array([np.nan if a is None else a for a in answers])
        missing = [a is None for a in answers]
        return np.ma.MaskedArray([a or 0 for a in answers], missing)
    made = np.empty(len(answers), object)
    made[:] = answers
    return made
