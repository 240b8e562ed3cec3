"""Rolling maximum and minimum, in a time that does not depend on the window.

The order is Spark's: NaN is larger than any number and equal to itself. Float bits are turned
into integers in that order (`_load`), so that one integer maximum, which the processor has as a
vector instruction, serves floats and integers, and, on complemented keys, the minimum as well.

A maximum may count a value twice, so overlapping pieces cover a window:

    m₂ₖ[i] = max(mₖ[i], mₖ[i-k])        the last 2k values from the last k, whole tiles at a time

                 l                                  i        l = i-w+1
        ├────────┼────────┼────────┼────────┼───────┼┤       blocks of 64, at multiples of 64
                 ╞═══m₆₄══╡                 ╞══m₆₄══╡
                          ╞══════ mid ══════╡                whole blocks inside the window

and w ≤ 128 needs no `mid`. The maximum of a run of whole blocks is the van Herk/Gil-Werman
scheme, on one number a block: suffix maxima of the chunk of blocks before a boundary, and the
running maximum after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, void

BLOCK = 64
# Eight blocks: the tile's four buffers (18 KB) stay in the first-level cache.
TILE = 512
LOWEST = -(2**63)
HIGHEST = 2**63 - 1
INFINITY_BITS = 0x7FF0000000000000

Array = np.ndarray[Any, Any]


@njit(void(int64[::1], int64, int64, int64, boolean, int64[::1]), cache=True, nogil=True)
def _load(bits: Array, first: int, last: int, flip: int, floating: bool, keys: Array) -> None:
    """Fill `keys` with the keys of positions first … last-1; none is larger before position 0.

    A negative float has its other bits complemented, which puts the bits of all floats in their
    order; NaN, whatever its sign and payload, becomes the highest key.
    """
    before = min(max(-first, 0), last - first)
    for i in range(before):
        keys[i] = LOWEST
    source = bits[first + before : last]
    target = keys[before : last - first]
    if floating:
        for i in range(source.size):
            key = source[i]
            key ^= (key >> 63) & HIGHEST
            if source[i] & HIGHEST > INFINITY_BITS:
                key = HIGHEST
            target[i] = key ^ flip
    else:
        for i in range(source.size):
            target[i] = source[i] ^ flip


@njit(void(int64[::1], int64, boolean, int64[::1]), cache=True, nogil=True)
def _store(keys: Array, flip: int, floating: bool, target: Array) -> None:
    """Turn keys back into what they were made from."""
    if floating:
        for i in range(target.size):
            key = keys[i] ^ flip
            target[i] = key ^ ((key >> 63) & HIGHEST)
    else:
        for i in range(target.size):
            target[i] = keys[i] ^ flip


@njit(void(int64[::1], int64[::1], int64, int64), cache=True, nogil=True)
def _pairwise(source: Array, target: Array, k: int, size: int) -> None:
    """m₂ₖ from mₖ; the first entries, whose window would begin before `source`, mean nothing."""
    later = source[k:size]
    into = target[k:size]
    for i in range(later.size):
        into[i] = max(later[i], source[i])


@njit(void(int64[::1], int64[::1], int64, int64), cache=True, nogil=True)
def _fourfold(source: Array, target: Array, k: int, size: int) -> None:
    """m₄ₖ from mₖ: two doublings in one pass, a third faster than one after the other."""
    # Slices that begin at 0: an index i-k might be negative for all the compiler knows, and a
    # loop that has to ask is not vectorised (40 times slower).
    b = source[k:size]
    c = source[2 * k : size]
    d = source[3 * k : size]
    into = target[3 * k : size]
    for i in range(d.size):
        into[i] = max(max(source[i], b[i]), max(c[i], d[i]))


@njit(void(int64[::1], int64[::1], int64), cache=True, nogil=True)
def _last_64(keys: Array, ends: Array, size: int) -> None:
    """Put m₆₄ of the keys into `ends`, from entry 63 on; the keys are lost."""
    _fourfold(keys, ends, 1, size)
    _fourfold(ends, keys, 4, size)
    _fourfold(keys, ends, 16, size)


@njit(int64(int64[::1], int64, int64, boolean, int64[::1]), cache=True, nogil=True)
def _block_maximum(bits: Array, block: int, flip: int, floating: bool, keys: Array) -> int:
    """The highest key of one whole block."""
    _load(bits, block * BLOCK, (block + 1) * BLOCK, flip, floating, keys)
    highest = keys[0]
    for i in range(1, BLOCK):
        highest = max(highest, keys[i])
    return highest


@njit(void(int64[::1], int64[::1], int64), cache=True, nogil=True)
def _suffixes(totals: Array, suffix: Array, size: int) -> None:
    """suffix[k] is the maximum of totals[k:size]."""
    highest = LOWEST
    suffix[size] = highest
    for k in range(size - 1, -1, -1):
        highest = max(highest, totals[k])
        suffix[k] = highest


@njit(
    void(int64[::1], int64, int64, int64, int64, boolean, int64[::1]),
    cache=True,
    nogil=True,
)
def _short(
    bits: Array, w: int, start: int, stop: int, flip: int, floating: bool, out: Array
) -> None:
    """Windows of fewer than 64 values: two overlapping powers of two. log₂ w passes."""
    source = np.empty(TILE + BLOCK, np.int64)
    target = np.empty(TILE + BLOCK, np.int64)
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        size = last - first + w - 1
        _load(bits, first - w + 1, last, flip, floating, source)
        k = 1
        while 2 * k <= w:
            _pairwise(source, target, k, size)
            source, target = target, source
            k *= 2
        if k < w:
            _pairwise(source, target, w - k, size)
            source, target = target, source
        _store(source[w - 1 :], flip, floating, out[first:last])


@njit(
    void(int64[::1], int64, int64, int64, int64, boolean, int64[::1]),
    cache=True,
    nogil=True,
)
def _long(
    bits: Array, w: int, start: int, stop: int, flip: int, floating: bool, out: Array
) -> None:
    """Windows of 64 values and more: both ends by m₆₄, the blocks between them by their maxima.

    With w-1 = 64 s + t, row j of block b begins in block b-s-1 if j < t, else in block b-s, so
    that the blocks from b-s, or from b-s+1, to b-1 are whole.
    """
    keys = np.empty(TILE + BLOCK, np.int64)
    ends = np.empty(TILE + BLOCK, np.int64)
    beginnings = np.empty(TILE + BLOCK, np.int64)
    s = (w - 1) // BLOCK
    t = (w - 1) % BLOCK
    block = start // BLOCK

    chunk = max(s, 1)
    totals = np.full(chunk, LOWEST, np.int64)
    suffix = np.full(chunk + 1, LOWEST, np.int64)
    boundary = block // chunk * chunk
    if s and boundary:
        for k in range(s):
            totals[k] = _block_maximum(bits, boundary - s + k, flip, floating, keys)
        _suffixes(totals, suffix, s)
    prefix = LOWEST
    for k in range(block - boundary):
        totals[k] = _block_maximum(bits, boundary + k, flip, floating, keys)
        prefix = max(prefix, totals[k])

    for first in range(block * BLOCK, stop, TILE):
        last = min(first + TILE, stop)
        size = last - first + BLOCK - 1
        _load(bits, first - BLOCK + 1, last, flip, floating, keys)
        _last_64(keys, ends, size)
        _load(bits, first - w + 1, last - w + BLOCK, flip, floating, keys)
        _last_64(keys, beginnings, size)
        for at in range(0, last - first, BLOCK):
            end = ends[BLOCK - 1 + at :]
            beginning = beginnings[BLOCK - 1 + at :]
            row = keys[at:]
            total = end[BLOCK - 1]
            wide = LOWEST
            narrow = LOWEST
            if s:
                wide = max(suffix[block - boundary], prefix)
                narrow = max(suffix[block - boundary + 1], prefix)
            for j in range(BLOCK):
                mid = wide if j < t else narrow
                row[j] = max(max(end[j], beginning[j]), mid)
            block += 1
            if s:
                totals[block - 1 - boundary] = total
                prefix = max(prefix, total)
                if block - boundary == s:
                    _suffixes(totals, suffix, s)
                    boundary = block
                    prefix = LOWEST
        begin = max(first, start)
        _store(keys[begin - first :], flip, floating, out[begin:last])


@njit(
    void(int64[::1], int64, int64, int64, int64, boolean, int64[::1]),
    cache=True,
    nogil=True,
)
def _rolling(
    bits: Array, w: int, start: int, stop: int, flip: int, floating: bool, out: Array
) -> None:
    if w < BLOCK:
        _short(bits, w, start, stop, flip, floating, out)
    else:
        _long(bits, w, start, stop, flip, floating, out)


@njit(void(float64[::1], int64, int64, int64, float64[::1]), cache=True, nogil=True)
def rolling_max_f64(values: Array, w: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the maximum of the last w values up to i; NaN if one is NaN. O(1) a row."""
    _rolling(values.view(np.int64), w, start, stop, 0, True, out.view(np.int64))


@njit(void(float64[::1], int64, int64, int64, float64[::1]), cache=True, nogil=True)
def rolling_min_f64(values: Array, w: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the minimum of the last w values up to i; NaN if all are NaN. O(1) a row."""
    _rolling(values.view(np.int64), w, start, stop, -1, True, out.view(np.int64))


@njit(void(int64[::1], int64, int64, int64, int64[::1]), cache=True, nogil=True)
def rolling_max_i64(values: Array, w: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the maximum of the last w values up to i. O(1) a row."""
    _rolling(values, w, start, stop, 0, False, out)


@njit(void(int64[::1], int64, int64, int64, int64[::1]), cache=True, nogil=True)
def rolling_min_i64(values: Array, w: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the minimum of the last w values up to i. O(1) a row."""
    _rolling(values, w, start, stop, -1, False, out)
