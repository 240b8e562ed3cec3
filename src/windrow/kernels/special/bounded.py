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
Each kernel writes out how it goes through the blocks of a phase: with a function that did it for
all, extrema took 6 % longer, sums 14 %, and places (`places`) 2.6 times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.left_out import (
    any_own,
    highest_until,
    is_doubtful,
    is_own,
    subtract_rows,
    sum_of_others,
)
from windrow.kernels.special.minmax import Order, key_of, value_of
from windrow.kernels.special.running_maxima import prefix_maxima, suffix_maxima
from windrow.kernels.special.scans import (
    BLOCK,
    ask_for_block,
    prefix_sums,
    running_sums,
    suffix_sums,
)
from windrow.kernels.special.sums import plus
from windrow.windows.bounds import next_phase

# Bounds of windows so far ahead are brought into the cache, of which each phase reads a part.
AHEAD = 1024

# --- extrema -------------------------------------------------------------------------------


def _extremes(left_out: bool) -> Any:
    """A compiled function: out[i] is the maximum of window i (minimum for a flip of −1).

    Nothing for an empty one. Bits and results as in `minmax`; `end` is where the window before the
    first one ends, and `scratch` two rows, longer than any window. O(1) a row. Where rows are
    `left_out`, it is that of the window without row `row` + i, which is one of its rows; this may
    have to look at other rows one by one. Returns how many, and stops once they are more than
    `most`.
    """

    @compiled
    def extremes(
        bits: Array, lo: Array, hi: Array, end: int, order: Order, row: int, most: int,
        scratch: Array, out: Array,
    ) -> int:  # fmt: skip
        suffix = scratch[0]
        prefix = scratch[1]
        looked = 0
        i = 0
        while i < lo.size and looked <= most:
            first, split, last, end = next_phase(lo, hi, i, end)
            suffix_maxima(bits[first:split], order, suffix)
            prefix_maxima(bits[split:end], order, prefix)
            done = i if left_out else last
            while i < last or done < last:
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
                # Vectors wait for what was written one by one, so it is the block before's turn.
                if left_out and any_own(bits, row + done, out, done, i - done, order):
                    looked += _mend(
                        bits, lo[done:i], hi[done:i], row + done, (first, split), order, suffix,
                        prefix, out[done:i],
                    )  # fmt: skip
                if left_out:
                    done = i
                i = stop
        return looked

    return extremes


@inner(apart=True)
def _mend(
    bits: Array, lo: Array, hi: Array, row: int, phase: tuple[int, int], order: Order,
    suffix: Array, prefix: Array, out: Array,
) -> int:  # fmt: skip
    """Take row + k out of window k where the extreme is its own; how many rows were looked at.

    The maxima of a `phase` have all others but those on one side of the row:

            first   lo      row         split           hi
              ┼─────┼════════┼───────────┼───────────────┼
                     looked at   suffix        prefix
    """
    first, split = phase
    own = bits[row:]
    looked = 0
    for k in range(out.size):
        if not is_own(own[k], out[k], order):
            continue
        at = row + k
        if at < split:
            rest = max(suffix[at + 1 - first], prefix[max(hi[k] - split, 0)])
            begin, end = lo[k], at
        else:
            rest = max(suffix[lo[k] - first], prefix[at - split])
            begin, end = at + 1, hi[k]
        highest, seen = highest_until(bits, begin, end, key_of(own[k], order), rest, order)
        out[k] = value_of(highest, order)
        looked += seen
    return looked


bounded_extremes = _extremes(left_out=False)
bounded_extremes_without = _extremes(left_out=True)


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


def _sums(left_out: bool) -> Any:
    """A compiled function: out[i] is the sum of window i, or its mean; 0 or NaN for an empty one.

    `end` is where the window before the first one ends, which must begin a phase, and `scratch` two
    rows, longer than any window. O(1) a row. Where rows are `left_out`, as for extremes.
    """

    @compiled(error_model="numpy")
    def sums(
        values: Array, lo: Array, hi: Array, end: int, mean: bool, row: int, most: int,
        scratch: Array, out: Array,
    ) -> int:  # fmt: skip
        suffix = scratch[0]
        prefix = scratch[1]
        own = 1 if left_out else 0
        looked = 0
        i = 0
        while i < lo.size and looked <= most:
            first, split, last, end = next_phase(lo, hi, i, end)
            shrinking_sums(values[first:split], suffix)
            growing_sums(values[split:end], prefix)
            done = i
            while done < last:
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
                # Vectors wait for what was written one by one, so it is the block before's turn.
                if left_out and subtract_rows(values, row + done, out, done, i - done):
                    looked += _look(values, lo, hi, row, out, done, i)
                los = lo[done:i]
                his = hi[done:i]
                rows = out[done:i]
                if mean:
                    for k in range(rows.size):
                        rows[k] /= his[k] - los[k] - own
                done = i
                i = stop
        return looked

    return sums


@inner(error_model="numpy", apart=True)
def _look(values: Array, lo: Array, hi: Array, row: int, sums: Array, begin: int, end: int) -> int:
    """Put right those of sums `begin` … `end` − 1 that are doubtful; how many rows were looked at.

    Window k is that of row + k. No slice of a loop is handed over to it: Numba would count at every
    block who refers to the slice, by instructions that wait for all memory (0.9 ns a row).
    """
    own = values[row:]
    looked = 0
    for k in range(begin, end):
        if is_doubtful(own[k], sums[k]):
            sums[k], seen = sum_of_others(values, lo[k], hi[k], row + k, sums[k])
            looked += seen
    return looked


bounded_sums = _sums(left_out=False)
bounded_sums_without = _sums(left_out=True)
