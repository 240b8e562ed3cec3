"""One module an algorithm: its evict, insert, query loop, written once for all aggregations.

Each has `STATES` and `INDICES`, the buffers that it needs (as multiples of the capacity, a power
of two not smaller than the longest window, plus a constant), `LAYOUT`, how things lie in them (see
`kernels.growth`), and `run`. The cursors live in local variables and are written back at the end
so that a call can go on where the last one stopped: 0 and 1 are the ends of the window, 2 is the
capacity, 7 is set when the buffers have grown, and the others are the loop's own.
"""
