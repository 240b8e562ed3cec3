"""Results of the compiled path as columns of the types that were promised.

Numbers that stand for values, as ranks and positions do, become these values again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.algebra import output_kinds
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidValue
from windrow.kernels.results import ResultArray, are_lists
from windrow.tables.columns import as_arrow, column_of, difference, from_numbers

# The values that numbers stand for, null where the second argument is true.
Back = Callable[[NDArray[Any], NDArray[np.bool_] | None], Any]


def kinds_of(aggregation: Aggregation) -> tuple[str, ...]:
    """The kinds of the numbers that make up a result."""
    return () if aggregation.result is None else output_kinds(aggregation.result)


def restored(
    aggregation: Aggregation,
    results: ResultArray,
    kind: Any,
    source: pa.DataType,
    back: Back | None,
    picked: Back,
) -> Any:
    """Results as a column of type `kind`.

    `source` is the type of the measured column, `back` gives the values that its numbers stand
    for, and `picked` the arguments at positions.
    """
    result, gone = aggregation.result, results.missing
    if result == "argument":
        return picked(results.values, gone)
    if result == "value" and back is not None:
        return back(results.values, gone)
    if result == "list" and results.values.dtype.names:
        return _lists(results, kind, back)
    if result in ("difference", "change") and pt.is_date32(source):
        results = ResultArray(results.values.astype(np.int64) * 86400, gone)  # days in seconds
    if result is None or isinstance(result, str):
        return result_column(results, kind)
    return _structs(result, results, kind, back, picked)


def _structs(
    result: Mapping[str, str], results: ResultArray, kind: Any, back: Back | None, picked: Back
) -> pa.Array:
    """Results of several named parts."""
    gone = results.missing
    parts: dict[str, pa.Array] = {}
    for name, part in result.items():
        if part == "span":
            parts[name] = difference(parts["end"], parts["start"], kind.field(name).type)
            continue
        values = np.ascontiguousarray(results.values[name])
        if part == "argument":
            parts[name] = as_arrow(picked(values, gone))
        elif part == "value" and back is not None:
            parts[name] = back(values, gone)
        else:
            parts[name] = as_arrow(result_column(ResultArray(values, gone), kind.field(name).type))
    null = None if gone is None else pa.array(gone)
    return pa.StructArray.from_arrays(list(parts.values()), fields=list(kind), mask=null)


def result_column(results: ResultArray, kind: Any) -> Any:
    """Results of the compiled path as a column of type `kind`; None lets the values tell."""
    values, missing = results.values, results.missing
    if values.dtype.names and (kind is None or pt.is_struct(kind) or pt.is_list(kind)):
        return _fields(values, missing, kind)
    if values.dtype != object:
        if kind is None:
            return pa.array(values, mask=missing)
        return column_of(values, missing, kind, results.places)
    listed = values.tolist()
    if kind is not None and pt.is_binary(kind):
        listed = [None if v is None else bytes(v) for v in listed]
    if missing is not None:
        listed = [None if gone else v for v, gone in zip(listed, missing.tolist(), strict=True)]
    try:
        return pa.array(listed, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidValue(f"its results are of no one type of a column: {error}") from None


def _lists(results: ResultArray, kind: Any, back: Back | None = None) -> pa.Array:
    """Results that are lists, of various lengths or of as many numbers each."""
    values, missing = results.values, results.missing
    if are_lists(values):
        lengths, rows = values["length"], values["items"]
        items = rows[np.arange(rows.shape[1]) < lengths[:, None]]
    else:
        names = values.dtype.names or ()
        lengths = np.full(values.size, len(names))
        items = np.stack([values[name] for name in names], axis=1).ravel()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = from_numbers(items, None, kind.value_type) if back is None else back(items, None)
    mask = None if missing is None else pa.array(missing)
    ends = pa.array(offsets, pa.int32() if pt.is_list(kind) else pa.int64())
    return type(pa.array([], kind)).from_arrays(ends, flat, mask=mask)


def _fields(values: NDArray[Any], missing: NDArray[np.bool_] | None, kind: Any) -> pa.Array:
    """Results of several numbers: a struct, or a list of as many."""
    if kind is not None and pt.is_list(kind):
        return _lists(ResultArray(values, missing), kind)
    names = values.dtype.names or ()
    parts = [pa.array(np.ascontiguousarray(values[name])) for name in names]
    mask = None if missing is None else pa.array(missing)
    return pa.StructArray.from_arrays(parts, names=list(names), mask=mask)
