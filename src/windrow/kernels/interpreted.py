"""The interpreter's part: strings, lists, and functions that do not compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class, choose
from windrow.kernels.results import ResultArray


def over_windows(
    aggregation: Aggregation, values: list[Any], lo: NDArray[np.int64], hi: NDArray[np.int64]
) -> list[Any]:
    """The aggregates of the windows [lo, hi) of `values`, which never fall.

    A window that shares no value with the one before begins anew, so values of two kinds may
    follow each other in it. Two-Stacks groups values by where windows begin and end alone, so
    that the results are the same however the values come.
    """
    name = choose(aggregation)[0]
    cls = algorithm_class(name if aggregation.exact or not aggregation.bounded else "two_stacks")
    swag = cls.make(aggregation)
    head = end = 0
    answers = []
    for first, past in zip(lo.tolist(), hi.tolist(), strict=True):
        if first >= end:
            swag = cls.make(aggregation)
            head = end = first
        swag.evict(first - head)
        head = first
        for value in values[end:past]:
            swag.insert(value)
        end = max(end, past)
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


def packed(aggregation: Aggregation, answers: list[Any]) -> ResultArray:
    """Numbers as an array of numbers, anything else as an array of objects; None is null."""
    kinds = {type(a) for a in answers}
    nothing = type(None) in kinds
    missing = np.array([a is None for a in answers]) if nothing else None
    if isinstance(aggregation.result, Mapping):  # named parts, as the compiled loop gives them
        table = np.zeros(len(answers), [(name, np.int64) for name in aggregation.result])
        for i, answer in enumerate(answers):
            if answer is not None:
                table[i] = tuple(answer)
        return ResultArray(table, missing)
    if kinds and kinds <= {int, float, bool, type(None)} and kinds != {type(None)}:
        return ResultArray(np.array([0 if a is None else a for a in answers]), missing)
    values = np.empty(len(answers), object)
    values[:] = answers
    return ResultArray(values, missing)
