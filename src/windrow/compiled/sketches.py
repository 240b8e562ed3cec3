"""Roll the aggregations whose states are rows: Bloom, HyperLogLog, CountMin, MomentSketch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.bloom import Bloom
from windrow.aggregations.countmin import CountMin
from windrow.compiled.batch import Batch
from windrow.compiled.columns import NO_NULLS, Column
from windrow.compiled.loop import NO_BOUNDS, Loop
from windrow.compiled.moments import NANS, SQUARES
from windrow.compiled.rows import Rows, rows_monoid

_SLICE_ROWS = 1024
_SLICE_BYTES = 1 << 22


def sketched(
    aggregation: Aggregation, column: Column, rows: int | None, algorithm: str, nulls: bool
) -> RowsLoop | None:
    """The roller of a sketch of numbers; None for anything else."""
    if column.dtype.kind in "mM":  # these hash as what they are, not as their numbers
        return None
    compiled = rows_monoid(aggregation, str(column.data.dtype))
    if compiled is None:
        return None
    return RowsLoop(aggregation, compiled, column, rows, algorithm, nulls)


class RowsLoop(Loop):
    """An algorithm's compiled loop over rows, run slice by slice.

    The loop writes the rows of a slice's answers; they become objects or numbers before it goes
    on, so no more than a slice of them is held. `auto` subtracts where it can and otherwise is
    Two-Stacks, as in `Loop`.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        compiled: Rows,
        column: Column,
        rows: int | None,
        algorithm: str,
        nulls: bool,
    ) -> None:
        self.sketch = compiled
        if algorithm == "auto" and aggregation.invertible:
            algorithm = "subtract_on_evict"
        if algorithm == "pba":
            algorithm = "sba"  # the same idea in one thread
        super().__init__(aggregation, compiled, [column], [], rows, algorithm, 1, nulls)

    def _run(
        self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any
    ) -> None:
        n = valid.size
        (column,) = columns
        nulls = NO_NULLS if column.nulls is None else column.nulls
        self._make_room(self._longest(batch, lo, hi))
        assert self.buffers is not None
        width, dtype = self.sketch.out_width, np.dtype(self.sketch.out_dtype)
        step = max(1, min(_SLICE_ROWS, _SLICE_BYTES // (width * dtype.itemsize), n))
        made = np.empty((step, width), dtype)
        for start in range(0, n, step):
            stop = min(start + step, n)
            bounds = (NO_BOUNDS, NO_BOUNDS) if self.rows else (lo[start:stop], hi[start:stop])
            self.kernel.run(
                batch.row + start, batch.row + stop, self.waiting_from, self.rows or 0, *bounds,
                (column.data,), nulls, self.cursors, *self.buffers, made, valid[start:stop],
            )  # fmt: skip
            part = tuple(o[start:stop] for o in out)
            self._finish(made[: stop - start], part, valid[start:stop])

    def _finish(
        self, made: NDArray[Any], out: tuple[NDArray[Any], ...], valid: NDArray[np.uint8]
    ) -> None:
        """Turn rows into answers; `valid` marks those that are not null."""
        if self.sketch.outputs == ("int64",):  # HyperLogLog has no null: no value counts as 0
            out[0][:] = np.where(valid, made[:, 0], 0)
            valid[:] = 1
            return
        for i in np.flatnonzero(valid):
            answer = self.aggregation.lower(self._state(made[i]))
            for o, each in zip(out, answer if len(out) > 1 else (answer,), strict=True):
                o[i] = each

    def _state(self, row: NDArray[Any]) -> Any:
        """The interpreted aggregation's state that a row stands for."""
        if isinstance(self.aggregation, Bloom):
            return int.from_bytes(row.astype("<u8").tobytes(), "little")
        if isinstance(self.aggregation, CountMin):
            table = row.copy()
            table.flags.writeable = False
            return table
        return (int(row[0]), *row[1 : SQUARES + 1].tolist()), row[NANS:]
