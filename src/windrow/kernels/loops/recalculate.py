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
            store(ring, end & mask, lift(columns, nulls, end - base, end, slot(ring, end & mask)))
            end += 1
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        store(spare, 0, load(ring, head & mask))
        total = load(spare, 0)
        for p in range(head + 1, end):
            total = combine(total, load(ring, p & mask), slot(spare, 0))
        emit(out, valid, r - row, total)
    cursors[0], cursors[1] = head, end
