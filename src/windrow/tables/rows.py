"""The values of rows, for windows that a function or a condition decides about: `until=`, `on=`.

The functions see values of Python, so the rows they decide about go through the interpreter, one
by one; the results over the windows that they leave are compiled like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import Record
from windrow.identity import named
from windrow.queries.query import Query
from windrow.tables.columns import decoded
from windrow.tables.sort import TableRows

Columns = Callable[[str], Any]


class RowValues:
    """The values of sorted rows, as the functions of windows see them."""

    def __init__(
        self, query: Query, rows: TableRows, column: Columns, names: Sequence[str]
    ) -> None:
        self.parts: Mapping[str, Aggregation] = query.parts
        self._rows, self._column, self._names = rows, column, list(names)
        self._identity = (*query.partition_by, *query.order_by)

    def satisfying(self, condition: Any) -> NDArray[np.bool_]:
        """Which rows, in sorted order, satisfy an expression or a function of a row."""
        if isinstance(condition, str):
            mask = pc.fill_null(decoded(self._column(condition)), False)
            return self._rows.sorted(np.asarray(mask.to_numpy(zero_copy_only=False)))
        row = self._records(self._names)
        found = np.empty(self._rows.size, np.bool_)
        for position in range(self._rows.size):
            try:
                found[position] = bool(condition(row(position)))
            except Exception as error:
                error.add_note(f"in on={named(condition)}, at the row {dict(row(position))!r}")
                raise
        return found

    def record(self, position: int) -> Record:
        """The columns that the aggregations read, in the row at a position."""
        return self._read(position)

    def described(self, position: int) -> dict[str, Any]:
        """The key and the order of the row at a position."""
        row = int(self._rows.rows(np.array([position]))[0])
        return {name: decoded(self._column(name))[row].as_py() for name in self._identity}

    @cached_property
    def _read(self) -> Callable[[int], Record]:
        return self._records(list(dict.fromkeys(c for p in self.parts.values() for c in p.columns)))

    def _records(self, names: Sequence[str]) -> Callable[[int], Record]:
        table = pa.table({name: decoded(self._column(name)) for name in names})
        lists = [table.column(name).to_pylist() for name in names]
        order = self._rows.rows(np.arange(self._rows.size)).tolist()

        def row(position: int) -> Record:
            at = order[position]
            return Record((name, values[at]) for name, values in zip(names, lists, strict=True))

        return row
