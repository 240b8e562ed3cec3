"""Rolling sums that forget: nothing that has left the window has touched the result.

A running sum subtracts what leaves, and keeps its rounding errors, or a NaN, for ever. Here a
window is the sum of parts none of which holds a value from outside of it. Windows that end in the
same octet, of 8 rows, begin in the same 8 values, and what lies between is common to all of them:

           w−1 rows before                                    an octet
        ├──┬──────────────┤                              ├───────┬────────┤
           ╞═══suffix═════╪═══════════ between ══════════╪prefix═╡

Between the octets of a short window lie up to 6 others, and before these the end of one. Of a long
window the 64 rows of a block are done at once: between lie 7 octets of both blocks, and between the
blocks, besides some values, whole blocks. These are summed with compensation, as high + low, by a
scheme one level up: suffixes of the chunk of blocks before a boundary, and the running sum after
it. Which values are added to which depends on their positions only, so pieces of the output can be
computed apart.

Every part is a tree of additions (`octets`). The error is smaller than that of pandas, which adds
and removes with compensation, but for windows of up to 140 values far from 0, where it is up to 1.3
times as large (root mean square). Bottleneck's moving sum, which adds and subtracts once a row, is
200 to 10⁴ times less exact.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.kernels.special.octets import (
    OCTET,
    block_total,
    growing_means,
    growing_sums,
    octet_ends,
    parts_of_windows,
    put_multiples_together,
    put_quotients_together,
    total_of_first,
    window_multiples,
    window_quotients,
    window_sums,
)
from windrow.kernels.special.past_cache import align_stack, end_of_stores, past_cache_pays
from windrow.kernels.special.scans import BLOCK, ask_for_block, running_sums

FEW = 8
# What short windows are computed in: a few buffers of it fit into the first-level cache.
STRIP = 512
# From so many blocks on values are asked for in advance: a window's beginning is then read from the
# second-level cache, and the processor no longer sees that its end goes on from block to block.
FAR = 8
# What variances of long ones are computed in: what is written is long in the cache when it is read.
TILE = 2 * BLOCK
# Where what lies in the scratch of sums; slices of it would be counted for every segment.
_NEWER, _OLDER, _ROWS, _PARTS = 0, STRIP, 2 * STRIP, 3 * STRIP
_TOTALS = _EDGES = 4 * STRIP
_SPACE = STRIP // OCTET + OCTET  # for a number of each octet of a strip, and of the block before it
_ENDS, _HIGH, _LOW, SCRATCH = (_TOTALS + i * _SPACE for i in range(1, 5))


@inner
def plus(high: float, low: float, value: float) -> tuple[float, float]:
    """high + low + value, with what rounding takes from high kept in low (Knuth's TwoSum).

    Once high is infinite or NaN, low is 0: it would be NaN, and turn an infinity into one.
    """
    total = high + value
    t = total - high
    low += (high - (total - t)) + (value - t)
    return total, low if total - total == 0.0 else 0.0


@inner
def load_tile(values: Array, first: int, tile: Array) -> None:
    """Fill a tile with the values from the first-th on, and with zeros where there are none.

    No value is asked whether it is there: vectors that read under a mask take 100 times as long
    where no memory is.
    """
    before = min(max(-first, 0), tile.size)
    present = max(min(values.size - first, tile.size), before)
    source = values[first + before : first + present]
    target = tile[before:present]
    for i in range(target.size):
        target[i] = source[i]
    for i in range(before):
        tile[i] = 0.0
    for i in range(present, tile.size):
        tile[i] = 0.0


@inner
def tile_at(values: Array, first: int, padded: Array) -> Array:
    """As many values as `padded` has; those that reach over an end are loaded into it."""
    if first >= 0 and first + padded.size <= values.size:
        return values[first : first + padded.size]
    load_tile(values, first, padded)
    return padded


@inner
def _chunk_suffixes(totals: Array, suffix: Array, size: int) -> None:
    """suffix[k] is the sum of totals[k:size], as high and low."""
    high = 0.0
    low = 0.0
    suffix[size, 0] = high
    suffix[size, 1] = low
    for k in range(size - 1, -1, -1):
        high, low = plus(high, low + totals[k, 1], totals[k, 0])
        suffix[k, 0] = high
        suffix[k, 1] = low


@inner(error_model="numpy")
def _factor(w: int, mean: bool) -> float:
    """What to multiply the sum of a whole window by; 0 where it has to be divided by w.

    A power of 2 has a reciprocal that is exact.
    """
    if not mean:
        return 1.0
    return 1.0 / w if w & (w - 1) == 0 else 0.0


@inner(error_model="numpy")
def few_sums(
    values: Array, w: int, start: int, stop: int, mean: bool, scratch: Array, out: Array
) -> None:
    """Windows of at most 8 values, or their means: each is a tree of its own."""
    factor = _factor(w, mean)
    for first in range(start, stop, STRIP):
        row = out[first : min(first + STRIP, stop)]
        x = tile_at(values, first - w + 1, scratch[: row.size + w - 1])
        b = x[1:]
        c = x[2:]
        d = x[3:]
        if w == 8:
            e = x[4:]
            f = x[5:]
            g = x[6:]
            h = x[7:]
            for i in range(row.size):
                row[i] = ((x[i] + b[i]) + (c[i] + d[i])) + ((e[i] + f[i]) + (g[i] + h[i]))
        elif w >= 4:
            for i in range(row.size):
                row[i] = (x[i] + b[i]) + (c[i] + d[i])
        else:
            for i in range(row.size):
                row[i] = 0.0
        # Up to three values that end at the row's own.
        newest = x[w - 1 :]
        if w & 3 == 1:
            for i in range(row.size):
                row[i] += newest[i]
        elif w & 3 == 2:
            b = x[w - 2 :]
            for i in range(row.size):
                row[i] += b[i] + newest[i]
        elif w & 3 == 3:
            b = x[w - 2 :]
            c = x[w - 3 :]
            for i in range(row.size):
                row[i] += c[i] + (b[i] + newest[i])
        if mean and first < w - 1:
            for i in range(row.size):
                row[i] /= min(first + i + 1, w)
        elif factor == 0.0:  # while they are in the cache
            for i in range(row.size):
                row[i] /= w
        elif mean:
            for i in range(row.size):
                row[i] *= factor


@inner(error_model="numpy")
def load(values: Array, first: int, size: int, scratch: Array, at: int) -> None:
    """Write so many values from the first-th on into scratch, and zeros where there are none."""
    before = min(max(-first, 0), size)
    present = max(min(values.size - first, size), before)
    for i in range(before):
        scratch[at + i] = 0.0
    for i in range(before, present):
        scratch[at + i] = values[first + i]
    for i in range(present, size):
        scratch[at + i] = 0.0


@inner(error_model="numpy")
def _between(scratch: Array, q: int, octets: int) -> None:
    """What lies between the octets of short windows, for so many octets: q of them and an end.

    As many octets as are a power of 2 are the high part, and what lies before them is the low one.
    """
    t = _TOTALS + OCTET
    e = _ENDS + OCTET - 1 - q
    if q == 6:
        for k in range(octets):
            scratch[_LOW + k] = scratch[e + k] + (scratch[t + k - 6] + scratch[t + k - 5])
    elif q == 3 or q == 5:
        for k in range(octets):
            scratch[_LOW + k] = scratch[e + k] + scratch[t + k - q]
    else:
        for k in range(octets):
            scratch[_LOW + k] = scratch[e + k]
    if q > 3:
        for k in range(octets):
            older = scratch[t + k - 4] + scratch[t + k - 3]
            scratch[_HIGH + k] = older + (scratch[t + k - 2] + scratch[t + k - 1])
    elif q > 1:
        for k in range(octets):
            scratch[_HIGH + k] = scratch[t + k - 2] + scratch[t + k - 1]
    else:
        for k in range(octets):
            scratch[_HIGH + k] = scratch[t + k - 1] if q > 0 else 0.0


@inner(error_model="numpy")
def between_in_block(scratch: Array, t: int, q: int) -> tuple[float, float]:
    """The same for one octet, where no end is before the q octets; 7 are those of a long window."""
    if q == 7:
        older = (scratch[t - 7] + scratch[t - 6]) + scratch[t - 5]
        return older + scratch[t - 4], (scratch[t - 3] + scratch[t - 2]) + scratch[t - 1]
    low = 0.0
    if q == 6:
        low = scratch[t - 6] + scratch[t - 5]
    elif q == 3 or q == 5:
        low = scratch[t - q]
    if q > 3:
        older = scratch[t - 4] + scratch[t - 3]
        return older + (scratch[t - 2] + scratch[t - 1]), low
    if q > 1:
        return scratch[t - 2] + scratch[t - 1], low
    return scratch[t - 1] if q > 0 else 0.0, low


@inner(error_model="numpy")
def short_sums(
    values: Array, w: int, start: int, stop: int, mean: bool, scratch: Array, out: Array
) -> None:
    """Windows of 9 to 64 values, or their means: two octets and what lies between them."""
    q = (w - 1 - OCTET) // OCTET
    r = (w - 1 - OCTET) % OCTET
    align_stack()
    length = STRIP if stop - start > STRIP else BLOCK
    octets = length // OCTET
    factor = _factor(w, mean)
    for k in range(octets, octets + OCTET):
        scratch[_TOTALS + k] = 0.0
        scratch[_ENDS + k] = 0.0
    # The block before the first row has octets that lie between those of its window.
    for first in range(max(start // BLOCK - 1, 0) * BLOCK, stop, length):
        begin = first - w + 1
        inside = begin >= 0 and first >= start and first + length <= stop
        for k in range(OCTET):
            scratch[_TOTALS + k] = scratch[_TOTALS + octets + k]
            scratch[_ENDS + k] = scratch[_ENDS + octets + k]
        if inside:
            for b in range(0, length, BLOCK):
                parts_of_windows(
                    values, begin + b, values, first + b, scratch, _PARTS + b,
                    scratch, _TOTALS + OCTET + b // OCTET,
                )  # fmt: skip
                octet_ends(values, first + b, scratch, _ENDS + OCTET + b // OCTET, r)
        else:
            load(values, first, length, scratch, _NEWER)
            load(values, begin, length, scratch, _OLDER)
            for b in range(0, length, BLOCK):
                parts_of_windows(
                    scratch, _OLDER + b, scratch, _NEWER + b, scratch, _PARTS + b,
                    scratch, _TOTALS + OCTET + b // OCTET,
                )  # fmt: skip
                octet_ends(scratch, _NEWER + b, scratch, _ENDS + OCTET + b // OCTET, r)
        _between(scratch, q, octets)
        if not inside:
            for b in range(0, length, BLOCK):
                k = b // OCTET
                put_multiples_together(
                    scratch, _PARTS + b, scratch, _HIGH + k, scratch, _LOW + k, scratch, _ROWS + b,
                    1.0,
                )  # fmt: skip
            _take(scratch, first, max(start, first), min(stop, first + length), w, mean, out)
        elif factor == 0.0:
            for b in range(0, length, BLOCK):
                k = b // OCTET
                put_quotients_together(
                    scratch, _PARTS + b, scratch, _HIGH + k, scratch, _LOW + k, out, first + b,
                    float(w),
                )  # fmt: skip
        else:
            for b in range(0, length, BLOCK):
                k = b // OCTET
                put_multiples_together(
                    scratch, _PARTS + b, scratch, _HIGH + k, scratch, _LOW + k, out, first + b,
                    factor,
                )  # fmt: skip


@inner(error_model="numpy")
def block_sums(
    values: Array, w: int, start: int, stop: int, mean: bool, scratch: Array, out: Array
) -> None:
    """Windows that have 8 values more than there are, of which there are at most 64.

    They are summed as the other functions sum them, in a third of the time for 10 values.
    """
    q = min((w - 1 - OCTET) // OCTET, OCTET - 1)
    t = _TOTALS + OCTET - 1
    for k in range(_TOTALS, t):  # before the octets nothing is
        scratch[k] = 0.0
    load(values, 0, (values.size + OCTET - 1) // OCTET * OCTET, scratch, _NEWER)
    for x in range(_NEWER, _NEWER + values.size, OCTET):
        sums = running_sums(
            (
                scratch[x], scratch[x + 1], scratch[x + 2], scratch[x + 3],
                scratch[x + 4], scratch[x + 5], scratch[x + 6], scratch[x + 7],
            )
        )  # fmt: skip
        high, low = between_in_block(scratch, t, q)
        for k in range(OCTET):
            scratch[_ROWS - _NEWER + x + k] = high + (low + (0.0 + sums[k]))
        scratch[t] = sums[OCTET - 1]
        t += 1
    _take(scratch, 0, start, stop, w, mean, out)


@inner(error_model="numpy")
def _take(
    scratch: Array, first: int, start: int, stop: int, w: int, mean: bool, out: Array
) -> None:
    """Take rows from start to stop out of scratch, where they lie from the first one on."""
    if mean:
        for i in range(start, stop):
            out[i] = scratch[_ROWS + i - first] / min(i + 1, w)
    else:
        for i in range(start, stop):
            out[i] = scratch[_ROWS + i - first]


@inner(error_model="numpy")
def _edge_sums(
    values: Array, w: int, start: int, stop: int, mean: bool, first: int, high: float, low: float,
    scratch: Array, out: Array,
) -> None:  # fmt: skip
    """Windows that end in the block from the first-th value on, of which not all rows are wanted,
    or not all begin with a value; high + low is the sum of the whole blocks between.

    There are four such blocks at most. As part of the loop over all blocks, this took a tenth of
    its time: what it needs in registers was put by and fetched for each of them.
    """
    load(values, first, BLOCK, scratch, _NEWER)
    load(values, first - w + 1, 2 * BLOCK, scratch, _OLDER)
    left = total_of_first(scratch, _OLDER + BLOCK, (w - 1) % BLOCK)
    if w <= 2 * BLOCK:
        high = left
    else:
        low += left
    window_sums(scratch, _OLDER, scratch, _NEWER, scratch, _ROWS, high, low, 1.0, False)
    _take(scratch, first, max(start, first), min(stop, first + BLOCK), w, mean, out)


@inner(error_model="numpy")
def long_sums(
    values: Array, w: int, start: int, stop: int, mean: bool, scratch: Array, out: Array
) -> None:
    """Windows of more than 64 values, or their means.

    With w-1 = 64 s + t, the windows that end in a block begin in 64 values of which the last one
    lies t values before a boundary of blocks. From there on s-1 blocks are whole.
    """
    s = (w - 1) // BLOCK
    t = (w - 1) % BLOCK
    factor = _factor(w, mean)
    past_cache = past_cache_pays(out)
    align_stack()
    # As many as there are blocks will do, if the window is longer than all the values.
    room = min(s, values.size // BLOCK + 2)
    edges = _EDGES  # behind the last of them
    chunk = np.zeros((room, 2))  # the sums of the blocks of the chunk so far,
    suffix = np.zeros((room + 1, 2))  # and of the suffixes of the chunk before

    # The chunk before that of the first row has to be gone through for its suffixes.
    boundary = max(start // BLOCK // s - 1, 0) * s
    high = 0.0
    low = 0.0
    for block in range(boundary, (stop + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        begin = first - w + 1
        k = block - boundary
        mid, rest = plus(suffix[k + 1, 0], suffix[k + 1, 1] + low, high)
        if first + BLOCK <= start:
            total, lost = block_total(values, first)
        elif first >= start and first + BLOCK <= stop and begin >= 0:
            if s >= FAR:
                ask_for_block(values, first + 4 * BLOCK)
            left = total_of_first(values, begin + BLOCK, t)
            if s == 1:  # no block is whole
                mid = left
            else:
                rest += left
            if not mean:
                total, lost = window_sums(
                    values, begin, values, first, out, first, mid, rest, 1.0, past_cache
                )
            elif factor > 0.0:
                total, lost = window_multiples(
                    values, begin, values, first, out, first, mid, rest, factor, past_cache
                )
            else:
                total, lost = window_quotients(
                    values, begin, values, first, out, first, mid, rest, float(w), past_cache
                )
        elif first >= start and first + BLOCK <= stop and begin + 2 * BLOCK <= 0:
            # Windows are growing, and nothing leaves them.
            if mean:
                total, lost = growing_means(
                    values, 0, values, first, out, first, mid, rest, first + 1.0, past_cache
                )
            else:
                total, lost = growing_sums(
                    values, 0, values, first, out, first, mid, rest, 1.0, past_cache
                )
        else:  # windows begin to be full, or rows are left out: see `_edge_sums`
            scratch[edges] = first
            scratch[edges + 1] = mid
            scratch[edges + 2] = rest
            edges += 3
            total, lost = 0.0, 0.0
            if first + BLOCK <= values.size:
                total, lost = block_total(values, first)
        # A sum that is not finite has lost nothing.
        chunk[k, 0] = total
        chunk[k, 1] = lost if total - total == 0.0 else 0.0
        high, low = plus(high, low + chunk[k, 1], total)
        if k + 1 == s:
            _chunk_suffixes(chunk, suffix, s)
            boundary = block + 1
            high = 0.0
            low = 0.0
    if past_cache:
        end_of_stores()
    for edge in range(_EDGES, edges, 3):
        _edge_sums(
            values, w, start, stop, mean, int(scratch[edge]), scratch[edge + 1], scratch[edge + 2],
            scratch, out,
        )  # fmt: skip
