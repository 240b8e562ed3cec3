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
from windrow.compiled.loop import Loop
from windrow.compiled.moments import NANS, SQUARES
from windrow.compiled.rows import Rows, rows_monoid

_SLICE_ROWS = 1024
_SLICE_BYTES = 1 << 22
_NO_BOUNDS = np.empty(0, np.int64)


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
        # a ring by positions can grow on the way
        self.grows = set(self.kernel.states) == {"ring", "spare"} and not self.kernel.indices

    def _run(
        self, batch: Batch, columns: list[Column], lo: Any, hi: Any, out: Any, valid: Any
    ) -> None:
        n = valid.size
        (column,) = columns
        nulls = NO_NULLS if column.nulls is None else column.nulls
        longest = self.rows if self.rows else int((hi - lo).max())
        if self.grows or batch.last:  # no window is longer than what came
            longest = min(longest, batch.row + n)
        self._make_room(longest)
        assert self.buffers is not None
        width, dtype = self.sketch.out_width, np.dtype(self.sketch.out_dtype)
        step = max(1, min(_SLICE_ROWS, _SLICE_BYTES // (width * dtype.itemsize), n))
        made = np.empty((step, width), dtype)
        for start in range(0, n, step):
            stop = min(start + step, n)
            bounds = (_NO_BOUNDS, _NO_BOUNDS) if self.rows else (lo[start:stop], hi[start:stop])
            self.kernel.run(
                batch.row + start, batch.row + stop, self.waiting_from, self.rows or 0, *bounds,
                (column.data,), nulls, self.cursors, *self.buffers, made, valid[start:stop],
            )  # fmt: skip
            part = tuple(o[start:stop] for o in out)
            self._finish(made[: stop - start], part, valid[start:stop])

    def _finish(
        self, made: NDArray[Any], out: tuple[NDArray[Any], ...], valid: NDArray[np.uint8]
    ) -> None:
        """Turn rows into answers; null is None among objects, and marked by `valid` elsewhere."""
        if self.sketch.outputs == ("int64",):  # HyperLogLog has no null: no value counts as 0
            out[0][:] = np.where(valid, made[:, 0], 0)
            valid[:] = 1
            return
        for i in np.flatnonzero(valid):
            answer = self.aggregation.lower(self._state(made[i]))
            for o, each in zip(out, answer if len(out) > 1 else (answer,), strict=True):
                o[i] = each
        if self.sketch.outputs == ("object",):
            valid[:] = 1

    def _state(self, row: NDArray[Any]) -> Any:
        """The interpreted aggregation's state that a row stands for."""
        if isinstance(self.aggregation, Bloom):
            return int.from_bytes(row.astype("<u8").tobytes(), "little")
        if isinstance(self.aggregation, CountMin):
            table = row.copy()
            table.flags.writeable = False
            return table
        return (int(row[0]), *row[1 : SQUARES + 1].tolist()), row[NANS:]

    def _make_room(self, longest: int) -> None:
        if self.buffers is None or not self.grows:
            super()._make_room(longest)
            return
        capacity, old = 1 << (longest - 1).bit_length(), int(self.cursors[2])
        if capacity <= old:
            return
        ring, spare = self.kernel.buffers(capacity)
        places = np.arange(self.cursors[0], self.cursors[1])
        ring[places & (capacity - 1)] = self.buffers[0][places & (old - 1)]
        spare[:] = self.buffers[1]
        self.buffers = [ring, spare]
        self.cursors[2] = capacity
