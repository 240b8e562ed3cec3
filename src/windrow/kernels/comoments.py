"""Correlations, covariances and lines of least squares over windows of pairs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.columns import NO_NULLS, any_null
from windrow.kernels.compiled_states import state_of
from windrow.kernels.named import Kernel, Question
from windrow.kernels.parts import PartsQuestion
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.special.comoments import SCRATCH, results_of
from windrow.windows.arrays import ordinary


def _comoments(question: Question) -> ResultArray:
    if isinstance(question, PartsQuestion):
        out, valid = _of_parts(question)
    else:
        out, valid = _of_windows(question)
    return finished(question.aggregation, question.column, (out,), valid)


def _of_windows(question: Question) -> list[NDArray[Any]]:
    """The results, and which windows have one."""
    aggregation, windows, w = question.aggregation, question.windows, question.w
    segments, bounded = _kernels(aggregation.answer, aggregation.defined)
    pairs, constants = _pairs(question), aggregation.constants

    def scratch() -> NDArray[np.float64]:
        return np.empty((SCRATCH, windows.longest + 1))

    def by_rows(a: int, b: int, out: Any, valid: Any) -> None:
        segments(*pairs, windows.starts, w, a, b, constants, scratch(), out, valid)

    def by_bounds(lo: Any, hi: Any, end: int, out: Any, valid: Any) -> None:
        bounded(*pairs, lo, hi, end, constants, scratch(), out, valid)

    kinds = np.float64, np.uint8
    return question.fill_several(by_rows, by_bounds, kinds, anywhere=False)


def _of_parts(question: PartsQuestion) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same where something is left out of the windows."""
    aggregation = question.aggregation
    y, x, nulls = _pairs(question)
    compiled, gone = state_of(aggregation, ["float64", "float64"]), nulls if nulls.size else None
    (out,), valid = question.by_states(compiled, (y, x), gone)
    return out, valid


def _pairs(question: Question) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint8]]:
    """Both columns as floats, and which pairs do not count; nothing if all do."""
    y, x = (ordinary(each.data.astype(np.float64, copy=False)) for each in question.columns)
    nulls = any_null(question.columns)
    return y, x, NO_NULLS if nulls is None or not nulls.any() else nulls


_kernels = functools.cache(results_of)


comoments = Kernel(
    _comoments,
    "windows put together from the pairs before a row and those from it on, none subtracted",
    state="12 numbers for each row of the window",
    parts=3,
    grid=lambda rows: rows,
)
