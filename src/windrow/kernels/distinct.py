"""How many different values windows have."""

from __future__ import annotations

import numpy as np

from windrow.kernels.columns import NO_NULLS
from windrow.kernels.named import Kernel, Question
from windrow.kernels.results import ResultArray
from windrow.kernels.special.distinct import number_values, window_distinct
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
