"""DABA Lite, compiled: at most 6 ⊕ a row, in one ring.

    positions   f ──── left ──── right ──── acc ──── b ──── e
    ring        …b−1 ← │ …right−1 ← │ values │ …b−1 ← │ values

The spare holds the totals of the values from `b` on and of the middle, [right, b).
"""

from windrow.kernels.loops.protocol import *

STATES = {"ring": (1, 0), "spare": (0, 3)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, ring, spare, out, valid):
    f, e = cursors[0], cursors[1]
    mask = cursors[2] - 1
    left, right, acc, b = cursors[3], cursors[4], cursors[5], cursors[6]
    total, middle = load(spare, 0), load(spare, 1)
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        while f < first or e < past:
            if f < first:
                f += 1
            else:
                state = inserted(ring, e & mask, columns, nulls, base, e)
                total = extended(spare, 0, total, state, e == b)
                e += 1
            # one step of the reversal
            if f == b:
                left = right = acc = b = e
                continue
            if left == b:
                left, acc, b = f, e, e
                middle = copied(spare, 1, total)
            if left == right:
                left, right, acc = left + 1, right + 1, acc + 1
            else:
                place = left & mask
                keep(ring, place, combine(load(ring, place), middle, slot(ring, place)))
                if acc != b:
                    place = (acc - 1) & mask
                    newest = load(ring, acc & mask)
                    keep(ring, place, combine(load(ring, place), newest, slot(ring, place)))
                left, acc = left + 1, acc - 1
        emit_both(
            out, valid, r - row, load(ring, f & mask), total, f < b, b < e, slot(spare, 2)
        )  # fmt: skip
    cursors[0], cursors[1] = f, e
    cursors[3], cursors[4], cursors[5], cursors[6] = left, right, acc, b
