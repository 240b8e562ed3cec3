"""The buffers of a loop, laid out anew in larger ones: a window may outgrow those that it began in.

What is in use lies at other places there, and nothing is combined again (FlatFAT's inner
nodes are, by its loop).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.generate import CompiledLoop

Places = NDArray[np.int64]


def grown(
    kernel: CompiledLoop, buffers: list[Any], cursors: NDArray[np.int64], capacity: int
) -> None:
    """Put larger buffers into the list `buffers`, with all that is in use."""
    old = int(cursors[2])
    sizes = {**kernel.states, **kernel.indices}
    for i, (name, larger) in enumerate(zip(sizes, kernel.buffers(capacity), strict=True)):
        was: Any = slice(None)
        now: Any = slice(None)
        layout = kernel.layout.get(name, "positions")
        if layout == "places":
            now = slice(len(arrays_of(buffers[i])[0]))
        elif sizes[name][0]:  # it grows with the capacity
            was, now = (_LAYOUTS[layout](cursors, size, old) for size in (old, capacity))
        for new, had in zip(arrays_of(larger), arrays_of(buffers[i]), strict=True):
            new[now] = had[was]
        if layout == "links":
            larger[now] = (now + 1 + (larger[now] - was - 1) % old) % capacity
        buffers[i] = larger
    cursors[2] = capacity
    if "leaves" in kernel.layout.values():
        cursors[7] = 1  # the nodes above them are to be made again


def _positions(cursors: Places, capacity: int, old: int) -> Places:
    """A ring of the window's positions."""
    return np.arange(cursors[0], cursors[1]) % capacity


def _leaves(cursors: Places, capacity: int, old: int) -> Places:
    """The leaves of a tree, which are such a ring."""
    return capacity + _positions(cursors, capacity, old)


def _numbers(cursors: Places, capacity: int, old: int) -> Places:
    """A ring of what is numbered from cursor 3 to cursor 4."""
    return np.arange(cursors[3], cursors[4]) % capacity


def _blocks(cursors: Places, capacity: int, old: int) -> Places:
    """The complete dyadic blocks of a window, see `loops.protocol`."""
    head, end = int(cursors[0]), int(cursors[1])
    return _levels(capacity, [(-(-head >> k), end >> k) for k in range(old.bit_length())])


def _nodes(cursors: Places, capacity: int, old: int) -> Places:
    """The nodes of Log MTA, whose levels are twice as long."""
    head, last, top = int(cursors[0]), int(cursors[1]) - 1, int(cursors[3])
    return _levels(2 * capacity, [(head >> k, (last >> k) + 1) for k in range(top + 1)])


def _levels(size: int, ranges: list[tuple[int, int]]) -> Places:
    """Rings of size, size / 2, size / 4, … places behind each other, of which a range is in use."""
    rings = [
        2 * size - (2 * size >> level) + np.arange(first, past) % (size >> level)
        for level, (first, past) in enumerate(ranges)
    ]
    return np.concatenate(rings)


# Besides these there is "places": what lies there keeps its place.
_LAYOUTS: dict[str, Callable[[Places, int, int], Places]] = {
    "positions": _positions,
    "links": _positions,  # each is the place of a later one, or of the end
    "leaves": _leaves,
    "numbers": _numbers,
    "blocks": _blocks,
    "nodes": _nodes,
}


def arrays_of(buffer: Any) -> tuple[NDArray[Any], ...]:
    """The arrays of a buffer: one a field, or one of rows, or one of indices."""
    return buffer if isinstance(buffer, tuple) else (buffer,)
