"""Sum, Mean, GeometricMean and WeightedMean, on sums that do not lose what cancels.

A float sum is kept as hi + lo, where lo is what rounding took from hi (Knuth's TwoSum, carried
through every combine), so 1e16 + 1 − 1e16 is 1. There are four forms of it:

    whole      int64: the sum, exact
    halves     int64, for a mean: the sums of the upper and of the lower 32 bits, and the count;
               those of 2³¹ values fit, where their sum may not
    real       float64: hi and lo; for a mean, the count. NaN and infinities need no care
    apart      any numbers, with subtraction: those that are not finite are counted apart from the
               sum. They decide the result while they are in the window and leave no trace

The interpreter uses the last form. Its integers, Decimals and Fractions leave nothing to lo.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.algebra import Algebra, SqlName
from windrow.aggregations.count import Count
from windrow.aggregations.kinds import NumberPairs, Numeric

_WHOLE = (("sum", "int64"),)
_HALVES = (("sumhigh", "int64"), ("sumlow", "int64"), ("count", "int64"))
_BITS, _LOW = 32, (1 << 32) - 1
_REAL = (("sum", "float64"), ("rest", "float64"), ("count", "int64"))
_APART = (*_REAL, ("nans", "int64"), ("ups", "int64"), ("downs", "int64"))


def two_sum(a: Any, b: Any) -> Any:
    """Return a + b, and what rounding took from it."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def whole_unit(x: Any) -> Any:
    """Return the whole form of one number."""
    return (x,)


def halves_unit(x: Any) -> Any:
    """Return the halves of one number, with its count."""
    return x >> _BITS, x & _LOW, 1


def halves_plus(a: Any, b: Any) -> Any:
    """Return the halves of two parts, with their count."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def halves_minus(total: Any, old: Any) -> Any:
    """Return the halves without their oldest part, with the count."""
    return total[0] - old[0], total[1] - old[1], total[2] - old[2]


def halves_mean(state: Any) -> Any:
    """Return the mean of the halves: of the exact sum where that is an int64."""
    high, low = state[0] + (state[1] >> _BITS), state[1] & _LOW
    if -(2**31) <= high < 2**31:
        return ((high << _BITS) + low) / state[2]
    return (high * 2.0**32 + low) / state[2]


def real_unit(x: Any) -> Any:
    """Return the real form of one number."""
    return x, 0.0


def real_plus(a: Any, b: Any) -> Any:
    """Return the real form of two parts."""
    s, error = two_sum(a[0], b[0])
    return s, a[1] + b[1] + error


def real_mean_unit(x: Any) -> Any:
    """Return the real form of one number, with its count."""
    return x, 0.0, 1


def real_mean_plus(a: Any, b: Any) -> Any:
    """Return the real form of two parts, with their count."""
    s, error = two_sum(a[0], b[0])
    return s, a[1] + b[1] + error, a[2] + b[2]


def real_sum(state: Any) -> Any:
    """Return the sum of the real form: hi + lo; an infinite hi has no lo."""
    total = state[0] + state[1]
    return total if total == total else state[0]


def real_mean(state: Any) -> Any:
    """Return the mean of the real form."""
    return real_sum(state) / state[2]


def real_log_unit(x: Any) -> Any:
    """Return the real form of a number's logarithm, with its count."""
    if x > 0:
        return math.log(x), 0.0, 1
    return (-math.inf if x == 0 else math.nan), 0.0, 1


def real_log_mean(state: Any) -> Any:
    """Return the geometric mean of the real form."""
    return math.exp(real_sum(state) / state[2])


def apart_unit(x: Any) -> Any:
    """Return the apart form of one number."""
    if x - x == 0:
        return x, 0, 1, 0, 0, 0
    return 0, 0, 1, int(x != x), int(x > 0), int(x < 0)


def apart_log_unit(x: Any) -> Any:
    """Return the apart form of a number's logarithm."""
    if x > 0 and x - x == 0:
        return math.log(x), 0, 1, 0, 0, 0
    return 0, 0, 1, int(x != x or x < 0), int(x > 0), int(x == 0)


def apart_plus(a: Any, b: Any) -> Any:
    """Return the apart form of two parts."""
    s, error = two_sum(a[0], b[0])
    return s, a[1] + b[1] + error, a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


def apart_minus(total: Any, old: Any) -> Any:
    """Return the apart form without its oldest part."""
    s, error = two_sum(total[0], -old[0])
    rest = total[1] - old[1] + error
    return s, rest, total[2] - old[2], total[3] - old[3], total[4] - old[4], total[5] - old[5]


def apart_sum(state: Any) -> Any:
    """Return the sum of the apart form."""
    if state[3] or (state[4] and state[5]):
        return math.nan
    if state[4]:
        return math.inf
    return -math.inf if state[5] else real_sum(state)


def apart_mean(state: Any) -> Any:
    """Return the mean of the apart form."""
    return apart_sum(state) / state[2]


def apart_log_mean(state: Any) -> Any:
    """Return the geometric mean of the apart form."""
    return math.exp(apart_sum(state) / state[2])


