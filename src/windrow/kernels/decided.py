"""Windows that a function decides about, `until=` and `on=`, over arrays that come in batches."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import Together
from windrow.errors import InvalidArgument, InvalidValue
from windrow.identity import named
from windrow.kernels.columns import Column, joined
from windrow.kernels.interpreted import objects, satisfying, without_columns
from windrow.kernels.policies import ONLY, compiled_starts, policy_plan, way_of
from windrow.kernels.routes import trace
from windrow.windows.arrays import Positions
from windrow.windows.base import Window
from windrow.windows.sorted_rows import SortedRows
from windrow.windows.until import PolicyProgress, Tree


class Decided:
    """The windows of batches, and what is kept of the values that windows to come may hold."""

    def __init__(self, window: Window, parts: Mapping[str, Aggregation]) -> None:
        self.window, self.parts = window, parts
        self.held: _Values | None = None
        self.oldest = 0  # the position of the first value that is held
        self.lengths = np.empty(0, np.int64)
        self.trees: dict[int, Tree] = {}

    def bounds(
        self, columns: Sequence[Column | None], arrays: Sequence[NDArray[Any]], last: bool
    ) -> tuple[Positions, Positions, Positions]:
        """The windows [lo, hi) of the values that came, and the positions that have a result."""
        new = _Values(self.parts, list(columns), list(arrays))
        values = new if self.held is None else self.held.joined(new)
        n, known = values.size, self.lengths.size
        ends = np.array([0, n])
        lengths = np.concatenate([self.lengths, np.full(n - known, -1)])
        rows = SortedRows(
            ends,
            ends,
            values=values,
            fresh=slice(known, n),
            before=np.array([self.oldest]),
            lengths=lengths,
            trees=self.trees,
        )
        bounds = self.window.bounds(rows)
        lo, hi = bounds.windows.bounds()
        places = rows.positions(bounds.beside) + self.oldest
        found = lo + self.oldest, hi + self.oldest, places
        if not last:
            keep = int(self.window.keeps(rows, bounds)[0]) if n else 0
            self.held = values.since(keep)
            self.lengths = (
                np.zeros(n - keep, np.int64) if bounds.left is None else bounds.left[keep:]
            )
            self.oldest += keep
        return found


class _Values:
    """The values of some positions, as the functions of windows see them."""

    def __init__(
        self,
        parts: Mapping[str, Aggregation],
        columns: list[Column | None],
        arrays: list[NDArray[Any]],
    ) -> None:
        self._parts, self._columns, self._arrays = parts, columns, arrays
        self.size = int(arrays[0].size)

    @property
    def aggregation(self) -> Aggregation:
        """What a policy sees the results of: of one aggregation alone its own."""
        parts = {name: without_columns(part) for name, part in self._parts.items()}
        return parts[ONLY] if ONLY in parts else Together(**parts)

    def satisfying(self, condition: Any) -> NDArray[np.bool_]:
        """Which values satisfy a function of a value."""
        values = self.records(0, self.size)
        return satisfying(condition, values, lambda value: f"the value {value!r}")

    def numbers(self, column: str | None) -> NDArray[np.float64]:
        """The values of the first array, NaN for nulls."""
        first = self._columns[0]
        if first is None or _kind_of(first) == "time":
            raise InvalidValue(f"until takes numbers, not {self._arrays[0].dtype}")
        return first.floats()

    def records(self, begin: int, stop: int) -> list[Any]:
        """The values as Python's own, None for nulls; pairs of them for two arrays."""
        nulls = [
            None if c is None or c.nulls is None else c.nulls[begin:stop] for c in self._columns
        ]
        arrays = [a[begin:stop] for a in self._arrays]
        if any(part.takes == "timed" for part in self._parts.values()):
            arrays[1] = np.array([*arrays[1], None], object)[:-1]  # no type of Python has them
        return objects(arrays, nulls)

    def policy_starts(self, progress: PolicyProgress) -> Positions | None:
        """Where the windows of a policy begin, by machine code; None if it is not compiled."""
        columns = {str(i): column for i, column in enumerate(self._columns)}
        kinds = {text: _kind_of(column) for text, column in columns.items()}
        plan = policy_plan(progress.policy, self._named(), kinds)
        # times that an aggregation takes are in nanoseconds already
        first = compiled_starts(plan, lambda text, _: columns[text], progress)  # type: ignore[arg-type, return-value]
        trace(named(progress.policy), way_of(first, progress))
        return first

    def described(self, position: int) -> dict[str, Any]:
        """Where a value stands."""
        return {"position": position}

    def joined(self, others: _Values) -> _Values:
        """These values, and others behind them."""
        if len(others._arrays) != len(self._arrays):
            raise InvalidArgument("state: this batch has another number of arrays than before")
        arrays = [np.concatenate(p) for p in zip(self._arrays, others._arrays, strict=True)]
        columns = [
            None if a is None or b is None else joined(a, b)
            for a, b in zip(self._columns, others._columns, strict=True)
        ]
        return _Values(self._parts, columns, arrays)

    def since(self, at: int) -> _Values:
        """The values from the at-th on."""
        columns = [None if c is None else c.since(at) for c in self._columns]
        return _Values(self._parts, columns, [a[at:].copy() for a in self._arrays])

    def _named(self) -> dict[str, Aggregation]:
        """The aggregations, which read the arrays by their numbers."""
        names = tuple(str(i) for i in range(len(self._columns)))
        parts = {}
        for name, part in self._parts.items():
            parts[name] = copy.copy(part)
            parts[name].columns = () if part.counts_nulls else names
        return parts


def _kind_of(column: Column | None) -> str:
    """The kind of an array, as plans know it."""
    if column is None:
        return "other"
    return "time" if column.dtype.kind in "mM" else str(column.data.dtype)
