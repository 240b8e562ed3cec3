"""Queries over pandas frames.

NaN is how a float column of pandas says null, so here it is one. The index rides along where rows
do.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as pt

from windrow.errors import InvalidArgument, InvalidValue
from windrow.tables.bind import Bound
from windrow.tables.columns import null_places, nulls_of, numbers
from windrow.tables.run import TableEngine, TableResult


def _schema_of(frame: Any) -> pa.Schema:
    if not isinstance(frame, pd.DataFrame):
        raise InvalidArgument(f"a query takes a DataFrame, not a {type(frame).__name__}")
    for name in frame.columns:
        if not isinstance(name, str):
            raise InvalidArgument(f"the frame's columns must have names, and {name!r} is none")
    types = [_type(frame, i, dtype) for i, dtype in enumerate(frame.dtypes)]
    return pa.schema(list(zip(frame.columns, types, strict=True)))


def _table_of(frame: pd.DataFrame, names: list[str]) -> pa.Table:
    columns = {name: _arrow(frame[name]) for name in names}
    return pa.table(columns or {"": pa.nulls(len(frame))})


def _joined(bound: Bound, outcome: TableResult, frame: pd.DataFrame) -> pd.DataFrame:
    base = frame[list(bound.query.partition_by)] if bound.own_rows else frame
    base = base.copy(deep=False) if outcome.rows is None else base.iloc[outcome.rows]
    if bound.own_rows:
        base = base.reset_index(drop=True)
    made = {name: _series(array, base.index) for name, array in outcome.columns.items()}
    if not base.columns.size:
        return pd.DataFrame(made)
    for name, series in made.items():  # not by assign, which copies the frame first
        base.insert(base.shape[1], name, series)
    return base


def _selected(frame: pd.DataFrame, rows: Any, columns: dict[str, Any]) -> pd.DataFrame:
    base = frame if rows is None else frame.iloc[rows]
    made = [base[c] if isinstance(c, str) else _series(c, base.index) for c in columns.values()]
    given = list(map(id, columns.values()))
    made = [each.copy() if given.index(given[i]) < i else each for i, each in enumerate(made)]
    return pd.DataFrame(dict(zip(columns, made, strict=True)), index=base.index, copy=False)


def _type(frame: pd.DataFrame, i: int, dtype: Any) -> pa.DataType:
    """The type of a column; a column that Arrow has no type for only rides along."""
    if isinstance(dtype, np.dtype) and dtype.kind in _PLAIN:
        return _type_of(dtype)
    series = frame.iloc[:, i]
    try:
        if series.dtype == object:  # its values tell
            return pa.array(series, from_pandas=True).type
        return pa.array(series.iloc[:0], from_pandas=True).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.null()


@cache
def _type_of(dtype: np.dtype[Any]) -> pa.DataType:
    """The type of a column of numbers or times."""
    return pa.array(np.empty(0, dtype)).type


def _arrow(series: Any) -> pa.Array:
    """A column as Arrow has it: its own memory, if it has numbers or times and no null."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in _PLAIN:
        values = series.to_numpy()
        if not _has_nulls(values):
            return pa.array(values)
    try:
        made = pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidValue(
            f"the column {series.name!r} has values of no one type: {error}"
        ) from None
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def _has_nulls(values: np.ndarray[Any, Any]) -> bool:
    """Whether a float is NaN, or a time is none."""
    kind = values.dtype.kind
    if kind == "f":
        return bool(np.isnan(values).any())
    return kind in "Mm" and bool(np.isnat(values).any())


def _series(array: pa.Array, index: Any) -> Any:
    """A column of results as pandas has it: NaN for a null float, Int64 for integers with nulls.

    A result is made for pandas, and nobody else looks at what stands where it is null.
    """
    kind = array.type
    if array.null_count and (pt.is_integer(kind) or pt.is_float64(kind)):
        values, few = numbers(array), array.null_count < len(array) // _MANY
        assert values is not None
        null = null_places(array) if few else nulls_of(array)
        if pt.is_integer(kind):
            mask = np.zeros(values.size, np.bool_)
            mask[null] = True
            made = pd.Series(pd.arrays.IntegerArray(values, mask))
        else:
            values[null] = np.nan
            made = pd.Series(values)
    elif array.null_count and pt.is_boolean(kind):
        made = array.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    else:
        made = array.to_pandas()
    made.index = index
    return made


_PLAIN = "iufMm"  # the kinds of NumPy's types whose values lie in memory as Arrow has them
_MANY = 8  # nulls among so many values are found one by one

_engine = TableEngine(_schema_of, _table_of, _joined, _selected)
run, run_shared, plan = _engine.run, _engine.run_shared, _engine.plan
run_together, run_select = _engine.run_together, _engine.run_select
columns_of_frame = _engine.columns_of_frame
