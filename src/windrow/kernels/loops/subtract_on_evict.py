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
            state = inserted(ring, end & mask, columns, nulls, base, end)
            if head == end:  # an empty window forgets what rounding left behind
                total = copied(spare, 0, state)
            else:
                total = combine(total, state, slot(spare, 0))
            end += 1
        if lost(total) and head < end:
            total = folded(ring, mask, head, end, spare, 0)
        if head == end:
            emit_nothing(out, valid, r - row)
        else:
            emit(out, valid, r - row, total)
    store(spare, 0, total)
    cursors[0], cursors[1] = head, end
