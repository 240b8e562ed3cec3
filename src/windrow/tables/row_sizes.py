"""Sizes that rows have of their own: the gap of a session, where that is an expression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.errors import InvalidArgument, InvalidValue
from windrow.tables.bind import Bound
from windrow.tables.columns import decoded, nulls_of, numbers, rows_at
from windrow.tables.filters import columns_of
from windrow.tables.types import UNITS, is_text
from windrow.windows.sizes import Axis, signed_interval

SIZE = "windrow:size"  # the size of a row in the unit of the order


def sized_rows(bound: Bound, table: pa.Table) -> tuple[pa.Table, NDArray[Any] | None]:
    """The rows with their own sizes as a column `SIZE`, and which rows they are; None for all.

    Rows whose size is null, 0 or negative are in no window, and are left out. Where one size does
    for all rows, the table is as it was.
    """
    window = bound.query.window
    if window.row_size is None or SIZE in table.column_names:
        return table, None
    column = decoded(columns_of(table)(window.row_size))
    sizes = _in_units(column, bound.axis, window.measured)
    table = table.append_column(SIZE, pa.array(sizes))
    kept = np.flatnonzero(sizes > 0)  # which NaN is not
    if kept.size == sizes.size:
        return table, None
    return rows_at(table, kept), kept


def _in_units(array: pa.Array, axis: Axis, name: str) -> NDArray[Any]:
    """Durations, texts of them or numbers in the unit of an axis, 0 for null.

    >>> _in_units(pa.array(["2 s", None, "1500 ms"]), Axis(tick=10**6), "gap").tolist()
    [2000, 0, 1500]
    """
    if is_text(array.type):
        encoded = array.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        known = [_units(text, axis, name) for text in texts]
        codes = pc.fill_null(encoded.indices, len(known)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*known, 0], np.int64)[codes])
    sizes = numbers(array)
    assert sizes is not None
    sizes = sizes.astype(np.float64 if axis.floating else np.int64)
    if axis.tick is not None and pt.is_duration(array.type):
        unit = UNITS[array.type.unit]
        if unit < axis.tick:
            sizes //= axis.tick // unit
        elif sizes.size and int(np.abs(sizes).max()) >= 2**63 * axis.tick // unit:
            raise InvalidValue(f"{name}: {array.type} has values that {axis.tick} ns cannot count")
        else:
            sizes *= unit // axis.tick
    nulls = nulls_of(array)
    return sizes if nulls is None else np.where(nulls, 0, sizes)


def _units(text: str, axis: Axis, name: str) -> int | float:
    """A text of a duration in whole units of an axis."""
    interval = signed_interval(name, text)
    if interval.months:
        raise InvalidArgument(
            f"{name}={text!r}: months differ in length, and are no gap of a row's own; give days"
        )
    return axis.units(interval.length)[0]
