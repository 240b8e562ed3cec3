"""Answers in the types that they mean, with nulls where a window had nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.compiled.batch import Batch
from windrow.compiled.columns import Column

_LIKE_VALUES = ("Max", "Min", "First", "Last")


class Riding:
    """The arguments that ride along with measures; an answer is their position in the stream."""

    def __init__(self, arrays: list[Any], aggregation: Aggregation) -> None:
        self.wanted = len(arrays) > 1 and not isinstance(aggregation, Custom)
        self.values: NDArray[Any] | None = None
        self.oldest = 0  # the position of the first value here

    def take(self, batch: Batch) -> None:
        """Keep the arguments of a batch."""
        if not self.wanted:
            return
        came = np.asarray(batch.arrays[1])
        self.values = came if self.values is None else np.concatenate([self.values, came])

    def at(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The arguments at these positions; the positions themselves where none ride along."""
        return positions if self.values is None else self.values[positions - self.oldest]

    def forget(self, head: int) -> None:
        """Drop what came before the window."""
        if self.values is not None:
            self.values, self.oldest = self.values[head - self.oldest :].copy(), head


def finished(
    aggregation: Aggregation,
    column: Column,
    riding: Riding,
    out: tuple[NDArray[Any], ...],
    valid: NDArray[np.uint8],
) -> Any:
    """Answers in the types that they mean, with nulls where a window had nothing."""
    name = type(aggregation).__name__
    missing = valid == 0
    if name == "Count" and missing.any():
        out[0][missing] = 0
        return out[0]
    if missing.any():
        for o in out:
            o[missing] = riding.oldest if o.dtype == np.int64 else 0
    else:
        missing = np.empty(0, np.bool_)
    if name == "LongestRun":
        return _masked(_runs(riding, out), missing)
    if len(out) > 1:
        table = np.empty(out[0].size, [(f"f{i}", o.dtype) for i, o in enumerate(out)])
        for i, o in enumerate(out):
            table[f"f{i}"] = o
        return _masked(table, missing)
    answers = out[0]
    if name in _LIKE_VALUES:
        answers = column.restore(answers)
    elif name in ("ArgMax", "ArgMin"):
        answers = riding.at(answers)
    elif name == "Range" or (name in ("Sum", "Mean") and column.dtype.kind == "m"):
        if column.dtype.kind == "m" and name == "Mean":
            answers = answers.round().astype(np.int64)
        if name == "Range" and answers.dtype == np.int64 and (answers < 0).any():
            raise OverflowError(
                f"{aggregation!r}: a difference exceeds int64; convert the values to float64"
            )
        answers = column.differences(answers)
    return _masked(answers, missing)


def _runs(riding: Riding, out: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    start, end = riding.at(out[0]), riding.at(out[1])
    span = end - start
    table = np.empty(
        out[0].size,
        [("start", start.dtype), ("end", end.dtype), ("length", np.int64), ("span", span.dtype)],
    )
    table["start"], table["end"], table["length"], table["span"] = start, end, out[2], span
    return table


def _masked(answers: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    """Null as the type has it: NaN, NaT, or a mask."""
    if not missing.size:
        return answers
    if answers.dtype.kind == "f":
        answers[missing] = np.nan
    elif answers.dtype.kind in "mM":
        answers[missing] = np.array("NaT", answers.dtype)
    else:
        return np.ma.MaskedArray(answers, missing)
    return answers
