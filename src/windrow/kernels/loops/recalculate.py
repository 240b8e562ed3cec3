"""Recalculate, compiled: n − 1 ⊕ a row."""

from windrow.kernels.loops.protocol import *

STATES = {"ring": (1, 0), "spare": (0, 1)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, ring, spare, out, valid):
    head, end = cursors[0], cursors[1]
    mask = cursors[2] - 1
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = max(head, first)
        while end < past:
            inserted(ring, end & mask, columns, nulls, base, end)
            end += 1
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        total = copied(spare, 0, load(ring, head & mask))
        for p in range(head + 1, end):  # `folded` in here takes half as long again
            total = combine(total, load(ring, p & mask), slot(spare, 0))
        emit(out, valid, r - row, total)
    cursors[0], cursors[1] = head, end
