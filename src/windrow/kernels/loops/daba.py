"""DABA, compiled: at most 8 ⊕ a row, on two rings of values and aggregates."""

from windrow.kernels.loops.protocol import *

STATES = {"vals": (1, 0), "aggs": (1, 0), "spare": (0, 2)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, vals, aggs, spare, out, valid):
    f, e = cursors[0], cursors[1]
    mask = cursors[2] - 1
    left, right, acc, b = cursors[3], cursors[4], cursors[5], cursors[6]
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        while f < first or e < past:
            if f < first:
                f += 1
            else:
                place = e & mask
                state = inserted(vals, place, columns, nulls, base, e)
                if b == e:
                    store(aggs, place, state)
                else:
                    total = combine(load(aggs, (e - 1) & mask), state, slot(aggs, place))
                    keep(aggs, place, total)
                e += 1
            # one step of the reversal
            if f == b:
                left = right = acc = b = e
                continue
            if left == b:
                left, acc, b = f, e, e
            if left == right:
                left, right, acc = left + 1, right + 1, acc + 1
            else:
                place = left & mask
                whole = combine(load(aggs, place), load(aggs, (acc - 1) & mask), slot(aggs, place))
                if acc != b:
                    newest = load(aggs, acc & mask)
                    whole = combine(whole, newest, slot(aggs, place))
                    keep(aggs, place, whole)
                    place = (acc - 1) & mask
                    keep(aggs, place, combine(load(vals, place), newest, slot(aggs, place)))
                else:
                    keep(aggs, place, whole)
                    place = (acc - 1) & mask
                    store(aggs, place, load(vals, place))
                left, acc = left + 1, acc - 1
        older, newer = load(aggs, f & mask), load(aggs, (e - 1) & mask)
        emit_both(out, valid, r - row, older, newer, f < b, b < e, slot(spare, 0))
    cursors[0], cursors[1] = f, e
    cursors[3], cursors[4], cursors[5], cursors[6] = left, right, acc, b
