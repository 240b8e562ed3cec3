"""Rolling variances that forget: nothing that has left the window has touched the result.

A running variance subtracts what leaves, and keeps its rounding errors, an outlier's above all,
for ever. Here the parts of a window, none of which holds a value from outside of it, are put
together by Chan's formula. Parts with counts n, means m and sums of squared deviations M2 give

    M2 = Σ M2ₖ + Σ nₖ(mₖ-A)² - (Σ nₖ(mₖ-A))²/N         for any A

and a mean is kept as its distance from a value that lies in the window itself, so that 10⁸ + x
has the variance of x to as many digits as the values have.

                 l                                  i        l = i-w+1
        ├────────┼────────┼────────┼────────┼───────┼┤       blocks of 64, at multiples of 64
                 ╞suffix══╪══════ mid ══════╪═prefix╡        A: the mean of mid

Within a block, sums of d = x-K and of d² give M2 = Σd² - (Σd)²/n, where K is the block's first
value for a prefix and its last for a suffix: each holds its K, which bounds the cancellation,
and equal values give exactly 0.

Whoever puts windows together from parts wants their means as well. `means` has room for them, less
the last value of the window, or none.

Squares of deviations past 10¹⁵⁴ exceed the largest float. The kernels do not look for that; they
return whether a result is not finite, and whoever calls them does.

Measured on 4·10⁶ normal values, ranges over runs on a busy machine: 0.4 to 0.7 of the speed of
bottleneck's running sums of squares (0.36 for w = 63, the worst short window measured), 0.8 to 1.3
of numbagg's, 3 to 5 times that of pandas. The
relative error is in the last digit or two, 2·10⁻¹⁵ at most, on normal values, 10⁸ + normal values,
a jump of 10⁹ and an outlier of 10¹². Far from 0 pandas keeps 5 to 8 digits and Polars 8; after the
jump or the outlier bottleneck and numbagg keep none. error_model="numpy", for divisions that do
not ask whether to raise, is worth a factor of 1.08.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.kernels.special.scans import BLOCK, ask_for_block, prefix_sums, suffix_sums
from windrow.kernels.special.sums import STRIP, TILE, plus, tile_at


@inner(error_model="numpy")
def variance_of(m2: float, n: float, ddof: float) -> float:
    """The variance of n values; NaN if there are not more than ddof of them."""
    if n <= ddof:
        return np.nan
    return 0.0 if -math.inf < m2 < 0.0 else m2 / (n - ddof)


@inner(error_model="numpy")
def growing_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, out: Array, means: Array
) -> bool:
    """The rows before the first whole window, by Welford's formula. O(w)."""
    mean = 0.0
    m2 = 0.0
    odd = False
    for i in range(min(w - 1, stop)):
        d = values[i] - values[0]
        delta = d - mean
        mean += delta / (i + 1)
        m2 += delta * (d - mean)
        if i >= start:
            out[i] = variance_of(m2, i + 1, ddof)
            odd |= out[i] - out[i] != 0.0 and i >= ddof
            if means.size:
                means[i] = mean - d
    return odd


