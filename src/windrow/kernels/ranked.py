"""Kernels that go by the order of a window's values: quantiles, the largest, ranks and modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.quantiles import CONTINUOUS, place_of
from windrow.kernels.columns import NO_NULLS
from windrow.kernels.named import Kernel, Question
from windrow.kernels.results import ResultArray, finished, lists
from windrow.kernels.special import ranked, short_quantiles, stretches
from windrow.windows.arrays import in_threads
from windrow.windows.positions import Piece, Windows

# So many windows are done at a time, in memory that stays in the cache, or as many as a stretch of
# full ones has: a kernel begins anew with each part, and sorts a window's rows again.
_AT_ONCE = 1 << 14
_NO_GAP = np.empty(0, np.int64)


def _run(question: Question, windows: Windows, kernel: Callable[..., None], flip: int = 0) -> None:
    """Run a kernel over all windows; a flip of −1 ranks the largest value first.

    It takes some windows' ranks, values, bounds, stretches, and which windows these are.
    """
    bits = question.data.view(np.int64)
    nulls = NO_NULLS if question.nulls is None else question.nulls
    most = max(_AT_ONCE, (stretches.LENGTHS - 1) * windows.longest + 1)

    def run(piece: Piece) -> None:
        room = np.empty((2, min(most, piece.stop - piece.begin) + 1), np.int64)
        ranks, values = np.empty(0, np.uint32), np.empty(0, np.int64)
        for here, lo, hi in windows.in_slices(piece, most):
            edges, rows = room[:, : lo.size + 1]
            count = stretches.stretches(lo, hi, edges, rows) + 1
            edges, rows = edges[:count], rows[:count]
            if rows[-1] > ranks.size:  # kept for later parts: fresh memory costs a third as much
                ranks, values = np.empty(rows[-1], np.uint32), np.empty(rows[-1], np.int64)
            stretches.rank_rows(
                bits, nulls, (flip, question.floating), lo, edges, rows, ranks, values
            )
            kernel((ranks, values, lo, hi, edges, rows), here)

    in_threads(run, windows.pieces(question.threads, anywhere=True))


def _quantiles(question: Question) -> ResultArray:
    aggregation: Any = question.aggregation
    how, n = aggregation.how, len(question.windows)
    out = np.empty((len(aggregation.shares), n), np.int64)
    valid = np.empty(n, np.uint8)
    if not question.parts and question.longest <= short_quantiles.LONGEST:
        _few_quantiles(question, out, valid)
    else:
        _many_quantiles(question, out, valid)
    continuous = how in CONTINUOUS
    parts = [found.view(np.float64 if continuous else question.data.dtype) for found in out]
    if not isinstance(aggregation.q, tuple):
        return finished(aggregation, question.column, tuple(parts), valid)
    if not continuous:
        parts = [question.column.restore(part) for part in parts]
    lengths = valid * np.int64(len(parts))
    return ResultArray(lists(np.stack(parts, axis=1), lengths), None if valid.all() else valid == 0)


def _few_quantiles(question: Question, out: NDArray[Any], valid: NDArray[Any]) -> None:
    """Write quantiles of windows of a few rows."""
    aggregation: Any = question.aggregation
    how, most = aggregation.how, question.longest
    nulls = NO_NULLS if question.nulls is None else question.nulls
    given = question.data.view(np.int64), nulls, (0, question.floating)
    asked = np.array(aggregation.shares)
    places = [place_of(most, share, how)[0] for share in aggregation.shares]
    wanted = frozenset(place for k in places for place in (k, min(k + 1, most - 1)))
    pairs = short_quantiles.network(most, wanted)

    def run(piece: Piece) -> None:
        scratch = np.empty((most, short_quantiles.TILE), np.int64)
        for here, lo, hi in question.windows.in_slices(piece, _AT_ONCE):
            short_quantiles.few_quantiles(
                *given, lo, hi, pairs, scratch, asked, how, out[:, here], valid[here]
            )

    in_threads(run, question.windows.pieces(question.threads, anywhere=True))


def _many_quantiles(question: Question, out: NDArray[Any], valid: NDArray[Any]) -> None:
    """Write quantiles of windows of any length, by the ranks of their rows."""
    aggregation: Any = question.aggregation
    how = aggregation.how
    windows = question.whole_windows()

    def kernel(given: Any, here: slice) -> None:
        parts = [part.bounds_of(here.start, here.stop) for part in question.parts]
        gap = (parts[0][1], parts[1][0]) if parts else (_NO_GAP, _NO_GAP)
        for share, into in zip(aggregation.shares, out, strict=True):
            given_here = *given, *gap, question.floating, share, how
            ranked.window_quantiles(*given_here, into[here], valid[here])

    _run(question, windows, kernel)


def _extremes(question: Question, flip: int) -> ResultArray:
    aggregation: Any = question.aggregation
    n = len(question.windows)
    items, lengths = np.zeros((n, aggregation.k), np.int64), np.empty(n, np.int64)

    def kernel(given: Any, here: slice) -> None:
        ranked.window_extremes(*given, items[here], lengths[here])

    _run(question, question.windows, kernel, flip)
    found = question.column.restore(items.view(question.data.dtype).ravel())
    missing = lengths == 0
    return ResultArray(
        lists(found.reshape(items.shape), lengths), missing if missing.any() else None
    )


def _places(question: Question) -> ResultArray:
    aggregation: Any = question.aggregation
    smaller, equal, count = np.empty((3, len(question.windows)), np.int64)

    def kernel(given: Any, here: slice) -> None:
        ranked.window_places(*given, smaller[here], equal[here], count[here])

    _run(question, question.windows, kernel)
    missing = count == 0
    found = aggregation.placed(smaller, equal, np.maximum(count, 1))
    found[missing] = 0
    return ResultArray(found, missing if missing.any() else None)


def _modes(question: Question) -> ResultArray:
    n = len(question.windows)
    out, valid = np.empty(n, np.int64), np.empty(n, np.uint8)

    def kernel(given: Any, here: slice) -> None:
        ranked.window_modes(*given, out[here], valid[here])

    _run(question, question.windows, kernel)
    found = out.view(question.data.dtype)
    return finished(question.aggregation, question.column, (found,), valid)


def _histograms(question: Question) -> ResultArray:
    aggregation: Any = question.aggregation
    edges, values = np.array(aggregation.limits), question.data.astype(np.float64, copy=False)
    bins = edges.size - 1
    codes = np.searchsorted(edges, values, side="right") - 1
    codes[values == edges[-1]] = bins - 1
    codes[~((values >= edges[0]) & (values <= edges[-1]))] = bins  # counted, but in no bin
    if question.nulls is not None:
        codes[question.nulls != 0] = -1
    windows = question.windows
    out = np.empty((len(windows), bins + 1), np.int64)

    def run(piece: Piece) -> None:
        cursors, counts = np.zeros(2, np.int64), np.zeros(bins + 1, np.int64)
        for here, lo, hi in windows.in_slices(piece):
            ranked.window_counts(codes, lo, hi, cursors, counts, out[here])

    in_threads(run, windows.pieces(question.threads, anywhere=True))
    missing = out[:, bins] == 0
    found = lists(out[:, :bins], np.where(missing, 0, bins))
    return ResultArray(found, missing if missing.any() else None)


_BITS = "1 and 1 inverse a row"
_RANKS = "a rank and a value for each row of 8 windows"
_HOW = "rows are sorted once for 7 windows, and a window is a set of their ranks, a bit each"
_FEW = f"windows of {short_quantiles.LONGEST} rows or fewer are sorted side by side"

quantiles = Kernel(_quantiles, f"{_HOW}; {_FEW}", _BITS, _RANKS, parts=2)
largest = Kernel(lambda question: _extremes(question, -1), _HOW, _BITS, _RANKS)
smallest = Kernel(lambda question: _extremes(question, 0), _HOW, _BITS, _RANKS)
places = Kernel(_places, _HOW, "2 counts of log₂ w steps a row", _RANKS)
modes = Kernel(
    _modes,
    "rows are sorted once for 7 windows; a tree of counters tells the largest",
    "log₂ w or fewer a row",
    "2 counters for each distinct value of 8 windows",
)
histograms = Kernel(_histograms, "a counter for each bin", _BITS, "the counters")
