"""Arrays as compiled loops take them, and work on stretches of them in several threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Positions = NDArray[np.int64]

# So many items lie before and behind results, so that they can be moved without a copy: a few, and
# more where they are nothing to the results.
_ROOM, _SHARE, _MOST_ROOM = 256, 64, 1 << 14

_LINE = 64  # bytes of a line of the cache

# Arrays of fewer bytes are NumPy's own, and begin anywhere.
_LARGE = 1 << 20

# A thread is worth starting for this many rows; below, the call itself is faster.
PIECE = 1 << 16


def ordinary(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous array that is not marked read-only: the one signature that kernels have.

    They write to none of their inputs, so what is read-only, as Arrow's memory is, is lent to
    them under another mark and not copied.
    """
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else np.asarray(_Lent(array))


class _Lent:
    """The memory of an array, which it keeps alive."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        about = array.__array_interface__
        about["data"] = about["data"][0], False
        self.__array_interface__ = about


def empty(n: int, dtype: Any) -> NDArray[Any]:
    """Return an array of n items that hold anything; a large one lies in Arrow's memory, if loaded.

    Fresh memory costs as much as a kernel: 8 ms for 10⁷ numbers, and up to 100 where the machine
    has to find the pages first. NumPy gives large arrays back at once; Arrow's pool keeps them for
    a while, and has those of the last result for the next one.

    >>> import pyarrow
    >>> large = empty(1 << 18, np.int64)
    >>> large.size, large.flags.owndata
    (262144, False)
    """
    size = n * np.dtype(dtype).itemsize
    if size < _LARGE:
        return np.empty(n, dtype)
    allocate = getattr(sys.modules.get("pyarrow"), "allocate_buffer", None)
    return np.empty(n, dtype) if allocate is None else np.frombuffer(allocate(size), dtype)


def roomy(n: int, dtype: Any) -> NDArray[Any]:
    """Return an empty array in memory that has some room before it and behind it.

    A large one begins where a line of the cache does, so that kernels can write whole lines.
    """
    room = max(_ROOM, min(n // _SHARE, _MOST_ROOM))
    wide = empty(n + 2 * room, dtype)
    if wide.nbytes >= _LARGE:
        room -= wide[room:].ctypes.data % _LINE // wide.itemsize
    return wide[room : room + n]


def widened(values: NDArray[Any], before: int, behind: int) -> NDArray[Any] | None:
    """An array with so many items more at its ends, in its own memory; None if that has no room.

    >>> wide = widened(roomy(3, np.int64), 2, 1)
    >>> wide.size, widened(np.zeros(3), 2, 1)
    (6, None)
    """
    base = values.base
    if not isinstance(base, np.ndarray) or base.ndim != 1 or base.itemsize != values.itemsize:
        return None
    if not (base.flags.c_contiguous and values.flags.c_contiguous and base.flags.writeable):
        return None
    begin, first = (a.__array_interface__["data"][0] for a in (base, values))
    at = (first - begin) // values.itemsize
    if before > at or at + values.size + behind > base.size:
        return None
    return base.view(values.dtype)[at - before : at + values.size + behind]


def moved(
    values: NDArray[Any],
    others: NDArray[Any],
    alone: NDArray[np.int64],
    by: int,
    count: int,
    own: bool,
) -> NDArray[Any]:
    """So many values from the by-th on (before the first, if it is negative), some replaced.

    They stay where they are if nobody else has them and their memory has room for more: to move
    them costs half of what a kernel does, and fresh memory as much as a kernel.
    """
    wide = widened(values, max(0, -by), max(0, by + count - values.size)) if own else None
    if wide is not None:
        results = wide[max(0, by) :][:count]
    elif own and by >= 0 and count <= values.size:
        values[: max(0, values.size - by)] = values[by:]
        results = values[:count]
    else:
        results = np.empty(count, values.dtype)
        moved = values[max(0, by) :][: count + min(0, by)]
        results[max(0, -by) :][: moved.size] = moved
    results[alone] = others
    return results


def between(begins: Positions, ends: Positions) -> Positions:
    """The positions from each of `begins` to before the one of `ends`, one after the other.

    >>> between(np.array([0, 4, 7]), np.array([2, 4, 9]))
    array([0, 1, 7, 8])
    """
    counts = ends - begins
    before = np.cumsum(counts) - counts
    found: Positions = np.repeat(begins - before, counts) + np.arange(counts.sum())
    return found


def cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # which macOS and Windows do not have
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def stretches(n: int, threads: int) -> list[tuple[int, int]]:
    """The rows 0 … n − 1 in about equal parts, one a thread, none too short for one.

    >>> stretches(10, threads=4)
    [(0, 10)]
    """
    parts = max(1, min(threads, n // PIECE))
    return [(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


def in_threads(work: Callable[[T], None], pieces: Sequence[T]) -> None:
    """Do the work of all pieces, each in a thread of its own; what one raises is raised.

    The first is done by the thread that calls.
    """
    if len(pieces) < 2:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(len(pieces) - 1) as pool:
        others = [pool.submit(work, piece) for piece in pieces[1:]]
        work(pieces[0])
        for done in others:
            done.result()
