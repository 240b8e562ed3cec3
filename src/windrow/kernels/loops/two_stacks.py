"""Two-Stacks, compiled: 3 ⊕ a row on average, in one ring.

    positions   head ───────── split ───────── end
    ring        suffix ⊕ to split │ values          total = ⊕ of the values

The front stack lies where its values lay: a flip turns them into suffix aggregates in place. With
the flips at every w-th row this is the boundary aggregator with chunks of a whole window. What a
row's ⊕ are grouped by depends on the positions alone, so batches cut anywhere give the same bits.
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

STATES = {"ring": (1, 0), "spare": (0, 2)}
INDICES: dict[str, tuple[int, int]] = {}


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
                suffix = load(ring, (split - 1) & mask)
                for p in range(split - 2, head - 1, -1):
                    place = p & mask
                    suffix = combine(load(ring, place), suffix, slot(ring, place))
                    keep(ring, place, suffix)
            else:  # nothing is left, and what lies between is in no window
                split = end = head
        while end < past:
            place = end & mask
            state = lift(columns, nulls, end - base, end, slot(ring, place))
            keep(ring, place, state)
            if end == split:
                store(spare, 0, state)
                total = load(spare, 0)
            else:
                total = combine(total, state, slot(spare, 0))
                keep(spare, 0, total)
            end += 1
        if head == end:
            emit_nothing(out, valid, r - row)
        elif head == split:
            emit(out, valid, r - row, total)
        elif split == end:
            emit(out, valid, r - row, load(ring, head & mask))
        else:
            emit(out, valid, r - row, combine(load(ring, head & mask), total, slot(spare, 1)))
    cursors[0], cursors[1], cursors[3] = head, end, split
