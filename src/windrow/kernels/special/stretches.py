"""Stretches of rows, each sorted once, so that a row is known by its rank there.

A stretch is eight windows long. Values are compared as in `minmax`: NaN is the largest, both zeros
are equal.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import Order, rank_of, value_of
from windrow.kernels.special.order import by_digits, insertion
from windrow.kernels.special.words import ALL, zeros_above

# A stretch has so many rows at least, and so many windows' lengths.
SHORTEST = 128
LENGTHS = 8
# A stretch ends before a window of fewer rows than one in so many: bits would lie far apart.
_SPARSE = 32
# Values of long stretches are sorted by 11 bits at a time, of short ones by 6, others by 8; in so
# many passes at first, which mostly tell all values apart.
_SHORT, _LONG, _VERY_LONG = 512, 8192, 1 << 18
_PASSES = 3
NOTHING = np.uint32(0xFFFFFFFF)  # the rank of a null
_SIGN = np.uint64(0x8000000000000000)


@compiled
def stretches(lo: Array, hi: Array, edges: Array, rows: Array) -> int:
    """How many stretches there are; stretch s has windows from edges[s] to edges[s + 1] − 1.

    `rows` gets where the rows of each begin if all are written one after the other. `edges` and
    `rows` have room for one more than there are windows.
    """
    count = 0
    i = 0
    rows[0] = 0
    while i < lo.size:
        first = lo[i]
        room = max(SHORTEST, LENGTHS * (hi[i] - first))
        edges[count] = i
        i += 1
        while i < lo.size and hi[i] - first <= room:
            if room > SHORTEST and _SPARSE * (hi[i] - lo[i]) < room:
                break
            i += 1
        count += 1
        rows[count] = rows[count - 1] + max(0, hi[i - 1] - first)
    edges[count] = lo.size
    return count


@inner
def longest(rows: Array) -> int:
    """Return how many rows the longest stretch has."""
    most = 0
    for s in range(rows.size - 1):
        most = max(most, rows[s + 1] - rows[s])
    return most


@inner
def _width(n: int) -> int:
    """Return how many bits of so many values are sorted at a time."""
    if n > _VERY_LONG:
        return 10  # places for more of them lie in more lines than the cache has
    return 11 if n > _LONG else 8 if n > _SHORT else 6


@compiled
def rank_rows(
    bits: Array, nulls: Array, order: Order, lo: Array, edges: Array, rows: Array, ranks: Array,
    values: Array,
) -> None:  # fmt: skip
    """Fill `ranks` for the rows of all stretches, one after the other, and `values` in order.

    Each row has a rank of its own, equal values in any order. A null has none. A sort in linear
    time for each stretch: first of words with the highest bits in which keys differ and the row
    below them, which take less room than a key and a row, and then of keys by insertion. Where
    that does not tell most of them apart, of keys by all bits.
    """
    most = longest(rows)
    buffer, words, spare = np.empty((3, most), np.uint64)
    place, spare_place = np.empty((2, most), np.uint32)
    counts = np.empty(1 << 11, np.uint32)
    for s in range(edges.size - 1):
        first = lo[edges[s]]
        own = ranks[rows[s] : rows[s + 1]]
        found = values[rows[s] : rows[s + 1]]
        n = own.size
        if n == 0:
            continue
        given, keys = bits[first : first + n], buffer[:n]
        one = np.uint64(rank_of(given[0], order)) ^ _SIGN
        differing = np.uint64(1)
        for i in range(n):
            keys[i] = np.uint64(rank_of(given[i], order)) ^ _SIGN
            differing |= keys[i] ^ one
        by, low = zeros_above(differing), ALL >> zeros_above(np.uint64(n))
        for i in range(n):
            words[i] = (keys[i] << by) & ~low | np.uint64(i)
        width = _width(n)
        sort = words[:n], place[:0], spare[:n], place[:0], 64 - _PASSES * width, width, counts
        inside = spare if by_digits(*sort) else words
        ordered, at = found.view(np.uint64), place[:n]
        for k in range(n):
            row = inside[k] & low
            at[k] = np.uint32(row)
            ordered[k] = keys[row]
        if not insertion(ordered, at, 4 * n):
            sort = ordered, at, keys, spare_place[:n], 0, width, counts
            if by_digits(*sort):
                ordered, at = keys, spare_place[:n]
        for k in range(n):
            own[at[k]] = np.uint32(k)
            found[k] = value_of(np.int64(ordered[k] ^ _SIGN), order)
        if nulls.size > 0:
            for i in range(n):
                if nulls[first + i] != 0:
                    own[i] = NOTHING
