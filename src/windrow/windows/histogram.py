"""The exponential histogram of ADWIN, compiled: buckets of 1, 2, 4, … values, few of each size.

Of each size there are the number of buckets, their sums, and their Σ (x − mean)², oldest first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from windrow.compiled import compiled, inner

Array = Any
LEVELS = 60


@inner
def _merge(size: int, a: float, b: float, qa: float, qb: float) -> tuple[float, float]:
    """Return the sum and the squares of two parts of `size` values each."""
    between = (b - a) / size
    return a + b, qa + qb + between * between * size / 2


@inner
def _insert(value: float, most: int, counts: Array, sums: Array, squares: Array) -> None:
    """Add a bucket of one value; where there are too many of a size, two become one."""
    level, size, s, q = 0, 1, value, 0.0
    while True:
        k = counts[level]
        sums[level, k], squares[level, k] = s, q
        counts[level] = k + 1
        if k < most:
            return
        s, q = _merge(size, sums[level, 0], sums[level, 1], squares[level, 0], squares[level, 1])
        for i in range(2, k + 1):
            sums[level, i - 2], squares[level, i - 2] = sums[level, i], squares[level, i]
        counts[level] = k - 1
        level += 1
        size *= 2


@inner
def _changed(delta: float, top: int, counts: Array, sums: Array, squares: Array) -> bool:
    """Return whether two parts of the window have means that differ by more than chance."""
    n, total, square = 0.0, 0.0, 0.0
    for level in range(top, -1, -1):
        size = float(1 << level)
        for k in range(counts[level]):
            if n:
                apart = sums[level, k] / size - total / n
                square += apart * apart * n * size / (n + size)
            square += squares[level, k]
            total += sums[level, k]
            n += size
    if n < 2.0:
        return False
    chance = math.log(2.0 * math.log(n) / delta)
    variance = square / n
    n0, total0 = 0.0, 0.0
    for level in range(top, -1, -1):
        size = float(1 << level)
        for k in range(counts[level]):
            n0 += size
            total0 += sums[level, k]
            n1 = n - n0
            if n1 < 1.0:
                return False
            share = 1.0 / n0 + 1.0 / n1
            bound = math.sqrt(2.0 * share * variance * chance) + 2.0 / 3.0 * share * chance
            if abs(total0 / n0 - (total - total0) / n1) >= bound:
                return True
    return False


@inner
def _drop(delta: float, counts: Array, sums: Array, squares: Array) -> int:
    """Let the oldest buckets go while the mean has changed; return how many values went."""
    gone = 0
    top = 0
    for level in range(counts.size):
        if counts[level]:
            top = level
    while _changed(delta, top, counts, sums, squares):
        gone += 1 << top
        for i in range(1, counts[top]):
            sums[top, i - 1], squares[top, i - 1] = sums[top, i], squares[top, i]
        counts[top] -= 1
        while top and counts[top] == 0:
            top -= 1
    return gone


@inner
def _push(value: float, most: int, delta: float, counts: Array, sums: Array, squares: Array) -> int:
    """Take a value in, and return how many of the oldest go."""
    _insert(value, most, counts, sums, squares)
    gone: int = _drop(delta, counts, sums, squares)
    return gone


@compiled
def push(value: float, most: int, delta: float, counts: Array, sums: Array, squares: Array) -> int:
    """Take a value in, and return how many of the oldest go."""
    gone: int = _push(value, most, delta, counts, sums, squares)
    return gone


@compiled
def slide(
    values: Array,
    starts: Array,
    fresh: Array,
    heads: Array,
    most: int,
    delta: float,
    first: Array,
    counts: Array,
    sums: Array,
    squares: Array,
) -> None:
    """Write where the window of each row begins, from the first fresh one of each segment on."""
    for s in range(starts.size - 1):
        if fresh[s] == starts[s + 1]:
            continue
        head = heads[s]
        _restore(values, head, fresh[s], most, counts, sums, squares)
        for i in range(fresh[s], starts[s + 1]):
            if values[i] == values[i]:
                gone = _push(values[i], most, delta, counts, sums, squares)
                if gone:
                    while gone or values[head] != values[head]:
                        gone -= values[head] == values[head]
                        head += 1
            first[i] = head


@inner
def _restore(
    values: Array, begin: int, stop: int, most: int, counts: Array, sums: Array, squares: Array
) -> None:
    """Make the histogram of the values of some rows."""
    counts[:] = 0
    n = 0
    for i in range(begin, stop):
        n += values[i] == values[i]
    if n == 0:
        return
    top, base = 0, 0  # of all sizes below the largest there are `most` − 1 buckets, or one more
    while (n - base) >> top > most:
        base += (most - 1) << top
        top += 1
    rest = n - base
    i = begin
    for level in range(top, -1, -1):
        count = rest >> top if level == top else most - 1 + (rest >> level & 1)
        counts[level] = count
        for k in range(count):
            i, sums[level, k], squares[level, k] = _bucket(values, i, level)


@inner
def _bucket(values: Array, i: int, level: int) -> tuple[int, float, float]:
    """Return the row behind the next 2^level values from row i on, their sum and squares."""
    parts, others = np.zeros(level + 1), np.zeros(level + 1)
    for count in range(1, (1 << level) + 1):
        while values[i] != values[i]:
            i += 1
        s, q = values[i], 0.0
        i += 1
        at, size = 0, 1
        while count & size == 0:
            s, q = _merge(size, parts[at], s, others[at], q)
            at += 1
            size *= 2
        parts[at], others[at] = s, q
    return i, parts[level], others[level]
