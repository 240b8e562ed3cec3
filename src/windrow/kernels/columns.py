"""Arrays as the compiled path takes them: float64 or int64, nulls apart, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.arrays import ordinary

NO_NULLS = np.empty(0, np.uint8)
_NUMBERS = "biufmM"  # the kinds of NumPy's types that nulls are masked in


class Column(NamedTuple):
    """Values in a type that the kernels know, which of them are null, and what they were."""

    data: NDArray[Any]
    nulls: NDArray[np.uint8] | None
    dtype: np.dtype[Any]

    def since(self, at: int) -> Column:
        """The values from the at-th on, as a copy: the caller may fill its array anew."""
        nulls = None if self.nulls is None else self.nulls[at:].copy()
        return Column(self.data[at:].copy(), nulls, self.dtype)

    def floats(self) -> NDArray[np.float64]:
        """The values as float64, NaN where they are null; a copy."""
        values = self.data.astype(np.float64)
        if self.nulls is not None:
            values[self.nulls.view(np.bool_)] = np.nan
        return values

    def restore(self, values: NDArray[Any]) -> NDArray[Any]:
        """Results that are values of this column, in the column's own type."""
        if self.dtype.kind in "mM":
            return values.view(self.dtype)
        return values.astype(self.dtype, copy=False)

    def differences(self, values: NDArray[Any]) -> NDArray[Any]:
        """Results that are differences of this column's values."""
        if self.dtype.kind in "mM":
            unit, count = np.datetime_data(self.dtype)
            return values.view(f"m8[{count}{unit}]")
        return values


def as_array(values: Any, nulls: Any = None, name: str = "values", masks: bool = False) -> Any:
    """`values` of NumPy or another library as a NumPy array: masked where null, None among objects.

    `nulls` marks further nulls. With `masks`, numbers of a library that has nulls are masked even
    if none is null here, as those of the next batch may be. What NumPy and the library have the
    same bits for is not copied.

    >>> as_array(np.array(["a", "b"]), np.array([False, True]))
    array(['a', None], dtype=object)
    """
    array, mask = _with_mask(values, nulls, name)
    if mask is None and masks and _has_nulls(values):
        mask = np.zeros(array.size, np.bool_)
    if mask is None:
        return array
    return np.ma.MaskedArray(array, mask) if array.dtype.kind in _NUMBERS else _or_none(array, mask)


