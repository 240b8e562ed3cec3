"""Two-Stacks compiled, over windows of sorted rows: any aggregation that has states of numbers.

Threads begin where Two-Stacks flips, and no ⊕ reaches back from there, so they change no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.kernels.columns import NO_NULLS
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.generate import dtype_of, loop_of
from windrow.windows.arrays import Positions, in_threads, ordinary
from windrow.windows.positions import Piece, Windows

# How many rows of sketches lie open at a time.
_ROWS = 1024
_BYTES = 1 << 22


def run_loop(
    aggregation: Aggregation,
    compiled: Compiled,
    data: Sequence[NDArray[Any]],
    nulls: NDArray[np.uint8] | None,
    windows: Windows,
    threads: int,
    *,
    states: bool = False,
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
    """What the loop writes for all windows, and whether each has a value; 3 ⊕ a row.

    The rows that a sketch's loop writes become results some at a time, unless they are `states`.
    A sketch that can be subtracted from is.
    """
    data = tuple(ordinary(array) for array in data)
    nulls = NO_NULLS if nulls is None else nulls
    sketch = compiled if isinstance(compiled, RowAlgebra) and not states else None
    subtracts = sketch is not None and bool(sketch.minus)
    loop = loop_of(
        "subtract_on_evict" if subtracts else "two_stacks",
        aggregation,
        compiled,
        [_type_name(array) for array in data],
        "range",
        nulls.size > 0,
    )
    capacity = capacity_for(windows.longest)
    step = None if sketch is None else rows_at_once(sketch)
    arrays = output_arrays if sketch is None else result_arrays
    out, valid = arrays(compiled, len(windows)), np.ones(len(windows), np.uint8)

    def run(piece: Piece) -> None:
        cursors, buffers = loop.start(capacity)

        def enter(lo: Any, hi: Any, into: tuple[NDArray[Any], ...], valid: Any) -> None:
            loop.run(0, lo.size, 0, 0, lo, hi, data, nulls, cursors, *buffers, into, valid)

        if piece.split is not None:  # what lies behind the split, as the flip will find it
            cursors[[0, 1, 3]] = piece.split
            end = max(piece.split, windows.end_before(piece.begin))
            nowhere = output_arrays(compiled, 1)
            enter(np.array([piece.split]), np.array([end]), nowhere, np.empty(1, np.uint8))
        for here, lo, hi in windows.in_slices(piece, step):
            results = tuple(o[here] for o in out)
            if sketch is None:
                enter(lo, hi, results, valid[here])
                continue
            extras = None
            if subtracts:
                if here.start == piece.begin:
                    cursors[[0, 1]] = lo[0]
                lo, hi, extras = without_gaps(lo, hi, int(cursors[1]))
            (rows,), there = output_arrays(sketch, lo.size), np.ones(lo.size, np.uint8)
            enter(lo, hi, (rows,), there)
            if extras is not None:
                rows, there = np.delete(rows, extras, axis=0), np.delete(there, extras)
            valid[here] = there
            row_results(aggregation, sketch, rows, results, there)

    in_threads(run, windows.pieces(threads, anywhere=subtracts))
    return out, valid


def output_arrays(compiled: Compiled, n: int) -> tuple[NDArray[Any], ...]:
    """What a loop writes n results into; zeros for rows, written as far as they mean something."""
    if isinstance(compiled, RowAlgebra):
        return (np.zeros((n, compiled.out_width), compiled.out_dtype),)
    return result_arrays(compiled, n)


def result_arrays(compiled: Compiled, n: int) -> tuple[NDArray[Any], ...]:
    """An array of n zeros for each number of a result."""
    return tuple(np.zeros(n, dtype_of(output)) for output in compiled.outputs)


def capacity_for(longest: int) -> int:
    """The power of two that rings for windows of so many rows have.

    >>> capacity_for(5)
    8
    """
    return max(4, 1 << (longest - 1).bit_length())


def _type_name(array: NDArray[Any]) -> str:
    name = "boolean" if array.dtype == np.bool_ else str(array.dtype)
    return name if array.ndim == 1 else f"{name}[:, ::1]"


def rows_at_once(compiled: RowAlgebra) -> int:
    """How many rows of results lie open at a time."""
    size = compiled.out_width * np.dtype(compiled.out_dtype).itemsize
    return max(1, min(_ROWS, _BYTES // size))


def row_results(
    aggregation: Aggregation,
    compiled: RowAlgebra,
    rows: NDArray[Any],
    out: tuple[NDArray[Any], ...],
    valid: NDArray[np.uint8],
) -> None:
    """Turn rows that a loop wrote into results; `valid` marks those that are not null."""
    if compiled.outputs == ("int64",):
        out[0][:] = np.where(valid, rows[:, 0], 0)
        return
    for i in np.flatnonzero(valid):
        result = aggregation.lower(aggregation.from_row(rows[i]))
        for o, each in zip(out, result if len(out) > 1 else (result,), strict=True):
            o[i] = each


def without_gaps(lo: Positions, hi: Positions, end: int) -> tuple[Positions, Positions, Any]:
    """Bounds in which no window begins behind the end of the one before.

    Where one does, a window is put between that takes in what no window holds; the third result
    tells where these stand, so that their results can be thrown away.
    """
    before = np.concatenate([[end], hi[:-1]])
    gaps = np.flatnonzero(lo > before)
    if not gaps.size:
        return lo, hi, None
    where = gaps + np.arange(gaps.size)
    return np.insert(lo, gaps, before[gaps]), np.insert(hi, gaps, lo[gaps]), where
