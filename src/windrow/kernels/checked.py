"""Which function stands for what in compiled functions of the user's own.

What a machine does otherwise than Python is done by `checked_arithmetic` and `checked_math`, or is
an error. `REPLACED` says which function stands for what, and `SAME` has those that mean the same in
both worlds.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.kernels import checked_arithmetic as arithmetic
from windrow.kernels import checked_math

_OF_NUMPY = (
    np.absolute, np.fabs, np.sqrt, np.square, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10,
    np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh,
    np.tanh, np.hypot, np.floor, np.ceil, np.trunc, np.rint, np.sign, np.minimum, np.maximum,
    np.fmin, np.fmax, np.isnan, np.isinf, np.isfinite,
)  # fmt: skip

BINARY: dict[Any, Callable[..., Any]] = {
    operator.add: arithmetic.add,
    operator.sub: arithmetic.subtract,
    operator.mul: arithmetic.multiply,
    operator.truediv: arithmetic.divide,
    operator.floordiv: arithmetic.floor_divide,
    operator.mod: arithmetic.remainder,
    operator.pow: arithmetic.power,
    operator.lshift: arithmetic.shift_left,
    operator.rshift: arithmetic.shift_right,
    **arithmetic.COMPARISONS,
}
UNARY: dict[Any, Callable[..., Any]] = {
    operator.neg: arithmetic.negative,
    operator.pos: arithmetic.positive,
    operator.invert: arithmetic.invert,
}
REPLACED: dict[Any, Callable[..., Any]] = {
    **BINARY,
    **UNARY,
    operator.abs: arithmetic.magnitude,
    abs: arithmetic.magnitude,
    int: arithmetic.whole,
    np.int64: arithmetic.whole,
    round: arithmetic.nearest,
    divmod: arithmetic.quotient_and_remainder,
    pow: arithmetic.power,
    min: arithmetic.smaller,
    max: arithmetic.larger,
    np.add: arithmetic.add,
    np.subtract: arithmetic.subtract,
    np.multiply: arithmetic.multiply,
    math.floor: arithmetic.lower_whole,
    math.ceil: arithmetic.upper_whole,
    math.trunc: arithmetic.whole,
    math.gcd: arithmetic.common_divisor,
    **checked_math.FUNCTIONS,
}
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
