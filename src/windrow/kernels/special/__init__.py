"""Loops specialised to one aggregation over one kind of number."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8

Array = np.ndarray[Any, Any]
INTS, FLOATS, BYTES = int64[::1], float64[::1], uint8[::1]  # the types of arrays
# A function with one signature, kept on disk (see `kernels.cache`), which runs in any thread.
compiled = functools.partial(njit, cache=True, nogil=True)
