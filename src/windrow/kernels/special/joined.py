"""What was found for two parts of windows, put together: the older part and the newer one.

Results may be written over what was found for older parts, as they are never asked for again: fresh
memory costs as much as a kernel. Newer parts are then further on in the same array, so results are
made a tile at a time, in memory of their own, where vector instructions do not ask what overlaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import (
    HIGHEST,
    INFINITY_BITS,
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
_STEP = 64


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


@compiled
def cover_extremes(found: Array, places: Array, order: Order, out: Array) -> None:
    """out[i] is the largest of the values at i + each of these places (as above), none of nothing.

    `out` may be what begins at the first of the places, which never fall.
    """
    tile = np.empty(_TILE, np.int64)
    for k in range(0, out.size, _TILE):
        row = out[k : k + _TILE]
        for i in range(row.size):
            tile[i] = LOWEST
        for place in places:
            x = found[place + k : place + k + row.size]
            for i in range(x.size):
                tile[i] = max(tile[i], key_of(x[i], order))
        for i in range(row.size):
            row[i] = value_of(tile[i], order)


@inner
def _highest(bits: Array, order: Order) -> int:
    """The highest key of some values."""
    highest = LOWEST
    for i in range(bits.size):
        highest = max(highest, key_of(bits[i], order))
    return highest


@compiled
def mend_extremes(
    bits: Array, lo: Array, hi: Array, first: int, order: Order, most: int, out: Array
) -> int:
    """Replace extremes of windows by those without their own rows, row first + i being window i's.

    Most windows have theirs from another row, and nothing is to be done; of the others the rows are
    gone through until one is as large. Returns how many rows were looked at; it was not done with
    if these are more than `most`.
    """
    looked = 0
    infinity = INFINITY_BITS if order[1] else HIGHEST
    same = np.zeros(_TILE, np.uint8)
    eights = same.view(np.uint64)
    for begin in range(0, out.size, _TILE):
        found = out[begin : begin + _TILE]
        own = bits[first + begin : first + begin + found.size]
        for i in range(found.size):  # whether their keys are one: of NaN there is one alone
            same[i] = (HIGHEST if own[i] & HIGHEST > infinity else own[i]) == found[i]
        for e in range((found.size + 7) // 8):
            if eights[e] == 0:
                continue
            for i in range(8 * e, min(8 * e + 8, found.size)):
                if same[i] == 0:
                    continue
                row = first + begin + i
                key = key_of(own[i], order)
                rest = LOWEST
                j = row
                while j > lo[begin + i] and rest != key:
                    rest = max(rest, _highest(bits[max(j - _STEP, lo[begin + i]) : j], order))
                    j -= _STEP
                k = row + 1
                while k < hi[begin + i] and rest != key:
                    rest = max(rest, _highest(bits[k : min(k + _STEP, hi[begin + i])], order))
                    k += _STEP
                found[i] = value_of(rest, order)
                looked += k - j
        if looked > most:
            break
    return looked


@inner
def _first_highest(bits: Array, nulls: Array, begin: int, end: int, order: Order) -> int:
    """The first position of [begin, end) whose value is the highest; −1 if none is not null."""
    part = bits[begin:end]
    highest = LOWEST
    if nulls.size == 0:
        for i in range(part.size):
            highest = max(highest, rank_of(part[i], order))
        for i in range(part.size):
            if rank_of(part[i], order) == highest:
                return begin + i
        return -1
    place = -1
    for i in range(part.size):
        key = rank_of(part[i], order)
        if nulls[begin + i] == 0 and (place < 0 or key > highest):
            highest, place = key, begin + i
    return place


@compiled
def mend_places(
    bits: Array,
    nulls: Array,
    lo: Array,
    hi: Array,
    first: int,
    order: Order,
    most: int,
    out: Array,
) -> int:
    """Replace places that are windows' own rows by those of the extremes without these rows.

    As `mend_extremes`; row first + i is window i's.
    """
    looked = 0
    for i in range(out.size):
        row = first + i
        if out[i] != row:
            continue
        older = _first_highest(bits, nulls, lo[i], row, order)
        newer = _first_highest(bits, nulls, row + 1, hi[i], order)
        early = newer < 0 or (
            older >= 0 and rank_of(bits[older], order) >= rank_of(bits[newer], order)
        )
        out[i] = older if early else newer
        looked += hi[i] - lo[i]
        if looked > most:
            break
    return looked


@inner
def _nearest(values: Array, row: int, by: int, size: int) -> tuple[int, Array]:
    """The values that are `by` further than so many rows from `row` on, and the first that has one.

    Of the rows before the first, and of the last one, it might not be there.
    """
    first = max(0, -(row + by))
    return first, values[row + by + first : max(row + by + size, 0)]


def _with_short(joined: Any, joined_all: Any) -> Any:
    """A compiled function that joins to out[i] the values of window i, if they are few.

    The nearest of them is `by` from row + i. Most windows have one at most, which is `joined`
    without a branch that might be guessed wrong; `joined_all` takes several. Returns how many
    windows have more than a few, which are the first of `some`.
    """
    joined, joined_all = inner(joined), inner(joined_all)

    @compiled
    def with_short(
        values: Array,
        order: Order,
        row: int,
        by: int,
        lo: Array,
        hi: Array,
        out: Array,
        some: Array,
    ) -> int:
        several = np.zeros(_TILE, np.uint8)
        eights = several.view(np.uint64)
        more = 0
        for k in range(0, out.size, _TILE):
            los, his, found = lo[k : k + _TILE], hi[k : k + _TILE], out[k : k + _TILE]
            first, near = _nearest(values, row + k, by, found.size)
            x, y, tile = los[first:], his[first:], found[first:]
            for i in range(near.size):
                tile[i] = joined(tile[i], near[i], order) if y[i] == x[i] + 1 else tile[i]
            for i in range(found.size):
                several[i] = his[i] > los[i] + 1
            for e in range((found.size + 7) // 8):
                if eights[e] == 0:
                    continue
                for i in range(8 * e, min(8 * e + 8, found.size)):
                    if several[i] == 0:
                        continue
                    if his[i] - los[i] > _FEW:
                        some[more] = k + i
                        more += 1
                        continue
                    found[i] = joined_all(found[i], values[los[i] : his[i]], order)
        return more

    return with_short


def _sum_of_two(found: float, value: float, order: Order) -> float:
    return found + value


def _sum_of_all(found: float, values: Array, order: Order) -> float:
    for value in values:
        found += value
    return found


def _larger(found: int, value: int, order: Order) -> int:
    key = LOWEST if order[1] and order[0] == 0 and found == -1 else key_of(found, order)
    return value_of(max(key, key_of(value, order)), order)


def _largest(found: int, values: Array, order: Order) -> int:
    key = LOWEST if order[1] and order[0] == 0 and found == -1 else key_of(found, order)
    for value in values:
        key = max(key, key_of(value, order))
    return value_of(key, order)


add_short = _with_short(_sum_of_two, _sum_of_all)  # whatever the order
raise_short = _with_short(_larger, _largest)  # as `join_extremes`


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


@compiled(error_model="numpy")
def join_means(
    starts: Array, begin: int, rows: tuple[int, int], a: Array, b: Array, out: Array
) -> None:
    """out[i] is the mean of the rows before row begin + i and behind it, whose sums are given.

    They are the last `rows` of the row before and of one that is as many rows behind, both of the
    segment; results of rows for which they are not mean nothing.
    """
    tile = np.empty(_TILE)
    s = last_at(starts, begin)
    i = 0
    while i < out.size:
        while starts[s + 1] <= begin + i:
            s += 1
        n = min(begin + i - starts[s], rows[0])
        end = i + 1  # a row whose older part still grows
        if n == rows[0]:
            end = min(i + _TILE, min(starts[s + 1] - begin, out.size))
        x, y, row = a[i:end], b[i:end], out[i:end]
        length = n + rows[1]
        for k in range(row.size):
            tile[k] = (x[k] + y[k]) / length
        for k in range(row.size):
            row[k] = tile[k]
        i = end
