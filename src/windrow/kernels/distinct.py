"""How many different values windows have: counted, or about, by HyperLogLog."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.kernels.columns import NO_NULLS
from windrow.kernels.named import Kernel, Question
from windrow.kernels.results import ResultArray
from windrow.kernels.special.distinct import number_values, window_distinct
from windrow.kernels.special.registers import register_codes, window_estimates
from windrow.windows.arrays import in_threads
from windrow.windows.positions import Piece


def _distinct(question: Question) -> ResultArray:
    codes = np.empty(question.data.size, np.int64)
    nulls = NO_NULLS if question.nulls is None else question.nulls
    distinct = number_values(question.data.view(np.int64), nulls, question.floating, codes)
    counts = np.empty(len(question.windows), np.int64)

    def run(piece: Piece) -> None:
        counters, cursors = np.zeros(distinct, np.int64), np.zeros(3, np.int64)
        for here, lo, hi in question.windows.in_slices(piece):
            window_distinct(codes, lo, hi, counters, cursors, counts[here])

    in_threads(run, question.windows.pieces(question.threads, anywhere=True))
    return ResultArray(counts)


distinct_counts = Kernel(
    _distinct,
    "a counter for each distinct value",
    "1 and 1 inverse a row",
    "the counters",
    in_blocks=False,
)


def _estimates(question: Question) -> ResultArray:
    aggregation: Any = question.aggregation
    precision, windows = aggregation.precision, question.windows
    codes = np.empty(question.data.size, np.int32)
    nulls = NO_NULLS if question.nulls is None else question.nulls
    register_codes(question.data.view(np.int64), nulls, question.floating, precision, codes)
    estimates = np.empty(len(windows), np.int64)
    ring = 1 << max(1, windows.longest).bit_length()

    def run(piece: Piece) -> None:
        ends, links = np.full((2, 1 << precision), -1), np.empty((2, ring), np.int64)
        histogram, cursors = np.zeros(66 - precision, np.int64), np.zeros(3, np.int64)
        histogram[0] = 1 << precision
        for here, lo, hi in windows.in_slices(piece):
            window_estimates(codes, lo, hi, ends, links, histogram, cursors, estimates[here])

    in_threads(run, windows.pieces(question.threads, anywhere=True))
    return ResultArray(estimates)


estimates = Kernel(
    _estimates,
    "of each register, the ranks that may yet be its largest",
    "3 or fewer a row",
    "the registers, and 2 numbers for each row of the window",
    in_blocks=False,
)
