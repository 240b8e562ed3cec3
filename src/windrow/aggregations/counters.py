"""Delta, Increase and Rate: how far a value, or a counter that restarts, has come."""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.algebra import Algebra
from windrow.aggregations.kinds import Measurable, Numeric, Timed

LARGEST, SMALLEST = 2**63 - 1, -(2**63)


def whole_change(old: Any, new: Any) -> Any:
    """Return new − old; raise if an int64 cannot hold it."""
    if (old < 0 and new > LARGEST + old) or (old > 0 and new < SMALLEST + old):
        raise OverflowError("a difference exceeds int64; convert the values to float64")
    return new - old


def whole_sum(a: Any, b: Any) -> Any:
    """Return a + b; raise if an int64 cannot hold it."""
    if (b > 0 and a > LARGEST - b) or (b < 0 and a < SMALLEST - b):
        raise OverflowError("an increase exceeds int64; convert the values to float64")
    return a + b


def whole_delta(state: Any) -> Any:
    """Return the newest minus the oldest of machine integers, which may be too far apart."""
    return whole_change(state[0], state[1])


def whole_increase_plus(a: Any, b: Any) -> Any:
    """Return the state of two parts of machine integers, which may become too large."""
    between = b[0] if b[0] < a[1] else whole_change(a[1], b[0])
    return a[0], b[1], whole_sum(whole_sum(a[2], between), b[2])


class Delta(Measurable):
    """The newest value minus the oldest, of those that are not null; 0 for a single one.

    >>> from windrow import aggregator
    >>> swag = aggregator(Delta())
    >>> swag.extend([20, 26, None, 17]); swag.query()
    -3
    """

    result = "change"

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        fields = (("first", "value"), ("last", "value"))
        answer = whole_delta if dtype == "int64" else self.answer
        return Algebra(fields, ("change",), self.unit, self.plus, answer)

    @staticmethod
    def unit(value: Any) -> Any:
        return value, value

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return a[0], b[1]

    @staticmethod
    def answer(state: Any) -> Any:
        return state[1] - state[0]


class Increase(Numeric):
    """How far a counter has come from its oldest value to its newest, restarts included.

    A value that is smaller than the one before is that of a counter which began again at 0: the
    value itself is what was added since. Nulls are left out; a single value has increased by 0.
    This is Prometheus' `increase` between the values that are there, without its extrapolation to
    the ends of the window.

    >>> from windrow import aggregator
    >>> swag = aggregator(Increase())
    >>> swag.extend([20, 26, None, 3, 7]); swag.query()
    13
    """

    exact = False
    result = "total"

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        fields = (("first", "value"), ("last", "value"), ("increase", dtype))
        plus = whole_increase_plus if dtype == "int64" else self.plus
        return Algebra(fields, ("total",), self.unit, plus, self.answer)

    @staticmethod
    def unit(value: Any) -> Any:
        return value, value, value - value  # NaN and infinities have increased by NaN

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        between = b[0] if b[0] < a[1] else b[0] - a[1]
        return a[0], b[1], a[2] + between + b[2]

    @staticmethod
    def answer(state: Any) -> Any:
        return state[2]


class Rate(Timed):
    """How far a counter has come per second: its Increase over the time from first to last value.

    Takes pairs (value, at): `at` is a time or a number of seconds, mostly the column of the order.
    Pairs with a null are left out. A single value has no rate: null. Where the oldest and the
    newest value have the same time it is NaN. This is Prometheus' `rate` between the values that
    are there, without its extrapolation to the ends of the window.

    >>> from windrow import aggregator
    >>> swag = aggregator(Rate())
    >>> swag.extend([(20, 0.0), (26, 1.0), (None, 2.0), (3, 3.0)]); swag.query()
    3.0
    """

    exact = False
    exact_on_integers = False
    least = 2
    result = "float64"
    fields = {
        "readings": "int64",
        "oldest": "float64",
        "newest": "float64",
        "risen": "float64",
        "begin": "int64",
        "end": "int64",
    }

    @staticmethod
    def unit(value: Any, at: Any) -> Any:
        return 1, float(value), float(value), float(value) - float(value), at, at

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        between = b[1] if b[1] < a[2] else b[1] - a[2]
        return a[0] + b[0], a[1], b[2], a[3] + between + b[3], a[4], b[5]

    @staticmethod
    def answer(state: Any) -> Any:
        return state[3] / ((state[5] - state[4]) / 1e9) if state[5] != state[4] else math.nan

    def lower(self, state: Any) -> Any:
        return None if state is None or state[0] < 2 else self.answer(state)
