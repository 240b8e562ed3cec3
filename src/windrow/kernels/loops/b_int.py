"""B-Int, compiled: the dyadic intervals of all levels in one array."""

from windrow.kernels.loops.protocol import *

STATES = {"intervals": (2, 0), "spare": (0, 1)}
LAYOUT = {"intervals": "blocks"}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, intervals, spare, out, valid):
    head, end = cursors[0], cursors[1]
    capacity = cursors[2]
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = first
        while end < past:
            state = inserted(intervals, end & (capacity - 1), columns, nulls, base, end)
            end += 1
            complete_blocks(intervals, capacity, head, end, state)
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        total = load(spare, 0)
        p = head
        while p < end:
            level = block_level(p, end, capacity)
            interval = load(intervals, block_place(p, level, capacity))
            if p == head:
                total = copied(spare, 0, interval)
            else:
                total = combine(total, interval, slot(spare, 0))
            p += 1 << level
        emit(out, valid, r - row, total)
    cursors[0], cursors[1] = head, end
