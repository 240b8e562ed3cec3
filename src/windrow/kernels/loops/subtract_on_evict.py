"""Subtract-on-Evict, compiled: 1 ⊕ and 1 inverse a row.

Nothing can be subtracted from infinity: a total that is not finite is made anew from the window.
"""

from windrow.kernels.loops.protocol import *

STATES = {"ring": (1, 0), "spare": (0, 1)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, ring, spare, out, valid):
    head, end = cursors[0], cursors[1]
    mask = cursors[2] - 1
    total = load(spare, 0)
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        while head < first:
            total = invert(total, load(ring, head & mask), slot(spare, 0))
            head += 1
        while end < past:
            state = lift(columns, nulls, end - base, end, slot(ring, end & mask))
            store(ring, end & mask, state)
            if head == end:  # an empty window forgets what rounding left behind
                store(spare, 0, state)
                total = load(spare, 0)
            else:
                total = combine(total, state, slot(spare, 0))
            end += 1
        if lost(total) and head < end:
            store(spare, 0, load(ring, head & mask))
            total = load(spare, 0)
            for p in range(head + 1, end):
                total = combine(total, load(ring, p & mask), slot(spare, 0))
        if head == end:
            emit_nothing(out, valid, r - row)
        else:
            emit(out, valid, r - row, total)
    store(spare, 0, total)
    cursors[0], cursors[1] = head, end
