"""Compiled hashes: those of `windrow.aggregations.hashing`, bit for bit."""

# What Numba compiles has no annotations: its types come from the arrays.

from __future__ import annotations

import math

import numpy as np
from numba import njit

from windrow.aggregations import hashing

# A compiled function is called from generated modules only, and optimised into them there.
small = njit(error_model="numpy")

GAMMA = np.uint64(hashing.GAMMA)
FLOAT_SALT = np.uint64(hashing.FLOAT_SALT)
NAN_BITS = np.uint64(hashing.NAN_BITS)
FACTOR_1, FACTOR_2 = map(np.uint64, hashing.FACTORS)
LOWEST = -(2.0**63)


@small
def mix64(bits):
    """The first output of splitmix64 seeded with `bits`."""
    bits = np.uint64(bits) + GAMMA
    bits = (bits ^ (bits >> np.uint64(30))) * FACTOR_1
    bits = (bits ^ (bits >> np.uint64(27))) * FACTOR_2
    return bits ^ (bits >> np.uint64(31))


@small
def hash_int64(x):
    """`hash64` of an integer."""
    return mix64(np.uint64(x))


@small
def hash_float64(x):
    """`hash64` of a float: that of the integer, where it is one."""
    if x != x:
        return mix64(NAN_BITS ^ FLOAT_SALT)
    if LOWEST <= x < -LOWEST and x == math.floor(x):
        return mix64(np.uint64(np.int64(x)))
    return mix64(np.float64(x).view(np.uint64) ^ FLOAT_SALT)
