"""Compare two tables of results row for row: the same keys, and the same values beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

HOUR = 3_600_000_000  # microseconds


@dataclass(frozen=True)
class Agreement:
    """How many rows were compared, how many of them differ, and that in words."""

    rows: int
    differing: int
    says: str

    @property
    def holds(self) -> bool:
        """Whether every row has the same results."""
        return self.differing == 0


def compare(
    a: pa.Table, b: pa.Table, keys: tuple[str, ...], results: tuple[str, ...], close: float = 1e-9
) -> Agreement:
    """Sort both by their keys and compare: floats within `close` of each other, others exactly.

    >>> a = pa.table({"k": [2, 1], "v": [0.5, 1.0]})
    >>> b = pa.table({"k": [1, 2], "v": [1.0, 0.5 + 1e-12]})
    >>> compare(a, b, ("k",), ("v",))
    Agreement(rows=2, differing=0, says='within 2e-12')
    """
    order = [(key, "ascending") for key in keys]
    a, b = (table.select([*keys, *results]).sort_by(order) for table in (a, b))
    rows = max(a.num_rows, b.num_rows)
    differing = abs(a.num_rows - b.num_rows)
    furthest = 0.0
    if not differing:
        differs = np.zeros(rows, bool)
        for key in keys:
            differs |= numbers(a.column(key)) != numbers(b.column(key))
        for name in results:
            difference = _difference(a.column(name), b.column(name))
            differs |= difference > close
            furthest = max(furthest, float(difference.max(initial=0)))
        differing = int(differs.sum())
    if differing:
        return Agreement(rows, differing, f"{differing:,} of {rows:,} differ")
    return Agreement(rows, 0, "exactly" if furthest == 0 else f"within {furthest:.0e}")


def _difference(a: pa.ChunkedArray, b: pa.ChunkedArray) -> Any:
    """Return by how much the values of each row differ, by the larger: 0 if equal or both null."""
    x, y = (column.to_numpy().astype(float) for column in (a, b))  # null is NaN
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(x - y) / np.maximum(np.maximum(np.abs(x), np.abs(y)), 1e-300)
    return np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.nan_to_num(apart, nan=np.inf))


def numbers(column: pa.ChunkedArray) -> Any:
    """Return a column as a NumPy array, times as microseconds."""
    if pt.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column.to_numpy()
