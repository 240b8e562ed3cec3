"""Which functions a user's own functions may call where they are compiled.

`REPLACED` has those that compiled code computes otherwise than Python, with the function that is
called instead: those of `checked_arithmetic`, and the functions of `math`, as Numba's give NaN or
an infinity where Python's raise. `SAME` has those that compute the same. All others are refused.
"""

# What Numba compiles has no annotations: its types come from the arguments.
# mypy: disable-error-code="no-untyped-def, misc, operator"

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np
from numba import njit

from windrow.kernels.checked_arithmetic import REPLACED as REPLACED
from windrow.kernels.checked_arithmetic import are_numbers, compiled_only

_OF_NUMPY = (
    np.absolute, np.fabs, np.sqrt, np.square, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10,
    np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh,
    np.tanh, np.hypot, np.floor, np.ceil, np.trunc, np.rint, np.sign, np.minimum, np.maximum,
    np.fmin, np.fmax, np.isnan, np.isinf, np.isfinite,
)  # fmt: skip

SAME: frozenset[Any] = frozenset(
    {
        *(bool, float, len, range, enumerate, zip, any, all),
        *(getattr(math, name) for name in ("isnan", "isinf", "isfinite")),
        *(operator.and_, operator.or_, operator.xor, operator.not_, operator.getitem),
        *(np.float64, np.bool_, np.arange, np.zeros, np.ones, np.full, np.array),
        *_OF_NUMPY,
        *(
            each
            for each in vars(builtins).values()
            if isinstance(each, type) and issubclass(each, Exception)
        ),
    }
)

# -- functions of `math`, with the errors that Python's raise ------------------------------------

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
