"""The functions of `math` for compiled code, with the errors that Python's raise.

Numba's give NaN or an infinity instead.
"""

# What Numba compiles has no annotations: its types come from the arguments.
# mypy: disable-error-code="no-untyped-def, misc, operator"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from windrow.kernels.checked_arithmetic import are_numbers

_OF_ONE = (
    math.sqrt, math.exp, math.expm1, math.log, math.log2, math.log10, math.log1p, math.sin,
    math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh,
    math.asinh, math.acosh, math.atanh, math.erf, math.erfc, math.gamma, math.fabs,
    math.degrees, math.radians,
)  # fmt: skip
_OF_TWO = (math.atan2, math.hypot, math.copysign, math.fmod, math.pow)
_OVERFLOWING = (
    math.exp, math.expm1, math.cosh, math.sinh, math.gamma, math.pow, math.hypot,
)  # fmt: skip


def _of_one(plain: Any) -> Callable[..., Any]:
    """A function of `math` that raises what Python's does, for compiled code."""
    overflows = plain in _OVERFLOWING

    def function(x):
        return plain(x)

    @overload(function)
    def chosen(x):
        if not are_numbers(x):
            return None

        def checked(x):
            given = float(x)
            result = plain(given)
            if result != result and given == given:
                raise ValueError("math domain error")
            if math.isinf(result) and math.isfinite(given):
                if overflows:
                    raise OverflowError("math range error")
                raise ValueError("math domain error")
            return result

        return checked

    return function


def _of_two(plain: Any) -> Callable[..., Any]:
    """The same for a function of two arguments."""
    overflows = plain in _OVERFLOWING

    def function(x, y):
        return plain(x, y)

    @overload(function)
    def chosen(x, y):
        if not are_numbers(x, y):
            return None

        def checked(x, y):
            first, second = float(x), float(y)
            result = plain(first, second)
            if result != result and first == first and second == second:
                raise ValueError("math domain error")
            if math.isinf(result) and math.isfinite(first) and math.isfinite(second):
                if overflows:
                    raise OverflowError("math range error")
                raise ValueError("math domain error")
            return result

        return checked

    return function


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{function: _of_one(function) for function in _OF_ONE},
    **{function: _of_two(function) for function in _OF_TWO},
}
