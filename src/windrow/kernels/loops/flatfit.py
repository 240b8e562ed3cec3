"""FlatFIT, compiled: 3 ⊕ a row on average, by pointers that jump over work done before.

Two rings as long as the longest window, and no stack: on the way to the newest value the pointers
are turned around, so that they lead back. They are places in the ring: its length is no power of
two, and places need no division.
"""

from windrow.kernels.loops.protocol import *

STATES = {"partials": (1, 0), "spare": (0, 1)}
INDICES = {"pointers": (1, 0)}
LAYOUT = {"pointers": "links"}
ROUNDED = False


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, partials, spare, pointers, out, valid):
    head, end = cursors[0], cursors[1]
    capacity = cursors[2]
    front, back = head % capacity, end % capacity
    for r in range(row, stop):
        first, past = window(r, row, w, lo, hi)
        front += first - head
        if front >= capacity:
            front -= capacity
        head = first
        while end < past:
            place = back
            inserted(partials, place, columns, nulls, base, end)
            end += 1
            back += 1
            if back == capacity:
                back = 0
            pointers[place] = back
        if head == end:
            emit_nothing(out, valid, r - row)
            continue
        place = pointers[front]
        if place == back:
            emit(out, valid, r - row, load(partials, front))
            continue
        before, after = front, pointers[place]
        while after != back:
            pointers[place] = before
            before, place = place, after
            after = pointers[place]
        answer = load(partials, place)
        while before != front:
            place = before
            before = pointers[place]
            answer = combine(load(partials, place), answer, slot(partials, place))
            keep(partials, place, answer)
            pointers[place] = back
        # the oldest stays short: with one query it leaves the window before its next use
        emit(out, valid, r - row, combine(load(partials, front), answer, slot(spare, 0)))
    cursors[0], cursors[1] = head, end
