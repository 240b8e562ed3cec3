"""Variances and deviations of the last rows, and of those before and behind the current row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.columns import NO_NULLS
from windrow.kernels.compiled_states import state_of
from windrow.kernels.gapped import Gapped, looped
from windrow.kernels.generate import loop_of
from windrow.kernels.named import Kernel, Question
from windrow.kernels.results import ResultArray
from windrow.kernels.special import segmented
from windrow.kernels.special.joined import join_variances
from windrow.kernels.window_loop import capacity_for
from windrow.windows.arrays import Positions, ordinary, roomy

# Deviations of values up to here have squares that are floats, and so have their sums.
_SQUARABLE = 1e140


def _variance(question: Question, root: bool) -> ResultArray:
    values = question.data.astype(np.float64, copy=False)
    (ddof,) = question.aggregation.constants
    if isinstance(question, Gapped):
        results, odd = _around(question, values, ddof, root)
    else:
        results, _, odd = _of_last_rows(question, values, ddof, root, means=False)
    if odd:
        finite = values[np.isfinite(values)]
        if max(finite.max(initial=0), -finite.min(initial=0)) > _SQUARABLE:
            _recalculate(question, values, results)
    return question.answers(results, None)


def _of_last_rows(
    question: Question, values: NDArray[np.float64], ddof: int, root: bool, means: bool
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """The variances, the means less the last value, and whether a variance is not finite."""
    starts, w = question.windows.starts, question.w
    room = roomy(values.size if means else 0, np.float64)
    odd: list[bool] = []

    def fill(a: int, b: int, out: NDArray[Any]) -> None:
        odd.append(segmented.segment_variances(values, starts, w, ddof, a, b, root, out, room))

    results = question.fill(fill, None, np.float64)
    return results, room[question.windows.first :], any(odd)


def _around(
    question: Gapped, values: NDArray[np.float64], ddof: int, root: bool
) -> tuple[NDArray[Any], bool]:
    """The variances of the rows before and behind, and whether one of them is not finite."""
    assert question.alone is not None
    found = {
        w: _of_last_rows(question.last_rows(w), values, 0, root=False, means=True)[:2]
        for w in set(question.rows)
    }
    older, newer = ((*found[w], values[question.begin :]) for w in question.rows)
    starts, odd = question.windows.starts, [False]

    def join(a: Any, b: Any, begin: int, out: NDArray[Any]) -> None:
        odd.append(
            join_variances(starts, begin, question.rows, tuple(a), tuple(b), ddof, root, out)
        )

    results = question.put_together(older, newer, join)
    results[question.alone] = _by_states(question, values, question.alone)
    return results, any(odd)


def _by_states(
    question: Gapped, values: NDArray[np.float64], some: Positions
) -> NDArray[np.float64]:
    """The variances of some windows, by states that nothing makes infinite."""
    aggregation = question.aggregation
    (results,), _ = looped(
        aggregation, state_of(aggregation, ["float64"]), (ordinary(values),), None,
        question.by_bounds(some), question.threads,
    )  # fmt: skip
    return results


def _recalculate(
    question: Question, values: NDArray[np.float64], results: NDArray[np.float64]
) -> None:
    """Put right the results that are not finite: one ⊕ for each row of their windows."""
    aggregation = question.aggregation
    wrong = np.flatnonzero(~np.isfinite(results))
    if isinstance(question, Gapped):
        results[wrong] = _by_states(question, values, wrong)
        return
    loop = loop_of(
        "recalculate", aggregation, state_of(aggregation, ["float64"]), ["float64"], "range", False
    )
    lo, hi = (ends[wrong] for ends in question.windows.bounds())
    out, valid = np.zeros(wrong.size), np.ones(wrong.size, np.uint8)
    cursors, buffers = loop.start(capacity_for(question.windows.longest))
    loop.run(
        0, wrong.size, 0, 0, lo, hi, (ordinary(values),), NO_NULLS, cursors, *buffers, (out,), valid
    )  # fmt: skip
    results[wrong] = out


variances = Kernel(
    lambda question: _variance(question, root=False), rows_only=True, nulls=False, parts=3
)
deviations = Kernel(
    lambda question: _variance(question, root=True), rows_only=True, nulls=False, parts=3
)
