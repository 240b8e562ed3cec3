"""Rolling variances that forget: nothing that has left the window has touched the result.

A running variance subtracts what leaves, and keeps its rounding errors, an outlier's above all,
for ever. Here the parts of a window, none of which holds a value from outside of it, are put
together: sums of d = x-K and of d², for a reference K that the windows which end in the same octet
or block have in common, give

    M2 = Σd² - (Σd)²/n

K is a value of the window, or the mean of many, so that 10⁸ + x has the variance of x to as many
digits as the values have, and equal values give exactly 0. Of n values, the subtraction magnifies
the rounding errors of the sums n times at most if K is one of them, and n/m times if K is the mean
of m of them:

                                                                         K            magnified
    up to 8 values   each window by itself                               the last     7 times
    up to 64         two octets, and what lies between, moved to K       the first    63
                                                                         of an octet
    up to 128        as in `sums`: 64 values with which windows begin,   the first    127
                     the block in which they end, and some between       of the block
    more             the same, with whole blocks between                 their mean   3

Whole blocks are put together by Chan's formula, the means kept as distances from a value that lies
in the window itself. These are bounds: in most windows K is near the mean, and nothing is lost.

Whoever puts windows together from parts wants their means as well. `means` has room for them, less
the last value of the window, or none.

Squares of deviations past 10¹⁵⁴ exceed the largest float. The kernels do not look for that; they
return whether a result is not finite, and whoever calls them does.

The relative error is in the last digit or two, 5·10⁻¹⁵ at most, on normal values, 10⁸ + normal
values, a random walk, Cauchy's distribution, a jump of 10⁹ and an outlier of 10¹². Far from 0
pandas keeps 5 to 8 digits and Polars 8; after the jump or the outlier bottleneck and numbagg keep
none.

On 4·10⁶ normal values, in ns a row of one thread: 1.4 for w = 8, 2.1 for w = 63 and 2.6 for 1000,
where bottleneck's running sums of squares take 2.8. Roots are 0.6 of it.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.kernels.special.octets import OCTET
from windrow.kernels.special.past_cache import align_stack
from windrow.kernels.special.scans import BLOCK, ask_for_block, running_sums
from windrow.kernels.special.squares import (
    HALF,
    block_moments,
    octet_squares,
    put_squares_and_means_together,
    put_squares_together,
    squares_of_first,
    window_m2s,
    window_m2s_and_means,
    window_squares,
)
from windrow.kernels.special.sums import FEW, STRIP, between_in_block, load, plus

TILE = 8  # blocks whose moments are found before the windows that end in them
# Where what lies in the scratch of long windows, and in that of short ones.
_SUMS, _SQUARES, _NEWER, _OLDER, _LONG_SCRATCH = 0, BLOCK, 2 * BLOCK, 3 * BLOCK, 5 * BLOCK
_PARTS, _SHORT_OLDER = 0, 2 * STRIP
_SHORT_NEWER, _ROWS = _SHORT_OLDER + HALF, _SHORT_OLDER + 2 * HALF
_SPACE = STRIP // OCTET + OCTET  # for a number of each octet of a strip, and of the block before it
_OCTETS = _ROWS + 2 * HALF
SCRATCH = _OCTETS + 6 * _SPACE


@inner(error_model="numpy")
def variance_of(m2: float, n: float, ddof: float) -> float:
    """The variance of n values; NaN if there are not more than ddof of them."""
    if n <= ddof:
        return np.nan
    return 0.0 if -math.inf < m2 < 0.0 else m2 / (n - ddof)


@inner(error_model="numpy")
def growing_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, out: Array, means: Array
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
    if root:
        for i in range(start, min(w - 1, stop)):
            out[i] = math.sqrt(out[i])
    return odd


@inner(error_model="numpy")
def _finish(rows: Array, n: int, ddof: int, root: bool) -> bool:
    """Make variances of n values, or their roots, of M2. Is one not finite?

    Before a root is taken, no division is worth its time: a tenth of what deviations take.
    """
    odd = False
    if n <= ddof:
        for i in range(rows.size):
            rows[i] = np.nan
        return False
    if root:
        share = 1.0 / (n - ddof)
        for i in range(rows.size):
            m2 = rows[i]
            odd |= m2 - m2 != 0.0
            rows[i] = math.sqrt((0.0 if m2 < 0.0 else m2) * share)
    else:
        for i in range(rows.size):
            m2 = rows[i]
            odd |= m2 - m2 != 0.0
            rows[i] = (0.0 if m2 < 0.0 else m2) / (n - ddof)
    return odd


@inner(error_model="numpy")
def few_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, scratch: Array,
    out: Array, means: Array,
) -> bool:  # fmt: skip
    """Windows of at most 8 values: their deviations from the last one. O(w) a row."""
    odd = growing_variances(values, w, ddof, start, stop, root, out, means)
    share = 1.0 / w
    for first in range(max(start, w - 1), stop, STRIP):
        last = min(first + STRIP, stop)
        x = values[first:last]
        row = out[first:last]
        total = scratch[: last - first]
        if w == FEW:
            a = values[first - 7 : last - 7]
            b = values[first - 6 : last - 6]
            c = values[first - 5 : last - 5]
            d = values[first - 4 : last - 4]
            e = values[first - 3 : last - 3]
            f = values[first - 2 : last - 2]
            g = values[first - 1 : last - 1]
            for i in range(row.size):
                k = x[i]
                p = g[i] - k
                q = f[i] - k
                r = e[i] - k
                s = d[i] - k
                t = c[i] - k
                u = b[i] - k
                v = a[i] - k
                all_d = (p + (q + r)) + ((s + t) + (u + v))
                squares = (p * p + (q * q + r * r)) + ((s * s + t * t) + (u * u + v * v))
                total[i] = all_d
                row[i] = squares - all_d * (all_d * share)
        else:
            if w > 4:
                d = values[first - 4 : last - 4]
                e = values[first - 3 : last - 3]
                f = values[first - 2 : last - 2]
                g = values[first - 1 : last - 1]
                for i in range(row.size):
                    p = g[i] - x[i]
                    q = f[i] - x[i]
                    r = e[i] - x[i]
                    s = d[i] - x[i]
                    total[i] = (p + q) + (r + s)
                    row[i] = (p * p + q * q) + (r * r + s * s)
            else:
                for i in range(row.size):
                    total[i] = 0.0
                    row[i] = x[i] - x[i]  # 0, or NaN for an infinity
            for back in range(5 if w > 4 else 1, w):
                before = values[first - back : last - back]
                for i in range(row.size):
                    deviation = before[i] - x[i]
                    total[i] += deviation
                    row[i] += deviation * deviation
            for i in range(row.size):
                row[i] -= total[i] * (total[i] * share)
        if means.size:
            into = means[first:last]
            for i in range(row.size):
                into[i] = total[i] * share
        odd |= _finish(row, w, ddof, root)
    return odd


@inner(error_model="numpy")
def short_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, scratch: Array,
    out: Array, means: Array,
) -> bool:  # fmt: skip
    """Windows of 9 to 64 values: two octets and what lies between them."""
    odd = growing_variances(values, w, ddof, start, stop, root, out, means)
    start = max(start, w - 1)
    if start >= stop:
        return odd
    align_stack()
    q = (w - 1 - OCTET) // OCTET
    r = (w - 1 - OCTET) % OCTET
    share = 1.0 / w
    # The block before the first row has octets that lie between those of its window.
    begin = max(start // HALF * HALF - BLOCK, 0)
    for first in range(begin, stop, STRIP):
        last = min(first + STRIP, stop)
        if first > begin:
            for field in range(_OCTETS, _OCTETS + 6 * _SPACE, _SPACE):
                for k in range(field, field + OCTET):
                    scratch[k] = scratch[k + STRIP // OCTET]
        for row in range(first, last, HALF):
            into = _PARTS + 2 * (row - first)
            octet = _OCTETS + OCTET + (row - first) // OCTET
            if row >= w - 1 and row + HALF <= values.size:
                octet_squares(
                    values, row - w + 1, values, row, scratch, into, scratch, octet, _SPACE, r
                )
            else:
                load(values, row - w + 1, HALF, scratch, _SHORT_OLDER)
                load(values, row, HALF, scratch, _SHORT_NEWER)
                octet_squares(
                    scratch, _SHORT_OLDER, scratch, _SHORT_NEWER, scratch, into,
                    scratch, octet, _SPACE, r,
                )  # fmt: skip
        for row in range(max(first, start // HALF * HALF), last, HALF):
            parts = _PARTS + 2 * (row - first)
            octet = _OCTETS + OCTET + (row - first) // OCTET
            inside = row >= start and row + HALF <= last
            if inside and means.size:
                put_squares_and_means_together(
                    scratch, parts, scratch, octet, values, row, out, row, means, row,
                    _SPACE, q, r, share,
                )  # fmt: skip
            elif inside:
                put_squares_together(
                    scratch, parts, scratch, octet, values, row, out, row, scratch, 0,
                    _SPACE, q, r, share,
                )  # fmt: skip
            else:
                load(values, row, HALF, scratch, _SHORT_NEWER)
                put_squares_and_means_together(
                    scratch, parts, scratch, octet, scratch, _SHORT_NEWER, scratch, _ROWS,
                    scratch, _ROWS + HALF, _SPACE, q, r, share,
                )  # fmt: skip
                for i in range(max(row, start), min(row + HALF, last)):
                    out[i] = scratch[_ROWS + i - row]
                    if means.size:
                        means[i] = scratch[_ROWS + HALF + i - row]
        odd |= _finish(out[max(first, start) : last], w, ddof, root)
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
def _between_blocks(
    values: Array, block: int, s: int, k: int, anchor: float, mean: float, high: float, low: float,
    suffix: Array, references: Array, at: int,
) -> None:  # fmt: skip
    """Write what the windows that end in a block have in whole blocks: K, Σ(x-K) and Σ(x-K)².

    K is their mean, rounded; without one, a value that all of the windows have.
    """
    n = block * BLOCK
    if block >= s:
        n = (s - 1) * BLOCK
        mean, high, rest = _combine(
            n - k * BLOCK, suffix[k + 1, 0], suffix[k + 1, 1], suffix[k + 1, 2],
            k * BLOCK, mean, high,
        )  # fmt: skip
        low += rest
    if n == 0:
        references[0, at] = values[block * BLOCK]
        references[1, at] = 0.0
        references[2, at] = 0.0
        return
    reference = anchor + mean
    rest = (anchor - reference) + mean
    references[0, at] = reference
    references[1, at] = n * rest
    references[2, at] = (high + low) + n * rest * rest


@inner(error_model="numpy")
def long_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, out: Array, means: Array
) -> bool:
    """Windows of more than 64 values. O(1) a row.

    With w-1 = 64 s + t, the windows that end in a block begin in 64 values of which the last one
    lies t values before a boundary of blocks. From there on s-1 blocks are whole. Roots are taken
    while the variances are in the cache. Returns whether a variance of more than ddof values is not
    finite.

    The means of runs of whole blocks are kept less the last value before the chunk's boundary
    (the very first value in the first chunk). It lies in every window that uses them: if no block
    before the boundary is whole, the window's suffix is in the block that ends there.
    """
    align_stack()
    odd = False
    s = (w - 1) // BLOCK
    t = (w - 1) % BLOCK
    per_w = 1.0 / w
    scratch = np.empty(_LONG_SCRATCH)
    references = np.empty((3, TILE))
    # As many as there are blocks will do, if the window is longer than all the values.
    room = min(s, values.size // BLOCK + 2)
    chunk = np.zeros((room, 3))  # of each block: its first value, its mean less that, its M2
    suffix = np.zeros((room + 1, 3))

    # The chunk before that of the first row has to be gone through for its suffixes.
    boundary = max(start // BLOCK // s - 1, 0) * s
    anchor = values[max(boundary * BLOCK - 1, 0)]
    mean = 0.0
    high = 0.0
    low = 0.0
    blocks = (stop + BLOCK - 1) // BLOCK
    for tile in range(boundary, blocks, TILE):
        end = min(tile + TILE, blocks)
        for block in range(tile, end):
            first = block * BLOCK
            k = block - boundary
            if first + BLOCK > start:
                _between_blocks(
                    values, block, s, k, anchor, mean, high, low, suffix, references, block - tile
                )
            if first + BLOCK > values.size:
                break
            ask_for_block(values, first + TILE * BLOCK)
            chunk[k, 0] = values[first]
            chunk[k, 1], chunk[k, 2] = block_moments(values, first)
            mean, high, low = _combine(
                k * BLOCK, mean, high, low,
                BLOCK, (values[first] - anchor) + chunk[k, 1], chunk[k, 2],
            )  # fmt: skip
            if k + 1 == s:
                boundary = block + 1
                anchor = values[first + BLOCK - 1]
                _chunk_suffixes(chunk, suffix, s, anchor)
                mean = 0.0
                high = 0.0
                low = 0.0
        done = max(tile * BLOCK, start)
        for block in range(max(tile, start // BLOCK), end):
            at = block - tile
            first = block * BLOCK
            begin = first - w + 1
            reference = references[0, at]
            mid = references[1, at]
            mid_square = references[2, at]
            inside = begin >= 0 and first + BLOCK <= values.size
            if not inside:
                load(values, begin, 2 * BLOCK, scratch, _OLDER)
                load(values, first, BLOCK, scratch, _NEWER)
            if block >= s:
                if inside:
                    left, left_square = squares_of_first(values, begin + BLOCK, t, reference)
                else:
                    left, left_square = squares_of_first(scratch, _OLDER + BLOCK, t, reference)
                mid += left
                mid_square += left_square
            if inside and first >= start and first + BLOCK <= stop:
                if means.size:
                    window_m2s_and_means(
                        values, begin, values, first, out, first, means, first,
                        reference, mid, mid_square, per_w,
                    )  # fmt: skip
                else:
                    window_m2s(
                        values, begin, values, first, out, first, scratch, 0,
                        reference, mid, mid_square, per_w,
                    )  # fmt: skip
                continue
            odd |= _finish(out[done : max(first, done)], w, ddof, root)
            done = min(first + BLOCK, stop)
            if inside:
                window_squares(
                    values, begin, values, first, scratch, _SUMS, scratch, _SQUARES,
                    reference, mid, mid_square, per_w,
                )  # fmt: skip
            else:
                for i in range(min(-begin, BLOCK)):  # before the first value is nothing
                    scratch[_OLDER + i] = reference
                window_squares(
                    scratch, _OLDER, scratch, _NEWER, scratch, _SUMS, scratch, _SQUARES,
                    reference, mid, mid_square, per_w,
                )  # fmt: skip
            odd |= _rows_of_block(
                values, w, ddof, max(start, first), done, root, first, reference, scratch, out,
                means,
            )  # fmt: skip
        odd |= _finish(out[done : max(min(end * BLOCK, stop), done)], w, ddof, root)
    return odd


@inner(error_model="numpy")
def _rows_of_block(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, first: int,
    reference: float, scratch: Array, out: Array, means: Array,
) -> bool:  # fmt: skip
    """Some rows of a block, given the sums of d and of d² of all of them."""
    odd = False
    if stop - start == BLOCK and first >= ddof and stop < w and means.size == 0:
        # Windows that grow, all with values enough: the same without a question.
        rows = out[first:stop]
        sums = scratch[_SUMS : _SUMS + BLOCK]
        squares = scratch[_SQUARES : _SQUARES + BLOCK]
        for j in range(BLOCK):
            n = float(first + j + 1)
            m2 = squares[j] - sums[j] * (sums[j] / n)
            odd |= m2 - m2 != 0.0
            rows[j] = (0.0 if m2 < 0.0 else m2) / (n - ddof)
        if root:
            for j in range(BLOCK):
                rows[j] = math.sqrt(rows[j])
        return odd
    for i in range(start, stop):
        total = scratch[_SUMS + i - first]
        n = min(i + 1, w)
        part = total * (1.0 / w) if i + 1 >= w else total / n
        m2 = scratch[_SQUARES + i - first] - total * part
        odd |= m2 - m2 != 0.0
        if root and n == w and n > ddof:  # as `_finish` does it
            out[i] = math.sqrt((0.0 if m2 < 0.0 else m2) * (1.0 / (n - ddof)))
        elif root:
            out[i] = math.sqrt(variance_of(m2, n, ddof))
        else:
            out[i] = variance_of(m2, n, ddof)
        if means.size:
            means[i] = (reference - values[i]) + part
    return odd


@inner(error_model="numpy")
def block_variances(
    values: Array, w: int, ddof: int, start: int, stop: int, root: bool, scratch: Array,
    out: Array, means: Array,
) -> bool:  # fmt: skip
    """At most 64 values, of which windows have all: as `long_variances` does a first block."""
    totals = _NEWER + OCTET - 1
    for k in range(_NEWER, totals):  # before the octets nothing is
        scratch[k] = 0.0
        scratch[k + BLOCK] = 0.0
    for x in range(0, values.size, OCTET):
        for k in range(x, x + OCTET):
            deviation = values[k] - values[0] if k < values.size else 0.0
            scratch[_SUMS + k] = deviation
            scratch[_SQUARES + k] = deviation * deviation
        for at, t in ((_SUMS + x, totals), (_SQUARES + x, totals + BLOCK)):
            sums = running_sums(
                (
                    scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3],
                    scratch[at + 4], scratch[at + 5], scratch[at + 6], scratch[at + 7],
                )
            )  # fmt: skip
            high, low = between_in_block(scratch, t, OCTET - 1)
            for k in range(OCTET):
                scratch[at + k] = (high + low) + sums[k]
            scratch[t] = sums[OCTET - 1]
        totals += 1
    return _rows_of_block(values, w, ddof, start, stop, root, 0, values[0], scratch, out, means)
