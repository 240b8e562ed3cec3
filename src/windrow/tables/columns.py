"""Columns of Arrow as the arrays that the compiled path takes, and back again.

Nothing is copied where the bits are the same: an Arrow buffer is looked at as a NumPy array, and
times, dates and short decimals as the integers that they are made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.tables.types import NUMBERS, SHORT_DECIMAL, plain
from windrow.windows.arrays import ordinary


class NumberColumn:
    """Numbers or times of which none is null, in memory of NumPy, and the type that Arrow has.

    A column of pandas or Polars is one of these, and a result, for as long as its numbers are all
    that is asked for: to make an array of Arrow of them, and numbers of that again, takes 10 µs.
    """

    null_count = 0

    def __init__(self, values: NDArray[Any], kind: pa.DataType) -> None:
        self.values, self.type = values, kind

    def __len__(self) -> int:
        return self.values.size


def as_arrow(column: Any) -> Any:
    """A column as Arrow has it."""
    if isinstance(column, NumberColumn):
        return from_numbers(column.values, None, column.type)
    return column


def lent(values: NDArray[Any], kind: pa.DataType) -> NumberColumn:
    """A column of another library, in its own memory."""
    times = values.dtype.kind in "mM"
    return NumberColumn(ordinary(values.view(np.int64) if times else values), kind)


def whole(column: Any) -> Any:
    """A column as one array, a dictionary of plain values decoded, an extension as its storage."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            column = column.chunk(0)
        else:
            column = column.combine_chunks() if column.num_chunks else pa.array([], column.type)
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def decoded(column: Any) -> Any:
    """A column as one array of plain values, or as numbers if it is a `NumberColumn`."""
    array = whole(column)
    if array.type.id in NUMBERS:
        return array
    if pt.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    kind = plain(array.type)
    return array if kind == array.type else array.cast(kind)


def rows_at(table: pa.Table, places: NDArray[Any]) -> pa.Table:
    """The rows of a table at these places, also of columns that Arrow cannot take them of.

    >>> rows_at(pa.table({"k": pa.array(["a", "b"], pa.string_view())}), np.array([1])).to_pylist()
    [{'k': 'b'}]
    """
    indices = pa.array(places)
    if not any(_is_view(kind) or pt.is_run_end_encoded(kind) for kind in table.schema.types):
        return table.take(indices)
    columns = [_values_at(column, indices) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _values_at(column: pa.ChunkedArray, indices: pa.Array) -> Any:
    kind = column.type
    if pt.is_run_end_encoded(kind):
        return pc.run_end_encode(decoded(column).take(indices), run_end_type=kind.run_end_type)
    return decoded(column).take(indices).cast(kind) if _is_view(kind) else column.take(indices)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pt.is_string_view(kind) or pt.is_binary_view(kind))


def nulls_of(array: Any) -> NDArray[np.bool_] | None:
    """True where null; None where nothing is."""
    if array.null_count == 0:
        return None
    return np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False))


def numbers(array: Any) -> NDArray[Any] | None:
    """The values as a NumPy array of numbers, what stands at nulls left undefined.

    Times are the integers that count their units, decimals of up to 18 digits count their last
    digit. None for a type that is no number.
    """
    if isinstance(array, NumberColumn):
        return array.values
    kind, size = array.type, len(array)
    stored = NUMBERS.get(kind.id)
    if stored is not None:
        if not size:
            return np.empty(0, stored)
        begin = array.offset * stored.itemsize
        return ordinary(np.frombuffer(array.buffers()[1], stored, size, begin))
    if pt.is_boolean(kind):
        return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False)).astype(
            np.int64
        )
    if pt.is_null(kind):
        return np.zeros(size, np.int64)
    if pt.is_decimal128(kind) and kind.precision <= SHORT_DECIMAL:
        if not size:
            return np.empty(0, np.int64)
        halves = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
        return np.ascontiguousarray(halves[array.offset : array.offset + size, 0])
    return None


def with_one_zero(array: pa.Array) -> pa.Array:
    """An array whose floats have 0.0 for −0.0, which is equal to it."""
    if pt.is_float16(array.type):  # which Arrow does not add
        array = array.cast(pa.float32())
    return pc.add(array, pa.scalar(0.0, array.type)) if pt.is_floating(array.type) else array


