"""Rolling variances that forget: nothing that has left the window has touched the answer.

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
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, types, uint8, void

from windrow.compiled.kernels.sums import plus, prefix_sums, suffix_sums

BLOCK = 64
TILE = 512

Array = np.ndarray[Any, Any]
_triple = types.UniTuple(float64, 3)


@njit(float64(float64, float64, float64), cache=True, nogil=True)
def _lower(m2: float, n: float, ddof: float) -> float:
    """The variance of n values; NaN if there are not more than ddof of them."""
    if n <= ddof:
        return np.nan
    return 0.0 if m2 < 0.0 else m2 / (n - ddof)


@njit(void(float64[::1], int64, int64, int64, int64, float64[::1]), cache=True, nogil=True)
def _growing(values: Array, w: int, ddof: int, start: int, stop: int, out: Array) -> None:
    """The rows before the first whole window, by Welford's formula. O(w)."""
    mean = 0.0
    m2 = 0.0
    for i in range(min(w - 1, stop)):
        d = values[i] - values[0]
        delta = d - mean
        mean += delta / (i + 1)
        m2 += delta * (d - mean)
        if i >= start:
            out[i] = _lower(m2, i + 1, ddof)


@njit(void(float64[::1], int64, int64, int64, int64, float64[::1]), cache=True, nogil=True)
def _short(values: Array, w: int, ddof: int, start: int, stop: int, out: Array) -> None:
    """Windows of at most 64 values: those of 2, 4, 8, … values, and the ones that make up w.

    Entry e of `mean` is the mean of the k values that end there, less the last of them, and entry
    e of `m2` their M2. At most 2 log₂ w passes over a tile.
    """
    _growing(values, w, ddof, start, stop, out)
    mean = np.empty(TILE + BLOCK)
    m2 = np.empty(TILE + BLOCK)
    longer_mean = np.empty(TILE + BLOCK)
    longer_m2 = np.empty(TILE + BLOCK)
    row_mean = np.empty(TILE)
    row_m2 = np.empty(TILE)
    for first in range(max(start, w - 1), stop, TILE):
        last = min(first + TILE, stop)
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
                    row_mean[:rows] = part_mean
                    row_m2[:rows] = part_m2
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
        row = out[first:last]
        if w > ddof:
            for i in range(rows):
                row[i] = row_m2[i] / (w - ddof)
        else:
            row[:] = np.nan


@njit(
    types.UniTuple(float64, 3)(float64, float64, float64, float64, float64, float64, float64),
    cache=True,
    nogil=True,
)
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


@njit(
    void(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1]),
    cache=True,
    nogil=True,
)
def _prefix(block: Array, d: Array, squares: Array, s1: Array, m2: Array) -> None:
    """Σd and M2 of each prefix of the block, d = x less the block's first value."""
    anchor = block[0]
    for j in range(BLOCK):
        d[j] = block[j] - anchor
    for j in range(BLOCK):
        squares[j] = d[j] * d[j]
    prefix_sums(d, s1)
    prefix_sums(squares, m2)


@njit(
    void(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1]),
    cache=True,
    nogil=True,
)
def _suffix(block: Array, d: Array, squares: Array, s1: Array, m2: Array) -> None:
    """Σd and M2 of each suffix of the block, d = x less the block's last value."""
    anchor = block[BLOCK - 1]
    for j in range(BLOCK):
        d[j] = block[j] - anchor
    for j in range(BLOCK):
        squares[j] = d[j] * d[j]
    suffix_sums(d, s1)
    suffix_sums(squares, m2)


@njit(void(float64[:, ::1], float64[:, ::1], int64, float64), cache=True, nogil=True)
def _chunk_suffixes(totals: Array, suffix: Array, size: int, anchor: float) -> None:
    """suffix[k]: mean (less the anchor) and M2 (high, low) of the blocks k … size-1 of a chunk."""
    mean = 0.0
    high = 0.0
    low = 0.0
    suffix[size] = 0.0
    for k in range(size - 1, -1, -1):
        mean, high, low = _combine(
            (size - 1 - k) * BLOCK, mean, high, low,
            BLOCK, (totals[k, 0] - anchor) + totals[k, 1], totals[k, 2],
        )  # fmt: skip
        suffix[k, 0] = mean
        suffix[k, 1] = high
        suffix[k, 2] = low


@njit(
    void(float64[::1], float64[::1], float64[::1], float64[:, ::1], int64), cache=True, nogil=True
)
def _keep_total(block: Array, s1: Array, squares: Array, totals: Array, k: int) -> None:
    """totals[k]: the first value of a block, its mean less that, and its M2."""
    total = s1[BLOCK - 1]
    m2 = squares[BLOCK - 1] - total * total / BLOCK
    totals[k, 0] = block[0]
    totals[k, 1] = total / BLOCK
    totals[k, 2] = 0.0 if m2 < 0.0 else m2


