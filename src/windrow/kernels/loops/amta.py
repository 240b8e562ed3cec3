"""AMTA, compiled: 4 ⊕ a row on average; complete nodes of all levels in one array.

The stack has positions and the aggregates from there to the split, newest on top.
"""

from windrow.kernels.loops.protocol import *

STATES = {"nodes": (2, 0), "stack": (0, 160), "spare": (0, 3)}
INDICES = {"positions": (0, 160), "blocks": (0, 320)}
LAYOUT = {"nodes": "blocks"}


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
                        r0 = copied(spare, 0, load(stack, depth - 1))
                        found = True
                    depth -= 1
                if depth:
                    limit = positions[depth - 1]
                # the blocks of [head + 1, limit), from left to right, then stacked from the right
                count, p = 0, head + 1
                while p < limit:
                    level = block_level(p, limit, capacity)
                    blocks[2 * count], blocks[2 * count + 1] = level, p
                    count += 1
                    p += 1 << level
                while count:
                    count -= 1
                    level, p = blocks[2 * count], blocks[2 * count + 1]
                    block = load(nodes, block_place(p, level, capacity))
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
                        r0 = copied(spare, 0, load(nodes, head & mask))
        while end < past:
            state = inserted(nodes, end & mask, columns, nulls, base, end)
            r1 = extended(spare, 1, r1, state, end == split)
            end += 1
            complete_blocks(nodes, capacity, head, end, state)
        emit_both(out, valid, r - row, r0, r1, head < split, split < end, slot(spare, 2))
    cursors[0], cursors[1], cursors[3], cursors[4] = head, end, split, depth
