"""Two-Stacks, compiled: 3 ⊕ a row on average, in one ring.

    positions   head ───────── split ───────── end
    ring        suffix ⊕ to split │ values          total = ⊕ of the values

The front stack lies where its values lay: a flip turns them into suffix aggregates in place. With
the flips at every w-th row this is the boundary aggregator with chunks of a whole window. What a
row's ⊕ are grouped by depends on the positions alone, so batches cut anywhere give the same bits.
"""

from windrow.kernels.loops.protocol import *

STATES = {"ring": (1, 0), "spare": (0, 2)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, ring, spare, out, valid):
    head, end, split = cursors[0], cursors[1], cursors[3]
    mask = cursors[2] - 1
    total = load(spare, 0)  # of [split, end)
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = first
        if head > split:  # flip
            split = end
            if head < split:
                fold_back(ring, mask, head, split)
            else:  # nothing is left, and what lies between is in no window
                split = end = head
        while end < past:
            state = inserted(ring, end & mask, columns, nulls, base, end)
            total = extended(spare, 0, total, state, end == split)
            end += 1
        front = load(ring, head & mask)
        emit_both(out, valid, r - row, front, total, head < split, split < end, slot(spare, 1))
    cursors[0], cursors[1], cursors[3] = head, end, split
