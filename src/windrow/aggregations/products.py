"""Product, kept as mantissa and exponent so that no part of a window can overflow."""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.kinds import Numeric
from windrow.aggregations.ordering import number


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

    def unit(self, value: Any) -> Any:
        return _normal(number(value, self), 0)

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        if isinstance(a[0], float) != isinstance(b[0], float):
            a, b = _as_float(*a), _as_float(*b)
        return _normal(a[0] * b[0], a[1] + b[1])

    def lower(self, state: Any) -> Any:
        if state is None:
            return None
        factor, exponent = state
        if not exponent:
            return factor
        try:
            return math.ldexp(factor, exponent)
        except OverflowError:
            return math.copysign(math.inf, factor)


def _normal(factor: Any, exponent: int) -> tuple[Any, int]:
    """factor · 2^exponent with a float's factor in [½, 1); other numbers stay as they are."""
    if not isinstance(factor, float):
        return factor, exponent
    factor, shift = math.frexp(factor)
    return factor, exponent + shift if factor and math.isfinite(factor) else 0


def _as_float(factor: Any, exponent: int) -> tuple[float, int]:
    """The same with a float's factor, also for an integer that no float can hold."""
    if isinstance(factor, int):
        shift = max(0, factor.bit_length() - 64)
        factor, exponent = factor >> shift, exponent + shift
    return _normal(float(factor), exponent)
