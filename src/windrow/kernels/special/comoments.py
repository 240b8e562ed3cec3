"""Means, squares and products of pairs (y, x) in windows, from which correlations and lines follow.

A window is put together from two parts that share a split, as in `places`: what lies before it, and
what lies behind it. The last w rows are split at every w-th row, other windows where a phase of
`bounded` is:

        ├───────┼───────┼───────┤         suffixes of the stretch before the split,
                ╞suffix═╪prefix═╡         prefixes of the one behind it

Both are filled pair by pair by Welford's formula, of values less those of the part's first pair,
its pivot. That lies in every window which has something of the part, so 10⁸ + x has the digits of
x, and nothing that has left a window has touched its result. A window is one step of Chan's
formula.

Measured on 2·10⁶ rows, windows of 100 to 10,000: 17 ns a row for a correlation, where Two-Stacks
over the states of `aggregations.bivariate` takes 33, and pandas 81.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compiled import compiled, inner
from windrow.kernels.special import Array
from windrow.windows.bounds import last_at, next_phase

# A part: how many pairs, the means of y and x less those of its pivot, and the sums of squares
# and products around the means.
_FIELDS = 6
SCRATCH = 2 * _FIELDS
Part = tuple[float, float, float, float, float, float]
Pivot = tuple[float, float]


@inner(error_model="numpy")
def _plus(part: Part, y: float, x: float) -> Part:
    """A part with one pair more, by Welford's formula."""
    n, my, mx, yy, xx, xy = part
    n += 1.0
    share = 1.0 / n
    ay, ax = y - my, x - mx
    my += ay * share
    mx += ax * share
    by = y - my
    return n, my, mx, yy + ay * by, xx + ax * (x - mx), xy + ax * by


@inner(error_model="numpy")
def _grow(
    y: Array, x: Array, nulls: Array, first: int, step: int, parts: Array, at: int, count: int
) -> Pivot:
    """Write the parts of the first 0 … count pairs from `first` on, and return their pivot.

    Their places in `parts` go from `at` on; both go down for a step of −1.
    """
    masked = nulls.size > 0
    # unsigned, and so never negative for the compiler to ask
    i, place, further = np.uint64(first), np.uint64(at), np.uint64(step)
    last = i + np.uint64(count) * further
    there = i
    while there != last and masked and nulls[there] != 0:
        there += further
    pivot = (y[there], x[there]) if there != last else (0.0, 0.0)
    part = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(_FIELDS):
        parts[k, place] = 0.0
    while i != last:
        if not (masked and nulls[i] != 0):
            part = _plus(part, y[i] - pivot[0], x[i] - pivot[1])
        i += further
        place += further
        parts[0, place], parts[1, place], parts[2, place] = part[0], part[1], part[2]
        parts[3, place], parts[4, place], parts[5, place] = part[3], part[4], part[5]
    return pivot


@inner(error_model="numpy")
def _state(scratch: Array, a: Any, b: Any, older: Pivot, newer: Pivot) -> Any:
    """The state of `aggregations.bivariate` of a suffix and a prefix, by Chan's formula."""
    before, behind = scratch[0, a], scratch[_FIELDS, b]
    n = before + behind
    share = behind / n
    weight = before * share
    # the pivot of a part that the window has nothing of need not lie in it
    y = older[0] if before else newer[0]
    x = older[1] if before else newer[1]
    dy = ((newer[0] if behind else y) - y) + (scratch[_FIELDS + 1, b] - scratch[1, a])
    dx = ((newer[1] if behind else x) - x) + (scratch[_FIELDS + 2, b] - scratch[2, a])
    yy = scratch[3, a] + scratch[_FIELDS + 3, b] + dy * (dy * weight)
    xx = scratch[4, a] + scratch[_FIELDS + 4, b] + dx * (dx * weight)
    xy = scratch[5, a] + scratch[_FIELDS + 5, b] + dx * (dy * weight)
    # NaN if one of the squares is infinite, so that no result needs to ask
    xy += (yy - yy) + (xx - xx)
    return n, y, scratch[1, a] + dy * share, x, scratch[2, a] + dx * share, yy, xx, xy


def results_of(answer: Any, defined: Any) -> tuple[Any, Any]:
    """Two compiled functions that write the results of windows, and whether each has one.

    The first takes windows of the last w rows of a segment, the second windows by their bounds;
    `answer` and `defined` are those of an aggregation. `scratch` has SCRATCH rows that are longer
    than any window, and `nulls` marks the pairs that do not count, or is empty.
    """
    answer, defined = inner(answer, error_model="numpy"), inner(defined)

    @compiled(error_model="numpy")
    def segments(
        y: Array,
        x: Array,
        nulls: Array,
        starts: Array,
        w: int,
        start: int,
        stop: int,
        constants: Any,
        scratch: Array,
        out: Array,
        valid: Array,
    ) -> None:
        s = last_at(starts, start)
        while start < stop:
            while starts[s + 1] <= start:
                s += 1
            split = start - (start - starts[s]) % w
            first = max(starts[s], split + 1 - w)
            end = min(min(starts[s + 1], stop), split + w)
            older = _grow(y, x, nulls, split - 1, -1, scratch, split - first, split - first)
            newer = _grow(y, x, nulls, split, 1, scratch[_FIELDS:], 0, end - split)
            back = split + 1 - w - first  # how far before `first` the first row's window begins
            for i in range(start, end):
                k = i - split
                state = _state(scratch, np.uint64(max(back + k, 0)), np.uint64(k + 1), older, newer)
                valid[i] = defined(state, *constants)
                out[i] = answer(state, *constants) if valid[i] else 0.0
            start = end

    @compiled(error_model="numpy")
    def windows(
        y: Array,
        x: Array,
        nulls: Array,
        lo: Array,
        hi: Array,
        end: int,
        constants: Any,
        scratch: Array,
        out: Array,
        valid: Array,
    ) -> None:
        i = 0
        while i < lo.size:
            first, split, last, end = next_phase(lo, hi, i, end)
            older = _grow(y, x, nulls, split - 1, -1, scratch, split - first, split - first)
            newer = _grow(y, x, nulls, split, 1, scratch[_FIELDS:], 0, end - split)
            for k in range(i, last):
                a, b = np.uint64(lo[k] - first), np.uint64(max(hi[k] - split, 0))
                state = _state(scratch, a, b, older, newer)
                valid[k] = defined(state, *constants)
                out[k] = answer(state, *constants) if valid[k] else 0.0
            i = last

    return segments, windows
