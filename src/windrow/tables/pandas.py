"""Queries over pandas frames.

NaN is how a float column of pandas says null, so here it is one. The index rides along where rows
do, and its levels can be asked for by their names as if they were columns.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as pt

from windrow.errors import InvalidArgument, InvalidValue
from windrow.queries.frames import unknown_frame
from windrow.tables.bind import Bound
from windrow.tables.columns import NumberColumn, as_arrow, lent, null_places, nulls_of, numbers
from windrow.tables.filters import FrameColumns
from windrow.tables.run import TableEngine, TableResult
from windrow.windows.arrays import PIECE, cores, empty, in_threads, stretches


def _schema_of(frame: Any) -> pa.Schema:
    if not isinstance(frame, pd.DataFrame):
        raise unknown_frame(frame)
    names, dtypes, levels = tuple(frame.columns), _dtypes(frame), _levels(frame)
    if not levels and all(map(_as_arrow, dtypes)):
        return _plain_schema(names, dtypes)
    _check_columns(names)
    fields = [(name, _type(frame, i, dtypes[i])) for i, name in enumerate(names)]
    for name, i in levels.items():
        fields.append((name, _type_of_values(_level(frame.index, i))))
    return pa.schema(fields)


def _dtypes(frame: pd.DataFrame) -> tuple[Any, ...]:
    """The type of each column; a few are asked themselves, which is faster."""
    if len(frame.columns) > _FEW_COLUMNS or not frame.columns.is_unique:
        return tuple(frame.dtypes)
    return tuple([series.dtype for _, series in frame.items()])


@lru_cache(maxsize=64)
def _plain_schema(names: tuple[str, ...], dtypes: tuple[np.dtype[Any], ...]) -> pa.Schema:
    """The schema of columns of numbers and times."""
    _check_columns(names)
    return pa.schema([(n, _type_of(d)) for n, d in zip(names, dtypes, strict=True)])


def _check_columns(names: tuple[Any, ...]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgument(f"the frame's columns must have names, and {name!r} is none")


def _order_of(frame: pd.DataFrame) -> str | None:
    """The name of the index of times, or of its only level of times."""
    times = [n for n, i in _levels(frame).items() if _is_time(_level(frame.index, i))]
    return times[0] if len(times) == 1 else None


def _table_of(frame: pd.DataFrame, names: list[str]) -> FrameColumns:
    levels, index = _levels(frame), frame.index
    few = len(frame.columns) <= _FEW_COLUMNS
    series: Any = dict(frame.items()) if few else frame  # asked for together, they are faster
    columns = {
        name: _level_values(index, levels[name]) if name in levels else _column(series[name], name)
        for name in names
    }
    return FrameColumns(columns, len(index))


def _joined(bound: Bound, result: TableResult, frame: pd.DataFrame) -> pd.DataFrame:
    if result.rows is None:
        new = _new_columns(result.columns, frame.index)
        if _is_plain(frame) and all(isinstance(each, np.ndarray) for each in new.values()):
            columns = {**_columns_apart(frame), **new}
            together = pd.DataFrame(columns, frame.index, copy=False)
            return together.__finalize__(frame)  # a third of the time of inserts
        return _with_columns(_apart(frame), new)
    keys = bound.query.partition_by
    if bound.own_rows and not _named(frame, keys):
        own = {name: frame[name].array.take(result.rows) for name in keys}
        index = pd.RangeIndex(result.rows.size)
        new = _new_columns(result.columns, index)
        return pd.DataFrame({**own, **new}, index, copy=False).__finalize__(frame)
    base = (_keys(frame, keys) if bound.own_rows else frame).iloc[result.rows]
    new = _new_columns(result.columns, base.index)
    return _with_columns(base, new) if base.columns.size else pd.DataFrame(new, base.index)


def _apart(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with the same columns; writing to one of the two does not change the other."""
    return frame.copy(deep=not _copies_on_write())


def _copies_on_write() -> bool:
    """Whether frames copy what is written to, as in pandas 3, and in 2 if it is told to."""
    return int(pd.__version__.split(".")[0]) > 2 or pd.options.mode.copy_on_write is True