def ranks(array: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Each value as its rank among the distinct ones, and those in order: as good as the values.

    O(n) for the ranks, and a sort of the distinct values.
    """
    encoded = with_one_zero(array).dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy(zero_copy_only=False)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    ranked = place[codes] if order.size else np.zeros(len(array), np.int64)
    return ranked, encoded.dictionary.take(pa.array(order))


def objects(array: pa.Array) -> NDArray[Any]:
    """The values as Python's own, None for nulls."""
    values = np.empty(len(array), object)
    values[:] = array.to_pylist()
    return values


def null_places(array: pa.Array) -> NDArray[np.int64]:
    """Where an array is null, found in no time where few values are.

    >>> null_places(pa.array([1, None, 3, None]).slice(1))
    array([0, 2])
    """
    data = array.buffers()[0]
    if data is None or not array.null_count:
        return np.empty(0, np.int64)
    first, end = array.offset, array.offset + len(array)
    packed = np.frombuffer(data, np.uint8)[first // 8 : -(-end // 8)]
    partial = np.flatnonzero(packed != 255)
    places = np.flatnonzero(np.unpackbits(packed[partial], bitorder="little") == 0)
    positions = 8 * (partial[places >> 3] + first // 8) + (places & 7) - first
    return np.asarray(positions[(positions >= 0) & (positions < len(array))])


def null_where(column: Any, null: NDArray[np.bool_] | None) -> Any:
    """A column that is null in some places more."""
    if null is None or not null.any():
        return column
    return pc.if_else(pa.array(null), pa.scalar(None, column.type), as_arrow(column))


def with_nulls_at(array: pa.Array, places: NDArray[Any]) -> pa.Array:
    """An array of fixed width, null at a few places more."""
    valid = array.buffers()[0]
    assert array.offset == 0, "it was made just now"
    if not places.size:
        return array
    bits = _valid_bits_but(len(array), places)
    if valid is not None:
        bits &= np.frombuffer(valid, np.uint8)[: bits.size]
    return with_valid_bits(array, bits)


def with_valid_bits(array: pa.Array, bits: NDArray[np.uint8]) -> pa.Array:
    """An array of fixed width that begins its buffer, null where a bit is 0."""
    buffers = [pa.py_buffer(bits), array.buffers()[1]]
    return pa.Array.from_buffers(array.type, len(array), buffers)


def _valid_bits_but(size: int, places: NDArray[Any]) -> NDArray[np.uint8]:
    """A bit for each of so many values, 0 at these places."""
    bits = np.full(-(-size // 8), 255, np.uint8)
    np.bitwise_and.at(bits, places >> 3, ~(1 << (places & 7)).astype(np.uint8))
    return bits


def from_numbers(
    values: NDArray[Any],
    missing: NDArray[np.bool_] | None,
    kind: pa.DataType,
    places: NDArray[np.int64] | None = None,
) -> pa.Array:
    """Numbers, null where `missing`, as an array of type `kind`: the way back from `numbers`.

    `places` are those that are missing, if they are known.
    """
    stored = NUMBERS.get(kind.id)
    if stored is None:
        if pt.is_decimal(kind):
            return _decimals(values, missing, kind)
        if pt.is_boolean(kind):
            return pa.array(values.astype(np.bool_), mask=missing)
        assert pt.is_null(kind), kind
        return pa.nulls(values.size)
    data = np.ascontiguousarray(values, stored)
    if missing is None:
        return pa.Array.from_buffers(kind, data.size, [None, pa.py_buffer(data)])
    bits = _valid_bits(missing) if places is None else _valid_bits_but(missing.size, places)
    return pa.Array.from_buffers(kind, data.size, [pa.py_buffer(bits), pa.py_buffer(data)])


def column_of(
    values: NDArray[Any],
    missing: NDArray[np.bool_] | None,
    kind: pa.DataType,
    places: NDArray[np.int64] | None = None,
) -> Any:
    """The same, but a `NumberColumn` where that holds them."""
    stored = NUMBERS.get(kind.id)
    if missing is None and stored is not None:
        return NumberColumn(np.ascontiguousarray(values, stored), kind)
    return from_numbers(values, missing, kind, places)


def _valid_bits(missing: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """A bit for each value that is not missing.

    Packed before they are inverted: an inverted mask is fresh memory, which costs ten times as much
    as all the rest.
    """
    packed = np.packbits(missing, bitorder="little")
    return np.invert(packed, out=packed)


def _decimals(
    values: NDArray[Any], missing: NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array:
    """Whole numbers of last digits as decimals: the low half is the number, the high its sign."""
    if values.dtype == object:
        import decimal

        if missing is not None:
            values = values.copy()
            values[missing] = None
        with decimal.localcontext(prec=80):
            decimals = [
                None if v is None else decimal.Decimal(v).scaleb(-kind.scale) for v in values
            ]
        return pa.array(decimals, kind)
    halves = np.empty((values.size, 2), np.int64)
    halves[:, 0], halves[:, 1] = values, values >> 63
    full = pa.Array.from_buffers(
        pa.decimal128(kind.precision, kind.scale), values.size, [None, pa.py_buffer(halves)]
    )
    return full if missing is None else pc.if_else(pa.array(~missing), full, None)


def difference(a: pa.Array, b: pa.Array, kind: pa.DataType) -> pa.Array:
    """a − b as the type `kind` of their differences, in which numbers are subtracted."""
    first = kind
    if pt.is_decimal(kind):  # a difference may have a digit more
        first = pa.decimal256(kind.precision, kind.scale)
    try:
        if not pt.is_duration(kind):
            a, b = a.cast(first), b.cast(first)
        return pc.subtract_checked(a, b).cast(kind)
    except pa.ArrowInvalid:
        raise OverflowError(f"a difference exceeds {kind}; convert the values to float64") from None
