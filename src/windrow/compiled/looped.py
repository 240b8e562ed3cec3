"""An algorithm's compiled loop over the windows of many segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.compiled.answers import Answers, Riding, finished
from windrow.compiled.columns import NO_NULLS, Column
from windrow.compiled.generate import CURSORS, dtype_of, kernel
from windrow.compiled.monoids import Monoid
from windrow.compiled.segmentation import Piece, Windows, in_threads


def looped(
    aggregation: Aggregation,
    compiled: Monoid,
    columns: list[Column],
    windows: Windows,
    threads: int,
) -> Answers:
    """The answers of Two-Stacks, 3 ⊕ a row: any aggregation that is a tuple of numbers.

    Threads begin where Two-Stacks flips, and no ⊕ reaches back from there, so they change no bit.
    """
    data = tuple(c.data for c in columns)
    masks = [c.nulls for c in columns if c.nulls is not None]
    nulls = np.bitwise_or.reduce(masks) if masks else NO_NULLS
    types = tuple(str(d.dtype) for d in data)
    loop = kernel("two_stacks", compiled, types, "range", nulls.size > 0, aggregation.commutative)
    capacity = max(4, 1 << (windows.longest - 1).bit_length())
    out = tuple(np.empty(len(windows), dtype_of(output)) for output in compiled.outputs)
    valid = np.ones(len(windows), np.uint8)

    def run(piece: Piece) -> None:
        cursors, buffers = np.zeros(CURSORS, np.int64), loop.buffers(capacity)
        cursors[2] = capacity

        def enter(lo: Any, hi: Any, into: tuple[NDArray[Any], ...], valid: Any) -> None:
            loop.run(0, lo.size, 0, 0, lo, hi, data, nulls, cursors, *buffers, into, valid)

        if piece.split is not None:  # what lies behind the split, as the flip will find it
            cursors[[0, 1, 3]] = piece.split
            end = max(piece.split, windows.end_before(piece.begin))
            nowhere = tuple(np.empty(1, o.dtype) for o in out)
            enter(np.array([piece.split]), np.array([end]), nowhere, np.empty(1, np.uint8))
        for here, lo, hi in windows.in_slices(piece):
            enter(lo, hi, tuple(o[here] for o in out), valid[here])

    in_threads(run, windows.pieces(threads, anywhere=False))
    return finished(aggregation, columns[0], Riding([], aggregation), out, valid)
