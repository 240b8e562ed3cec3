"""How many distinct values a window holds: values are numbered, and each number is counted."""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import rank_of

GAMMA = 0x9E3779B97F4A7C15 - 2**64  # an odd number whose bits look like any


@inner
def _slot(keys: Array, numbers: Array, key: int) -> int:
    """Where the key is, or where it belongs."""
    mixed = key * GAMMA
    place = (mixed ^ (mixed >> 32)) & (keys.size - 1)
    while numbers[place] >= 0 and keys[place] != key:
        place = (place + 1) & (keys.size - 1)
    return place


@compiled
def number_values(bits: Array, nulls: Array, floating: bool, codes: Array) -> int:
    """Number the values by first occurrence, −1 for nulls, and tell how many there are.

    A hash table that is at most half full: O(1) a value. Every NaN is the same value, and so are
    both zeros.
    """
    size = 1024
    keys = np.empty(size, np.int64)
    numbers = np.full(size, -1, np.int64)
    distinct = 0
    for i in range(bits.size):
        if nulls.size > 0 and nulls[i] != 0:
            codes[i] = -1
            continue
        key = rank_of(bits[i], (0, floating))
        place = _slot(keys, numbers, key)
        if numbers[place] < 0:
            keys[place] = key
            numbers[place] = distinct
            distinct += 1
            if 2 * distinct > size:
                size *= 4
                wider = np.empty(size, np.int64)
                renumbered = np.full(size, -1, np.int64)
                for old in range(keys.size):
                    if numbers[old] >= 0:
                        new = _slot(wider, renumbered, keys[old])
                        wider[new] = keys[old]
                        renumbered[new] = numbers[old]
                keys = wider
                numbers = renumbered
                place = _slot(keys, numbers, key)
        codes[i] = numbers[place]
    return distinct


@compiled
def window_distinct(
    codes: Array, lo: Array, hi: Array, counts: Array, cursors: Array, out: Array
) -> None:
    """out[i] is the number of distinct codes in codes[lo[i]:hi[i]]; −1 is no value.

    lo and hi never fall; `counts` has a zero for each code, and `cursors` three for the first
    call, which leaves the window there for the next one.
    """
    head, end, distinct = cursors[0], cursors[1], cursors[2]
    for i in range(out.size):
        while head < min(lo[i], end):
            code = codes[head]
            if code >= 0:
                counts[code] -= 1
                distinct -= counts[code] == 0
            head += 1
        if end < lo[i]:
            head = end = lo[i]
        while end < hi[i]:
            code = codes[end]
            if code >= 0:
                distinct += counts[code] == 0
                counts[code] += 1
            end += 1
        out[i] = distinct
    cursors[0], cursors[1], cursors[2] = head, end, distinct
