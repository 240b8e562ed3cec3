"""Quantiles of windows of a few rows: many windows are sorted side by side, by vector instructions.

Place j of all windows of a tile is a row of numbers, and a network of comparisons sorts the rows:
each comparison puts the smaller of two numbers into the one row and the larger into the other, for
all windows at once, and nothing depends on what they are.

        window       0    1    2    3    …
    place 0          4    1    5    2          ┐ smaller    1 …
    place 1          1    5    2    7          ┘ larger     4 …
    place 2          5    2    7    3
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from windrow.aggregations.quantiles import CONTINUOUS
from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import HIGHEST, Order, rank_of, value_of
from windrow.kernels.special.ranked import between, place_of

LONGEST = 20  # rows of a window, above which ranks are faster
TILE = 128  # windows that are sorted side by side: their rows of numbers stay in the nearest cache


@functools.cache
def network(n: int, wanted: frozenset[int]) -> Array:
    """Return the comparisons by which, in turn, n numbers are sorted: two places and a mark.

    Batcher's odd-even merge sort. Those marked by 1 have a part in the numbers at `wanted` places.

    >>> network(4, frozenset([0])).tolist()
    [[0, 1, 1], [2, 3, 1], [0, 2, 1], [1, 3, 0], [1, 2, 0]]
    """
    comparisons = [*_comparisons(n)]
    needed, marks = set(wanted), []
    for low, high in reversed(comparisons):
        marks.append(int(low in needed or high in needed))
        needed |= {low, high} if marks[-1] else set()
    pairs = np.array(comparisons, np.int64).reshape(-1, 2)
    return np.column_stack([pairs, np.array(marks[::-1], np.int64)])


def _comparisons(n: int) -> Iterator[tuple[int, int]]:
    part = 1
    while part < n:
        apart = part
        while apart >= 1:
            for begin in range(apart % part, n - apart, 2 * apart):
                for low in range(begin, min(begin + apart, n - apart)):
                    if low // (2 * part) == (low + apart) // (2 * part):
                        yield low, low + apart
            apart //= 2
        part *= 2


@inner
def _alike(lo: Array, hi: Array, rows: int) -> bool:
    """Whether each window has so many rows, and begins a row behind the one before it."""
    same = True
    for i in range(lo.size):
        same &= (lo[i] == lo[0] + i) & (hi[i] - lo[i] == rows)
    return same


@inner
def _sort(places: Array, pairs: Array, marked: bool) -> None:
    """Sort the windows of a tile; where only marked pairs are compared, the places they tell."""
    for pair in range(pairs.shape[0]):
        if marked and pairs[pair, 2] == 0:
            continue
        low, high = places[pairs[pair, 0]], places[pairs[pair, 1]]
        for i in range(TILE):
            a, b = low[i], high[i]
            low[i] = min(a, b)
            high[i] = max(a, b)


@compiled
def few_quantiles(
    bits: Array, nulls: Array, order: Order, lo: Array, hi: Array, pairs: Array, places: Array,
    asked: Array, how: int, out: Array, valid: Array,
) -> None:  # fmt: skip
    """out[s, i] is the quantile of window i at the share asked[s]; valid[i] is 0 if there is none.

    Windows have as many rows as `places` has or fewer, which `pairs` sorts. What is written is that
    of `window_quantiles`. O(w log² w) a window.
    """
    most = places.shape[0]
    continuous = how in CONTINUOUS
    made = out.view(np.float64)
    counts = np.empty(TILE, np.int64)
    found = np.empty((2, TILE), np.int64)
    real = found.view(np.float64)
    parts = np.empty(TILE)
    for first in range(0, lo.size, TILE):
        size = min(TILE, lo.size - first)
        here, ends = lo[first : first + size], hi[first : first + size]
        alike = nulls.size == 0 and _alike(here, ends, most)
        if alike:
            valid[first : first + size] = 1
            for j in range(most):
                values, keys = bits[here[0] + j :], places[j]
                for i in range(size):
                    keys[i] = rank_of(values[i], order)
        else:
            for i in range(size):
                count = 0
                for row in range(here[i], ends[i]):
                    if nulls.size == 0 or nulls[row] == 0:
                        places[count, i] = rank_of(bits[row], order)
                        count += 1
                counts[i] = count
                valid[first + i] = count > 0
                for j in range(count, most):  # behind all others
                    places[j, i] = HIGHEST
        _sort(places, pairs, alike)
        for s in range(asked.size):
            if alike:
                k, share = place_of(most, asked[s], how)
                following = min(k + 1, most - 1)
                for i in range(size):
                    found[0, i] = value_of(places[k, i], order)
                    found[1, i] = value_of(places[following, i], order)
                    parts[i] = share
            else:
                for i in range(size):
                    k, parts[i] = place_of(max(1, counts[i]), asked[s], how)
                    found[0, i] = value_of(places[k, i], order)
                    found[1, i] = value_of(places[min(k + 1, most - 1), i], order)
            for i in range(size):
                if not continuous:
                    out[s, first + i] = found[0, i]
                    continue
                a, b = real[0, i], real[1, i]
                if not order[1]:
                    a, b = np.float64(found[0, i]), np.float64(found[1, i])
                made[s, first + i] = between(a, b, parts[i]) if parts[i] > 0 else a
