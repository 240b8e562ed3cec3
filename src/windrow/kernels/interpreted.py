"""The interpreter's part: strings, lists, and functions that do not compile."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class, choose
from windrow.algorithms.two_stacks import TwoStacks
from windrow.identity import named
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
    results = []
    for first, past in zip(lo.tolist(), hi.tolist(), strict=True):
        if first >= end:
            swag = cls.make(aggregation)
            head = end = first
        swag.evict(first - head)
        head = first
        for value in values[end:past]:
            swag.insert(value)
        end = max(end, past)
        results.append(swag.query())
    return results


def failing_position(
    aggregation: Aggregation, values: list[Any], lo: Any, hi: Any, error: Exception
) -> int | None:
    """The position of the value at which the user's functions fail: run again. O(1) ⊕ a value.

    An integer that no int64 holds is found in the states and the results. None if nothing fails so.
    """
    with_states = copy.copy(aggregation)
    with_states.lower = lambda state: (state, aggregation.lower(state))  # type: ignore[method-assign]
    swag = TwoStacks(with_states)
    head = end = 0
    for first, past in zip(lo.tolist(), hi.tolist(), strict=True):
        if first >= end:
            swag = TwoStacks(with_states)
            head = end = first
        try:
            swag.evict(first - head)
            head = first
            while end < past:
                end += 1
                swag.insert(values[end - 1])
            answer = swag.query()
        except Exception as again:  # another kind of error would name the wrong value
            return max(end - 1, 0) if isinstance(again, type(error)) else None
        if isinstance(error, OverflowError) and _exceeds(answer):
            return end - 1
    return None


def _exceeds(value: Any) -> bool:
    """Whether an integer is none of int64."""
    if isinstance(value, tuple):
        return any(map(_exceeds, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def name_failure(
    error: Exception, aggregation: Aggregation, values: list[Any], lo: Any, hi: Any, oldest: int = 0
) -> None:
    """Note in an error of the user's functions which they are, and the row with its value.

    `oldest` is the position of the first value.
    """
    place = failing_position(aggregation, values, lo, hi, error)
    where = "" if place is None else f", at row {oldest + place}, whose value is {values[place]!r}"
    error.add_note(f"in {aggregation!r}{where}")


def satisfying(
    condition: Callable[[Any], Any], values: Sequence[Any], describe: Callable[[Any], str]
) -> NDArray[np.bool_]:
    """Which values satisfy a condition of the user's own; what it raises names the value."""
    chosen = np.empty(len(values), np.bool_)
    for i, value in enumerate(values):
        try:
            chosen[i] = bool(condition(value))
        except Exception as error:
            error.add_note(f"in on={named(condition)}, at {describe(value)}")
            raise
    return chosen


def without_columns(aggregation: Aggregation) -> Aggregation:
    """The aggregation, which is then given the values themselves."""
    unbound = copy.copy(aggregation)
    unbound.columns = ()
    return unbound


def objects(arrays: Sequence[NDArray[Any]], nulls: Sequence[NDArray[np.uint8] | None]) -> list[Any]:
    """Values as Python's own, None for nulls; tuples of them for several arrays."""
    lists = []
    for array, mask in zip(arrays, nulls, strict=True):
        values = np.asarray(array).tolist()
        if array.dtype.kind in "mM" and int in map(type, values):  # Python has no nanoseconds
            values = [None if np.isnat(v) else v for v in array]
        if mask is not None:
            values = [None if null else v for v, null in zip(values, mask, strict=True)]
        lists.append(values)
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def packed(aggregation: Aggregation, results: list[Any]) -> ResultArray:
    """Numbers as an array of numbers, anything else as an array of objects; None is null."""
    kinds = {type(a) for a in results}
    nothing = type(None) in kinds
    missing = np.array([a is None for a in results]) if nothing else None
    if isinstance(aggregation.result, Mapping):  # named parts, as the compiled loop gives them
        table = np.zeros(len(results), [(name, np.int64) for name in aggregation.result])
        for i, result in enumerate(results):
            if result is not None:
                table[i] = tuple(result)
        return ResultArray(table, missing)
    if kinds and kinds <= {int, float, bool, type(None)} and kinds != {type(None)}:
        return ResultArray(np.array([False if a is None else a for a in results]), missing)
    values = np.empty(len(results), object)
    values[:] = results
    return ResultArray(values, missing)
