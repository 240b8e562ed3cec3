"""Stable sorting in linear time: by code, then by time within each code's segment; and moving rows.

Rows are counted by code and put where their code's segment goes on. A segment whose times are not
in order yet is sorted by insertion if it is short, and else by their bytes, the lowest first; a
byte that is the same in all of them is left out, as the high ones of times mostly are.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import LOWEST, rank_of
from windrow.windows.bounds import last_at

# Below this length, insertion beats the counters of eight bytes.
SHORT = 48


@compiled
def count_codes(codes: Array, begin: int, stop: int, counts: Array) -> int:
    """Count each code among rows begin … stop − 1; how often a code is below the one before.

    −1 − i tells that row i has no counter.
    """
    falls = 0
    previous = np.int64(0)
    for i in range(begin, stop):
        code = codes[i]
        if code < 0 or code >= counts.size:
            return -1 - i
        counts[code] += 1
        falls += code < previous
        previous = code
    return falls


@compiled
def place_codes(codes: Array, begin: int, stop: int, following: Array, places: Array) -> None:
    """The places of rows begin … stop − 1: where their code's next one goes; O(1) a row."""
    for i in range(begin, stop):
        code = codes[i]
        places[i] = following[code]
        following[code] += 1


@compiled
def in_order(bits: Array, starts: Array, begin: int, stop: int, floating: bool) -> bool:
    """Whether rows begin … stop − 1 never fall below the row before them in their segment.

    A segment is compared as a whole, by vector instructions: 0.4 ns a row, and 1.2 if each row
    were asked whether it is the first to fall.
    """
    s = last_at(starts, begin)
    while s < starts.size - 1 and starts[s] < stop:
        part = bits[max(starts[s], begin - 1) : min(starts[s + 1], stop)]
        later = part[1:]
        falls = 0
        for i in range(later.size):
            falls += rank_of(later[i], (0, floating)) < rank_of(part[i], (0, floating))
        if falls:
            return False
        s += 1
    return True


@inner
def insertion(keys: Array, rows: Array, most: int) -> bool:
    """Sort keys that are nearly sorted; false if that takes more than `most` moves."""
    for i in range(1, keys.size):
        key, row = keys[i], rows[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            rows[j] = rows[j - 1]
            j -= 1
        keys[j] = key
        rows[j] = row
        most -= i - j
        if most < 0:
            return False
    return True


@inner
def by_digits(
    keys: Array, rows: Array, other: Array, other_rows: Array, low: int, width: int, counts: Array
) -> bool:
    """Sort by so many bits at a time, from bit `low` on; whether the result is in `other`.

    Rows go with their keys, if there are rows. `counts` has room for every digit.
    """
    digits = np.uint64((1 << width) - 1)
    differing = np.uint64(0)
    one = keys[0]
    for i in range(keys.size):
        differing |= keys[i] ^ one
    moved = False
    for shift in range(low, 64, width):
        by = np.uint64(shift)
        if (differing >> by) & digits == 0:
            continue
        for digit in range(1 << width):
            counts[digit] = 0
        for i in range(keys.size):
            counts[(keys[i] >> by) & digits] += 1
        before = 0
        for digit in range(1 << width):
            here = counts[digit]
            counts[digit] = before
            before += here
        for i in range(keys.size):
            key = keys[i]
            digit = (key >> by) & digits
            place = counts[digit]
            counts[digit] = place + 1
            other[place] = key
            if rows.size > 0:
                other_rows[place] = rows[i]
        keys, other = other, keys
        rows, other_rows = other_rows, rows
        moved = not moved
    return moved


@compiled
def sort_segments(
    bits: Array, starts: Array, begin: int, stop: int, floating: bool, order: Array
) -> None:
    """Sort the rows in `order` of segments begin … stop − 1 by their values, unless they are.

    O(1) a row that is in order, at most 8 moves a row in a segment that is not.
    """
    longest = 0
    for s in range(begin, stop):
        longest = max(longest, starts[s + 1] - starts[s])
    keys = np.empty(longest, np.uint64)
    other_keys = np.empty(longest, np.uint64)
    other_rows = np.empty(longest, np.int32)
    counts = np.empty(256, np.int64)
    for s in range(begin, stop):
        rows = order[starts[s] : starts[s + 1]]
        n = rows.size
        falls = False
        previous = LOWEST
        for i in range(n):  # by itself: it waits for memory, and waits for many rows at once
            keys[i] = np.uint64(bits[np.uint32(rows[i])])
        for i in range(n):
            rank = rank_of(np.int64(keys[i]), (0, floating))
            falls |= rank < previous
            previous = rank
            keys[i] = np.uint64(rank) ^ np.uint64(0x8000000000000000)
        if not falls:
            continue
        if n <= SHORT:
            insertion(keys[:n], rows, SHORT * SHORT)
        elif by_digits(keys[:n], rows, other_keys[:n], other_rows[:n], 0, 8, counts):
            for i in range(n):
                rows[i] = other_rows[i]


# --- moving rows ---------------------------------------------------------------------------


@compiled
def gather(values: Array, positions: Array, begin: int, stop: int, out: Array) -> None:
    """out[i] = values[positions[i]] for i from begin to stop − 1."""
    for i in range(begin, stop):
        out[i] = values[np.uint64(positions[i])]


@compiled
def gather_bits(bits: Array, positions: Array, begin: int, stop: int, out: Array) -> None:
    """Bit i of all is bit positions[i] of `bits`, the lowest of a byte first.

    For the bytes from begin to stop − 1. In bits, a mask of 2·10⁶ rows stays in the cache: it takes
    a third of the time that one in bytes takes.
    """
    for k in range(begin, stop):
        some = positions[8 * k : 8 * k + 8]
        byte = np.uint64(0)
        for i in range(some.size):
            at = np.uint64(some[i])
            bit = np.uint64(bits[at >> np.uint64(3)]) >> (at & np.uint64(7))
            byte |= (bit & np.uint64(1)) << np.uint64(i)
        out[k] = byte


@compiled
def scatter(values: Array, positions: Array, begin: int, stop: int, out: Array) -> None:
    """out[positions[i]] = values[i] for i from begin to stop − 1."""
    for i in range(begin, stop):
        out[np.uint64(positions[i])] = values[i]
