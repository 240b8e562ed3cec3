"""Answers in the types that they mean; nulls lie apart until `merged` puts them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.compiled.columns import Column

_LIKE_VALUES = ("Max", "Min", "First", "Last")


@dataclass(frozen=True)
class Answers:
    """An answer a window: numbers, times, structured ones, or objects.

    `missing` is true where the answer is null, whatever `values` has there (None among objects);
    None says that no answer is. A NaN in `values` is a NaN and not a null.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None


class Riding:
    """The arguments that ride along with measures; an answer is their position in the stream."""

    def __init__(self, arrays: list[Any], aggregation: Aggregation) -> None:
        self.wanted = len(arrays) > 1 and not isinstance(aggregation, Custom)
        self.values: NDArray[Any] | None = None
        self.oldest = 0  # the position of the first value here

    def take(self, arrays: list[Any]) -> None:
        """Keep the arguments among the arrays of a batch."""
        if not self.wanted:
            return
        came = np.asarray(arrays[1])
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
    valid: NDArray[np.uint8] | None,
) -> Answers:
    """What a kernel wrote, in the types that it means; `valid` is 0 where a window had nothing."""
    name = type(aggregation).__name__
    missing = None if valid is None or valid.all() else valid == 0
    if missing is not None:
        for o in out:
            nothing = riding.oldest if o.dtype == np.int64 and name != "Count" else 0
            o[missing] = None if o.dtype == object else nothing
    if name == "Count":
        return Answers(out[0])
    if name == "LongestRun":
        return Answers(_runs(riding, out), missing)
    if len(out) > 1:
        table = np.empty(out[0].size, [(f"f{i}", o.dtype) for i, o in enumerate(out)])
        for i, o in enumerate(out):
            table[f"f{i}"] = o
        return Answers(table, missing)
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
    return Answers(answers, missing)


def _runs(riding: Riding, out: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    start, end = riding.at(out[0]), riding.at(out[1])
    span = end - start
    table = np.empty(
        out[0].size,
        [("start", start.dtype), ("end", end.dtype), ("length", np.int64), ("span", span.dtype)],
    )
    table["start"], table["end"], table["length"], table["span"] = start, end, out[2], span
    return table


def merged(answers: Answers) -> Any:
    """One array, with null as its type has it: NaN, NaT, None, or a mask.

    >>> merged(Answers(np.array([1.0, 2.0]), np.array([False, True])))
    array([ 1., nan])
    """
    values, missing = answers.values, answers.missing
    if missing is None:
        return values
    null = {"f": np.nan, "O": None, "M": np.datetime64("NaT"), "m": np.timedelta64("NaT")}
    if values.dtype.kind not in null:
        return np.ma.MaskedArray(values, missing)
    values[missing] = null[values.dtype.kind]
    return values
