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
from windrow.kernels.columns import NO_NULLS, Column, any_null
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.generate import Kernel, dtype_of, loop_of
from windrow.kernels.results import ResultArray, finished
from windrow.windows.arrays import Positions, in_threads, ordinary
from windrow.windows.positions import Piece, Windows

# How many rows of sketches lie open at a time.
_ROWS = 1024
_BYTES = 1 << 22


def loop_answers(
    aggregation: Aggregation,
    compiled: Compiled,
    columns: Sequence[Column],
    windows: Windows,
    threads: int,
) -> ResultArray:
    """The answers of Two-Stacks, 3 ⊕ a row; sketches that can be subtracted are."""
    if isinstance(compiled, RowAlgebra):
        return _row_answers(aggregation, compiled, columns[0], windows, threads)
    nulls = any_null(columns)
    data = tuple(c.data for c in columns)
    out, valid = run_loop(
        aggregation, compiled, data, NO_NULLS if nulls is None else nulls, windows, threads
    )
    return finished(aggregation, columns[0], out, valid)


def run_loop(
    aggregation: Aggregation,
    compiled: Compiled,
    data: Sequence[NDArray[Any]],
    nulls: NDArray[np.uint8],
    windows: Windows,
    threads: int,
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
    """What Two-Stacks writes for all windows, and whether each has a value."""
    data = tuple(ordinary(array) for array in data)
    loop = _loop("two_stacks", aggregation, compiled, data, nulls)
    capacity = capacity_for(windows.longest)
    out, valid = output_arrays(compiled, len(windows)), np.ones(len(windows), np.uint8)

    def run(piece: Piece) -> None:
        cursors, buffers = loop.start(capacity)

        def enter(lo: Any, hi: Any, into: tuple[NDArray[Any], ...], valid: Any) -> None:
            written = into[0] if isinstance(compiled, RowAlgebra) else into
            loop.run(0, lo.size, 0, 0, lo, hi, data, nulls, cursors, *buffers, written, valid)

        if piece.split is not None:  # what lies behind the split, as the flip will find it
            cursors[[0, 1, 3]] = piece.split
            end = max(piece.split, windows.end_before(piece.begin))
            nowhere = output_arrays(compiled, 1)
            enter(np.array([piece.split]), np.array([end]), nowhere, np.empty(1, np.uint8))
        for here, lo, hi in windows.in_slices(piece):
            enter(lo, hi, tuple(o[here] for o in out), valid[here])

    in_threads(run, windows.pieces(threads, anywhere=False))
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


def _loop(
    name: str, aggregation: Aggregation, compiled: Compiled, data: Any, nulls: NDArray[np.uint8]
) -> Kernel:
    types = [_type_name(array) for array in data]
    return loop_of(name, aggregation, compiled, types, "range", nulls.size > 0)


def _type_name(array: NDArray[Any]) -> str:
    name = "boolean" if array.dtype == np.bool_ else str(array.dtype)
    return name if array.ndim == 1 else f"{name}[:, ::1]"


# -- sketches: what a slice of windows wrote becomes results before the next --------------------


def _row_answers(
    aggregation: Aggregation, compiled: RowAlgebra, column: Column, windows: Windows, threads: int
) -> ResultArray:
    nulls = NO_NULLS if column.nulls is None else column.nulls
    name = "subtract_on_evict" if compiled.minus else "two_stacks"
    loop = _loop(name, aggregation, compiled, (column.data,), nulls)
    capacity = capacity_for(windows.longest)
    out = result_arrays(compiled, len(windows))
    valid = np.ones(len(windows), np.uint8)
    pieces = windows.pieces(threads, anywhere=aggregation.exact)
    begins = [p.begin for p in pieces if p.split is None]

    def run(begin: int) -> None:
        stop = next((b for b in begins if b > begin), len(windows))
        cursors, buffers = loop.start(capacity)
        step = rows_at_once(compiled)
        for a in range(begin, stop, step):
            here = slice(a, min(a + step, stop))
            lo, hi = windows.bounds_of(here.start, here.stop)
            if a == begin and lo.size:
                cursors[[0, 1, 3]] = lo[0]
            rows, valid[here] = _without_extras(loop, lo, hi, column.data, nulls, cursors, buffers)
            row_results(aggregation, compiled, rows, tuple(o[here] for o in out), valid[here])

    in_threads(run, begins)
    return finished(aggregation, column, out, valid)


def _without_extras(
    loop: Kernel, lo: Positions, hi: Positions, data: Any, nulls: Any, cursors: Any, buffers: Any
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """What the loop writes for these windows; a subtracting loop has to be led over gaps."""
    lo, hi, extras = without_gaps(lo, hi, int(cursors[1]))
    (rows,), valid = output_arrays(loop.monoid, lo.size), np.ones(lo.size, np.uint8)
    loop.run(0, lo.size, 0, 0, lo, hi, (data,), nulls, cursors, *buffers, rows, valid)
    if extras is None:
        return rows, valid
    return np.delete(rows, extras, axis=0), np.delete(valid, extras)


def rows_at_once(compiled: RowAlgebra) -> int:
    """How many rows of answers lie open at a time."""
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
    tells where these stand, so that their answers can be thrown away.
    """
    before = np.concatenate([[end], hi[:-1]])
    gaps = np.flatnonzero(lo > before)
    if not gaps.size:
        return lo, hi, None
    where = gaps + np.arange(gaps.size)
    return np.insert(lo, gaps, before[gaps]), np.insert(hi, gaps, lo[gaps]), where
