"""Max, Min and what follows from them: Range, MaxCount, MinCount, ArgMax, ArgMin."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.algebra import SqlName
from windrow.aggregations.kinds import Measurable, Ordered, OrderedPairs, Single
from windrow.aggregations.ordering import less, same


class Max(Single, Ordered):
    """The largest value; NaN is larger than any number.

    >>> from windrow import aggregator
    >>> swag = aggregator(Max())
    >>> swag.insert(3); swag.insert(5); swag.evict(); swag.query()
    5
    """

    commutative = True
    selective = True
    result = "value"
    fields = {"max": "value"}
    kernel = "windrow.kernels.named:maxima"
    spark_fields = {"max": "max({0})"}

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return b if less(a[0], b[0]) else a


class Min(Max):
    """The smallest value; NaN only if there is nothing else."""

    fields = {"min": "value"}
    kernel = "windrow.kernels.named:minima"
    spark_fields = {"min": "min({0})"}

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return b if less(b[0], a[0]) else a


class Range(Measurable):
    """The largest value minus the smallest."""

    commutative = True
    result = "difference"
    fields = {"min": "value", "max": "value"}
    kernel = "windrow.kernels.named:ranges"
    spark_fields = {**Min.spark_fields, **Max.spark_fields}

    @staticmethod
    def unit(value: Any) -> Any:
        return value, value

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        low = b[0] if less(b[0], a[0]) else a[0]
        high = b[1] if less(a[1], b[1]) else a[1]
        return low, high

    @staticmethod
    def answer(state: Any) -> Any:
        return state[1] - state[0]


class MaxCount(Ordered):
    """How often the largest value occurs."""

    commutative = True
    result = "int64"
    fields = {"max": "value", "max_count": "int64"}

    @staticmethod
    def unit(value: Any) -> Any:
        return value, 1

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        if same(a[0], b[0]):
            return a[0], a[1] + b[1]
        return b if less(a[0], b[0]) else a

    @staticmethod
    def answer(state: Any) -> Any:
        return state[1]


class MinCount(MaxCount):
    """How often the smallest value occurs."""

    fields = {"min": "value", "min_count": "int64"}

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        if same(a[0], b[0]):
            return a[0], a[1] + b[1]
        return b if less(b[0], a[0]) else a


class ArgMax(OrderedPairs):
    """The argument that came with the largest measure; the first of them on ties.

    >>> from windrow import aggregator
    >>> longest = aggregator(ArgMax("length", "caller"))
    >>> longest.insert({"length": 12, "caller": "Ada"})
    >>> longest.insert({"length": 12, "caller": "Bob"})
    >>> longest.query()
    'Ada'
    """

    selective = True
    result = "argument"
    sql_names = dict.fromkeys(("MAX_BY", "ARG_MAX", "ARG_MAX_NULL"), SqlName(turned=True))
    fields = {"max": "value", "argmax": "argument"}
    kernel = "windrow.kernels.named:places_of_maxima"

    plus = staticmethod(Max.plus)

    @staticmethod
    def unit(measure: Any, argument: Any) -> Any:
        return measure, argument

    @staticmethod
    def answer(state: Any) -> Any:
        return state[1]


class ArgMin(ArgMax):
    """The argument that came with the smallest measure; the first of them on ties."""

    sql_names = dict.fromkeys(("MIN_BY", "ARG_MIN", "ARG_MIN_NULL"), SqlName(turned=True))
    fields = {"min": "value", "argmin": "argument"}
    kernel = "windrow.kernels.named:places_of_minima"

    plus = staticmethod(Min.plus)