@njit(void(float64[::1], int64, int64, int64, int64, float64[::1]), cache=True, nogil=True)
def _long(values: Array, w: int, ddof: int, start: int, stop: int, out: Array) -> None:
    """Windows of more than 64 values: suffix, mid and prefix, as in `sums`.

    The means of runs of whole blocks are kept less the last value before the chunk's boundary
    (the very first value in the first chunk). It lies in every window that uses them: if no block
    before the boundary is whole, the window's suffix is in the block that ends there.
    """
    s = (w - 1) // BLOCK
    t = (w - 1) % BLOCK
    d = np.empty(BLOCK)
    squares = np.empty(BLOCK)
    prefix_1 = np.empty(BLOCK)
    prefix_2 = np.empty(BLOCK)
    suffix_1 = np.zeros(2 * BLOCK)
    suffix_2 = np.zeros(2 * BLOCK)
    ends = np.empty(BLOCK)  # how many values of a row's window lie in its own block,
    beginnings = np.empty(BLOCK)  # and how many in the block where the window begins
    per_end = np.empty(BLOCK)
    per_beginning = np.empty(BLOCK)
    for j in range(BLOCK):
        ends[j] = j + 1
        beginnings[j] = t - j if j < t else BLOCK + t - j
        per_end[j] = 1.0 / ends[j]
        per_beginning[j] = 1.0 / beginnings[j]
    block = start // BLOCK

    totals = np.zeros((s, 3))
    suffix = np.zeros((s + 1, 3))
    boundary = block // s * s
    anchor = values[max(boundary * BLOCK - 1, 0)]
    if boundary:
        for k in range(s):
            whole = values[(boundary - s + k) * BLOCK :]
            _prefix(whole, d, squares, prefix_1, prefix_2)
            _keep_total(whole, prefix_1, prefix_2, totals, k)
        _chunk_suffixes(totals, suffix, s, anchor)
    mean = 0.0
    high = 0.0
    low = 0.0
    for k in range(block - boundary):
        whole = values[(boundary + k) * BLOCK :]
        _prefix(whole, d, squares, prefix_1, prefix_2)
        _keep_total(whole, prefix_1, prefix_2, totals, k)
        mean, high, low = _combine(
            k * BLOCK, mean, high, low,
            BLOCK, (totals[k, 0] - anchor) + totals[k, 1], totals[k, 2],
        )  # fmt: skip
    begin = 0.0
    if block > s:
        begin = values[(block - s) * BLOCK - 1]
        _suffix(values[(block - s - 1) * BLOCK :], d, squares, suffix_1[BLOCK:], suffix_2[BLOCK:])

    rest = np.zeros(BLOCK)
    result = np.empty(BLOCK)
    for first in range(block * BLOCK, stop, BLOCK):
        suffix_1[:BLOCK] = suffix_1[BLOCK:]
        suffix_2[:BLOCK] = suffix_2[BLOCK:]
        wide_begin = begin
        if block >= s:
            begin = values[(block - s + 1) * BLOCK - 1]
            _suffix(values[(block - s) * BLOCK :], d, squares, suffix_1[BLOCK:], suffix_2[BLOCK:])
        if first + BLOCK <= values.size:
            whole = values[first : first + BLOCK]
        else:
            rest[: values.size - first] = values[first:]
            whole = rest
        _prefix(whole, d, squares, prefix_1, prefix_2)

        # Mid, from block b-s and from block b-s+1 on, and how far from its mean the values lie
        # that Σd of the prefix and of the suffix count from.
        k = block - boundary
        n = (s - k) * BLOCK if boundary else 0
        wide_mean, high_b, low_b = _combine(
            n, suffix[k, 0], suffix[k, 1], suffix[k, 2], k * BLOCK, mean, high
        )
        wide = high_b + (low_b + low)
        narrow_mean, high_b, low_b = _combine(
            max(n - BLOCK, 0), suffix[k + 1, 0], suffix[k + 1, 1], suffix[k + 1, 2],
            k * BLOCK, mean, high,
        )  # fmt: skip
        narrow = high_b + (low_b + low)
        end = whole[0] - anchor
        if s == 1:
            narrow_mean = end  # an empty mid
        wide_end = end - wide_mean
        narrow_end = end - narrow_mean
        wide_begin = (wide_begin - anchor) - wide_mean
        narrow_begin = (begin - anchor) - narrow_mean

        begin_1 = suffix_1[BLOCK - t : 2 * BLOCK - t]
        begin_2 = suffix_2[BLOCK - t : 2 * BLOCK - t]
        per_w = 1.0 / w
        for j in range(BLOCK):
            mid = wide if j < t else narrow
            p = prefix_1[j]
            q = begin_1[j]
            g = p + ends[j] * (wide_end if j < t else narrow_end)
            h = q + beginnings[j] * (wide_begin if j < t else narrow_begin)
            m2 = mid - (g + h) * (g + h) * per_w
            m2 += prefix_2[j] + (g * g - p * p) * per_end[j]
            m2 += begin_2[j] + (h * h - q * q) * per_beginning[j]
            result[j] = 0.0 if m2 < 0.0 else m2

        if first < w - 1:
            # Windows that begin at 0: all the blocks before this one, and the prefix.
            for j in range(min(w - 1 - first, BLOCK)):
                p = prefix_1[j]
                g = p + ends[j] * wide_end
                m2 = wide - g * g / (first + j + 1)
                m2 += prefix_2[j] + (g * g - p * p) * per_end[j]
                result[j] = m2
        if first >= start and first + BLOCK <= stop and first >= w - 1 and w > ddof:
            row = out[first : first + BLOCK]
            for j in range(BLOCK):
                row[j] = result[j] / (w - ddof)
        else:
            for j in range(max(start - first, 0), min(stop - first, BLOCK)):
                out[first + j] = _lower(result[j], min(first + j + 1, w), ddof)

        if first + BLOCK <= values.size:
            _keep_total(whole, prefix_1, prefix_2, totals, k)
            mean, high, low = _combine(
                k * BLOCK, mean, high, low,
                BLOCK, (totals[k, 0] - anchor) + totals[k, 1], totals[k, 2],
            )  # fmt: skip
        block += 1
        if block - boundary == s:
            boundary = block
            anchor = values[min(boundary * BLOCK, values.size) - 1]
            _chunk_suffixes(totals, suffix, s, anchor)
            mean = 0.0
            high = 0.0
            low = 0.0


