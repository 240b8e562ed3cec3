"""Arrays as the compiled path takes them: float64 or int64, nulls apart, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.arrays import ordinary

NO_NULLS = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Column:
    """Values in a type that the kernels know, which of them are null, and what they were."""

    data: NDArray[Any]
    nulls: NDArray[np.uint8] | None
    dtype: np.dtype[Any]

    def since(self, at: int) -> Column:
        """The values from the at-th on, as a copy: the caller may fill its array anew."""
        nulls = None if self.nulls is None else self.nulls[at:].copy()
        return Column(self.data[at:].copy(), nulls, self.dtype)

    def restore(self, values: NDArray[Any]) -> NDArray[Any]:
        """Results that are values of this column, in the column's own type."""
        if self.dtype.kind in "mM":
            return values.view(f"{self.dtype.kind}8[{np.datetime_data(self.dtype)[0]}]")
        return values.astype(self.dtype, copy=False)

    def differences(self, values: NDArray[Any]) -> NDArray[Any]:
        """Results that are differences of this column's values."""
        if self.dtype.kind in "mM":
            return values.view(f"m8[{np.datetime_data(self.dtype)[0]}]")
        return values


def column(values: Any, nulls: Any, nan: str, name: str = "values") -> Column | None:
    """`values` for the kernels; None if they are of no type that can be compiled for."""
    mask = None
    if isinstance(values, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(values), values.data
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidArgument(f"{name} must be one-dimensional, got {array.ndim} dimensions")
    if nulls is not None:
        given = np.asarray(nulls)
        if given.dtype != np.bool_ or given.shape != array.shape:
            raise InvalidArgument(
                f"nulls must be a boolean array as long as {name} ({array.size}), true where null; "
                f"got {given.dtype} of {given.size}"
            )
        mask = given if mask is None else mask | given
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
            raise InvalidValue(f"{name} has unsigned integers past {2**63 - 1}; convert to float64")
        data = np.ascontiguousarray(array, np.int64)
    elif kind in "mM":
        data = np.ascontiguousarray(array).view(np.int64)
        missing = np.isnat(array)
        mask = missing if mask is None else mask | missing
    else:
        return None
    return Column(ordinary(data), None if mask is None else mask.astype(np.uint8), array.dtype)


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
