"""Sum, Mean and GeometricMean, on sums that do not lose what cancels.

A float sum is kept as hi + lo, where lo is what rounding took from hi (Knuth's TwoSum, carried
through every combine), so 1e16 + 1 − 1e16 is 1. NaN and the infinities are counted beside it:
they decide the answer while they are in the window and leave no trace when they are subtracted.
Integers, Decimals and Fractions are added as they are.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.kinds import Numeric
from windrow.aggregations.ordering import number

# n, hi, lo, and how many NaN, +inf and -inf came
Total = tuple[int, Any, float, int, int, int]
NOTHING: Total = (0, 0, 0.0, 0, 0, 0)


def total_of(value: Any) -> Total:
    """The total of one number."""
    if isinstance(value, float) and not math.isfinite(value):
        return 1, 0, 0.0, int(value != value), int(value > 0), int(value < 0)
    return 1, value, 0.0, 0, 0, 0


def _two_sum(a: Any, b: Any) -> tuple[Any, float]:
    try:
        s = a + b
    except OverflowError:  # an integer that no float can hold, added to a float
        return (math.inf if (a if abs(a) > abs(b) else b) > 0 else -math.inf), 0.0
    if isinstance(s, float) and math.isfinite(s):
        t = s - a
        return s, (a - (s - t)) + (b - t)
    return s, 0.0


def add(a: Total, b: Total) -> Total:
    """The total of two parts."""
    hi, error = _two_sum(a[1], b[1])
    lo = a[2] + b[2] + error
    if lo:
        hi, lo = _two_sum(hi, lo)
    return a[0] + b[0], hi, lo, a[3] + b[3], a[4] + b[4], a[5] + b[5]


def subtract(total: Total, old: Total) -> Total:
    """`total` without `old`."""
    n, hi, lo, nans, ups, downs = old
    left = add(total, (-n, -hi, -lo, -nans, -ups, -downs))
    return NOTHING if left[0] == 0 else left


def value_of(total: Total) -> Any:
    """The sum that a total stands for."""
    _, hi, lo, nans, ups, downs = total
    if nans or (ups and downs):
        return math.nan
    if ups or downs:
        return math.inf if ups else -math.inf
    return hi + lo if lo else hi


class _Summing(Numeric):
    commutative = True
    invertible = True
    exact = False
    identity = NOTHING

    def unit(self, value: Any) -> Total:
        return total_of(number(value, self))

    def combine(self, a: Total, b: Total) -> Total:
        return add(a, b)

    def inverse(self, total: Total, old: Total) -> Total:
        return subtract(total, old)


class Sum(_Summing):
    """The sum: exact for integers, compensated for floats.

    >>> from windrow import aggregator
    >>> swag = aggregator(Sum())
    >>> for v in (1e16, 1.0, -1e16): swag.insert(v)
    >>> swag.query()
    1.0
    """

    def lower(self, state: Total) -> Any:
        return value_of(state) if state[0] else None


class Mean(_Summing):
    """The arithmetic mean."""

    def lower(self, state: Total) -> Any:
        if not state[0]:
            return None
        total = value_of(state)
        try:
            return total / state[0]
        except OverflowError:  # integers past the largest float
            return math.inf if total > 0 else -math.inf


class GeometricMean(_Summing):
    """The n-th root of the product, by the sum of logarithms, which cannot overflow.

    A zero makes it 0; a negative number has no logarithm and makes it NaN.
    """

    exact_on_integers = False

    def unit(self, value: Any) -> Total:
        value = number(value, self)
        if value == 0:
            return total_of(-math.inf)
        return total_of(math.log(value) if value > 0 else math.nan)

    def lower(self, state: Total) -> Any:
        if not state[0]:
            return None
        try:
            return math.exp(value_of(state) / state[0])
        except OverflowError:  # integers past the largest float
            return math.inf