def _columns_apart(frame: pd.DataFrame) -> dict[str, Any]:
    """The columns of `_apart`, in half the time where they are numbers or times.

    These are copied in threads, and into memory that the last result may have left.
    """
    if _copies_on_write():
        return dict(frame.copy(deep=False).items())
    columns, given = dict[str, Any](), list[tuple[Any, Any]]()
    for name, series in frame.items():
        if _as_arrow(series.dtype):
            columns[name] = empty(len(frame), series.dtype)
            given.append((columns[name], series.values))
        else:
            columns[name] = series.copy()

    def fill(rows: tuple[int, int]) -> None:
        for i in range(*rows, PIECE):  # columns of one array lie among each other
            here = slice(i, min(i + PIECE, rows[1]))
            for column, values in given:
                column[here] = values[here]

    in_threads(fill, stretches(len(frame), cores()))
    return columns


def _is_plain(frame: pd.DataFrame) -> bool:
    """Whether a few columns by their names are all that there is to a frame but its index."""
    columns = frame.columns
    plain = type(frame) is pd.DataFrame and columns.name is None and columns.is_unique
    return plain and len(columns) <= _FEW_COLUMNS


def _with_columns(frame: pd.DataFrame, new: dict[str, Any]) -> pd.DataFrame:
    for name, values in new.items():  # not by assign, which copies the frame first
        frame.insert(frame.shape[1], name, values)
    return frame


def _selected(frame: pd.DataFrame, rows: Any, columns: dict[str, Any]) -> pd.DataFrame:
    base, levels = _apart(frame) if rows is None else frame.iloc[rows], _levels(frame)
    new = _new_columns({n: c for n, c in columns.items() if not isinstance(c, str)}, base.index)
    chosen: dict[str, Any] = {}
    for name, column in columns.items():
        if not isinstance(column, str):
            chosen[name] = new[name]
        elif column not in levels:
            chosen[name] = base[column]
        elif name != column:  # it is in the index already
            chosen[name] = base.index.get_level_values(levels[column])
    return pd.DataFrame(chosen, index=base.index, copy=False)


# -- the index -----------------------------------------------------------------------------------


def _levels(frame: pd.DataFrame) -> dict[str, int]:
    """The levels of the index that a query can name, and where they are.

    Times without a name are called as `reset_index` calls them. A column comes before a level of
    the same name.
    """
    index, found = frame.index, dict[str, int]()
    if type(index) is pd.RangeIndex and index.name is None:
        return found  # as most frames are
    for i, name in enumerate(index.names):
        if name is None and _is_time(_level(index, i)):
            name = "index" if index.nlevels == 1 else f"level_{i}"
        alone = name not in found and list(index.names).count(name) <= 1
        if isinstance(name, str) and alone and name not in frame.columns:
            found[name] = i
    return found


def _level(index: Any, i: int) -> Any:
    """A level's distinct values, or the values of an index that has one level."""
    return index.levels[i] if isinstance(index, pd.MultiIndex) else index


def _level_values(index: Any, i: int) -> Any:
    """The value of each row in a level of the index."""
    values = _column(_level(index, i), index.names[i])
    if not isinstance(index, pd.MultiIndex):
        return values
    codes = index.codes[i]
    return as_arrow(values).take(pa.array(codes, mask=codes < 0))


def _is_time(values: Any) -> bool:
    return isinstance(values, pd.DatetimeIndex)


def _named(frame: pd.DataFrame, names: Any) -> list[int]:
    """The levels of the index that are among these names."""
    return [i for name, i in _levels(frame).items() if name in names]


def _keys(frame: pd.DataFrame, names: Any) -> pd.DataFrame:
    """The columns of the keys, and those levels of the index that are keys."""
    levels = _named(frame, names)
    index = frame.index
    base = frame[[name for name in names if name in frame.columns]]
    if levels and len(levels) < index.nlevels:
        base = base.set_axis(index.droplevel([i for i in range(index.nlevels) if i not in levels]))
    return base


# -- columns -------------------------------------------------------------------------------------


def _type(frame: pd.DataFrame, i: int, dtype: Any) -> pa.DataType:
    """The type of a column; a column that Arrow has no type for only rides along."""
    if _as_arrow(dtype):
        return _type_of(dtype)
    return _type_of_values(frame.iloc[:, i])


def _type_of_values(values: Any) -> pa.DataType:
    """The type of a series or of an index."""
    try:
        if values.dtype == object:  # its values tell
            return pa.array(values, from_pandas=True).type
        none = values[:0] if isinstance(values, pd.Index) else values.iloc[:0]
        return pa.array(none, from_pandas=True).type
    except _NO_ARROW:
        return pa.null()


