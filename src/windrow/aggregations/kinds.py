"""What an aggregation takes: numbers, anything with an order, or pairs.

A value that does not go with the others of its window would fail only later, inside a `combine`.
These bases state what values must have in common (`families`), so that an aggregator can refuse
the value instead.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from windrow.aggregations.base import Aggregation, Takes, is_null
from windrow.aggregations.ordering import family, instant, is_nan, number, plain, real
from windrow.errors import InvalidValue


class Numeric(Aggregation):
    """Takes numbers. Integers go with all of them; Python does not mix Decimals and floats."""

    takes: Takes = "number"

    def checked(self, value: Any) -> Any:
        return number(value, self)

    def families(self, value: Any) -> tuple[Hashable, ...]:
        value = plain(self.pick(value))
        if isinstance(value, Decimal):
            return ("Decimal",)
        real = isinstance(value, Fraction) or (isinstance(value, float) and math.isfinite(value))
        return ("float",) if real else (None,)


class Single(Aggregation):
    """Has one number for a state, which is the result; the state of a value is the value."""

    @staticmethod
    def unit(value: Any) -> Any:
        return (value,)

    @staticmethod
    def answer(state: Any) -> Any:
        return state[0]


class Integers(Aggregation):
    """Takes integers; a boolean is none."""

    takes: Takes = "integer"

    def checked(self, value: Any) -> Any:
        value = plain(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise InvalidValue(f"{self!r} takes integers, not {type(value).__name__} {value!r}")


class Booleans(Aggregation):
    """Takes booleans; a number is none."""

    takes: Takes = "boolean"

    def checked(self, value: Any) -> Any:
        value = plain(value)
        if isinstance(value, bool):
            return value
        raise InvalidValue(f"{self!r} takes booleans, not {type(value).__name__} {value!r}")


class Ordered(Aggregation):
    """Takes anything with an order, as long as all values of a window can be compared."""

    takes: Takes = "ordered"

    def checked(self, value: Any) -> Any:
        return plain(value)

    def families(self, value: Any) -> tuple[Hashable, ...]:
        value = self.pick(value)
        return (None,) if self.skips(value) else (family(value),)


class Measurable(Ordered):
    """Takes what has an order and can be subtracted."""

    takes = "measurable"

    def checked(self, value: Any) -> Any:
        value = plain(value)
        if isinstance(value, str | bytes):
            raise InvalidValue(f"{self!r} takes what can be subtracted, not {value!r}")
        return value


class _Pairs(Aggregation):
    """Takes two columns, or pairs."""

    arity = 2

    def skips(self, value: Any) -> bool:
        """Return whether one of the pair's values is null; a null argument is an argument."""
        if is_null(value):
            return True
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise InvalidValue(
                f"{self!r} takes pairs ({', '.join(self.column_names)}), "
                f"not {type(value).__name__} {value!r}"
            )
        return any(map(is_null, value[: self.inputs]))


class NumberPairs(_Pairs):
    """Takes pairs of numbers, as floats."""

    takes = "number pair"

    def checked(self, value: Any) -> Any:
        return real(value[0], self), real(value[1], self)


class Timed(_Pairs):
    """Takes pairs: a number and when it was so, a time or a number of seconds.

    Times are whole nanoseconds in a state. A pair is null when one of the two is, or its time NaN.
    """

    takes = "timed"
    column_names = ("value", "at")

    def skips(self, value: Any) -> bool:
        return super().skips(value) or is_nan(value[1])

    def checked(self, value: Any) -> Any:
        return number(value[0], self), instant(value[1], self)

    def families(self, value: Any) -> tuple[Hashable, ...]:
        value = self.pick(value)
        return (None,) if self.skips(value) else (family(value[1]),)


class OrderedPairs(_Pairs):
    """Takes pairs: a measure with an order, and an argument of any type."""

    takes = "ordered pair"
    column_names = ("measure", "argument")

    def checked(self, value: Any) -> Any:
        return plain(value[0]), value[1]

    def families(self, value: Any) -> tuple[Hashable, ...]:
        value = self.pick(value)
        return (None,) if self.skips(value) else (family(value[0]),)
