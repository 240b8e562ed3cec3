"""Variance and StdDev from (n, mean, M2), which keeps its digits when the mean is large.

Two parts are combined by the parallel formula of Chan, Golub and LeVeque:

    δ = mean_b − mean_a      mean = mean_a + δ·n_b/n      M2 = M2_a + M2_b + δ²·n_a·n_b/n

The mean is kept as high + low, where low is what rounding took from high. A mean of one float would
be off by half of its last digit, and so would every δ: near 10⁹, that is 7 digits of a variance.

There are two forms. In the plain one, a value that is not finite makes M2 NaN. In the form `apart`,
which the interpreter uses, such values are counted apart in a field `odd`, so that subtracting them
leaves no trace. In both, squares that exceed the largest float make M2 infinite, never NaN.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.algebra import Algebra, SqlName
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import Numeric
from windrow.aggregations.ordering import real
from windrow.aggregations.sums import two_sum
from windrow.errors import InvalidArgument

_FIELDS = (
    ("count", "int64"),
    ("centre", "float64"),
    ("centrerest", "float64"),
    ("squares", "float64"),
)
_APART = (*_FIELDS, ("odd", "int64"))


def checked_ddof(ddof: Any, asker: Aggregation) -> int:
    """Return `ddof` if it is 0 or 1; raise an error that names `asker` if it is not."""
    if ddof not in (0, 1):
        raise InvalidArgument(
            f"{type(asker).__name__}: ddof must be 1 (sample) or 0 (population), got {ddof!r}"
        )
    return int(ddof)


def moved(high: Any, low: Any, by: Any) -> Any:
    """Return the mean high + low, moved, in two parts again."""
    mean, error = two_sum(high, by)
    return mean, low + error


def plain_unit(x: Any) -> Any:
    """Return the plain state of one number; an infinite one makes M2 NaN."""
    return 1, float(x), 0.0, x - float(x)


def plain_plus(a: Any, b: Any) -> Any:
    """Return the plain state of two parts."""
    n = a[0] + b[0]
    share = b[0] / n
    delta = (b[1] - a[1]) + (b[2] - a[2])
    high, low = moved(a[1], a[2], delta * share)
    between = (delta * share) * (delta * a[0])
    if between != between:  # of means that exceed the largest float; M2 tells what is no number
        between = math.inf
    return n, high, low, a[3] + b[3] + between


def plain_variance(state: Any, ddof: Any) -> Any:
    """Return the variance of a plain state; NaN where there are too few values for one."""
    return state[3] / (state[0] - ddof) if state[0] > ddof else math.nan


def plain_deviation(state: Any, ddof: Any) -> Any:
    """Return the standard deviation of a plain state."""
    return math.sqrt(plain_variance(state, ddof))


def apart_unit(x: Any) -> Any:
    """Return the state of one number, with NaN and the infinities counted apart."""
    if x - x == 0:
        return 1, float(x), 0.0, 0.0, 0
    return 1, 0.0, 0.0, 0.0, 1


def apart_plus(a: Any, b: Any) -> Any:
    """Return the state of two parts, odd values apart."""
    n, odd = a[0] + b[0], a[4] + b[4]
    regular_a, regular_b = a[0] - a[4], b[0] - b[4]
    if regular_b == 0:
        return n, a[1], a[2], a[3], odd
    if regular_a == 0:
        return n, b[1], b[2], b[3], odd
    _, high, low, squares = plain_plus((regular_a, a[1], a[2], a[3]), (regular_b, b[1], b[2], b[3]))
    return n, high, low, squares, odd


def apart_minus(total: Any, old: Any) -> Any:
    """Return a state without its oldest part, odd values apart."""
    n, odd = total[0] - old[0], total[4] - old[4]
    regular, regular_old = n - odd, old[0] - old[4]
    if regular == 0:
        return n, 0.0, 0.0, 0.0, odd
    if regular_old == 0:
        return n, total[1], total[2], total[3], odd
    away = (total[1] - old[1]) + (total[2] - old[2])
    high, low = moved(total[1], total[2], away * (regular_old / regular))
    delta = (high - old[1]) + (low - old[2])
    between = delta * delta * (regular * regular_old / (regular + regular_old))
    squares = total[3] - old[3] - between
    if squares < 0.0 or regular == 1:  # a NaN stays one: it says that squares were lost
        squares = 0.0
    return n, high, low, squares, odd


def apart_variance(state: Any, ddof: Any) -> Any:
    """Return the variance of a state with odd values apart."""
    return math.nan if state[4] else plain_variance(state, ddof)


def apart_deviation(state: Any, ddof: Any) -> Any:
    """Return the standard deviation of a state with odd values apart."""
    return math.sqrt(apart_variance(state, ddof))


class Variance(Numeric):
    """The variance: of a sample (`ddof=1`, the default) or of a population (`ddof=0`).

    A sample of one has none: null.

    >>> from windrow import aggregator
    >>> swag = aggregator(Variance(ddof=0))
    >>> for v in (1e9 + 1, 1e9 + 3): swag.insert(v)
    >>> swag.query()
    1.0
    """

    commutative = True
    invertible = True
    exact = False
    exact_on_integers = False
    result = "float64"
    sql_names = {"VAR_SAMP": SqlName({}, ()), "VAR_POP": SqlName({"ddof": 0}, ())}
    kernel = "windrow.kernels.variances:variances"
    unit = staticmethod(apart_unit)
    plus = staticmethod(apart_plus)
    minus = staticmethod(apart_minus)
    answer = staticmethod(apart_variance)

    def __init__(self, *columns: str, ddof: int = 1) -> None:
        super().__init__(*columns)
        self.ddof = checked_ddof(ddof, self)
        self.least = 1 + ddof

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(ddof=0), cls(ddof=1)]

    @property
    def constants(self) -> tuple[Any, ...]:
        return (self.ddof,)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        return self._form(subtracting, plain_variance, apart_variance)

    def _form(self, subtracting: bool, plain: Any, apart: Any) -> Algebra:
        """Return the form of the states, with one of two functions for the result."""
        real = ("float64",)
        if subtracting:
            return Algebra(_APART, real, apart_unit, apart_plus, apart, apart_minus, self.constants)
        return Algebra(_FIELDS, real, plain_unit, plain_plus, plain, None, self.constants)

    def checked(self, value: Any) -> Any:
        return real(value, self)

    def lower(self, state: Any) -> Any:
        if state is None or state[0] < self.least:
            return None
        return super().lower(state)

    def is_empty(self, state: Any) -> bool:
        return bool(state[0] == 0)


class StdDev(Variance):
    """The standard deviation: of a sample (`ddof=1`, the default) or of a population (`ddof=0`)."""

    sql_names = {
        **dict.fromkeys(("STD", "STDDEV_SAMP"), SqlName({}, ())),
        "STDDEV_POP": SqlName({"ddof": 0}, ()),
    }
    kernel = "windrow.kernels.variances:deviations"

    answer = staticmethod(apart_deviation)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        return self._form(subtracting, plain_deviation, apart_deviation)


# Names of paper 000.
SampleStdDev = StdDev


def PopulationStdDev(*columns: str) -> StdDev:  # noqa: N802
    """Return ``StdDev(ddof=0)``, the standard deviation of a population.

    >>> PopulationStdDev("load")
    StdDev('load', ddof=0)
    """
    return StdDev(*columns, ddof=0)
