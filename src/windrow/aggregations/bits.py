"""BitAnd, BitOr and BitXor of integers."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.algebra import SqlName
from windrow.aggregations.kinds import Integers, Single


class BitAnd(Single, Integers):
    """The bits that all values have.

    >>> from windrow import aggregator
    >>> swag = aggregator(BitAnd())
    >>> swag.extend([0b1110, None, 0b0111]); bin(swag.query())
    '0b110'
    """

    commutative = True
    result = "value"
    sql_names = {"BIT_AND": SqlName()}
    fields = {"bit_and": "value"}
    spark_fields = {"bit_and": "bit_and({0})"}

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return (a[0] & b[0],)


class BitOr(BitAnd):
    """The bits that one value at least has."""

    sql_names = {"BIT_OR": SqlName()}
    fields = {"bit_or": "value"}
    spark_fields = {"bit_or": "bit_or({0})"}

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return (a[0] | b[0],)


class BitXor(Single, Integers):
    """The bits that an odd number of values have."""

    commutative = True
    invertible = True
    result = "value"
    sql_names = {"BIT_XOR": SqlName()}
    fields = {"bit_xor": "value", "count": "int64"}  # the count says when nothing is left
    spark_fields = {"bit_xor": "bit_xor({0})", "count": "count({0})"}

    @staticmethod
    def unit(value: Any) -> Any:
        return value, 1

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return a[0] ^ b[0], a[1] + b[1]

    @staticmethod
    def minus(total: Any, old: Any) -> Any:
        return total[0] ^ old[0], total[1] - old[1]

    def is_empty(self, state: Any) -> bool:
        return bool(state[1] == 0)
