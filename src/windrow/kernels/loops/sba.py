"""SBA, compiled: 3 ⊕ a row on average, in chunks of half a window.

    positions   head ──── front ──── closed ──── end
    ring        lcs, to `closed` │ slices │ slices     csa = ⊕ of [closed, end)

When the front chunk is used up, the closed one becomes the front: its slices turn into lcs in
place, from the csa backwards, and what was open is closed.
"""

from windrow.kernels.loops.protocol import *

STATES = {"ring": (1, 0), "spare": (0, 3)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, ring, spare, out, valid):
    head, end = cursors[0], cursors[1]
    mask = cursors[2] - 1
    front, closed = cursors[3], cursors[4]
    csa = load(spare, 0)  # of [closed, end)
    ca = load(spare, 1)  # of [front, closed)
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = first
        if head > front:  # cross a boundary
            if head >= closed:
                front = closed = head
                if head < end and head > cursors[4]:  # inside the open slices: cut them in two
                    front, closed = head + (end - head + 1) // 2, end
                    store(spare, 1, load(ring, front & mask))
                    ca = load(spare, 1)
                    for p in range(front + 1, closed):
                        ca = combine(ca, load(ring, p & mask), slot(spare, 1))
            else:
                front, closed = closed, end
                store(spare, 1, csa)
                ca = load(spare, 1)
            cursors[4] = closed
            if head < front:
                place = (front - 1) & mask
                if front < closed:
                    keep(ring, place, combine(load(ring, place), ca, slot(ring, place)))
                suffix = load(ring, place)
                for p in range(front - 2, head - 1, -1):
                    place = p & mask
                    suffix = combine(load(ring, place), suffix, slot(ring, place))
                    keep(ring, place, suffix)
        while end < past:
            place = end & mask
            state = lift(columns, nulls, end - base, end, slot(ring, place))
            keep(ring, place, state)
            csa = extended(spare, 0, csa, state, end == closed)
            end += 1
        oldest = load(ring, head & mask) if head < front else ca
        emit_both(out, valid, r - row, oldest, csa, head < closed, closed < end, slot(spare, 2))
    store(spare, 1, ca)
    cursors[0], cursors[1], cursors[3], cursors[4] = head, end, front, closed
