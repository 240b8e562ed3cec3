"""FlatFIT, compiled: 3 ⊕ a row on average, by pointers that jump over work done before."""

from windrow.kernels.loops.protocol import *

STATES = {"partials": (1, 0), "spare": (0, 1)}
INDICES = {"pointers": (1, 0), "passed": (1, 0)}


def run(
    row, stop, base, w, lo, hi, columns, nulls, cursors, partials, spare, pointers, passed,
    out, valid,
):  # fmt: skip
    head, end = cursors[0], cursors[1]
    mask = cursors[2] - 1
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        head = first
        while end < past:
            place = end & mask
            keep(partials, place, lift(columns, nulls, end - base, end, slot(partials, place)))
            end += 1
            pointers[place] = end
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        depth, p = 0, head
        while p != end:
            passed[depth] = p
            depth += 1
            p = pointers[p & mask]
        depth -= 1
        answer = load(partials, passed[depth] & mask)
        while depth > 1:
            depth -= 1
            place = passed[depth] & mask
            answer = combine(load(partials, place), answer, slot(partials, place))
            keep(partials, place, answer)
            pointers[place] = end
        if depth == 1:
            answer = combine(load(partials, head & mask), answer, slot(spare, 0))
        emit(out, valid, r - row, answer)
    cursors[0], cursors[1] = head, end
