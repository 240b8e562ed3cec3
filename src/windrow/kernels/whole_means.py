"""Means of whole numbers, from exact sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rounded_mean(sums: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The quotients of whole sums and counts as whole numbers, exact, halves away from zero.

    >>> rounded_mean(np.array([5, -5, 4]), np.array([2, 2, 3]))
    array([ 3, -3,  1])
    """
    counts = np.maximum(counts, 1)
    whole, rest = np.divmod(np.abs(sums), counts)
    whole += 2 * rest >= counts
    return np.where(sums < 0, -whole, whole)


def halves_means(
    high: NDArray[np.int64], low: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The means of exact sums in two halves, as `sums.halves_mean` has them."""
    small = (high >= -(2**31)) & (high < 2**31)
    whole = (np.where(small, high, 0) << 32) + low
    return np.asarray(np.where(small, whole, high * 2.0**32 + low) / counts)
