"""The rows of a table, sorted by key and order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.errors import InvalidValue
from windrow.kernels.sort import FEW, Order, order_rows
from windrow.tables.bind import Bound
from windrow.tables.columns import (
    NumberColumn,
    as_arrow,
    decoded,
    from_numbers,
    null_places,
    nulls_of,
    numbers,
    ranks,
    with_nulls_at,
    with_valid_bits,
)
from windrow.tables.keys import codes, runs
from windrow.tables.row_sizes import SIZE
from windrow.windows.sorted_rows import NAN, NULL, PLACED, SortedRows

_MANY = 8  # nulls among so many rows are moved one by one


@dataclass(eq=False)
class TableRows(SortedRows):
    """Sorted rows of a table; they stand as they are if `order` is None."""

    order: Order | None = None

    def rows(self, positions: NDArray[Any]) -> NDArray[Any]:
        """The rows of the table at sorted positions."""
        return positions if self.order is None else self.order.rows[positions]

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the table's rows in sorted order."""
        return values if self.order is None else self.order.sorted(values, threads=self.threads)

    def back(self, results: Any) -> Any:
        """A column of results of the sorted rows, back in the table's order."""
        order = self.order
        if order is None:
            return results
        values, kind = numbers(results), results.type
        if values is None or pt.is_boolean(kind):
            return results.take(pa.array(order.places))
        placed = order.back(values, threads=self.threads)
        if isinstance(results, NumberColumn):
            return NumberColumn(placed, kind)
        valid = results.buffers()[0]
        if valid is not None and order.by_places and results.offset == 0 and self.size >= FEW:
            bits = order.bits_back(np.frombuffer(valid, np.uint8), threads=self.threads)
            return with_valid_bits(from_numbers(placed, None, kind), bits)
        if 0 < results.null_count < self.size // _MANY and not pt.is_decimal(kind):
            places = order.rows[null_places(results)]
            return with_nulls_at(from_numbers(placed, None, kind), places)
        nulls = nulls_of(results)
        if nulls is not None:
            nulls = order.back(nulls, threads=self.threads)
        return from_numbers(placed, nulls, kind)


def sort_rows(bound: Bound, column: Callable[[str], Any], n: int, threads: int = 1) -> TableRows:
    """Sort n rows by key and order; O(n) where the table is in the order of time already."""
    keys = codes([column(name) for name in bound.query.partition_by])
    return _sorted(bound, column, bound.query.order_by, n, *keys, threads)


def sorted_already(bound: Bound, column: Callable[[str], Any], n: int) -> TableRows:
    """Rows that are sorted by key and order. O(n)."""
    key, count = runs([column(name) for name in bound.query.partition_by], n)
    measured = bound.query.order_by if bound.query.window.measured else ()
    rows = _sorted(bound, column, measured, n, key, count, 1)
    assert rows.order is None, "the rows are not in order"
    return rows


def rows_in_place(n: int) -> TableRows:
    """The n rows of a table as they stand, in one stretch."""
    ends = np.array([0, n], np.int64)
    return TableRows(ends, ends)


def _sorted(
    bound: Bound, column: Any, order_by: Sequence[str], n: int, key: Any, count: int, threads: int
) -> TableRows:
    window = bound.query.window
    measured = bool(window.measured)
    at = [_order_values(column(name), bound, measured) for name in order_by]
    places = _places(at, apart=not (measured and bound.by_groups))
    if places is not None:
        key = places if key is None else key * 3 + places
        count *= 3
    order, starts = order_rows(key, count, [values for values, _ in at], n, threads=threads)
    keys = starts if places is None else np.ascontiguousarray(starts[::3])
    rows = TableRows(keys, keys, threads=threads, order=order)
    if measured:
        rows.starts, rows.axis = starts, bound.axis
        along = [rows.sorted(values) for values, _ in (at if bound.by_groups else at[:1])]
        rows.at = _group_numbers(along, n) if bound.by_groups else along[0]
    if window.row_size is not None:
        sizes = numbers(decoded(column(SIZE)))
        rows.sizes = None if sizes is None else rows.sorted(sizes)
    return rows


def _order_values(
    column: Any, bound: Bound, measured: bool
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """An order column as int64 or float64, and the place of rows without one (None: all have)."""
    array = decoded(column)
    if measured and not bound.by_groups and array.type != bound.at_type:
        array = _measurable(array, bound)
    values = numbers(array)
    if values is None or (values.dtype == np.uint64 and values.max(initial=0) >= 2**63):
        values = ranks(as_arrow(array))[0]
    nulls = nulls_of(array)
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
    places = None
    if values.dtype.kind == "f" and np.isnan(values).any():
        lost = np.isnan(values)
        values = np.where(lost, 0.0, values)
        places = np.where(lost, NAN, PLACED)
    if nulls is not None:
        places = np.where(nulls, NULL, PLACED if places is None else places)
        values = np.where(nulls, 0, values)
    return values, places


def _measurable(array: pa.Array, bound: Bound) -> pa.Array:
    """An order column of the type that windows are measured along."""
    array = as_arrow(array)
    try:
        return array.cast(bound.at_type)
    except pa.ArrowInvalid:
        if not (pt.is_decimal(array.type) or pt.is_uint64(array.type)):
            raise
    measures = f"{bound.query.window.measured}= measures along"
    if pt.is_decimal(array.type):
        raise InvalidValue(
            f"order_by={bound.order!r} has a decimal of more than {bound.at_type.precision} "
            f"digits; {measures} shorter ones"
        )
    raise InvalidValue(
        f"order_by={bound.order!r} has integers past {2**63 - 1}; {measures} smaller ones"
    )


def _group_numbers(along: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
    """The number of each sorted row's group of rows that are equal in all columns."""
    begins = np.zeros(n, np.bool_)
    for values in along:
        begins[1:] |= values[1:] != values[:-1]
    return np.cumsum(begins)


def _places(
    at: list[tuple[NDArray[Any], NDArray[Any] | None]], apart: bool
) -> NDArray[np.int64] | None:
    """Where rows stand by the first order column, if they are `apart` by it.

    Of the other columns, or else of all, the place joins the values.
    """
    for i, (values, places) in enumerate(at):
        if places is not None and (i or not apart):
            at[i] = (np.unique(np.rec.fromarrays([places, values]), return_inverse=True)[1], None)
    return at[0][1] if at else None
