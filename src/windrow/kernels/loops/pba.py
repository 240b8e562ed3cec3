"""PBA, compiled: two threads in one loop, for windows of the last w rows of an array.

Chunk i has the rows [i·c, (i+1)·c). One thread (`role` 1) computes, for each chunk, what its rows
need of the values before it, from right to left, into its part of `lcs`, of which there are
`ahead`; the other adds up the chunk itself and joins the two. They tell each other how far they are
by two numbers:

    progress[0]   chunks whose lcs are ready
    progress[1]   chunks whose lcs are no longer needed

Each makes 2 ⊕ a row, where one thread alone makes 3.
"""

from windrow.kernels.atomics import let_others_run, publish, published
from windrow.kernels.loops.protocol import *

STATES = {"lcs": (2, 0), "spare": (0, 3)}
PATIENCE = 4095  # how often to look before the processor is given away (a power of two less one)


def run(row, stop, role, w, progress, hi, columns, nulls, cursors, lcs, spare, out, valid):
    c, base, ahead = cursors[0], cursors[1], cursors[2]  # base: where in the stream columns begin
    waited = 0
    if role == 1:
        if w == 1:  # a row needs nothing before it
            publish(progress, 0, stop + 1)
            return
        for i in range(max(row // c, 1), (stop + c - 1) // c):
            while i - published(progress, 1) >= ahead:
                waited += 1
                if waited & PATIENCE == 0:
                    let_others_run()
            part = i % ahead * c
            boundary = i * c
            oldest = max(boundary - w + 1, 0)
            suffix = lift(columns, nulls, boundary - 1, base + boundary - 1, slot(spare, 0))
            keep(spare, 0, suffix)
            p = boundary - 1
            while True:
                j = p - (boundary - w + 1)  # the row of the chunk whose window begins at p
                if j < c:
                    store(lcs, part + j, suffix)
                if p == oldest:
                    break
                p -= 1
                value = lift(columns, nulls, p, base + p, slot(spare, 1))
                suffix = combine(value, suffix, slot(spare, 0))
                keep(spare, 0, suffix)
            for j in range(oldest - (boundary - w + 1)):  # windows that begin before the stream
                store(lcs, part + j, suffix)
            publish(progress, 0, i + 1)
        return
    for i in range(row // c, (stop + c - 1) // c):
        part = i % ahead * c
        boundary = i * c
        while i > 0 and published(progress, 0) <= i:
            waited += 1
            if waited & PATIENCE == 0:
                let_others_run()
        csa = load(spare, 2)
        for r in range(boundary, min(boundary + c, stop)):
            state = lift(columns, nulls, r, base + r, slot(spare, 1))
            csa = extended(spare, 2, csa, state, r == boundary)
            if r < row:
                continue
            j = r - boundary
            if i == 0 or j == w - 1:
                emit(out, valid, r - row, csa)
            else:
                emit(out, valid, r - row, combine(load(lcs, part + j), csa, slot(spare, 1)))
        publish(progress, 1, i + 1)