@inner(error_model="numpy")
def short_variances(
    values: Array,
    w: int,
    ddof: int,
    start: int,
    stop: int,
    root: bool,
    scratch: Array,
    out: Array,
    means: Array,
) -> bool:
    """Windows of at most 64 values: those of 2, 4, 8, … values, and the ones that make up w.

    Entry e of `mean` is the mean of the k values that end there, less the last of them, and entry
    e of `m2` their M2. At most 2 log₂ w passes over a tile. `scratch` is six rows of STRIP + BLOCK
    numbers.
    """
    odd = growing_variances(values, w, ddof, start, stop, out, means)
    if root:
        for i in range(start, min(w - 1, stop)):
            out[i] = math.sqrt(out[i])
    mean = scratch[0]
    m2 = scratch[1]
    longer_mean = scratch[2]
    longer_m2 = scratch[3]
    row_mean = scratch[4]
    row_m2 = scratch[5]
    for first in range(max(start, w - 1), stop, STRIP):
        last = min(first + STRIP, stop)
        rows = last - first
        size = rows + w - 1
        tile = values[first - w + 1 : last]
        anchor = values[first:last]
        # 0·x: the M2 of one value is 0, or NaN for an infinity or NaN.
        for e in range(size):
            mean[e] = 0.0
            m2[e] = 0.0 * tile[e]
        k = 1
        n = 0
        while True:
            if w & k:
                end = size - n
                part = tile[end - rows : end]
                part_mean = mean[end - rows : end]
                part_m2 = m2[end - rows : end]
                if n == 0:
                    for i in range(rows):
                        row_mean[i] = part_mean[i]
                        row_m2[i] = part_m2[i]
                else:
                    share = k / (n + k)
                    weight = n * share
                    for i in range(rows):
                        delta = (part_mean[i] - row_mean[i]) + (part[i] - anchor[i])
                        row_mean[i] += delta * share
                        row_m2[i] += part_m2[i] + delta * delta * weight
                n += k
            if 2 * k > w:
                break
            later = tile[k:]
            later_mean = mean[k:size]
            later_m2 = m2[k:size]
            into_mean = longer_mean[k:size]
            into_m2 = longer_m2[k:size]
            for e in range(later.size):
                delta = (mean[e] - later_mean[e]) + (tile[e] - later[e])
                into_mean[e] = later_mean[e] + 0.5 * delta
                into_m2[e] = (m2[e] + later_m2[e]) + delta * delta * (0.5 * k)
            mean, longer_mean = longer_mean, mean
            m2, longer_m2 = longer_m2, m2
            k *= 2
        if means.size:
            into_mean = means[first:last]
            for i in range(rows):
                into_mean[i] = row_mean[i]
        row = out[first:last]
        if w > ddof:
            for i in range(rows):
                row[i] = row_m2[i] / (w - ddof)
                odd |= row[i] - row[i] != 0.0
        else:
            for i in range(rows):
                row[i] = np.nan
        if root:
            for i in range(rows):
                row[i] = math.sqrt(row[i])
    return odd


@inner(error_model="numpy")
def _combine(
    n: float, mean: float, high: float, low: float, n_b: float, mean_b: float, m2_b: float
) -> tuple[float, float, float]:
    """Chan's formula for two parts, the M2 of the first one being high + low."""
    if n == 0.0:
        return mean_b, m2_b, 0.0
    if n_b == 0.0:
        return mean, high, low
    delta = mean_b - mean
    share = n_b / (n + n_b)
    high, low = plus(high, low, m2_b + delta * delta * n * share)
    return mean + delta * share, high, low


@inner(error_model="numpy")
def _deviations(tile: Array, size: int, at: int, d: Array, squares: Array) -> None:
    """d is each of the first values of a tile less the value at entry `at` of its block."""
    for block in range(0, size, BLOCK):
        anchor = tile[block + at]
        x = tile[block : block + BLOCK]
        into = d[block : block + BLOCK]
        into_squares = squares[block : block + BLOCK]
        for j in range(BLOCK):
            deviation = x[j] - anchor
            into[j] = deviation
            into_squares[j] = deviation * deviation


@inner(error_model="numpy")
def _chunk_suffixes(chunk: Array, suffix: Array, size: int, anchor: float) -> None:
    """suffix[k]: mean (less the anchor) and M2 (high, low) of the blocks k … size-1 of a chunk."""
    mean = 0.0
    high = 0.0
    low = 0.0
    for k in range(size - 1, -1, -1):
        mean, high, low = _combine(
            (size - 1 - k) * BLOCK, mean, high, low,
            BLOCK, (chunk[k, 0] - anchor) + chunk[k, 1], chunk[k, 2],
        )  # fmt: skip
        suffix[k, 0] = mean
        suffix[k, 1] = high
        suffix[k, 2] = low


