"""Which results a query lets through: `having`, and for istream those that bring something new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.queries.query import Query
from windrow.tables.columns import decoded
from windrow.tables.keys import alike

Columns = dict[str, pa.Array]


def columns_of(table: pa.Table) -> Callable[[str], Any]:
    """A column of a table by its name, or an expression's values."""
    place = table.schema.get_field_index

    def column(text: str) -> Any:
        index = place(text)  # −1 for none, or for several
        if index >= 0:
            return table.column(index)
        from windrow.tables.arithmetic import evaluate

        return evaluate(text, table)

    return column


def satisfies(condition: str, table: pa.Table) -> NDArray[np.bool_]:
    """Which rows satisfy a condition; null does not."""
    truth = decoded(columns_of(table)(condition))
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
