"""The functions of `math` for compiled code, with the errors that Python's raise.

Numba's give NaN or an infinity instead.
"""

# What Numba compiles has no annotations: its types come from the arguments.
# mypy: disable-error-code="no-untyped-def, misc, operator"

from __future__ import annotations

import math
from typing import Any

from numba import njit

from windrow.kernels.checked_arithmetic import REPLACED as REPLACED
from windrow.kernels.checked_arithmetic import are_numbers, compiled_only

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


@njit
def _usual(result, finite, known, overflows):
    """Raise what Python does for a result of finite arguments, or of those that are not NaN."""
    if result != result and known:
        raise ValueError("math domain error")
    if math.isinf(result) and finite:
        if overflows:
            raise OverflowError("math range error")
        raise ValueError("math domain error")
    return result


def _of_one(plain: Any) -> None:
    """Replace a function of `math` by one that raises what Python's does."""
    overflows = plain in _OVERFLOWING

    @compiled_only(plain)
    def chosen(x):
        if not are_numbers(x):
            return None

        def checked(x):
            x = float(x)
            return _usual(plain(x), math.isfinite(x), x == x, overflows)

        return checked


def _of_two(plain: Any) -> None:
    """Replace a function of two arguments likewise."""
    overflows = plain in _OVERFLOWING

    @compiled_only(plain)
    def chosen(x, y):
        if not are_numbers(x, y):
            return None

        def checked(x, y):
            x, y = float(x), float(y)
            finite = math.isfinite(x) and math.isfinite(y)
            return _usual(plain(x, y), finite, x == x and y == y, overflows)

        return checked


for _function in _OF_ONE:
    _of_one(_function)
for _other in _OF_TWO:
    _of_two(_other)
