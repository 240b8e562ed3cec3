"""The kernels of the last w rows, run over every segment of an array that holds many.

Segment s is the rows starts[s] … starts[s+1]−1, and no window reaches over its ends. Each function
fills rows start … stop−1, whatever segments they are in; where it begins and stops changes no
result. The kernels work on tiles, which costs a short segment more than its rows do (100 ns a row
for segments of 10 rows), so there are two simpler ways:

    a segment of less than w rows   every window begins where the segment does: a running total
    one of at most 64 rows          its windows are gone through, or it is one tile

Short windows and long ones have kernels of their own, and only the one that is asked for is
compiled.

With them, 5·10⁵ segments of 10 rows take 3 (maxima), 5 to 7 (sums) or 11 to 14 ns (deviations) a
row. Sums and variances group their values as the kernels do, whatever the length of a segment: one
that comes in pieces has the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import (
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
from windrow.kernels.special.scans import BLOCK
from windrow.kernels.special.sums import FEW, block_sums, few_sums, long_sums, short_sums
from windrow.kernels.special.sums import SCRATCH as SUMS_SCRATCH
from windrow.kernels.special.variance import SCRATCH as VARIANCES_SCRATCH
from windrow.kernels.special.variance import (
    block_variances,
    few_variances,
    long_variances,
    short_variances,
)
from windrow.windows.bounds import last_at

SHORT = 64


def _over_segments(fill: Any) -> Any:
    """Return a compiled function that fills the rows start … stop−1 of all segments by `fill`.

    `fill(values, out, begin, first, last, scratch, more)` fills the rows first … last−1 of one
    segment, which begins at row `begin`, and returns whether it found something odd. It becomes
    part of the loop: as a function it made segments of 10 rows take up to a fifth longer. Extremes
    and short sums have loops of their own, which are 3 to 5 % faster over such segments.
    """
    fill = inner(fill, error_model="numpy", inline="always")

    @compiled(error_model="numpy")
    def segments(
        values: Array, starts: Array, start: int, stop: int, out: Array, scratch: Array, more: Any
    ) -> bool:
        odd = False
        s = last_at(starts, start)
        while s < starts.size - 1 and starts[s] < stop:
            begin, end = starts[s], starts[s + 1]
            first, last = max(start - begin, 0), min(stop, end) - begin
            odd |= fill(values[begin:end], out[begin:end], begin, first, last, scratch, more)
            s += 1
        return odd

    return segments


# -- extrema -------------------------------------------------------------------------------------


def _extremes_by(rolling: Any) -> Any:
    """A compiled function over segments, of which `rolling` does the long ones."""

    @compiled
    def segments(
        bits: Array,
        starts: Array,
        w: int,
        start: int,
        stop: int,
        order: Order,
        scratch: Array,
        out: Array,
    ) -> None:
        s = last_at(starts, start)
        while s < starts.size - 1 and starts[s] < stop:
            first = max(start - starts[s], 0)
            last = min(stop, starts[s + 1]) - starts[s]
            part = bits[starts[s] : starts[s + 1]]
            row = out[starts[s] : starts[s + 1]]
            if part.size <= w:
                highest = LOWEST
                for i in range(first):
                    highest = max(highest, key_of(part[i], order))
                for i in range(first, last):
                    highest = max(highest, key_of(part[i], order))
                    row[i] = value_of(highest, order)
            elif part.size <= SHORT:
                for i in range(first, last):
                    highest = LOWEST
                    for j in range(max(i + 1 - w, 0), i + 1):
                        highest = max(highest, key_of(part[j], order))
                    row[i] = value_of(highest, order)
            else:
                rolling(part, w, first, last, order, scratch, row)
            s += 1

    return segments


short_segment_extremes = _extremes_by(short_extremes)
long_segment_extremes = _extremes_by(long_extremes)


def segment_extremes(
    bits: Array, starts: Array, w: int, start: int, stop: int, order: Order, out: Array
) -> None:
    """out[i] is the maximum of the last w rows of i's segment (minimum for a flip of −1)."""
    run = short_segment_extremes if w <= SHORT_EXTREMES else long_segment_extremes
    run(bits, starts, w, start, stop, order, np.empty(EXTREMES_SCRATCH, np.int64), out)


# -- sums ----------------------------------------------------------------------------------------


def segment_sums(
    values: Array, starts: Array, w: int, start: int, stop: int, mean: bool, out: Array
) -> None:
    """out[i] is the sum, or the mean, of the last w rows of i's segment."""
    run = few_segment_sums if w <= FEW else short_segment_sums if w <= BLOCK else long_segment_sums
    run(values, starts, w, start, stop, mean, np.empty(SUMS_SCRATCH), out)


def _sums_by(rolling: Any, within_block: Any) -> Any:
    """A compiled function over segments; `within_block` does those that windows are longer than."""

    @compiled(error_model="numpy")
    def segments(
        values: Array, starts: Array, w: int, start: int, stop: int, mean: bool, scratch: Array,
        out: Array,
    ) -> None:  # fmt: skip
        s = last_at(starts, start)
        while s < starts.size - 1 and starts[s] < stop:
            first = max(start - starts[s], 0)
            last = min(stop, starts[s + 1]) - starts[s]
            part = values[starts[s] : starts[s + 1]]
            row = out[starts[s] : starts[s + 1]]
            if part.size <= min(w - OCTET, BLOCK):
                within_block(part, w, first, last, mean, scratch, row)
            else:
                rolling(part, w, first, last, mean, scratch, row)
            s += 1

    return segments


few_segment_sums = _sums_by(few_sums, few_sums)
short_segment_sums = _sums_by(short_sums, block_sums)
long_segment_sums = _sums_by(long_sums, block_sums)


# -- variances -----------------------------------------------------------------------------------


def segment_variances(
    values: Array, starts: Array, w: int, ddof: int, start: int, stop: int, root: bool, out: Array,
    means: Array,
) -> bool:  # fmt: skip
    """out[i] is the variance of the last w rows of i's segment, or its root; NaN for ≤ ddof.

    means[i] is their mean less row i's value, if there is room for it. Returns whether a variance
    of more values is not finite.
    """
    if w <= FEW:
        run = few_segment_variances
    else:
        run = short_segment_variances if w <= BLOCK else long_segment_variances
    scratch = np.empty(VARIANCES_SCRATCH)
    odd: bool = run(values, starts, start, stop, out, scratch, (w, ddof, root, means))
    return odd


@_over_segments
def few_segment_variances(
    values: Array, out: Array, begin: int, first: int, last: int, scratch: Array, more: Any
) -> bool:
    """The same for windows of at most 8 rows."""
    w, ddof, root, means = more
    room = means[begin : begin + values.size]
    odd: bool = few_variances(values, w, ddof, first, last, root, scratch, out, room)
    return odd


@_over_segments
def short_segment_variances(
    values: Array, out: Array, begin: int, first: int, last: int, scratch: Array, more: Any
) -> bool:
    """The same for windows of 9 to 64 rows."""
    w, ddof, root, means = more
    room = means[begin : begin + values.size]
    odd: bool = short_variances(values, w, ddof, first, last, root, scratch, out, room)
    return odd


@_over_segments
def long_segment_variances(
    values: Array, out: Array, begin: int, first: int, last: int, scratch: Array, more: Any
) -> bool:
    """The same for windows of more than 64 rows."""
    w, ddof, root, means = more
    room = means[begin : begin + values.size]
    odd = False
    if values.size > BLOCK:
        odd |= long_variances(values, w, ddof, first, last, root, out, room)
    else:
        odd |= block_variances(values, w, ddof, first, last, root, scratch, out, room)
    return odd