@cache
def _type_of(dtype: np.dtype[Any]) -> pa.DataType:
    """The type of a column of numbers or times."""
    return pa.array(np.empty(0, dtype.newbyteorder("="))).type


def _as_arrow(dtype: Any) -> bool:
    """Whether values are numbers or times that Arrow has, too."""
    return isinstance(dtype, np.dtype) and dtype.kind in _PLAIN and dtype.itemsize <= 8


def _column(series: Any, name: Any) -> Any:
    """A column or an index: its own memory, if all are numbers or times, or as Arrow has it."""
    dtype = series.dtype
    if _as_arrow(dtype):
        values = series.values
        if not dtype.isnative:
            series = values = values.astype(dtype.newbyteorder("="))
        if values.flags.c_contiguous:
            column = lent(values, _type_of(dtype))
            if not _has_nulls(column.values, dtype.kind):
                return column
    try:
        array = pa.array(series, from_pandas=True)
    except _NO_ARROW as error:
        problem = "values of no one type" if dtype == np.dtype(object) else f"the type {dtype}"
        raise InvalidValue(f"the column {name!r} has {problem}: {error}") from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _has_nulls(values: np.ndarray[Any, Any], kind: str) -> bool:
    """Whether a float is NaN, or a time is none: the smallest value tells, in half the time."""
    if kind in "iu" or not values.size:
        return False
    least = np.minimum.reduce(values)
    return bool(least != least if kind == "f" else least == _NAT)


def _new_columns(results: dict[str, Any], index: Any) -> dict[str, Any]:
    """Columns of results as pandas has them, each in memory of its own."""
    columns: dict[str, Any] = {}
    taken: set[int] = set()
    for name, column in results.items():
        values, address = _values(column, index), _address(column)
        columns[name] = values.copy() if address in taken else values  # two may share theirs
        taken.add(address)
    return columns


def _address(column: Any) -> int:
    """Where the values of a column of results lie."""
    if isinstance(column, NumberColumn):
        address: int = column.values.__array_interface__["data"][0]
        return address
    data = column.buffers()[-1]
    return 0 if data is None else int(data.address)


def _values(array: Any, index: Any) -> Any:
    """A column of results as pandas has it: NaN for a null float, Int64 for integers with nulls.

    Numbers and times are an array that can be written to, others a Series. A result is made for
    pandas, in memory that nobody else looks at, so it is not copied.
    """
    kind, null = array.type, array.null_count
    if null and (pt.is_integer(kind) or pt.is_float64(kind)):
        values = numbers(array)
        assert values is not None
        places = null_places(array) if null < len(array) // _MANY else nulls_of(array)
        if pt.is_float64(kind):
            values = values if values.flags.writeable else values.copy()
            values[places] = np.nan
            return values
        mask = np.zeros(values.size, np.bool_)
        mask[places] = True
        return pd.Series(pd.arrays.IntegerArray(values, mask), index=index)
    time = (pt.is_timestamp(kind) and kind.tz is None) or pt.is_duration(kind)
    if time or pt.is_floating(kind) or pt.is_integer(kind):
        if not null:
            values = numbers(array)
            assert values is not None
            dtype = f"{'M' if pt.is_timestamp(kind) else 'm'}8[{kind.unit}]" if time else None
            return values if dtype is None else values.view(dtype)
        values = array.to_numpy(zero_copy_only=False)
        return values if values.flags.writeable else values.copy()
    if null and pt.is_boolean(kind):
        series = array.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    elif pt.is_struct(kind):  # else times would be integers, and integers floats beside a null
        series = pd.Series(array.to_pylist(), dtype=object)
    else:
        series = as_arrow(array).to_pandas()
    series.index = index
    return series


# What Arrow raises for values that it cannot hold.
_NO_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
_FEW_COLUMNS = 12  # so many, and what is done for each call weighs most
_PLAIN = "iufMm"  # the kinds of NumPy's types whose values lie in memory as Arrow has them
_NAT = np.iinfo(np.int64).min  # a time that is none
_MANY = 8  # nulls among so many values are found one by one

_engine = TableEngine(_schema_of, _table_of, _joined, _selected, _order_of)
run, run_shared, plans = _engine.run, _engine.run_shared, _engine.plans
run_together, run_select = _engine.run_together, _engine.run_select
columns_of_frame, read = _engine.columns_of_frame, _engine.read
