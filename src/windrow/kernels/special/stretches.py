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
_SHORT, _LONG = 512, 8192
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
def _sorted(keys: Array, rows: Array, other: Array, other_rows: Array, counts: Array) -> bool:
    """Sort rows by their keys; whether the result is in `other`.

    By the highest bits in which keys differ, and then by insertion. Where that does not tell most
    of them apart, by all bits.
    """
    width = 11 if keys.size > _LONG else 8 if keys.size > _SHORT else 6
    moved = by_digits(keys, rows, other, other_rows, 64 - _PASSES * width, width, counts)
    if moved:
        keys, other = other, keys
        rows, other_rows = other_rows, rows
    if not insertion(keys, rows, 4 * keys.size):
        moved ^= by_digits(keys, rows, other, other_rows, 0, width, counts)
    return moved


@compiled
def rank_rows(
    bits: Array, nulls: Array, order: Order, lo: Array, edges: Array, rows: Array, ranks: Array,
    values: Array,
) -> None:  # fmt: skip
    """Fill `ranks` for the rows of all stretches, one after the other, and `values` in order.

    Each row has a rank of its own, equal values in any order. A null has none. A sort in linear
    time for each stretch.
    """
    most = longest(rows)
    buffer, spare = np.empty(most, np.uint64), np.empty(most, np.uint64)
    place, spare_place = np.empty(most, np.uint32), np.empty(most, np.uint32)
    counts = np.empty(1 << 11, np.uint32)
    for s in range(edges.size - 1):
        first = lo[edges[s]]
        own = ranks[rows[s] : rows[s + 1]]
        keys, at = buffer, place
        n = 0
        differing = np.uint64(0)
        for i in range(own.size):
            if nulls.size > 0 and nulls[first + i] != 0:
                own[i] = NOTHING
                continue
            keys[n] = np.uint64(rank_of(bits[first + i], order)) ^ _SIGN
            at[n] = np.uint32(i)
            differing |= keys[n] ^ keys[0]
            n += 1
        if n == 0:
            continue
        common = keys[0] & ~differing
        by = np.uint64(0)
        if differing != 0:  # the bits that all have are shifted out
            by = zeros_above(differing)
            common = keys[0] & ~(ALL >> by)
        for i in range(n):
            keys[i] <<= by
        if _sorted(keys[:n], at[:n], spare[:n], spare_place[:n], counts):
            keys, at = spare, spare_place
        found = values[rows[s] : rows[s + 1]]
        for k in range(n):
            own[at[k]] = np.uint32(k)
            found[k] = value_of(np.int64((common | (keys[k] >> by)) ^ _SIGN), order)
