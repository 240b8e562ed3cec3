"""Product, kept as mantissa and exponent so that no part of a window can overflow."""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.kinds import Numeric


class Product(Numeric):
    """The product: exact for integers; a float's parts neither overflow nor vanish.

    >>> from windrow import aggregator
    >>> swag = aggregator(Product())
    >>> for v in (1e200, 1e200, 1e-300): swag.insert(v)
    >>> swag.query()
    1e+100
    """

    commutative = True
    exact = False
    result = "float64"
    fields = {"factor": "float64", "exponent": "int64"}

    @staticmethod
    def unit(value: Any) -> Any:
        return math.frexp(value)

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        factor, shift = math.frexp(a[0] * b[0])
        return factor, a[1] + b[1] + shift

    @staticmethod
    def answer(state: Any) -> Any:
        exponent = min(max(state[1], -2200), 2200)  # in two steps: the first alone may overflow
        return math.ldexp(math.ldexp(state[0], exponent // 2), exponent - exponent // 2)

    # Python's integers, Decimals and Fractions stay as they are, with an exponent of 0.

    def lift(self, value: Any) -> Any:
        value = self.pick(value)
        if self.skips(value):
            return None
        value = self.checked(value)
        return self.unit(value) if isinstance(value, float) else (value, 0)

    def combine(self, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        if isinstance(a[0], float) or isinstance(b[0], float):
            return self.plus(_as_float(*a), _as_float(*b))
        return a[0] * b[0], 0

    def lower(self, state: Any) -> Any:
        if state is None or not isinstance(state[0], float):
            return None if state is None else state[0]
        try:
            return self.answer(state)
        except OverflowError:
            return math.copysign(math.inf, state[0])


def _as_float(factor: Any, exponent: int) -> tuple[float, int]:
    """Return a factor in [½, 1) and an exponent, also of an integer that no float can hold."""
    if isinstance(factor, int):
        shift = max(0, factor.bit_length() - 64)
        factor, exponent = factor >> shift, exponent + shift
    factor, shift = math.frexp(factor)
    return factor, exponent + shift
