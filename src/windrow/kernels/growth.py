"""The buffers of a loop, laid out anew in larger ones: a window may outgrow those that it began in.

What is in use lies at other places there, and nothing is combined again (FlatFAT's inner
nodes are, by its loop).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.generate import Kernel

Places = NDArray[np.int64]


def grown(kernel: Kernel, buffers: list[Any], cursors: NDArray[np.int64], capacity: int) -> None:
    """Put larger buffers into the list `buffers`, with all that is in use."""
    old = int(cursors[2])
    sizes = {**kernel.states, **kernel.indices}
    for i, (name, larger) in enumerate(zip(sizes, kernel.buffers(capacity), strict=True)):
        was: Any = slice(None)
        now: Any = slice(None)
        layout = kernel.layout.get(name, "positions")
        if layout == "places":
            now = slice(len(_arrays(buffers[i])[0]))
        elif sizes[name][0]:  # it grows with the capacity
            was, now = (_LAYOUTS[layout](cursors, size, old) for size in (old, capacity))
        for new, had in zip(_arrays(larger), _arrays(buffers[i]), strict=True):
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
    return np.concatenate(
        [
            2 * capacity - (2 * capacity >> level)
            + np.arange(-(-head >> level), end >> level) % (capacity >> level)
            for level in range(old.bit_length())
        ]
    )  # fmt: skip


def _nodes(cursors: Places, capacity: int, old: int) -> Places:
    """The nodes of Log MTA, whose levels are twice as long."""
    head, end, top = int(cursors[0]), int(cursors[1]), int(cursors[3])
    return np.concatenate(
        [
            4 * capacity - (4 * capacity >> level)
            + np.arange(head >> level, ((end - 1) >> level) + 1) % (2 * capacity >> level)
            for level in range(top + 1)
        ]
    )  # fmt: skip


# Besides these there is "places": what lies there keeps its place.
_LAYOUTS: dict[str, Callable[[Places, int, int], Places]] = {
    "positions": _positions,
    "links": _positions,  # each is the place of a later one, or of the end
    "leaves": _leaves,
    "numbers": _numbers,
    "blocks": _blocks,
    "nodes": _nodes,
}


def _arrays(buffer: Any) -> tuple[NDArray[Any], ...]:
    """The arrays of a buffer: one a field, or one of rows, or one of indices."""
    return buffer if isinstance(buffer, tuple) else (buffer,)
