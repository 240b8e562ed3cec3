"""Where windows of the calendar begin and end among sorted rows: the compiled loops.

Months are not alike, so a window may begin before that of an earlier row: 28 March, 20:00, less a
month is 28 February, 20:00; 31 March, 8:00, less a month is 28 February, 8:00. Such windows are
answered in layers, in each of which bounds never fall:

    rows       27  28  29  30  31  1 …   March       begin   27  28  28  28  28  1
    layers      a   a   b   c   d   a                (29 to 31 March at a time before the 28th's)
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.compiled import compiled
from windrow.windows.arrays import Positions, ordinary
from windrow.windows.bounds import first_from, last_at
from windrow.windows.hop_bounds import Selection, counted_then_written

Array = np.ndarray[Any, Any]


@compiled
def _fill_positions(at: Array, starts: Array, edges: Array, out: Array) -> None:
    """Write the first position in its segment whose time is not before each row's edge."""
    for s in range(starts.size - 1):
        first = starts[s]
        end = starts[s + 1]
        p = first
        for i in range(first, end):
            edge = edges[i]
            while p > first and at[p - 1] >= edge:
                p -= 1
            while p < end and at[p] < edge:
                p += 1
            out[i] = p


def edge_positions(
    at: NDArray[np.int64], starts: Positions, edges: NDArray[np.int64], keep: bool
) -> Positions:
    """Return the first position in its segment that is not before each row's own edge.

    One of exactly that time is not before it if it is to `keep`. Edges may fall. O(n), and as many
    more steps as they go back.

    >>> at = np.array([1, 2, 4, 7])
    >>> edge_positions(at, np.array([0, 4]), np.array([0, 2, 1, 4]), True)
    array([0, 1, 0, 2])
    """
    if not keep:
        edges = edges + (edges < np.iinfo(np.int64).max)
    out = np.empty(at.size, np.int64)
    _fill_positions(ordinary(at), ordinary(starts), ordinary(edges), out)
    return out


@compiled
def _hop(
    at: Array,
    starts: Array,
    opens: Array,
    closes: Array,
    places: int,
    placed: int,
    answered: int,
    since: int,
    open_: int,
    until: int,
    lo: Array,
    hi: Array,
    number: Array,
    segment: Array,
) -> int:
    """Return how many windows hold a row, and write them where there is room for them.

    From `places` on to `until` as `hop_bounds.Selection.limits` has them.
    """
    w = 0
    for s in range(placed, starts.size - 1, places):
        end = starts[s + 1]
        first = past = starts[s]
        k = since if s < answered else 0
        most = until if s >= open_ else opens.size
        while first < end:
            # the first window that ends behind the row, which may still begin behind it
            k = max(k, last_at(closes, at[first]) + 1)
            if k >= most:
                break
            first = first_from(at, first, end, opens[k])
            past = first_from(at, max(past, first), end, closes[k])
            if past > first:
                if lo.size:
                    lo[w] = first
                    hi[w] = past
                    number[w] = k
                    segment[w] = s
                w += 1
                k += 1
    return w


def hops_between(
    at: NDArray[np.int64],
    starts: Positions,
    opens: NDArray[np.int64],
    closes: NDArray[np.int64],
    selection: Selection,
    named: str,
) -> list[Positions]:
    """Return which of the windows [open, close) hold a row; neither `opens` nor `closes` fall.

    They are four arrays: the positions [lo, hi) of each one's rows, its number, and its segment.
    """
    at, starts = ordinary(at), ordinary(starts)
    limits = selection.limits(starts.size, lambda t: int(np.searchsorted(closes, t, side="right")))
    loop = partial(_hop, at, starts, opens, closes, *limits)
    return counted_then_written(loop, [np.int64] * 4, named)


@compiled
def _layers(lo: Array, hi: Array, tops: Array, out: Array) -> int:
    """Write the layer of each window, and return how many there are; −1 if `tops` has no room."""
    count = 0
    for i in range(lo.size):
        layer = 0
        while layer < count and (lo[i] < tops[layer, 0] or hi[i] < tops[layer, 1]):
            layer += 1
        if layer == tops.shape[0]:
            return -1
        count = max(count, layer + 1)
        tops[layer, 0] = lo[i]
        tops[layer, 1] = hi[i]
        out[i] = layer
    return count


def layers(lo: Positions, hi: Positions) -> list[Positions]:
    """Return the numbers of the windows in as few layers as can be; in none does a bound fall.

    >>> [layer.tolist() for layer in layers(np.array([0, 2, 1, 3]), np.array([2, 3, 4, 5]))]
    [[0, 1, 3], [2]]
    """
    own_layer, room, count = np.empty(lo.size, np.int64), 8, -1
    while count < 0:
        room *= 2
        count = _layers(lo, hi, np.zeros((room, 2), np.int64), own_layer)
    return [np.flatnonzero(own_layer == layer) for layer in range(count)]