@inner(error_model="numpy")
def long_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, out: Array, means: Array
) -> bool:
    """Windows of more than 64 values: suffix, mid and prefix, as in `sums`. O(1) a row.

    Roots are taken while the variances are in the cache. Returns whether a variance of more than
    ddof values is not finite.

    The means of runs of whole blocks are kept less the last value before the chunk's boundary
    (the very first value in the first chunk). It lies in every window that uses them: if no block
    before the boundary is whole, the window's suffix is in the block that ends there.
    """
    odd = False
    s = (w - 1) // BLOCK
    t = (w - 1) % BLOCK
    ends = np.empty(BLOCK)  # how many values of a row's window lie in its own block,
    beginnings = np.empty(BLOCK)  # and how many in the block where the window begins
    per_end = np.empty(BLOCK)
    per_beginning = np.empty(BLOCK)
    for j in range(BLOCK):
        ends[j] = j + 1
        beginnings[j] = t - j if j < t else BLOCK + t - j
        per_end[j] = 1.0 / ends[j]
        per_beginning[j] = 1.0 / beginnings[j]
    per_w = 1.0 / w
    padded = np.empty(TILE)
    d = np.empty(TILE)
    squares = np.empty(TILE)
    prefix_1 = np.empty(TILE)
    prefix_2 = np.empty(TILE)
    suffix_1 = np.zeros(BLOCK + TILE)
    suffix_2 = np.zeros(BLOCK + TILE)
    last_values = np.zeros(1 + TILE // BLOCK)
    m2s = np.empty(TILE)
    # As many as there are blocks will do, if the window is longer than all the values.
    room = min(s, values.size // BLOCK + TILE // BLOCK + 1)
    chunk = np.zeros((room, 3))  # of each block: its first value, its mean less that, its M2
    suffix = np.zeros((room + 1, 3))

    # The chunk before that of the first row has to be gone through for its suffixes.
    boundary = max(start // BLOCK // s - 1, 0) * s
    anchor = values[max(boundary * BLOCK - 1, 0)]
    block = boundary
    mean = 0.0
    high = 0.0
    low = 0.0
    for first in range(boundary * BLOCK, stop, TILE):
        size = min(stop - first, TILE)
        if first + 2 * TILE > start:  # the tile before the first row leaves it its last suffixes
            tile = tile_at(values, first - s * BLOCK, padded)
            _deviations(tile, size, BLOCK - 1, d, squares)
            for j in range(BLOCK):
                suffix_1[j] = suffix_1[TILE + j]
                suffix_2[j] = suffix_2[TILE + j]
            last_values[0] = last_values[TILE // BLOCK]
            for b in range(TILE // BLOCK):
                last_values[b + 1] = tile[(b + 1) * BLOCK - 1]
            for b in range(0, size, BLOCK):
                suffix_sums(d, b, suffix_1, b + BLOCK)
                suffix_sums(squares, b, suffix_2, b + BLOCK)
        tile = tile_at(values, first, padded)
        for b in range(0, size, BLOCK):
            ask_for_block(values, first - s * BLOCK + TILE + b)
            ask_for_block(values, first + TILE + b)
        _deviations(tile, size, 0, d, squares)
        for b in range(0, size, BLOCK):
            prefix_sums(d, b, prefix_1, b)
            prefix_sums(squares, b, prefix_2, b)

        for b in range((size + BLOCK - 1) // BLOCK):
            # Mid, from block b-s and from block b-s+1 on, and how far from its mean the values
            # lie that the prefix and the suffix count from.
            k = block - boundary
            n = (s - k) * BLOCK if boundary else 0
            wide_mean, wide, rest = _combine(
                n, suffix[k, 0], suffix[k, 1], suffix[k, 2], k * BLOCK, mean, high
            )
            wide += rest + low
            narrow_mean, narrow, rest = _combine(
                max(n - BLOCK, 0), suffix[k + 1, 0], suffix[k + 1, 1], suffix[k + 1, 2],
                k * BLOCK, mean, high,
            )  # fmt: skip
            narrow += rest + low
            end = tile[b * BLOCK] - anchor
            if s == 1:
                narrow_mean = end  # an empty mid
            wide_end = end - wide_mean
            narrow_end = end - narrow_mean
            wide_begin = (last_values[b] - anchor) - wide_mean
            narrow_begin = (last_values[b + 1] - anchor) - narrow_mean

            end_1 = prefix_1[b * BLOCK : (b + 1) * BLOCK]
            end_2 = prefix_2[b * BLOCK : (b + 1) * BLOCK]
            begin_1 = suffix_1[(b + 1) * BLOCK - t : (b + 2) * BLOCK - t]
            begin_2 = suffix_2[(b + 1) * BLOCK - t : (b + 2) * BLOCK - t]
            row = m2s[b * BLOCK : (b + 1) * BLOCK]
            for j in range(BLOCK):
                p = end_1[j]
                q = begin_1[j]
                g = p + ends[j] * (wide_end if j < t else narrow_end)
                h = q + beginnings[j] * (wide_begin if j < t else narrow_begin)
                m2 = (wide if j < t else narrow) - (g + h) * (g + h) * per_w
                m2 += end_2[j] + (g * g - p * p) * per_end[j]
                m2 += begin_2[j] + (h * h - q * q) * per_beginning[j]
                row[j] = m2
            place = first + b * BLOCK
            if means.size and place >= max(start, w - 1) and place + BLOCK <= stop:
                x = tile[b * BLOCK : (b + 1) * BLOCK]
                into = means[place : place + BLOCK]
                for j in range(BLOCK):
                    g = end_1[j] + ends[j] * (wide_end if j < t else narrow_end)
                    h = begin_1[j] + beginnings[j] * (wide_begin if j < t else narrow_begin)
                    mid = wide_mean if j < t else narrow_mean
                    into[j] = (mid - (x[j] - anchor)) + (g + h) * per_w
            elif means.size:
                for j in range(max(start - place, 0), min(stop - place, BLOCK)):
                    growing = place + j < w - 1
                    in_wide = j < t or growing
                    g = end_1[j] + ends[j] * (wide_end if in_wide else narrow_end)
                    h = begin_1[j] + beginnings[j] * (wide_begin if j < t else narrow_begin)
                    part = g / (place + j + 1) if growing else (g + h) * per_w
                    mid = wide_mean if in_wide else narrow_mean
                    means[place + j] = (mid - (tile[b * BLOCK + j] - anchor)) + part
            # Windows that begin at 0: all the blocks before this one, and the prefix.
            for j in range(min(w - 1 - block * BLOCK, BLOCK)):
                p = end_1[j]
                g = p + ends[j] * wide_end
                m2 = wide - g * g / (block * BLOCK + j + 1)
                row[j] = m2 + (end_2[j] + (g * g - p * p) * per_end[j])

            total = end_1[BLOCK - 1]
            m2 = end_2[BLOCK - 1] - total * total / BLOCK
            chunk[k, 0] = tile[b * BLOCK]
            chunk[k, 1] = total / BLOCK
            chunk[k, 2] = 0.0 if -math.inf < m2 < 0.0 else m2
            mean, high, low = _combine(
                k * BLOCK, mean, high, low, BLOCK, end + chunk[k, 1], chunk[k, 2]
            )
            block += 1
            if block - boundary == s:
                boundary = block
                anchor = values[min(boundary * BLOCK, values.size) - 1]
                _chunk_suffixes(chunk, suffix, s, anchor)
                mean = 0.0
                high = 0.0
                low = 0.0

        if first >= max(start, w - 1) and first + TILE <= stop and w > ddof:
            rows = out[first : first + TILE]
            for i in range(TILE):
                m2 = m2s[i]
                odd |= m2 - m2 != 0.0
                rows[i] = (0.0 if m2 < 0.0 else m2) / (w - ddof)
        else:
            for i in range(max(start, first), min(stop, first + TILE)):
                out[i] = variance_of(m2s[i - first], min(i + 1, w), ddof)
                odd |= out[i] - out[i] != 0.0 and i >= ddof
        if root:
            rows = out[max(start, first) : min(stop, first + TILE)]
            for i in range(rows.size):
                rows[i] = math.sqrt(rows[i])
    return odd