def _with_mask(values: Any, nulls: Any, name: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The values as NumPy has them, and which of them are null, `nulls` included."""
    if hasattr(type(values), "columns"):
        raise InvalidArgument(
            f"{name} must be one column, not a {type(values).__name__}: give frame['load'], or ask "
            f"sliding(…) of the frame"
        )
    array, mask = _numpy_of(values)
    if array.ndim != 1:
        raise InvalidArgument(f"{name} must be one-dimensional, got {array.ndim} dimensions")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if nulls is None:
        return array, mask
    further = np.asarray(nulls)
    if further.dtype != np.bool_ or further.shape != array.shape:
        raise InvalidArgument(
            f"nulls must be a boolean array as long as {name} ({array.size}), true where null; "
            f"got {further.dtype} of {further.size}"
        )
    return array, further if mask is None else mask | further


def _numpy_of(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The values as NumPy has them, and which are null; None if none is, or None says so itself.

    Libraries are known by what their arrays offer, as importing one to ask would cost a second.
    """
    if isinstance(values, np.ma.MaskedArray):
        return values.data, np.ma.getmaskarray(values)
    if isinstance(values, np.ndarray):
        return values, None
    if hasattr(values, "combine_chunks"):  # of Arrow's, in chunks
        return _of_arrow(values.chunk(0) if values.num_chunks == 1 else values.combine_chunks())
    if hasattr(values, "buffers") and hasattr(values, "null_count"):
        return _of_arrow(values)
    if hasattr(values, "drop_nulls") and hasattr(values, "null_count"):
        return _of_polars(values)
    if hasattr(values, "isna") and not isinstance(getattr(values, "dtype", None), np.dtype):
        return _of_pandas(values)
    return np.asarray(values), None


def _has_nulls(values: Any) -> bool:
    """Whether values are of a library's type that knows nulls, be there some or not."""
    known = any(hasattr(values, name) for name in ("null_count", "isna"))
    return known and not isinstance(getattr(values, "dtype", None), np.dtype)


def _of_arrow(array: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """An array of Arrow: its buffer as it is, where NumPy has the type; anything at nulls."""
    if hasattr(array, "storage"):  # of an extension
        return _of_arrow(array.storage)
    if hasattr(array, "dictionary_decode"):
        return _of_arrow(array.dictionary_decode())
    if not array.null_count:
        return array.to_numpy(zero_copy_only=False), None
    mask = array.is_null().to_numpy(zero_copy_only=False)
    dtype = array.slice(0, 0).to_numpy(zero_copy_only=False).dtype
    if dtype.kind in "iufmM" and array.type.bit_width == 8 * dtype.itemsize:
        begin = array.offset * dtype.itemsize
        return np.frombuffer(array.buffers()[1], dtype, len(array), begin), mask
    return _spread(array.drop_null().to_numpy(zero_copy_only=False), mask), mask


def _of_polars(series: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A Series of Polars, which without nulls is an array of NumPy already."""
    if not series.null_count():
        return series.to_numpy(), None
    mask = series.is_null().to_numpy()
    return _spread(series.drop_nulls().to_numpy(), mask), mask


def _of_pandas(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A Series, an index or an array of pandas, of a type that is not NumPy's."""
    kind = values.dtype
    if hasattr(kind, "pyarrow_dtype"):
        return _numpy_of(getattr(values, "array", values).__arrow_array__())
    dtype = getattr(kind, "numpy_dtype", None)
    if getattr(kind, "tz", None) is not None:  # an instant, which NumPy has without the zone
        dtype = np.dtype(f"M8[{kind.unit}]")
    mask = np.asarray(values.isna())
    if not mask.any():
        return _plain_pandas(values, dtype), None
    return _spread(_plain_pandas(values[~mask], dtype), mask), mask


def _plain_pandas(values: Any, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    return np.asarray(values) if dtype is None else np.asarray(values.to_numpy(dtype=dtype))


def _spread(present: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """The values that are there at the places that `mask` leaves to them."""
    if present.dtype.kind in _NUMBERS:
        full = np.zeros(mask.size, present.dtype)
    else:
        full = np.full(mask.size, None, object)
    full[~mask] = present
    return full


def _or_none(array: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Objects, None where `mask` is true."""
    objects = array.astype(object)
    objects[mask] = None
    return objects


def column(values: Any, nulls: Any, nan: str, name: str = "values") -> Column | None:
    """`values` for the kernels; None if they are of no type that can be compiled for."""
    plain = nulls is None and type(values) is np.ndarray and values.ndim == 1
    if plain and (values.dtype == np.int64 or (values.dtype == np.float64 and nan == "value")):
        return Column(ordinary(values), None, values.dtype)
    array, mask = _with_mask(values, nulls, name)
    kind = array.dtype.kind
    if kind == "f":
        data = np.ascontiguousarray(array, np.float64)
        if nan == "null":
            missing = np.isnan(data)
            mask = missing if mask is None else mask | missing
    elif kind in "ib" or (kind == "u" and array.dtype.itemsize < 8):
        data = np.ascontiguousarray(array, np.int64)
    elif kind == "u":
        if array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise InvalidValue(
                f"{name} has unsigned integers past {2**63 - 1}: convert numbers to float64, and "
                f"what only names things to strings"
            )
        data = np.ascontiguousarray(array, np.int64)
    elif kind in "mM":
        data = np.ascontiguousarray(array).view(np.int64)
        missing = np.isnat(array)
        mask = missing if mask is None else mask | missing
    else:
        return None
    return Column(ordinary(data), None if mask is None else mask.astype(np.uint8), array.dtype)


def nanoseconds_of(array: NDArray[Any], name: str = "values") -> NDArray[Any]:
    """Times as NumPy's in nanoseconds; numbers are seconds.

    >>> nanoseconds_of(np.array([1.5]))
    array(['1970-01-01T00:00:01.500000000'], dtype='datetime64[ns]')
    """
    kind = array.dtype.kind
    if kind in "mM":
        return np.asarray(array).astype(f"{kind}8[ns]", copy=False)
    if kind not in "iuf":
        raise InvalidValue(f"{name} must be times or numbers of seconds, not {array.dtype}")
    seconds = np.asarray(array)
    gone = np.isnan(seconds) if kind == "f" else np.zeros(seconds.size, np.bool_)
    if not (gone | (np.abs(seconds) < 2**63 / 10**9)).all():
        raise InvalidValue(f"{name} has numbers past 292 years; numbers are seconds, or give times")
    if kind == "f":
        ticks = np.round(np.where(gone, 0.0, seconds) * 1e9).astype(np.int64)
    else:
        ticks = seconds.astype(np.int64) * 10**9
    times = ticks.view("M8[ns]")
    times[gone] = np.datetime64("NaT")
    return times


def any_null(columns: Sequence[Column]) -> NDArray[np.uint8] | None:
    """Which rows have a null in any of the columns; None if no column has nulls.

    >>> any_null([Column(np.zeros(2), np.array([0, 1], np.uint8), np.dtype(float))])
    array([0, 1], dtype=uint8)
    """
    masks = [c.nulls for c in columns if c.nulls is not None]
    return np.bitwise_or.reduce(masks) if masks else None


def joined(old: Column, new: Column) -> Column:
    """One column behind the other."""
    nulls = None
    if old.nulls is not None or new.nulls is not None:
        nulls = np.concatenate(
            [np.zeros(c.data.size, np.uint8) if c.nulls is None else c.nulls for c in (old, new)]
        )
    return Column(np.concatenate([old.data, new.data]), nulls, old.dtype)
