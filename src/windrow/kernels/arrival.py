"""Windows of values in the order of their arrival, whose times may go back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = np.iinfo(np.int64).min


class Arrival:
    """The windows of values that come in any order of time, which end at the newest so far."""

    def __init__(self, size: Any, tolerance: Any, includes_start: bool) -> None:
        self.size, self.tolerance, self.includes_start = size, tolerance, includes_start
        self.newest: NDArray[Any] | None = None  # of the batches before

    def bounds(self, at: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return what each window begins with, each value's time, and how many are dropped.

        Times are whole numbers in the same order; the least stands for one that is dropped.
        """
        newest = at if self.newest is None else np.concatenate([self.newest, at])
        newest = np.maximum.accumulate(newest)[newest.size - at.size :]
        if at.size:
            self.newest = newest[-1:].copy()
        first = _ordered(_before(newest, self.size))
        if not self.includes_start and (at.dtype == np.float64 or self.size % 1 == 0):
            first += 1
        keys = _ordered(at)
        late = (keys < first) | (keys < _ordered(_before(newest, self.tolerance)))
        keys[late] = _LEAST
        return first, keys, int(late.sum())


def _before(at: NDArray[Any], size: Any) -> NDArray[Any]:
    """Times less a size, or the least there are."""
    if at.dtype == np.float64:
        return at - size
    least = _LEAST + 2
    whole = min(math.floor(size), np.iinfo(np.int64).max - 1)
    return np.where(at < least + whole, least, at - whole)


def _ordered(at: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers in the same order as times.

    >>> _ordered(np.array([-1.0, -0.0, 0.0, 2.0])).argsort(kind="stable")
    array([0, 1, 2, 3])
    """
    if at.dtype != np.float64:
        return at.astype(np.int64)
    bits = (at + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
