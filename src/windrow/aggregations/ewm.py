"""EWM and EWMByTime: the exponentially weighted mean.

A value has half the weight of one that came a half-life later. A part of a window keeps its
weighted sum and its weight, both as of its newest value, and how much it makes older parts fade:

    a ⊕ b = (sum_a · fade_b + sum_b,  weight_a · fade_b + weight_b,  fade_a · fade_b)

By time, a part keeps the time of its newest value instead, and of two parts the older one fades by
the time between these.
"""

from __future__ import annotations

import datetime
import functools
import math
from typing import Any

from windrow.aggregations.algebra import Algebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import Numeric, Timed
from windrow.aggregations.ordering import plain
from windrow.errors import InvalidArgument


def checked_halflife(asking: Aggregation, halflife: Any, wanted: str) -> Any:
    """Return a half-life; raise unless it is a number above 0."""
    halflife = plain(halflife)
    number = isinstance(halflife, int | float) and not isinstance(halflife, bool)
    if not number or not 0 < halflife < math.inf:
        name = type(asking).__name__
        raise InvalidArgument(f"{name}: halflife must be {wanted}, got {halflife!r}")
    return halflife


@functools.cache
def row_unit(fade: float) -> Any:
    """Return the function that makes the state of one value, for such a fading a row."""

    def unit(value: Any) -> Any:
        return float(value), 1.0, fade

    return unit


def time_unit(value: Any, at: Any) -> Any:
    """Return the state of one value and its time in nanoseconds."""
    return float(value), 1.0, at


@functools.cache
def time_plus(halflife: float) -> Any:
    """Return the function that joins two parts, for a half-life in nanoseconds."""

    def plus(a: Any, b: Any) -> Any:
        if a[2] <= b[2]:
            fade = 0.5 ** ((b[2] - a[2]) / halflife)
            return a[0] * fade + b[0], a[1] * fade + b[1], b[2]
        fade = 0.5 ** ((a[2] - b[2]) / halflife)
        return a[0] + b[0] * fade, a[1] + b[1] * fade, a[2]

    return plus


def faded_plus(a: Any, b: Any) -> Any:
    """Return the state of two parts, the older one faded."""
    return a[0] * b[2] + b[0], a[1] * b[2] + b[1], a[2] * b[2]


def weighted_mean(state: Any) -> Any:
    """Return the weighted sum over the weight."""
    return state[0] / state[1]


class EWM(Numeric):
    """The exponentially weighted mean: `halflife` values later, a value has half the weight.

    Equals pandas' ``ewm(halflife=halflife, ignore_na=True).mean()`` over the rows of the window:
    nulls are left out and let nothing fade.

    >>> from windrow import aggregator
    >>> swag = aggregator(EWM(halflife=1))
    >>> swag.extend([1.0, None, 4.0]); swag.query()
    3.0
    """

    exact = False
    exact_on_integers = False
    result = "float64"
    plus = staticmethod(faded_plus)
    answer = staticmethod(weighted_mean)

    def __init__(self, *columns: str, halflife: float) -> None:
        super().__init__(*columns)
        self.halflife = checked_halflife(self, halflife, "a number of rows above 0")

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(halflife=3)]

    def unit(self, *values: Any) -> Any:
        return row_unit(0.5 ** (1 / self.halflife))(*values)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        names = (f"{name}{self.halflife}" for name in ("fadedsum", "fadedweight", "fade"))
        fields = tuple((name, "float64") for name in names)
        unit = row_unit(0.5 ** (1 / self.halflife))
        return Algebra(fields, ("float64",), unit, faded_plus, weighted_mean)


class EWMByTime(Timed):
    """The exponentially weighted mean by time: a `halflife` later, a value has half the weight.

    Takes pairs (value, at): `at` is a time or a number of seconds, `halflife` a timedelta or a
    number of seconds. Equals pandas' ``ewm(halflife=halflife, times=at).mean()`` over the rows of
    the window that have no null.

    >>> from windrow import aggregator
    >>> swag = aggregator(EWMByTime(halflife=60))
    >>> swag.extend([(1.0, 0), (4.0, 60)]); swag.query()
    3.0
    """

    commutative = True
    exact = False
    exact_on_integers = False
    result = "float64"
    unit = staticmethod(time_unit)
    answer = staticmethod(weighted_mean)

    def __init__(self, *columns: str, halflife: float | datetime.timedelta) -> None:
        super().__init__(*columns)
        if isinstance(halflife, datetime.timedelta):
            halflife = halflife.total_seconds()
        wanted = "a number of seconds above 0 or a timedelta"
        self.halflife = checked_halflife(self, halflife, wanted)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(halflife=90)]

    def plus(self, a: Any, b: Any) -> Any:
        return time_plus(self.halflife * 1e9)(a, b)

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        names = (f"{name}{self.halflife}" for name in ("timedsum", "timedweight"))
        fields = (*((name, "float64") for name in names), ("newest_at", "int64"))
        plus = time_plus(self.halflife * 1e9)
        return Algebra(fields, ("float64",), time_unit, plus, weighted_mean)
