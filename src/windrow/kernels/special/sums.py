"""Rolling sums that forget: nothing that has left the window has touched the result.

A running sum subtracts what leaves, and keeps its rounding errors, or a NaN, for ever. Here a
window is the sum of three parts, none of which holds a value from outside of it:

                 l                                  i        l = i-w+1
        ├────────┼────────┼────────┼────────┼───────┼┤       blocks of 64, at multiples of 64
                 ╞suffix══╪══════ mid ══════╪═prefix╡

Prefixes and suffixes within a block are plain sums of at most 64 values, summed as trees. Whole
blocks are summed with compensation, as high + low, by the same scheme one level up: suffixes of
the chunk of blocks before a boundary, and the running sum after it. Which values are added to
which depends on their positions only, so pieces of the output can be computed apart.

Bottleneck's moving sum, which adds and subtracts once a row, is 200 to 10⁴ times less exact, and
faster for most windows: docs/performance.md has the figures. Windows of 31 and 63 values are made
of most parts, and take up to twice as long as those of 32 and 64. The error is at most that of
pandas but for 64 values far from 0 (1.06 of its root mean square), and for constants, which pandas
special-cases and which come out 1 ulp off at w = 1024.
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.kernels.special.scans import (
    BLOCK,
    ask_for_block,
    exact_total,
    suffix_sums,
    window_means,
    window_sums,
)

# What short windows are computed in: a few buffers of it fit into the first-level cache.
STRIP = 512
# What long ones are computed in: what is written for a tile is long in the cache when it is read.
# Fewer values than MANY are done sooner in small tiles.
TILE = 8 * BLOCK
SMALL_TILE = 2 * BLOCK
MANY = 4096
# From here on the sums of the blocks are compensated as well: 1024 blocks summed plainly have
# errors as large as the rounding of their total.
COMPENSATED = 4096


@inner
def plus(high: float, low: float, value: float) -> tuple[float, float]:
    """high + low + value, with what rounding takes from high kept in low (Knuth's TwoSum).

    Once high is infinite or NaN, low is 0: it would be NaN, and turn an infinity into one.
    """
    total = high + value
    t = total - high
    low += (high - (total - t)) + (value - t)
    if not np.isfinite(total):
        low = 0.0
    return total, low


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
def _total(block: Array, total: float, compensated: bool) -> tuple[float, float]:
    """The sum of a block as high and low; as it was added up, unless it is to be compensated."""
    if not compensated:
        return total, 0.0
    high, low = exact_total(block)  # type: ignore[call-arg,var-annotated]
    return (high, low) if np.isfinite(high) else (total, 0.0)


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


@inner
def short_sums(
    values: Array, w: int, start: int, stop: int, mean: bool, scratch: Array, out: Array
) -> None:
    """Windows of at most 64 values: the sums of 4, 8, 16, … values, and those that make up w.

    Or their means. At most log₂ w passes over a strip, each a vector operation; every window is a
    tree of its own. The largest sums are added to the rows without being kept. `scratch` is three
    rows of STRIP + BLOCK numbers. (All in one function: another costs a first call 0.1 s.)
    """
    for first in range(start, stop, STRIP):
        last = min(first + STRIP, stop)
        row = out[first:last]
        size = row.size + w - 1
        before = max(w - 1 - first, 0)
        given = values[first - w + 1 + before : last]
        strip = given
        if before:  # nothing lies before the first value, and nothing adds up to 0
            strip = scratch[2, :size]
            for i in range(before):
                strip[i] = 0.0
            for i in range(given.size):
                strip[before + i] = given[i]

        # Up to three values that end at the row's own, and the rest of w in fours.
        newest = strip[w - 1 :]
        if w & 3 == 0:
            for i in range(row.size):
                row[i] = 0.0
        elif w & 3 == 1:
            for i in range(row.size):
                row[i] = newest[i]
        else:
            b = strip[w - 2 :]
            for i in range(row.size):
                row[i] = b[i] + newest[i]
        if w & 3 == 3:
            b = strip[w - 3 :]
            for i in range(row.size):
                row[i] += b[i]
        if w >= 4:
            # power[i] is the sum of the k values from place i on; the window of row i begins there.
            power = scratch[0]
            longer = scratch[1]
            b = strip[1:]
            c = strip[2:]
            d = strip[3:]
            for i in range(d.size):
                power[i] = (strip[i] + b[i]) + (c[i] + d[i])
            k = 4
            while True:
                if w & k and 2 * k <= w:  # a part of the window, behind larger ones
                    b = power[w // (2 * k) * (2 * k) :]
                    for i in range(row.size):
                        row[i] += b[i]
                pairs = w & 2 * k != 0
                b = power[k:]
                c = power[2 * k :]
                d = power[3 * k :]
                if 4 * k > w or (8 * k > w and not pairs):
                    break
                if pairs:
                    into = longer[: size - 2 * k + 1]
                    for i in range(into.size):
                        into[i] = power[i] + b[i]
                else:  # two doublings in one pass, the additions being the same
                    into = longer[: size - 4 * k + 1]
                    for i in range(into.size):
                        into[i] = (power[i] + b[i]) + (c[i] + d[i])
                k *= 2 if pairs else 4
                power, longer = longer, power
            if 2 * k > w:
                for i in range(row.size):
                    row[i] += power[i]
            elif 4 * k > w:
                for i in range(row.size):
                    row[i] += power[i] + b[i]
            else:
                for i in range(row.size):
                    row[i] += (power[i] + b[i]) + (c[i] + d[i])

        if mean and before:
            for i in range(row.size):
                row[i] /= min(first + i + 1, w)
        elif mean:  # while they are in the cache
            for i in range(row.size):
                row[i] /= w


@inner
def long_sums(values: Array, w: int, start: int, stop: int, mean: bool, out: Array) -> None:
    """Windows of more than 64 values: suffix + mid + prefix; or their means.

    With w-1 = 64 s + t, row j of block b begins in block b-s-1 if j < t, else in block b-s, so
    that the blocks from b-s, or from b-s+1, to b-1 are whole.
    """
    s = (w - 1) // BLOCK
    t = (w - 1) % BLOCK
    compensated = w >= COMPENSATED
    length = TILE if values.size >= MANY else SMALL_TILE
    padded = np.empty(length)
    clipped = np.empty(length)
    suffixes = np.zeros(BLOCK + length)
    # As many as there are blocks will do, if the window is longer than all the values.
    room = min(s, values.size // BLOCK + length // BLOCK + 1)
    chunk = np.zeros((room, 2))  # the sums of the blocks of the chunk so far,
    suffix = np.zeros((room + 1, 2))  # and of the suffixes of the chunk before

    # The chunk before that of the first row has to be gone through for its suffixes.
    boundary = max(start // BLOCK // s - 1, 0) * s
    block = boundary
    high = 0.0
    low = 0.0
    for first in range(boundary * BLOCK, stop, length):
        left = first - s * BLOCK
        size = min(stop - first, length)
        if first + 2 * length > start:  # the tile before the first row leaves it its last suffixes
            for j in range(BLOCK):
                suffixes[j] = suffixes[length + j]
            tile = tile_at(values, left, padded)
            for b in range(0, size, BLOCK):
                suffix_sums(tile[b : b + BLOCK], suffixes[b + BLOCK : b + 2 * BLOCK])
        tile = tile_at(values, first, padded)
        inside = first >= start and size == length
        rows = out[first : first + length] if inside else clipped
        for b in range(0, size, BLOCK):
            ask_for_block(values, left + length + b)
            ask_for_block(values, first + length + b)
            k = block - boundary
            wide_high, wide_low = plus(suffix[k, 0], suffix[k, 1] + low, high)
            narrow_high, narrow_low = plus(suffix[k + 1, 0], suffix[k + 1, 1] + low, high)
            ends = tile[b : b + BLOCK]
            begins = suffixes[b + BLOCK - t : b + 2 * BLOCK - t]
            row = rows[b : b + BLOCK]
            if mean and first + b >= w - 1:
                total = window_means(
                    ends, begins, t, wide_high, wide_low, narrow_high, narrow_low, float(w), row
                )
            else:
                total = window_sums(
                    ends, begins, t, wide_high, wide_low, narrow_high, narrow_low, 1.0, row
                )
                if mean:  # of windows that are still growing
                    for j in range(BLOCK):
                        row[j] /= min(first + b + j + 1, w)
            chunk[k, 0], chunk[k, 1] = _total(ends, total, compensated)
            high, low = plus(high, low + chunk[k, 1], chunk[k, 0])
            block += 1
            if block - boundary == s:
                _chunk_suffixes(chunk, suffix, s)
                boundary = block
                high = 0.0
                low = 0.0
        if not inside and first + length > start:
            for i in range(max(start, first), min(stop, first + length)):
                out[i] = rows[i - first]
