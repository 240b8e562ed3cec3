"""Exact sums and means of decimals, by sums of parts that no int64 sum of a window overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.errors import InvalidValue
from windrow.tables.columns import numbers
from windrow.tables.types import SHORT_DECIMAL

_LIMB = 32
_LOW = (1 << _LIMB) - 1


def exact_sum(
    array: pa.Array, total: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> NDArray[Any]:
    """The sums of windows in units of the last digit: int64 where they fit, else Python's ints.

    `total` sums whole numbers over the windows. A decimal is a number of 128 bits; its pieces of
    32 bits are summed apart, and 2³¹ rows of them fit an int64.
    """
    limbs = _limbs(array)
    sums = [total(limb) for limb in limbs]
    if len(sums) == 2 and _fits(sums[0]):
        return (sums[0] << _LIMB) + sums[1]
    whole = sums[0].astype(object)
    for each in sums[1:]:
        whole = whole * (1 << _LIMB) + each.astype(object)
    return whole


def _fits(high: NDArray[np.int64]) -> bool:
    """Whether the whole sums fit an int64, with room for what the lower half carries."""
    return not high.size or bool(np.abs(high).max() < 1 << 29)


def _limbs(array: pa.Array) -> list[NDArray[np.int64]]:
    """The pieces of 32 bits, the highest first and signed."""
    if pt.is_decimal128(array.type) and array.type.precision <= SHORT_DECIMAL:
        values = numbers(array)
        assert values is not None
        return [values >> _LIMB, values & _LOW]
    try:
        wide = array.cast(pa.decimal128(38, array.type.scale))
    except pa.ArrowInvalid:
        raise InvalidValue(
            f"sums and means are of decimals of 38 digits at most, and values of type {array.type} "
            f"have more: cast them to float64"
        ) from None
    if not len(wide):
        return [np.empty(0, np.int64)] * 4
    words = np.frombuffer(wide.buffers()[1], np.uint32).reshape(-1, 4)
    words = words[wide.offset : wide.offset + len(wide)]
    high = words[:, 3].astype(np.int64)
    high[high >= 1 << 31] -= 1 << 32
    return [high, *(words[:, i].astype(np.int64) for i in (2, 1, 0))]


def exact_mean(sums: NDArray[Any], counts: NDArray[np.int64], digits: int) -> NDArray[Any]:
    """The exact quotients of sums and counts with so many digits more, halves away from zero.

    So all engines round, and Spark's avg of 12 digits and more; with fewer that goes by doubles.
    """
    scaled = sums.astype(object) * 10**digits
    divisor = np.maximum(counts, 1).astype(object)
    magnitude = (2 * abs(scaled) + divisor) // (2 * divisor)
    return np.asarray(np.where(scaled < 0, -magnitude, magnitude))
