"""Variances and deviations of the last rows, of windows by their bounds, and of both with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.columns import NO_NULLS
from windrow.kernels.compiled_states import Compiled, state_of
from windrow.kernels.current_row import WithoutRow
from windrow.kernels.gapped import Gapped, looped
from windrow.kernels.generate import loop_of
from windrow.kernels.named import Kernel, Question
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.special import segmented
from windrow.kernels.special.bounded_variance import ROOM, SCRATCH, bounded_variances
from windrow.kernels.special.left_out import leave_rows_out
from windrow.kernels.window_loop import capacity_for
from windrow.windows.arrays import Positions, empty, in_threads, ordinary, roomy
from windrow.windows.positions import Piece

# Deviations of values up to here have squares that are floats, and so have their sums.
_SQUARABLE = 1e140


def _variance(question: Question, root: bool) -> ResultArray:
    values = question.data.astype(np.float64, copy=False)
    (ddof,) = question.aggregation.constants
    if isinstance(question, WithoutRow):
        results, odd = _by_bounds(question, values, ddof, root, question.around.first)
    elif isinstance(question, Gapped):
        if question.alone is None:
            (results,), valid = question.by_states(_states(question), (ordinary(values),), None)
            return finished(question.aggregation, question.column, (results,), valid)
        results, odd = _around(question, values, ddof, root)
    elif question.windows.rows is None:
        results, odd = _by_bounds(question, values, ddof, root, -1)
    else:
        results, _, odd = _of_last_rows(question, values, ddof, root, means=False)
    if odd:
        finite = values[np.isfinite(values)]
        if max(finite.max(initial=0), -finite.min(initial=0)) > _SQUARABLE:
            _recalculate(question, values, results)
    return question.answers(results, None)


def _states(question: Question) -> Compiled:
    return state_of(question.aggregation, ["float64"])


def _by_bounds(
    question: Question, values: NDArray[np.float64], ddof: int, root: bool, row: int
) -> tuple[NDArray[Any], bool]:
    """The variances of windows by their bounds, and whether one is not finite.

    A `row` that is not negative is left out of the first window, and so on.
    """
    windows, data, odd = question.windows, ordinary(values), [False]
    results = empty(len(windows), np.float64)

    def fill(piece: Piece) -> None:
        scratch, room = np.empty((SCRATCH, windows.longest + 1)), np.empty(ROOM)
        for here, lo, hi in windows.in_slices(piece):
            first = row + here.start if row >= 0 else -1
            end = windows.end_before(here.start)
            odd.append(
                bounded_variances(
                    data, lo, hi, end, ddof, root, first, scratch, room, results[here]
                )
            )

    in_threads(fill, windows.pieces(question.threads, anywhere=False))
    return results, any(odd)


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
    assert question.alone is not None and question.gap == 1
    starts, rows, odd = question.windows.starts, question.rows, [False]
    windows = question.last_rows(sum(rows) + 1)
    whole = _of_last_rows(windows, values, 0, root=False, means=True)[:2]

    def leave_out(_: Any, found: Any, begin: int, out: NDArray[Any]) -> None:
        odd.append(leave_rows_out(values, starts, begin, rows, *found, ddof, root, out))

    results = question.put_together(whole, whole, leave_out)
    results[question.alone] = _by_states(question, values, question.alone)
    return results, any(odd)


def _by_states(
    question: Gapped, values: NDArray[np.float64], some: Positions
) -> NDArray[np.float64]:
    """The variances of some windows, by states that nothing makes infinite."""
    aggregation = question.aggregation
    (results,), _ = looped(
        aggregation, _states(question), (ordinary(values),), None,
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
    loop = loop_of("recalculate", aggregation, _states(question), ["float64"], "range", False)
    lo, hi = (ends[wrong] for ends in question.windows.bounds())
    out, valid = np.zeros(wrong.size), np.ones(wrong.size, np.uint8)
    cursors, buffers = loop.start(capacity_for(question.windows.longest))
    loop.run(
        0, wrong.size, 0, 0, lo, hi, (ordinary(values),), NO_NULLS, cursors, *buffers, (out,), valid
    )  # fmt: skip
    results[wrong] = out


variances = Kernel(lambda question: _variance(question, root=False), nulls=False, parts=3)
deviations = Kernel(lambda question: _variance(question, root=True), nulls=False, parts=3)
