"""Variances and deviations of the last rows, of windows by their bounds, and of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.columns import NO_NULLS
from windrow.kernels.compiled_states import Compiled, state_of
from windrow.kernels.generate import loop_of
from windrow.kernels.named import Kernel, Question
from windrow.kernels.parts import PartsQuestion, looped
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.special import segmented
from windrow.kernels.special.bounded_variance import ROOM, SCRATCH, bounded_variances
from windrow.kernels.special.left_out import leave_rows_out
from windrow.kernels.special.rows_around import TILE, TIMES
from windrow.kernels.window_loop import capacity_for
from windrow.windows.arrays import Positions, empty, in_threads, ordinary, stretches
from windrow.windows.lengths import RARE
from windrow.windows.positions import Piece

# Deviations of values up to here have squares that are floats, and so have their sums.
_SQUARABLE = 1e140
_NO_MEANS = np.empty(0)


def _variance(question: Question, root: bool) -> ResultArray:
    values = question.data.astype(np.float64, copy=False)
    (ddof,) = question.aggregation.constants
    windows, first = question.whole_windows(), question.left_out
    if isinstance(question, PartsQuestion) and first is None:
        (results,), valid = question.by_states(_states(question), (ordinary(values),), None)
        return finished(question.aggregation, question.column, (results,), valid)
    if windows.rows is None:
        results, odd = _by_bounds(question, values, ddof, root)
    elif not isinstance(question, PartsQuestion):
        results, odd = _of_last_rows(question, values, ddof, root)
    elif question.alone is None or question.alone.size * RARE > len(windows):
        results, odd = _by_bounds(question, values, ddof, root)
    else:
        results, odd = _around(question, values, ddof, root, question.alone)
    if odd:
        finite = values[np.isfinite(values)]
        if max(finite.max(initial=0), -finite.min(initial=0)) > _SQUARABLE:
            _recalculate(question, values, results)
    return question.answers(results, None)


def _states(question: Question) -> Compiled:
    return state_of(question.aggregation, ["float64"])


def _by_bounds(
    question: Question, values: NDArray[np.float64], ddof: int, root: bool
) -> tuple[NDArray[Any], bool]:
    """The variances of windows by their bounds, and whether one is not finite."""
    windows, data, odd = question.whole_windows(), ordinary(values), [False]
    windows = windows if windows.rows is None else windows.chosen()
    row = -1 if question.left_out is None else question.left_out
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
    question: Question, values: NDArray[np.float64], ddof: int, root: bool
) -> tuple[NDArray[Any], bool]:
    """The variances, and whether one is not finite."""
    starts, w, odd = question.windows.starts, question.w, [False]

    def fill(a: int, b: int, out: NDArray[Any]) -> None:
        odd.append(segmented.segment_variances(values, starts, w, ddof, a, b, root, out, _NO_MEANS))

    results = question.fill(fill, None, np.float64)
    return results, any(odd)


def _around(
    question: PartsQuestion, values: NDArray[np.float64], ddof: int, root: bool, alone: Positions
) -> tuple[NDArray[Any], bool]:
    """The variances of the rows before and behind, and whether one of them is not finite.

    Those of whole windows are found first, a tile at a time, and the rows taken out of them while
    they are in the cache.
    """
    whole, rows, odd = question.whole_windows(), question.rows, [False]
    starts, w, count, n = whole.starts, sum(rows) + 1, len(whole), values.size
    first, last = whole.first, whole.first + whole.ahead  # a window's own row, and its last one
    found, means = empty(n + whole.ahead, np.float64), empty(n, np.float64)
    step = max(TILE, TIMES * w)

    def fill(piece: tuple[int, int]) -> None:
        for a in range(*piece, step):
            b = min(a + step, piece[1])
            here = slice(last + a, last + b)
            segmented.segment_variances(
                values, starts, w, 0, here.start, here.stop, False, found, means
            )
            given = values, starts, first + a, rows, found[here], means[here]
            odd.append(leave_rows_out(*given, ddof, root, found[here]))

    in_threads(fill, stretches(max(0, min(count, n - last)), question.threads))
    results = found[last:][:count]
    results[alone] = _by_states(question, values, alone)
    return results, any(odd)


def _by_states(
    question: PartsQuestion, values: NDArray[np.float64], some: Positions
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
    if isinstance(question, PartsQuestion):
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
