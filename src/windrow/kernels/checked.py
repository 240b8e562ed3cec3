"""Which functions a user's own functions may call where they are compiled.

`REPLACED` has those that compiled code computes otherwise than Python, with the function that is
called instead: `checked_arithmetic` and `checked_math` define them. `SAME` has those that compute
the same. All others are refused.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from windrow.kernels.checked_math import REPLACED as REPLACED

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
