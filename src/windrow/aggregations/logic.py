"""Any and All: whether one value is true, or every one."""

from __future__ import annotations

from windrow.aggregations.algebra import SqlName
from windrow.aggregations.base import State
from windrow.aggregations.kinds import Booleans, Single


class Any(Single, Booleans):
    """Whether one value at least is true.

    >>> from windrow import aggregator
    >>> swag = aggregator(Any())
    >>> swag.extend([True, None, False]); swag.query()
    True
    >>> swag.evict(); swag.query()
    False
    """

    commutative = True
    selective = True
    result = "boolean"
    sql_names = dict.fromkeys(("BOOL_OR", "SOME"), SqlName())
    fields = {"any": "boolean"}
    spark_fields = {"any": "max({0}) > 0"}

    @staticmethod
    def unit(value: State) -> State:
        return (value != 0,)

    @staticmethod
    def plus(a: State, b: State) -> State:
        return a if a[0] else b


class All(Any):
    """Whether every value is true."""

    sql_names = dict.fromkeys(("BOOL_AND", "EVERY"), SqlName())
    fields = {"all": "boolean"}
    spark_fields = {"all": "min({0}) > 0"}

    @staticmethod
    def plus(a: State, b: State) -> State:
        return b if a[0] else a
