"""Rows of a histogram: how many values there are, and how many of them in each bin."""

# What Numba compiles has no annotations: its types come from the arrays.

from __future__ import annotations

import numpy as np

from windrow.kernels.hashing import small
from windrow.kernels.sketch_rows import row_copy


@small
def bin_of(edges, x):
    """The bin of a value, or −1; `edges` rise, and the last bin has both of its ends."""
    if not edges[0] <= x <= edges[edges.size - 1]:
        return -1
    return min(np.searchsorted(edges, x, side="right"), edges.size - 1) - 1


@small
def count_in_bin(edges, x, null, into):
    """Write the row of one value."""
    for k in range(into.size):
        into[k] = 0
    if null:
        return
    into[0] = 1
    place = bin_of(edges, x)
    if place >= 0:
        into[1 + place] = 1


@small
def histogram_plus(a, b, into):
    """Write the sum of two rows."""
    for k in range(into.size):
        into[k] = a[k] + b[k]


@small
def histogram_minus(a, b, into):
    """Write the difference of two rows."""
    for k in range(into.size):
        into[k] = a[k] - b[k]


@small
def histogram_answer(state, into):
    """Write the row as it is; whether it has values."""
    row_copy(state, into)
    return state[0] != 0
