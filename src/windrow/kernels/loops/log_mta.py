"""Log MTA, compiled: about 2·log₂ n ⊕ a row; the nodes of all levels in one array.

Level l is a ring of (2·capacity >> l) nodes that begins at 4·capacity − (4·capacity >> l); a node
at either side of the window has what is there of its values.
"""

from windrow.kernels.loops.protocol import *

STATES = {"nodes": (4, 0), "spare": (0, 1)}
LAYOUT = {"nodes": "nodes"}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, nodes, spare, out, valid):
    head, end, top = cursors[0], cursors[1], cursors[3]
    capacity = cursors[2]
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        while head < first or end < past:
            left = head < first
            if left:
                head = first
                if head == end:
                    top = 0
                    continue
                side = head
            else:
                side = end
                inserted(nodes, end & (2 * capacity - 1), columns, nulls, base, end)
                end += 1
            while top and (end - 1) >> (top - 1) <= (head >> (top - 1)) + 1:
                top -= 1
            grown = False
            while (end - 1) >> top > (head >> top) + 1:
                top += 1
                grown = True
            # renew the nodes of one side of the tree; a new root level on both
            level = 1
            while level <= top:
                below = 4 * capacity - (4 * capacity >> (level - 1))
                wrap = (4 * capacity >> level) - 1  # of the level below
                here = 4 * capacity - (4 * capacity >> level)
                lowest, highest = head >> (level - 1), (end - 1) >> (level - 1)
                m = side >> level
                stop_at = m
                if grown and level == top:
                    m = head >> level
                    stop_at = (end - 1) >> level
                while m <= stop_at:
                    place = here + (m & (wrap >> 1))
                    a, b = 2 * m, 2 * m + 1
                    if a < lowest:
                        store(nodes, place, load(nodes, below + (b & wrap)))
                    elif b > highest:
                        store(nodes, place, load(nodes, below + (a & wrap)))
                    else:
                        keep(nodes, place, combine(
                            load(nodes, below + (a & wrap)),
                            load(nodes, below + (b & wrap)),
                            slot(nodes, place),
                        ))  # fmt: skip
                    m += 1
                level += 1
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        here = 4 * capacity - (4 * capacity >> top)
        wrap = (2 * capacity >> top) - 1
        oldest = load(nodes, here + (head >> top & wrap))
        if head >> top == (end - 1) >> top:
            emit(out, valid, r - row, oldest)
        else:
            newest = load(nodes, here + ((end - 1) >> top & wrap))
            emit(out, valid, r - row, combine(oldest, newest, slot(spare, 0)))
    cursors[0], cursors[1], cursors[3] = head, end, top
