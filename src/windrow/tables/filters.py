"""Which results a query lets through: `having`, and for istream those that bring something new."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.queries.query import Query
from windrow.tables.columns import as_arrow, decoded
from windrow.tables.keys import alike

Columns = dict[str, pa.Array]


class FrameColumns:
    """The columns of a frame that queries read: a table of Arrow, made when one is asked for."""

    def __init__(self, columns: dict[str, Any], num_rows: int) -> None:
        self._columns, self.num_rows = columns, num_rows

    def column(self, text: str) -> Any:
        """A column by its name, or an expression's values."""
        column = self._columns.get(text)
        return columns_of(self.table)(text) if column is None else column

    @cached_property
    def table(self) -> pa.Table:
        """The columns as Arrow has them; one without a name, if there are none."""
        arrays = [as_arrow(column) for column in self._columns.values()]
        if not arrays:
            return pa.table({"": pa.nulls(self.num_rows)})
        return pa.Table.from_arrays(arrays, list(self._columns))


Table: TypeAlias = "pa.Table | FrameColumns"


def arrow_table(table: Table) -> pa.Table:
    """The same columns as a table of Arrow."""
    return table.table if isinstance(table, FrameColumns) else table


def columns_of(table: Table) -> Callable[[str], Any]:
    """A column of a table by its name, or an expression's values."""
    if isinstance(table, FrameColumns):
        return table.column
    place = table.schema.get_field_index

    def column(text: str) -> Any:
        index = place(text)  # −1 for none, or for several
        if index >= 0:
            return table.column(index)
        from windrow.tables.arithmetic import evaluate

        return evaluate(text, table)

    return column


def satisfies(condition: str, table: Table) -> NDArray[np.bool_]:
    """Which rows satisfy a condition; null does not."""
    truth = as_arrow(decoded(columns_of(table)(condition)))
    return np.asarray(pc.fill_null(truth, False).to_numpy(zero_copy_only=False))


def wanted(
    query: Query,
    rows: Callable[[], pa.Table],
    keys: NDArray[Any],
    results: Columns,
    before: Columns | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which results come out, and which satisfy `having`.

    `rows` gives the row that each result stands beside, and `keys` tells which results belong
    together: the results of a key follow one another. `before` has the result that came out last
    for the first key, if this is not where it begins.
    """
    passed = np.ones(keys.size, np.bool_)
    if query.having is not None:
        table = rows()
        for name, array in results.items():
            table = table.append_column(name, array)
        passed = satisfies(query.having, table)
    if query.emit != "istream":
        return passed, passed
    return passed & news(keys, passed, {n: results[n] for n in query.parts}, before), passed


def news(
    keys: NDArray[Any],
    passed: NDArray[np.bool_],
    results: Columns,
    before: Columns | None = None,
) -> NDArray[np.bool_]:
    """Which results differ from the one before of the same key, or come after none."""
    differs = np.ones(keys.size, np.bool_)
    if before is not None and keys.size:
        differs[0] = not all(alike(results[n].slice(0, 1), before[n])[0] for n in results)
    same = (keys[1:] == keys[:-1]) & passed[:-1]
    for array in results.values():
        same &= alike(array.slice(1), array.slice(0, max(0, keys.size - 1)))
    differs[1:] = ~same
    return differs
