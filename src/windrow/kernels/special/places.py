"""Where the largest or smallest value of a window is, and its first or last one that is not null.

Values are compared by the keys of `minmax`, with both zeros equal; the first of equal values wins.
Windows given by their bounds come in phases, as in `bounded`. The last w rows need no search for
them: split at every w-th row, as in van Herk's and Gil and Werman's scheme,

        ├───────┼───────┼───────┤         suffixes of the stretch before the split,
                ╞suffix═╪prefix═╡         prefixes of the one behind it

Whatever the grouping, the result is the same, so any rows can be computed apart from the others.
Measured on 5·10⁶ rows and windows of 1000, in ns a row of one thread: 4.1, and 4.9 by bounds. By
running maxima in vectors, of keys and then of places, it is 3.7 and 4.7 with vectors of 512 bits,
and 5.2 and 6.4 with those of 256.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.bounded import AHEAD
from windrow.kernels.special.minmax import LOWEST, Order, rank_of
from windrow.kernels.special.scans import BLOCK, ask_for_block
from windrow.windows.bounds import last_at, next_phase

# The rows of the scratch: keys and places of the suffixes, keys and places of the prefixes.
SCRATCH = 4


@inner
def _suffixes(
    bits: Array, nulls: Array, first: int, end: int, order: Order, keys: Array, at: Array
) -> None:
    """The highest key from each position of [first, end) on, and where the first such is."""
    part = bits[first:end]
    masked = nulls.size > 0
    part_nulls = nulls[first:end] if masked else nulls
    n = np.uint64(part.size)
    highest = LOWEST
    place = -1
    keys[part.size] = highest
    at[part.size] = place
    position = end
    for k in range(n):
        position -= 1
        j = n - np.uint64(1) - k
        key = rank_of(part[j], order)
        better = key >= highest
        if masked:
            better &= part_nulls[j] == 0
        highest = key if better else highest
        place = position if better else place
        keys[j] = highest
        at[j] = place


@inner
def _prefixes(
    bits: Array, nulls: Array, first: int, end: int, order: Order, keys: Array, at: Array
) -> None:
    """The highest key of the first k positions of [first, end), and where the first such is."""
    part = bits[first:end]
    masked = nulls.size > 0
    part_nulls = nulls[first:end] if masked else nulls
    highest = LOWEST
    place = -1
    keys[0] = highest
    at[0] = place
    later_keys = keys[1:]
    later_at = at[1:]
    for j in range(part.size):
        key = rank_of(part[j], order)
        better = (key > highest) | (place < 0)
        if masked:
            better &= part_nulls[j] == 0
        highest = key if better else highest
        place = first + j if better else place
        later_keys[j] = highest
        later_at[j] = place


@compiled
def bounded_places(
    bits: Array, nulls: Array, lo: Array, hi: Array, end: int, order: Order, scratch: Array,
    out: Array,
) -> None:  # fmt: skip
    """out[i] is the position of the maximum (minimum for a flip of −1) of the window; −1 for none.

    As `bounded.bounded_extremes`, with four rows of scratch. O(1) a row.
    """
    keys, at, later_keys, later_at = scratch[0], scratch[1], scratch[2], scratch[3]
    i = 0
    while i < lo.size:
        first, split, last, end = next_phase(lo, hi, i, end)
        _suffixes(bits, nulls, first, split, order, keys, at)
        _prefixes(bits, nulls, split, end, order, later_keys, later_at)
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
                early = (keys[a] >= later_keys[b]) & (at[a] >= 0)
                rows[k] = at[a] if early else later_at[b]
            i = stop


@compiled
def segment_places(
    bits: Array, nulls: Array, starts: Array, w: int, start: int, stop: int, order: Order,
    scratch: Array, out: Array,
) -> None:  # fmt: skip
    """The same for the last w rows of each row's own segment, for rows start … stop − 1."""
    keys, at, later_keys, later_at = scratch[0], scratch[1], scratch[2], scratch[3]
    split = start
    s = last_at(starts, start)
    while split < stop:
        while starts[s + 1] <= split:
            s += 1
        first = max(starts[s], split + 1 - w)
        end = min(min(starts[s + 1], stop), split + w)
        _suffixes(bits, nulls, first, split, order, keys, at)
        _prefixes(bits, nulls, split, end, order, later_keys, later_at)
        rows = out[split:end]
        back = split + 1 - w - first  # how far before `first` the first row's window begins
        for k in range(rows.size):
            a = np.uint64(max(back + k, 0))
            early = (keys[a] >= later_keys[k + 1]) & (at[a] >= 0)
            rows[k] = at[a] if early else later_at[k + 1]
        split = end


@compiled
def bounded_first(nulls: Array, lo: Array, hi: Array, row: int, cursors: Array, out: Array) -> None:
    """out[i] is the first position of the window that is not null; −1 if there is none.

    Where `row` is not negative, row + i is left out of window i. `cursors` are (−1, 0, −1, 0) for
    the first windows, and left for those that follow.
    """
    place, behind = cursors[0], cursors[1]
    for i in range(lo.size):
        place = max(place, lo[i])
        while place < hi[i] and nulls[place] != 0:
            place += 1
        first = place
        if row >= 0 and place == row + i:
            behind = max(behind, place + 1)
            while behind < hi[i] and nulls[behind] != 0:
                behind += 1
            first = behind
        out[i] = first if first < hi[i] else -1
    cursors[0], cursors[1] = place, behind


@compiled
def bounded_last(nulls: Array, lo: Array, hi: Array, row: int, cursors: Array, out: Array) -> None:
    """The same for the last position that is not null."""
    place, end, before, past = cursors[0], cursors[1], cursors[2], cursors[3]
    for i in range(lo.size):
        end = max(end, lo[i])
        while end < hi[i]:
            place = end if nulls[end] == 0 else place
            end += 1
        last = place
        if row >= 0 and place == row + i:
            past = max(past, lo[i])
            while past < place:
                before = past if nulls[past] == 0 else before
                past += 1
            last = before
        out[i] = last if last >= lo[i] else -1
    cursors[0], cursors[1], cursors[2], cursors[3] = place, end, before, past
