"""FlatFIT over slices, compiled: the windows of many queries at once, each slice aggregated once.

The rows from `edges[k]` up to `edges[k + 1]` are slice k, and `lo` and `hi` are the windows in
slices, those of one query behind those of the other: query q is at its window `turns[q]` and done
at `lasts[q]`. Whichever window ends first is next, and of those the longest, so that the shorter
ones find its work done. Slices before `w` are not asked for by any window of a later call.

Every partial that a query passes then reaches to the end, also the first. The paper leaves that
one short, as it is overwritten next; but here the beginnings of shorter windows stay.
"""

from windrow.kernels.loops.protocol import *

STATES = {"partials": (1, 0), "spare": (0, 1)}
INDICES = {
    "pointers": (1, 0),
    "passed": (1, 0),
    "edges": (0, 0),  # these three are the caller's
    "turns": (0, 0),
    "lasts": (0, 0),
}


def run(
    row, stop, base, w, lo, hi, columns, nulls, cursors, partials, spare, pointers, passed,
    edges, turns, lasts, out, valid,
):  # fmt: skip
    end = cursors[1]
    mask = cursors[2] - 1
    for _ in range(row, stop):
        i, floor = -1, w
        mine = 0
        for q in range(turns.size):
            t = turns[q]
            if t < lasts[q]:
                floor = min(floor, lo[t])
                if i < 0 or hi[t] < hi[i] or (hi[t] == hi[i] and lo[t] < lo[i]):
                    i, mine = t, q
        turns[mine] += 1
        first, past = lo[i], hi[i]
        if first == past:
            emit_nothing(out, valid, i)
            continue
        end = max(end, floor)  # nobody asks for what lies before
        while end < past:
            place = end & mask
            j, behind = edges[end], edges[end + 1]
            state = lift(columns, nulls, j - base, j, slot(partials, place))
            while j + 1 < behind:
                j += 1
                value = lift(columns, nulls, j - base, j, slot(spare, 0))
                state = combine(state, value, slot(partials, place))
            keep(partials, place, state)
            end += 1
            pointers[place] = end
        depth, p = 0, first
        while p != end:
            passed[depth] = p
            depth += 1
            p = pointers[p & mask]
        depth -= 1
        answer = load(partials, passed[depth] & mask)
        while depth > 0:
            depth -= 1
            place = passed[depth] & mask
            answer = combine(load(partials, place), answer, slot(partials, place))
            keep(partials, place, answer)
            pointers[place] = end
        emit(out, valid, i, answer)
    cursors[1] = end
