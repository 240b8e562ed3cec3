"""The values of rows, for windows that a function or a condition decides about: `until=`, `on=`.

A policy over numbers is compiled where its function can be. Other functions see values of Python,
so the rows they decide about go through the interpreter, one by one; the results over the windows
that they leave are compiled like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import Record, Together
from windrow.identity import named
from windrow.kernels.columns import Column, column
from windrow.kernels.interpreted import satisfying
from windrow.kernels.policies import compiled_starts, policy_plan, way_of
from windrow.kernels.routes import trace
from windrow.queries.query import Query
from windrow.tables.columns import as_arrow, decoded, nulls_of
from windrow.tables.results import numbered
from windrow.tables.sort import TableRows
from windrow.tables.types import kind_of
from windrow.windows.arrays import Positions
from windrow.windows.until import PolicyProgress

Columns = Callable[[str], Any]


class RowValues:
    """The values of sorted rows, as the functions of windows see them."""

    def __init__(
        self, query: Query, rows: TableRows, column: Columns, names: Sequence[str]
    ) -> None:
        self._parts = query.parts
        self._rows, self._column, self._names = rows, column, list(names)
        self._identity = (*query.partition_by, *query.order_by)
        self._arrays: dict[str, pa.Array] = {}

    @cached_property
    def aggregation(self) -> Aggregation:
        """What a policy sees the results of."""
        return Together(**self._parts)

    def satisfying(self, condition: Any) -> NDArray[np.bool_]:
        """Which rows, in sorted order, satisfy an expression or a function of a row."""
        if isinstance(condition, str):
            mask = pc.fill_null(self._array(condition), False)
            return self._rows.sorted(np.asarray(mask.to_numpy(zero_copy_only=False)))
        rows = self._records(self._names, 0, self._rows.size)
        return satisfying(condition, rows, lambda row: f"the row {dict(row)!r}")

    def numbers(self, column: str | None) -> NDArray[np.float64]:
        """The values of a column of numbers in sorted order, NaN for nulls."""
        return self._numbers(str(column)).floats()

    def records(self, begin: int, stop: int) -> list[Record]:
        """The columns that the aggregations read, in the rows at these positions."""
        return self._records(self._read, begin, stop)

    def policy_starts(self, progress: PolicyProgress) -> Positions | None:
        """Where the windows of a policy begin, by machine code; None if it is not compiled."""
        kinds = {text: kind_of(self._array(text).type) for text in self._read}
        plan = policy_plan(progress.policy, self._parts, kinds)
        first = compiled_starts(plan, self._numbers, progress, self._rows.threads)
        trace(named(progress.policy), way_of(first, progress))
        return first

    def described(self, position: int) -> dict[str, Any]:
        """The key and the order of the row at a position."""
        row = int(self._rows.rows(np.array([position]))[0])
        return {name: self._array(name)[row].as_py() for name in self._identity}

    @cached_property
    def _read(self) -> list[str]:
        """The columns that the aggregations read."""
        return list(dict.fromkeys(c for part in self._parts.values() for c in part.columns))

    def _array(self, text: str) -> pa.Array:
        if text not in self._arrays:
            self._arrays[text] = as_arrow(decoded(self._column(text)))
        return self._arrays[text]

    def _numbers(self, text: str, takes: str = "number") -> Column:
        """A column of numbers in sorted order, or of an "instant" in nanoseconds."""
        array = self._array(text)
        values, nulls = numbered(array, takes), nulls_of(array)
        assert values is not None
        mask = None if nulls is None else self._rows.sorted(nulls)
        numbers = column(self._rows.sorted(values.data), mask, "value", text)
        assert numbers is not None
        return numbers

    def _records(self, names: Sequence[str], begin: int, stop: int) -> list[Record]:
        rows = pa.array(self._rows.rows(np.arange(begin, stop)))
        lists = [self._array(name).take(rows).to_pylist() for name in names]
        values: Any = zip(*lists, strict=True) if names else [()] * (stop - begin)
        return [Record(zip(names, row, strict=True)) for row in values]