class _Summing(Numeric):
    """Sums in the apart form, with care for Python's numbers that no float can hold."""

    commutative = True
    invertible = True
    exact = False

    unit = staticmethod(apart_unit)
    plus = staticmethod(apart_plus)
    minus = staticmethod(apart_minus)

    def combine(self, a: Any, b: Any) -> Any:
        try:
            return super().combine(a, b)
        except OverflowError:  # an integer that no float can hold, added to a float
            huge = a[0] if abs(a[0]) > abs(b[0]) else b[0]
            counts = tuple(x + y for x, y in zip(a[2:], b[2:], strict=True))
            return math.inf if huge > 0 else -math.inf, 0, *counts

    def lower(self, state: Any) -> Any:
        try:
            return super().lower(state)
        except OverflowError:  # integers past the largest float
            return math.inf if apart_sum(state) > 0 else -math.inf

    def is_empty(self, state: Any) -> bool:
        return bool(state[2] == 0)


class Sum(_Summing):
    """The sum: exact for integers, compensated for floats.

    >>> from windrow import aggregator
    >>> swag = aggregator(Sum())
    >>> for v in (1e16, 1.0, -1e16): swag.insert(v)
    >>> swag.query()
    1.0
    """

    takes = "summable"
    result = "total"
    summed = True
    sql_names = dict.fromkeys(("FSUM", "KAHAN_SUM", "SUMKAHAN"), SqlName())
    kernel = "windrow.kernels.named:sums"
    spark_fields = {
        "sum": "sum({0})",
        "rest": "if(count({0}) > 0, 0D, null)",
        "count": "count({0})",
    }

    answer = staticmethod(apart_sum)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        if dtype == "int64":
            return Algebra(_WHOLE, ("int64",), whole_unit, Count.plus, Count.answer, Count.minus)
        if subtracting:
            return Algebra(_APART, ("float64",), apart_unit, apart_plus, apart_sum, apart_minus)
        return Algebra(_REAL[:2], ("float64",), real_unit, real_plus, real_sum)


class Mean(_Summing):
    """The arithmetic mean."""

    takes = "summable"
    result = "mean"
    sql_names = dict.fromkeys(("AVG", "FAVG"), SqlName())
    kernel = "windrow.kernels.named:means"
    spark_fields = {
        **Sum.spark_fields,
        "sumhigh": "sum(shiftright(cast({0} as long), 32))",
        "sumlow": "sum(cast({0} as long) & 4294967295)",
    }

    answer = staticmethod(apart_mean)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        if dtype == "int64":
            return Algebra(
                _HALVES, ("float64",), halves_unit, halves_plus, halves_mean, halves_minus
            )
        if subtracting:
            return Algebra(_APART, ("float64",), apart_unit, apart_plus, apart_mean, apart_minus)
        return Algebra(_REAL, ("float64",), real_mean_unit, real_mean_plus, real_mean)


ArithmeticMean = Mean  # the name of paper 000


class GeometricMean(_Summing):
    """The n-th root of the product, by the sum of logarithms, which cannot overflow.

    A zero makes it 0; a negative number has no logarithm and makes it NaN.
    """

    exact_on_integers = False
    result = "float64"

    unit = staticmethod(apart_log_unit)
    answer = staticmethod(apart_log_mean)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        fields = tuple((_LOGARITHMS.get(name, name), kind) for name, kind in _APART)
        if subtracting:
            return Algebra(
                fields, ("float64",), apart_log_unit, apart_plus, apart_log_mean, apart_minus
            )
        return Algebra(fields[:3], ("float64",), real_log_unit, real_mean_plus, real_log_mean)


class WeightedMean(NumberPairs):
    """The mean of values, each as often as its weight says: Σ value·weight / Σ weight.

    WEIGHTED_AVG of DuckDB. A pair is skipped if its value or its weight is null. Null if the
    weights add up to 0.

    >>> from windrow import aggregator
    >>> swag = aggregator(WeightedMean("price", "volume"))
    >>> for price, volume in ((10, 1), (20, 3)): swag.insert({"price": price, "volume": volume})
    >>> swag.query()
    17.5
    """

    column_names = ("value", "weight")
    commutative = True
    exact = False
    exact_on_integers = False
    result = "float64"
    sql_names = dict.fromkeys(("WEIGHTED_AVG", "WAVG"), SqlName())
    fields = dict.fromkeys(("weighted", "weightedrest", "weights", "weightsrest"), "float64")

    @staticmethod
    def unit(value: Any, weight: Any) -> Any:
        return float(value) * float(weight), 0.0, float(weight), 0.0

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        weighted, weights = real_plus(a[:2], b[:2]), real_plus(a[2:], b[2:])
        return weighted[0], weighted[1], weights[0], weights[1]

    @staticmethod
    def defined(state: Any) -> Any:
        return real_sum(state[2:]) != 0.0

    @staticmethod
    def answer(state: Any) -> Any:
        return real_sum(state[:2]) / real_sum(state[2:])


_LOGARITHMS = {"sum": "log", "rest": "logrest"}
