"""FlatFAT, compiled: a complete tree over a ring of slots, 2·log₂ n ⊕ a row.

A node counts the values below it, so that an empty side is skipped instead of combined.
"""

from windrow.kernels.loops.protocol import *

STATES = {"tree": (2, 0), "spare": (0, 2)}
INDICES = {"held": (2, 0)}
LAYOUT = {"tree": "leaves", "held": "leaves"}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, tree, spare, held, out, valid):
    head, end = cursors[0], cursors[1]
    capacity = cursors[2]
    mask = capacity - 1
    missing = end - head if cursors[7] else 0  # how many leaves came without their nodes above
    cursors[7] = 0
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        while missing or head < first or end < past:
            if missing:
                node = capacity + ((end - missing) & mask)
                missing -= 1
            elif head < first:
                node = capacity + (head & mask)
                held[node] = 0
                head += 1
            else:
                node = capacity + (end & mask)
                inserted(tree, node, columns, nulls, base, end)
                held[node] = 1
                end += 1
            node >>= 1
            while node:
                left, right = 2 * node, 2 * node + 1
                if held[left] == 0:
                    if held[right]:
                        store(tree, node, load(tree, right))
                elif held[right] == 0:
                    store(tree, node, load(tree, left))
                else:
                    keep(tree, node, combine(load(tree, left), load(tree, right), slot(tree, node)))
                held[node] = held[left] + held[right]
                node >>= 1
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        front, back = head & mask, (end - 1) & mask
        if COMMUTATIVE or front <= back:
            emit(out, valid, r - row, load(tree, 1))
            continue
        # inverted: suffix(front) ⊕ prefix(back)
        node = capacity + front
        suffix = copied(spare, 0, load(tree, node))
        while node > 1:
            if node & 1 == 0 and held[node + 1]:
                suffix = combine(suffix, load(tree, node + 1), slot(spare, 0))
            node >>= 1
        node = capacity + back
        prefix = copied(spare, 1, load(tree, node))
        while node > 1:
            if node & 1 and held[node - 1]:
                prefix = combine(load(tree, node - 1), prefix, slot(spare, 1))
            node >>= 1
        emit(out, valid, r - row, combine(suffix, prefix, slot(spare, 0)))
    cursors[0], cursors[1] = head, end
