"""B-Int, compiled: the dyadic intervals of all levels in one array.

Level l begins at 2·capacity − (2·capacity >> l) and is a ring of capacity >> l intervals.
"""

from windrow.kernels.loops.protocol import (
    combine,
    emit,
    emit_nothing,
    keep,
    lift,
    load,
    slot,
    store,
    window,
)

STATES = {"intervals": (2, 0), "spare": (0, 1)}
INDICES: dict[str, tuple[int, int]] = {}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, intervals, spare, out, valid):
    head, end = cursors[0], cursors[1]
    capacity = cursors[2]
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = first
        while end < past:
            place = end & (capacity - 1)
            state = lift(columns, nulls, end - base, end, slot(intervals, place))
            keep(intervals, place, state)
            end += 1
            level, size = 1, 2
            while size <= capacity and end & (size - 1) == 0 and end - size >= head:
                start = 2 * capacity - (2 * capacity >> level)
                ring = (capacity >> level) - 1
                below = 2 * capacity - (2 * capacity >> (level - 1))
                m = (end - size) >> (level - 1)
                sibling = load(intervals, below + (m & (2 * ring + 1)))
                place = start + ((end - size) >> level & ring)
                state = combine(sibling, state, slot(intervals, place))
                keep(intervals, place, state)
                level += 1
                size *= 2
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        total = load(spare, 0)
        p = head
        while p < end:
            level, size = 0, 1
            while p & size == 0 and p + 2 * size <= end and 2 * size <= capacity:
                level += 1
                size *= 2
            start = 2 * capacity - (2 * capacity >> level)
            interval = load(intervals, start + (p >> level & (capacity >> level) - 1))
            if p == head:
                store(spare, 0, interval)
                total = load(spare, 0)
            else:
                total = combine(total, interval, slot(spare, 0))
            p += size
        emit(out, valid, r - row, total)
    cursors[0], cursors[1] = head, end
