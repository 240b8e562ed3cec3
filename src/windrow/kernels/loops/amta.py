"""AMTA, compiled: 4 ⊕ a row on average; complete nodes of all levels in one array.

Level l begins at 2·capacity − (2·capacity >> l) and is a ring of capacity >> l nodes. The stack
has the positions and the aggregates from there to the split, newest on top.
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

STATES = {"nodes": (2, 0), "stack": (0, 160), "spare": (0, 3)}
INDICES = {"positions": (0, 160), "blocks": (0, 320)}


def run(
    row, stop, base, w, lo, hi, columns, nulls, cursors, nodes, stack, spare, positions, blocks,
    out, valid,
):  # fmt: skip
    head, end, split, depth = cursors[0], cursors[1], cursors[3], cursors[4]
    capacity = cursors[2]
    mask = capacity - 1
    r0, r1 = load(spare, 0), load(spare, 1)  # of [head, split) and of [split, end)
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        if head < first:
            head = first
            if head >= end:
                depth, split = 0, head
            else:
                limit = split
                if head >= split:  # the whole window becomes R0
                    depth, split, limit = 0, end, end
                found = False
                while depth and positions[depth - 1] <= head:
                    if positions[depth - 1] == head:
                        store(spare, 0, load(stack, depth - 1))
                        r0 = load(spare, 0)
                        found = True
                    depth -= 1
                if depth:
                    limit = positions[depth - 1]
                # the blocks of [head + 1, limit), from left to right, then stacked from the right
                count, p = 0, head + 1
                while p < limit:
                    level, size = 0, 1
                    while p & size == 0 and p + 2 * size <= limit and 2 * size <= capacity:
                        level += 1
                        size *= 2
                    blocks[2 * count], blocks[2 * count + 1] = level, p
                    count += 1
                    p += size
                while count:
                    count -= 1
                    level, p = blocks[2 * count], blocks[2 * count + 1]
                    place = 2 * capacity - (2 * capacity >> level)
                    block = load(nodes, place + (p >> level & (capacity >> level) - 1))
                    if depth:
                        top = load(stack, depth - 1)
                        keep(stack, depth, combine(block, top, slot(stack, depth)))
                    else:
                        store(stack, depth, block)
                    positions[depth] = p
                    depth += 1
                if not found:
                    if depth:
                        oldest = load(nodes, head & mask)
                        r0 = combine(oldest, load(stack, depth - 1), slot(spare, 0))
                        keep(spare, 0, r0)
                    else:
                        store(spare, 0, load(nodes, head & mask))
                        r0 = load(spare, 0)
        while end < past:
            place = end & mask
            state = lift(columns, nulls, end - base, end, slot(nodes, place))
            keep(nodes, place, state)
            if end == split:
                store(spare, 1, state)
                r1 = load(spare, 1)
            else:
                r1 = combine(r1, state, slot(spare, 1))
                keep(spare, 1, r1)
            end += 1
            level, size = 1, 2
            while size <= capacity and end & (size - 1) == 0 and end - size >= head:
                ring = (capacity >> level) - 1
                below = 2 * capacity - (2 * capacity >> (level - 1))
                sibling = load(nodes, below + ((end - size) >> (level - 1) & (2 * ring + 1)))
                place = 2 * capacity - (2 * capacity >> level) + ((end - size) >> level & ring)
                state = combine(sibling, state, slot(nodes, place))
                keep(nodes, place, state)
                level += 1
                size *= 2
        if head == end:
            emit_nothing(out, valid, r - row)
        elif head >= split:
            emit(out, valid, r - row, r1)
        elif split == end:
            emit(out, valid, r - row, r0)
        else:
            emit(out, valid, r - row, combine(r0, r1, slot(spare, 2)))
    cursors[0], cursors[1], cursors[3], cursors[4] = head, end, split, depth
