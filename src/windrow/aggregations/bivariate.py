"""Corr, Covariance and the line of least squares through pairs (y, x): Slope, Intercept and R2.

All of them are computed from one state, so those of the same two columns share it: the number of
pairs, both means, and the sums of squares and products around the means. Two parts are combined by
the formula of Chan, Golub and LeVeque (see `variance`), with δy and δx the distances of the means:

    Σyy = Σyy_a + Σyy_b + δy²·n_a·n_b/n      Σxy = Σxy_a + Σxy_b + δx·δy·n_a·n_b/n

As there, each mean is kept as high + low. A pair is skipped if either value is null. A NaN or an
infinity in the window makes the result NaN, and so do sums that exceed the largest float.

`kernels.comoments` compiles `answer` and `defined` as they are, so they call no functions of ours.

The order is that of SQL: y, which depends on x, comes first. A window that has no such result, as
it has too few pairs or no spread, gives null: so do the SQL standard, PostgreSQL and Spark.
(DuckDB gives NaN there for corr and regr_slope, and null for regr_intercept and regr_r2.)
"""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.algebra import SqlName
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import NumberPairs
from windrow.aggregations.variance import checked_ddof, moved

_N, _YY, _XX, _XY = 0, 5, 6, 7  # where the fields of a state stand


def has_spread_of_x(state: Any) -> Any:
    """Return whether a line can be laid through the pairs."""
    return state[_N] > 1 and state[_XX] != 0.0


class _Bivariate(NumberPairs):
    """The state of pairs (y, x)."""

    column_names = ("y", "x")
    kernel = "windrow.kernels.comoments:comoments"
    commutative = True
    exact = False
    exact_on_integers = False
    result = "float64"
    fields = {
        "pairs": "int64",
        "ymean": "float64",
        "yrest": "float64",
        "xmean": "float64",
        "xrest": "float64",
        "yy": "float64",
        "xx": "float64",
        "xy": "float64",
    }

    @staticmethod
    def unit(y: Any, x: Any) -> Any:
        y, x = float(y), float(x)
        return 1, y, 0.0, x, 0.0, y - y, x - x, (y - y) * (x - x)  # NaN unless they are finite

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        n = a[0] + b[0]
        share = b[0] / n
        dy = (b[1] - a[1]) + (b[2] - a[2])
        dx = (b[3] - a[3]) + (b[4] - a[4])
        ymean, yrest = moved(a[1], a[2], dy * share)
        xmean, xrest = moved(a[3], a[4], dx * share)
        wy, wx = dy * (share * a[0]), dx * (share * a[0])
        yy, xx, xy = a[5] + b[5] + dy * wy, a[6] + b[6] + dx * wx, a[7] + b[7] + dx * wy
        # NaN if one of the squares is infinite, so that no result needs to ask
        return n, ymean, yrest, xmean, xrest, yy, xx, xy + ((yy - yy) + (xx - xx))


class Covariance(_Bivariate):
    """The covariance: of a sample (`ddof=1`, the default) or of a population (`ddof=0`).

    COVAR_SAMP and COVAR_POP of SQL. A sample of one pair has none: null.

    >>> from windrow import aggregator
    >>> swag = aggregator(Covariance(ddof=0))
    >>> for pair in ((1e9 + 1, 1), (1e9 + 3, 3)): swag.insert(pair)
    >>> swag.query()
    1.0
    """

    sql_names = {"COVAR_SAMP": SqlName({}, ()), "COVAR_POP": SqlName({"ddof": 0}, ())}
    fields = _Bivariate.fields
    kernel = _Bivariate.kernel

    def __init__(self, *columns: str, ddof: int = 1) -> None:
        super().__init__(*columns)
        self.ddof = checked_ddof(ddof, self)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(ddof=0), cls(ddof=1)]

    @property
    def constants(self) -> tuple[Any, ...]:
        return (self.ddof,)

    @staticmethod
    def defined(state: Any, ddof: Any) -> Any:
        return state[_N] > ddof

    @staticmethod
    def answer(state: Any, ddof: Any) -> Any:
        return state[_XY] / (state[_N] - ddof)


class Corr(_Bivariate):
    """Pearson's correlation, between -1 and 1: CORR of SQL. Null if y or x has one value only.

    >>> from windrow import aggregator
    >>> swag = aggregator(Corr("load", "heat"))
    >>> for load, heat in ((1, 5), (2, 4), (4, 2)): swag.insert({"load": load, "heat": heat})
    >>> swag.query()
    -1.0
    """

    fields = _Bivariate.fields
    kernel = _Bivariate.kernel

    @staticmethod
    def defined(state: Any) -> Any:
        return state[_N] > 1 and state[_XX] != 0.0 and state[_YY] != 0.0

    @staticmethod
    def answer(state: Any) -> Any:
        r = state[_XY] / (math.sqrt(state[_XX]) * math.sqrt(state[_YY]))
        if r > 1.0:  # by rounding
            return 1.0
        return -1.0 if r < -1.0 else r


class Slope(_Bivariate):
    """The slope of the line of least squares: REGR_SLOPE(y, x). Null if x has one value only.

    >>> from windrow import aggregator
    >>> swag = aggregator(Slope("load", "heat"))
    >>> for load, heat in ((1, 1), (3, 2), (5, 3)): swag.insert({"load": load, "heat": heat})
    >>> swag.query()
    2.0
    """

    sql_names = {"REGR_SLOPE": SqlName()}
    fields = _Bivariate.fields
    kernel = _Bivariate.kernel
    defined = staticmethod(has_spread_of_x)

    @staticmethod
    def answer(state: Any) -> Any:
        return state[_XY] / state[_XX]


class Intercept(_Bivariate):
    """Where the line of least squares has x = 0: REGR_INTERCEPT(y, x). Null as the slope is.

    It is the difference of mean(y) and slope·mean(x), and is as exact as these are.
    """

    sql_names = {"REGR_INTERCEPT": SqlName()}
    fields = _Bivariate.fields
    kernel = _Bivariate.kernel
    defined = staticmethod(has_spread_of_x)

    @staticmethod
    def answer(state: Any) -> Any:
        by = state[_XY] / state[_XX]
        return (state[1] - by * state[3]) + (state[2] - by * state[4])


class R2(_Bivariate):
    """How much of the spread of y the line explains, from 0 to 1: REGR_R2(y, x) of SQL.

    Null if x has one value only; 1 if y has.
    """

    sql_names = {"REGR_R2": SqlName()}
    fields = _Bivariate.fields
    kernel = _Bivariate.kernel
    defined = staticmethod(has_spread_of_x)

    @staticmethod
    def answer(state: Any) -> Any:
        if state[_YY] == 0.0:
            return 1.0 + state[_XY]  # which is 0 then, or NaN if x has one
        share = (state[_XY] / state[_XX]) * (state[_XY] / state[_YY])
        return 1.0 if share > 1.0 else share