@njit(void(float64[::1], int64, int64, int64, int64, float64[::1]), cache=True, nogil=True)
def rolling_var_f64(values: Array, w: int, ddof: int, start: int, stop: int, out: Array) -> None:
    """out[i] is the variance of the last w values up to i; NaN if they are at most ddof.

    O(1) a row, w/11 numbers of scratch.
    """
    if start >= stop:
        return
    if w <= BLOCK:
        _short(values, w, ddof, start, stop, out)
    else:
        _long(values, w, ddof, start, stop, out)


@njit(
    void(
        float64[::1], uint8[::1], int64[::1], int64[::1], int64,
        float64[::1], float64[::1], int64[::1], float64[::1],
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def window_var_f64(
    values: Array,
    valid: Array,
    lo: Array,
    hi: Array,
    ddof: int,
    scratch1: Array,
    scratch2: Array,
    scratch_n: Array,
    out: Array,
) -> None:
    """out[i] is the variance of the valid ones of values[lo[i]:hi[i]], lo and hi non-decreasing.

    NaN if they are at most ddof. Amortised O(1) a row and a value; each scratch has to hold the
    longest window. When a window begins past the boundary, the boundary moves to the end of what
    has been read, and the scratches receive the means, M2 and counts of the suffixes before it.
    Means are kept less the valid value next to the boundary on either side, so less a value of
    the window.
    """
    boundary = 0
    read = 0
    first = 0
    left = 0.0
    right = 0.0
    n = 0
    mean = 0.0
    high = 0.0
    low = 0.0
    for i in range(out.size):
        if lo[i] > boundary:
            first = lo[i]
            boundary = max(read, first)
            read = boundary
            n = 0
            mean = 0.0
            high = 0.0
            low = 0.0
            for k in range(boundary - 1, first - 1, -1):
                if valid[k]:
                    if n == 0:
                        left = values[k]
                    n += 1
                    share = 1.0 / n  # not a part of the chain of dependent operations
                    d = values[k] - left
                    delta = d - mean
                    mean += delta * share
                    high, low = plus(high, low, delta * (d - mean))
                scratch1[k - first] = mean
                scratch2[k - first] = high + low
                scratch_n[k - first] = n
            n = 0
            mean = 0.0
            high = 0.0
            low = 0.0
        while read < hi[i]:
            if valid[read]:
                if n == 0:
                    right = values[read]
                n += 1
                share = 1.0 / n
                d = values[read] - right
                delta = d - mean
                mean += delta * share
                high, low = plus(high, low, delta * (d - mean))
            read += 1
        if hi[i] <= lo[i]:
            out[i] = np.nan
        elif lo[i] >= boundary or scratch_n[lo[i] - first] == 0:
            out[i] = _lower(high + low, n, ddof)
        elif n == 0:
            out[i] = _lower(scratch2[lo[i] - first], scratch_n[lo[i] - first], ddof)
        else:
            n_left = scratch_n[lo[i] - first]
            delta = (right - left) + (mean - scratch1[lo[i] - first])
            between = delta * delta * n * (n_left / (n + n_left))
            m2 = high + (low + (scratch2[lo[i] - first] + between))
            out[i] = _lower(m2, n + n_left, ddof)
