"""Skewness and Kurtosis, from sums of powers of the distances between the values and their mean.

The state begins with that of a variance: (n, mean, M2), the mean as high + low. M3 and M4 follow,
and two parts are combined by the formulas of Pébay (2008), which have δ = mean_b − mean_a:

    M3 = M3_a + M3_b + δ³·n_a·n_b·(n_a − n_b)/n² + 3δ·(n_a·M2_b − n_b·M2_a)/n
    M4 = M4_a + M4_b + δ⁴·n_a·n_b·(n_a² − n_a·n_b + n_b²)/n³
         + 6δ²·(n_a²·M2_b + n_b²·M2_a)/n² + 4δ·(n_a·M3_b − n_b·M3_a)/n

A NaN or an infinity makes the result NaN, and so do powers that no float can hold.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.algebra import SqlName
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import Numeric
from windrow.aggregations.ordering import real
from windrow.aggregations.variance import plain_plus, plain_unit
from windrow.errors import InvalidArgument


def cubes_of_both(a: Any, b: Any) -> Any:
    """Return M3 of two parts."""
    n = a[0] + b[0]
    delta = (b[1] - a[1]) + (b[2] - a[2])
    p, q = a[0] / n, b[0] / n
    own = delta * (p * b[0]) * delta * (p - q) * delta
    return a[4] + b[4] + own + 3.0 * delta * (p * b[3] - q * a[3])


class _Moments(Numeric):
    """Base of Skewness and Kurtosis."""

    commutative = True
    exact = False
    exact_on_integers = False
    result = "float64"

    def __init__(self, *columns: str, bias: bool = False) -> None:
        super().__init__(*columns)
        if bias not in (True, False):
            raise InvalidArgument(
                f"{type(self).__name__}: bias must be True or False, got {bias!r}"
            )
        self.bias = bool(bias)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(), cls(bias=True)]

    @property
    def constants(self) -> tuple[Any, ...]:
        return (self.bias,)

    def checked(self, value: Any) -> Any:
        return real(value, self)


class Skewness(_Moments):
    """How far the values lean to one side: positive if the long tail is that of large values.

    By default the estimate from a sample, as SKEWNESS of DuckDB and `skew` of pandas have it; with
    `bias=True` that of a population, as `skewness` of Spark has it, and `skew` of Polars and SciPy.
    Null for fewer than 3 values (2 with `bias`) and for values without spread.

    >>> from windrow import aggregator
    >>> swag = aggregator(Skewness(bias=True))
    >>> for v in (1, 1, 1, 5): swag.insert(v)
    >>> round(swag.query(), 6)
    1.154701
    """

    sql_names = {"SKEWNESS_POP": SqlName({"bias": True}, ())}
    fields = {
        "count": "int64",
        "centre": "float64",
        "centrerest": "float64",
        "squares": "float64",
        "cubes": "float64",
    }

    @staticmethod
    def unit(x: Any) -> Any:
        n, centre, rest, squares = plain_unit(x)
        return n, centre, rest, squares, squares

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        n, centre, rest, squares = plain_plus(a, b)
        return n, centre, rest, squares, cubes_of_both(a, b)

    @staticmethod
    def defined(state: Any, bias: Any) -> Any:
        return state[0] > (1 if bias else 2) and state[3] != 0.0

    @staticmethod
    def answer(state: Any, bias: Any) -> Any:
        if not math.isfinite(state[4]):
            return math.nan
        n = float(state[0])
        g = math.sqrt(n) * (state[4] / state[3] / math.sqrt(state[3]))
        return g if bias else g * math.sqrt(n * (n - 1.0)) / (n - 2.0)


class Kurtosis(_Moments):
    """How heavy the tails are: 0 for the normal distribution (the excess), more for heavier ones.

    By default the estimate from a sample, as KURTOSIS of DuckDB and `kurt` of pandas have it; with
    `bias=True` that of a population: KURTOSIS_POP of DuckDB, `kurtosis` of Spark, Polars and SciPy.
    Null for fewer than 4 values (2 with `bias`) and for values without spread.

    >>> from windrow import aggregator
    >>> swag = aggregator(Kurtosis(bias=True))
    >>> for v in (1, 2): swag.insert(v)
    >>> swag.query()
    -2.0
    """

    sql_names = {"KURTOSIS_POP": SqlName({"bias": True}, ())}
    fields = {**Skewness.fields, "fourths": "float64"}

    @staticmethod
    def unit(x: Any) -> Any:
        n, centre, rest, squares = plain_unit(x)
        return n, centre, rest, squares, squares, squares

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        n, centre, rest, squares = plain_plus(a, b)
        delta = (b[1] - a[1]) + (b[2] - a[2])
        p, q = a[0] / n, b[0] / n
        square = delta * delta
        own = square * (p * b[0]) * (p * p - p * q + q * q) * square
        mixed = 6.0 * square * (p * p * b[3] + q * q * a[3])
        fourths = a[5] + b[5] + own + mixed + 4.0 * delta * (p * b[4] - q * a[4])
        return n, centre, rest, squares, cubes_of_both(a, b), fourths

    @staticmethod
    def defined(state: Any, bias: Any) -> Any:
        return state[0] > (1 if bias else 3) and state[3] != 0.0

    @staticmethod
    def answer(state: Any, bias: Any) -> Any:
        if not (math.isfinite(state[5]) and state[5] > 0.0):
            return math.nan
        n = float(state[0])
        excess = n * (state[5] / state[3] / state[3]) - 3.0
        if bias:
            return excess
        return (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0)
