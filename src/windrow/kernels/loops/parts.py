"""The parts of windows, compiled: one ⊕ of the states of two for each window."""

from windrow.kernels.loops.protocol import *

STATES = {"older": (1, 0), "newer": (1, 0), "spare": (0, 1)}


def run(row, stop, base, w, lo, hi, columns, nulls, cursors, older, newer, spare, out, valid):
    for r in range(row, stop):
        emit(out, valid, r - row, combine(load(older, r), load(newer, r), slot(spare, 0)))
