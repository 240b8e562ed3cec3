"""SlickDeque, compiled: fewer than 2 ⊕ a row; a ring of the values that may still be results."""

from windrow.kernels.loops.protocol import *

STATES = {"nodes": (1, 0), "spare": (0, 2)}
INDICES = {"positions": (1, 0)}
LAYOUT = {"nodes": "numbers", "positions": "numbers"}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, nodes, spare, positions, out, valid):
    head, end, oldest, newest = cursors[0], cursors[1], cursors[3], cursors[4]
    mask = cursors[2] - 1
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = first
        while oldest < newest and positions[oldest & mask] < first:
            oldest += 1
        while end < past:
            state = lift(columns, nulls, end - base, end, slot(spare, 0))
            while oldest < newest:
                older = load(nodes, (newest - 1) & mask)
                if same(combine(older, state, slot(spare, 1)), older):
                    break
                newest -= 1
            store(nodes, newest & mask, state)
            positions[newest & mask] = end
            newest += 1
            end += 1
        if oldest == newest:
            emit_nothing(out, valid, r - row)
        else:
            emit(out, valid, r - row, load(nodes, oldest & mask))
    cursors[0], cursors[1], cursors[3], cursors[4] = head, end, oldest, newest
