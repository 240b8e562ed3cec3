"""Extrema and sums of windows given by their bounds: Two-Stacks, with arrays for the stacks.

The windows [lo, hi) never fall back, so they come in phases. A phase is split where the windows
before it ended, and holds the windows that begin at the split or before it:

              first                split                 end
        ────────┼─────────────────────┼────────────────────┼──
                ╞═════════ suffix of lo[i] ╪ prefix of hi[i] ╡        result = suffix ⊕ prefix

Suffixes and prefixes are filled in one go each, and then the results do not wait for each other.
The first window behind the split begins the next phase. A window that shares no value with the one
before begins a phase as if there were nothing before, so segments do not touch each other; and a
phase depends on where the last one ended alone, so pieces of the output can be computed apart: from
any window on where the result does not depend on the grouping, else from one that begins a phase.

Measured on 5·10⁶ rows at random times, windows of 1000, in ns a row of one thread: maxima 2.9,
sums 2.7, means 2.8. About a third of it is memory; windows of the last 1000 rows, which have no
bounds to be read, take 2.5 (maxima) and 1.4 (means). With one value at a time in the running maxima
and sums, and bounds read when they are wanted, it was 4.1, 3.5 and 3.8. Before bounds were asked
for ahead, those of half the size (int32) saved 0.3 with one thread, and nothing for means with two.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import Order, value_of
from windrow.kernels.special.running_maxima import prefix_maxima, suffix_maxima
from windrow.kernels.special.scans import (
    BLOCK,
    ask_for_block,
    prefix_sums,
    running_sums,
    suffix_sums,
)
from windrow.kernels.special.sums import plus
from windrow.windows.bounds import phase_end

# Bounds of windows so far ahead are brought into the cache, of which each phase reads a part.
AHEAD = 1024

# --- extrema -------------------------------------------------------------------------------


@compiled
def bounded_extremes(
    bits: Array, lo: Array, hi: Array, end: int, order: Order, scratch: Array, out: Array
) -> None:
    """out[i] is the maximum of the window (minimum for a flip of −1); nothing for an empty one.

    Bits and results as in `minmax`; `end` is where the window before the first one ends, and
    `scratch` two rows, longer than any window. O(1) a row.
    """
    suffix = scratch[0]
    prefix = scratch[1]
    i = 0
    while i < lo.size:
        first = lo[i]
        split = max(first, end)
        suffix_maxima(bits[first:split], order, suffix)
        last = phase_end(lo, i, split)
        end = max(hi[last - 1], split)
        prefix_maxima(bits[split:end], order, prefix)
        while i < last:
            ask_for_block(lo, i + AHEAD)
            ask_for_block(hi, i + AHEAD)
            stop = min(i + BLOCK, last)
            los = lo[i:stop]
            his = hi[i:stop]
            rows = out[i:stop]
            for k in range(rows.size):
                a = np.uint64(los[k] - first)
                b = np.uint64(max(his[k] - split, 0))
                rows[k] = value_of(max(suffix[a], prefix[b]), order)
            i = stop


# --- sums ----------------------------------------------------------------------------------


@inner
def growing_sums(values: Array, into: Array) -> None:
    """into[j] is the sum of the first j values, the same however many follow.

    Blocks of 64 are summed as in `sums.prefix_sums`, and their totals with compensation.
    """
    into[0] = 0.0
    high = 0.0
    low = 0.0
    for block in range(0, values.size, BLOCK):
        end = min(block + BLOCK, values.size)
        if end - block == BLOCK:
            y = into[block + 1 : end + 1]
            prefix_sums(values, block, into, block + 1)
            base = y[BLOCK - 1]
            for k in range(BLOCK):
                y[k] = high + (low + y[k])
            high, low = plus(high, low, base)
            continue
        base = 0.0
        whole = end - (end - block) % 8
        for r in range(block, whole, 8):
            x = values[r : r + 8]
            y = into[r + 1 : r + 9]
            sums = running_sums((x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]))
            for k in range(8):
                y[k] = high + (low + (base + sums[k]))
            base += sums[7]
        four = 0.0
        two = 0.0
        for r in range(whole, end):  # the beginning of such a tree
            last = values[r]
            if r & 1:
                last += values[r - 1]
            into[r + 1] = high + (low + (base + (four + (two + last))))
            if r & 3 == 1:
                two = last
            elif r & 3 == 3:
                four = two + last
                two = 0.0
        high, low = plus(high, low, base)


@inner
def shrinking_sums(values: Array, into: Array) -> None:
    """into[j] is the sum of the values from j on, in blocks from the end."""
    into[values.size] = 0.0
    high = 0.0
    low = 0.0
    for block in range(values.size, 0, -BLOCK):
        begin = max(block - BLOCK, 0)
        if block - begin == BLOCK:
            y = into[begin:block]
            suffix_sums(values, begin, into, begin)
            base = y[0]
            for k in range(BLOCK):
                y[k] = high + (low + y[k])
            high, low = plus(high, low, base)
            continue
        base = 0.0
        whole = begin + (block - begin) % 8
        for r in range(block - 8, whole - 1, -8):
            x = values[r : r + 8]
            y = into[r : r + 8]
            sums = running_sums((x[7], x[6], x[5], x[4], x[3], x[2], x[1], x[0]))
            for k in range(8):
                y[7 - k] = high + (low + (base + sums[k]))
            base += sums[7]
        for r in range(whole - 1, begin - 1, -1):
            base += values[r]
            into[r] = high + (low + base)
        high, low = plus(high, low, base)


@compiled(error_model="numpy")
def bounded_sums(
    values: Array, lo: Array, hi: Array, end: int, mean: bool, scratch: Array, out: Array
) -> None:
    """out[i] is the sum of the window, or its mean; 0 or NaN for an empty one. O(1) a row.

    `end` is where the window before the first one ends, which must begin a phase, and `scratch`
    two rows, longer than any window.
    """
    suffix = scratch[0]
    prefix = scratch[1]
    i = 0
    while i < lo.size:
        first = lo[i]
        split = max(first, end)
        shrinking_sums(values[first:split], suffix)
        last = phase_end(lo, i, split)
        end = max(hi[last - 1], split)
        growing_sums(values[split:end], prefix)
        while i < last:
            ask_for_block(lo, i + AHEAD)
            ask_for_block(hi, i + AHEAD)
            stop = min(i + BLOCK, last)
            los = lo[i:stop]
            his = hi[i:stop]
            rows = out[i:stop]
            for k in range(rows.size):
                a = np.uint64(los[k] - first)
                b = np.uint64(max(his[k] - split, 0))
                rows[k] = suffix[a] + prefix[b]
            if mean:
                for k in range(rows.size):
                    rows[k] /= his[k] - los[k]
            i = stop
