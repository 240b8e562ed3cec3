"""Sums and extremes of so many rows before each row and behind it, without the row itself.

The window of row i, from `start` to `end` behind it, is the last w rows of row i + end, unless its
segment ends before that: then it is the last rows of the segment.

        rows=(-2, 1)        a  a  a  a  a  a │ b  b
                               [·  i  ·]     │         the last 4 rows of the row behind i
                                     [·  · i]│         a suffix of the segment

So sums are found by the kernels for the last rows, and row i is taken out of its own (`left_out`).
Extremes are put together from those of shorter windows, which cover the rows before row i and
behind it, and may overlap. Both are done a tile at a time, while it is in the cache.

Measured on 2·10⁶ rows, 500 on either side, in ns a row of one thread: sums 1.5, maxima 2.5. Of
windows that leave nothing out 1.1 and 2.3; with a pass of their own over results that were all
found before, it was 1.6 and 2.7, and extremes of whole windows, with the rows gone through of those
whose own row it was, took 2.8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.bounded import shrinking_sums
from windrow.kernels.special.left_out import OUTWEIGHED, is_doubtful, sum_of_others
from windrow.kernels.special.minmax import (
    HIGHEST,
    LOWEST,
    Order,
    key_of,
    long_extremes,
    short_extremes,
    value_of,
)
from windrow.kernels.special.minmax import SCRATCH as EXTREMES_SCRATCH
from windrow.kernels.special.minmax import SHORT as SHORT_EXTREMES
from windrow.kernels.special.octets import OCTET
from windrow.kernels.special.running_maxima import suffix_maxima
from windrow.kernels.special.scans import BLOCK
from windrow.kernels.special.sums import FEW, block_sums, few_sums, long_sums, short_sums
from windrow.kernels.special.sums import SCRATCH as SUMS_SCRATCH
from windrow.windows.bounds import frame_at, last_at

# Rows that are summed before they are put right: they stay in the second-level cache. A kernel goes
# back by up to two windows before it begins, so they are more where windows are long.
TILE, TIMES = 1 << 15, 16
# Of so many rows it is asked at once whether one needs to be looked at.
_TOGETHER = 128
# A segment of so many rows has its windows gone through, for extremes.
_SHORT = 64


# -- sums ------------------------------------------------------------------------------------------


@intrinsic
def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a · b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@inner(error_model="numpy")
def _subtract(rows: Array, count: float, left: Array, sums: Array) -> bool:
    """Make of each sum what is left of it without its row, / count; whether one is doubtful.

    left[k] is what is divided. Quotients are rounded as those of a division are (Markstein), which
    would take three times as long; only infinite ones become NaN, and so are doubtful.
    """
    doubtful = False
    share = 1.0 / count
    limit = count * OUTWEIGHED
    for k in range(sums.size):
        rest = sums[k] - rows[k]
        left[k] = rest
        quotient = rest * share
        off: float = _fma(-quotient, count, rest)  # type: ignore[call-arg]
        quotient = _fma(off, share, quotient)
        doubtful |= not abs(rows[k]) <= limit * abs(quotient)
        sums[k] = quotient
    return doubtful


@inner(error_model="numpy", apart=True)
def _look(
    values: Array, segment: tuple[int, int], frame: tuple[int, int], begin: int, stop: int,
    mean: bool, every: bool, left: Array, out: Array,
) -> int:  # fmt: skip
    """Write the results of `every` row from `begin` to before `stop`, or of the doubtful ones.

    left[k] is the sum without row begin + k, and its result is that of the row `end` behind it.
    Returns how many rows were looked at one by one. No slice is handed over, see `bounded`.
    """
    looked = 0
    start, end = frame
    for row in range(begin, stop):
        rest = left[row - begin]
        doubtful = is_doubtful(values[row], rest)
        if not (every or doubtful):
            continue
        lo, hi = frame_at(row, start, end, segment[0], segment[1])
        if doubtful:
            rest, seen = sum_of_others(values, lo, hi, row, rest)
            looked += seen
        out[row + end] = rest / (hi - lo - 1) if mean else rest
    return looked


@inner(error_model="numpy")
def _take_out(
    values: Array, segment: tuple[int, int], frame: tuple[int, int], begin: int, stop: int,
    mean: bool, left: Array, out: Array,
) -> int:  # fmt: skip
    """Make of the sums of whole windows the results of rows begin … stop − 1 of a segment.

    Returns how many rows were looked at one by one.
    """
    start, end = frame
    looked = 0
    for a in range(begin, stop, _TOGETHER):
        b = min(a + _TOGETHER, stop)
        every = mean and not (a + start >= segment[0] and b + end <= segment[1])
        count = float(end - start) if mean and not every else 1.0
        if _subtract(values[a:b], count, left, out[a + end : b + end]) or every:
            looked += _look(values, segment, frame, a, b, mean, every, left, out)
    return looked


def _sums_by(rolling: Any, within_block: Any) -> Any:
    """A compiled function over the rows begin … stop − 1 of all segments.

    out[i + end] is the sum, or the mean, of the rows from `start` to `end` behind row i but for
    row i. `rolling` finds the sums of the last rows, and `within_block` those of segments that
    windows are longer than. Returns how many rows were looked at one by one; once they are more
    than `most`, the rest is not done.
    """

    @compiled(error_model="numpy")
    def sums_around(
        values: Array, starts: Array, frame: tuple[int, int], begin: int, stop: int, mean: bool,
        most: int, scratch: Array, out: Array,
    ) -> int:  # fmt: skip
        start, end = frame
        w = end - start + 1
        tile = max(TILE, TIMES * w)
        suffix = np.empty(w + 1)
        left = np.empty(_TOGETHER)
        looked = 0
        s = last_at(starts, begin)
        while s < starts.size - 1 and starts[s] < stop and looked <= most:
            segment = first, past = starts[s], starts[s + 1]
            part, into = values[first:past], out[first:past]
            a, last = max(begin, first), min(stop, past)
            ending = max(a, min(last, past - end))  # from here on the segment ends before windows
            while a < ending and looked <= most:
                b = min(a + tile, ending)
                x, y = a + end - first, b + end - first
                if part.size <= min(w - OCTET, BLOCK):
                    within_block(part, w, x, y, False, scratch, into)
                else:
                    rolling(part, w, x, y, False, scratch, into)
                looked += _take_out(values, segment, frame, a, b, mean, left, out)
                a = b
            if ending < last:
                base = max(first, ending + start)
                shrinking_sums(values[base:past], suffix)
                for i in range(ending, last):
                    out[i + end] = suffix[max(i + start, first) - base]
                looked += _take_out(values, segment, frame, ending, last, mean, left, out)
            s += 1
        return looked

    return sums_around


few_sums_around = _sums_by(few_sums, few_sums)
short_sums_around = _sums_by(short_sums, block_sums)
long_sums_around = _sums_by(long_sums, block_sums)


def sums_around_rows(
    values: Array, starts: Array, frame: tuple[int, int], begin: int, stop: int, mean: bool,
    most: int, out: Array,
) -> int:  # fmt: skip
    """out[i + end] is the sum, or the mean, of the rows around row i; as `_sums_by` says."""
    w = frame[1] - frame[0] + 1
    run = few_sums_around if w <= FEW else short_sums_around if w <= BLOCK else long_sums_around
    scratch = np.empty(SUMS_SCRATCH)
    looked: int = run(values, starts, frame, begin, stop, mean, most, scratch, out)
    return looked


# -- extremes --------------------------------------------------------------------------------------


@inner
def _beyond(bits: Array, w: int, a: int, b: int, order: Order, suffix: Array, out: Array) -> None:
    """out[i - a] is the extreme of the last w rows of row i, which lies behind all rows.

    The rows before the first one, and behind the last that has one of them, have nothing.
    """
    end = min(b, bits.size + w - 1)
    if a < end:
        first = max(a - w + 1, 0)
        suffix_maxima(bits[first:], order, suffix)
        for i in range(a, end):
            out[i - a] = value_of(suffix[max(i - w + 1, 0) - first], order)
    for i in range(max(a, end), b):
        out[i - a] = value_of(LOWEST, order)


@inner
def _cover(found: Array, places: Array, order: Order, out: Array) -> None:
    """out[i] is the extreme of those found at i + each of these places, an even number of them."""
    flip = order[0]
    signs = HIGHEST if order[1] else 0
    for k in range(0, out.size, _TOGETHER):
        row = out[k : k + _TOGETHER]
        for p in range(0, places.size, 2):
            x, y = found[places[p] + k :], found[places[p + 1] + k :]
            if p == 0:
                for i in range(row.size):  # keys, as what was found has one NaN at most
                    a = x[i] ^ ((x[i] >> 63) & signs) ^ flip
                    b = y[i] ^ ((y[i] >> 63) & signs) ^ flip
                    row[i] = max(a, b)
            else:
                for i in range(row.size):
                    a = x[i] ^ ((x[i] >> 63) & signs) ^ flip
                    b = y[i] ^ ((y[i] >> 63) & signs) ^ flip
                    row[i] = max(row[i], max(a, b))
        for i in range(row.size):
            row[i] = value_of(row[i], order)


@inner
def _each_extreme(
    bits: Array, a: int, b: int, before: int, behind: int, order: Order, out: Array
) -> None:
    """out[i - a] is the extreme of the others from `before` row i to `behind` it, gone through."""
    for i in range(a, b):
        highest = LOWEST
        for j in range(max(i - before, 0), i):
            highest = max(highest, key_of(bits[j], order))
        for j in range(i + 1, min(i + behind + 1, bits.size)):
            highest = max(highest, key_of(bits[j], order))
        out[i - a] = value_of(highest, order)


def _extremes_by(rolling: Any) -> Any:
    """A compiled function over the rows begin … stop − 1 of all segments.

    out[i] is the extreme of what windows of w rows that end with the rows i + each of `places`
    cover; these never fall.
    """

    @compiled
    def extremes_around(
        bits: Array, starts: Array, w: int, places: Array, begin: int, stop: int, order: Order,
        scratch: Array, out: Array,
    ) -> None:  # fmt: skip
        span = places[-1] - places[0]
        tile = min(max(TILE, TIMES * max(w, span)), stop - begin)
        found = np.empty(w + span + tile, np.int64)  # after room for what comes before its rows
        suffix = np.empty(w + 1, np.int64)
        s = last_at(starts, begin)
        while s < starts.size - 1 and starts[s] < stop:
            first, past = starts[s], starts[s + 1]
            part = bits[first:past]
            a, last = max(begin, first), min(stop, past)
            done = a + places[0] - first  # from here on nothing is found yet
            if part.size <= _SHORT:
                before = w - 1 - places[0]
                _each_extreme(part, a - first, last - first, before, places[-1], order, out[a:last])
                a = last
            while a < last:
                b = min(a + tile, last)
                base = a + places[0] - first  # the row of the first that is found
                end = b + places[-1] - first
                while done < end:
                    row = found[w + done - base :]
                    if done < 0:
                        upto = min(end, 0)
                        for i in range(upto - done):
                            row[i] = value_of(LOWEST, order)
                    elif done < part.size:
                        upto = min(end, part.size)
                        back = min(done, w - 1)
                        rolling(
                            part[done - back :], w, back, back + upto - done, order, scratch,
                            found[w + done - base - back :],
                        )  # fmt: skip
                    else:
                        upto = end
                        _beyond(part, w, done, upto, order, suffix, row)
                    done = upto
                _cover(found[w:], places - places[0], order, out[a:b])
                for i in range(span):
                    found[w + i] = found[w + i + b - a]
                a = b
            s += 1

    return extremes_around


short_extremes_around = _extremes_by(short_extremes)
long_extremes_around = _extremes_by(long_extremes)


def extremes_around_rows(
    bits: Array, starts: Array, w: int, places: Array, begin: int, stop: int, order: Order,
    out: Array,
) -> None:  # fmt: skip
    """out[i] is the extreme of the windows of w rows that end so many rows behind row i."""
    run = short_extremes_around if w <= SHORT_EXTREMES else long_extremes_around
    scratch = np.empty(EXTREMES_SCRATCH, np.int64)
    run(bits, starts, w, places, begin, stop, order, scratch, out)
