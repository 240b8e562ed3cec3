"""What was found for two parts of windows, put together: the older part and the newer one.

Results may be written over what was found for older parts, as they are never asked for again: fresh
memory costs as much as a kernel. Newer parts are then further on in the same array, so results are
made a tile at a time, in memory of their own, where vector instructions do not ask what overlaps.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import (
    LOWEST,
    Order,
    key_of,
    rank_of,
    value_of,
)
from windrow.windows.bounds import last_at

_TILE = 512
# Parts of so many rows are added up one by one.
_FEW = 16
# So many are compared before it is asked whether one was large enough.
_STEP = 128


@compiled
def join_extremes(a: Array, b: Array, order: Order, out: Array) -> None:
    """out[i] is the larger of two values (the smaller for a flip of −1), as `minmax` compares them.

    The maximum of no floats at all is −1, the bits of a NaN that no other maximum has.
    """
    from_nothing = order[1] and order[0] == 0
    tile = np.empty(_TILE, np.int64)
    for k in range(0, out.size, _TILE):
        x, y, row = a[k : k + _TILE], b[k : k + _TILE], out[k : k + _TILE]
        for i in range(row.size):
            older = LOWEST if from_nothing and x[i] == -1 else key_of(x[i], order)
            newer = LOWEST if from_nothing and y[i] == -1 else key_of(y[i], order)
            tile[i] = value_of(max(older, newer), order)
        for i in range(row.size):
            row[i] = tile[i]


@inner
def _first_highest(bits: Array, nulls: Array, begin: int, end: int, order: Order) -> int:
    """The first position of [begin, end) whose value is the highest; −1 if none is not null."""
    part = bits[begin:end]
    highest, place = LOWEST, -1
    if nulls.size == 0:
        first = 0  # of the rows among which it is
        for k in range(0, part.size, _STEP):
            some = part[k : k + _STEP]
            key = LOWEST
            for i in range(some.size):
                key = max(key, rank_of(some[i], order))
            if key > highest:
                highest, first = key, k
        for i in range(first, part.size):
            if rank_of(part[i], order) == highest:
                return begin + i
        return -1
    for i in range(part.size):
        key = rank_of(part[i], order)
        if nulls[begin + i] == 0 and (place < 0 or key > highest):
            highest, place = key, begin + i
    return place


@compiled
def own_places(places: Array, first: int) -> Array:
    """Which places are windows' own rows, by their numbers; row first + i is window i's."""
    numbers = np.empty(places.size, np.int64)
    count = 0
    for k in range(0, places.size, _STEP):
        part = places[k : k + _STEP]
        alike = 0
        for i in range(part.size):
            alike += part[i] == first + k + i
        if alike:
            for i in range(part.size):
                if part[i] == first + k + i:
                    numbers[count] = k + i
                    count += 1
    return numbers[:count]


@compiled
def mend_places(
    bits: Array, nulls: Array, order: Order, lo: Array, hi: Array, rows: Array
) -> Array:
    """The places of the extremes of windows, each without one of its rows."""
    out = np.empty(rows.size, np.int64)
    for i in range(out.size):
        row = rows[i]
        older = _first_highest(bits, nulls, lo[i], row, order)
        newer = _first_highest(bits, nulls, row + 1, hi[i], order)
        early = newer < 0 or (
            older >= 0 and rank_of(bits[older], order) >= rank_of(bits[newer], order)
        )
        out[i] = older if early else newer
    return out


@compiled(error_model="numpy")
def divide_by_others(sums: Array, lo: Array, hi: Array) -> None:
    """Divide the sum of each window by how many rows it has besides its own."""
    for i in range(sums.size):
        sums[i] /= hi[i] - lo[i] - 1


@compiled
def join_sums(a: Array, b: Array, out: Array) -> None:
    """out[i] is the sum of two."""
    tile = np.empty(_TILE, out.dtype)
    for k in range(0, out.size, _TILE):
        x, y, row = a[k : k + _TILE], b[k : k + _TILE], out[k : k + _TILE]
        for i in range(row.size):
            tile[i] = x[i] + y[i]
        for i in range(row.size):
            row[i] = tile[i]


@compiled
def join_ends(a: Array, b: Array, last: bool, out: Array) -> None:
    """out[i] is the newer of two positions, or the older one; −1 stands for none."""
    for i in range(out.size):
        older, newer = a[i], b[i]
        out[i] = (older if newer < 0 else newer) if last else (newer if older < 0 else older)


@compiled
def join_places(values: Array, a: Array, b: Array, smallest: bool, out: Array) -> None:
    """out[i] is the position of the larger of the values at two, or of the smaller one.

    It is the older one of equal values. −1 stands for no position, NaN is the largest value.
    """
    for i in range(out.size):
        # both are looked up, whether or not there are two: no branch is guessed wrong
        older, newer = a[i], b[i]
        x = values[np.uint64(max(older, 0))]
        y = values[np.uint64(max(newer, 0))]
        early = ((x <= y) | (y != y)) if smallest else ((x >= y) | (x != x))
        out[i] = older if (early & (older >= 0)) | (newer < 0) else newer


@compiled(error_model="numpy")
def divide_by_lengths(
    sums: Array, starts: Array, frame: tuple[int, int], begin: int, fewer: int
) -> None:
    """Divide the sums of rows from `begin` on by how many rows there are from one end to another.

    So many `fewer` are in each window.
    """
    start, end = frame
    s = last_at(starts, begin)
    stop = begin + sums.size
    while s < starts.size - 1 and starts[s] < stop:
        first = starts[s]
        past = starts[s + 1]
        low = max(begin, first)
        row = sums[low - begin : min(stop, past) - begin]
        for i in range(row.size):
            hi = min(low + i + end + 1, past)
            row[i] /= hi - max(low + i + start, first) - fewer
        s += 1
