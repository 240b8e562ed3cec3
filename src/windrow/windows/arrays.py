"""Arrays as compiled loops take them, and work on stretches of them in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Positions = NDArray[np.int64]

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
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def stretches(n: int, threads: int) -> list[tuple[int, int]]:
    """The rows 0 … n − 1 in about equal parts, one a thread, none too short for one.

    >>> stretches(10, threads=4)
    [(0, 10)]
    """
    parts = max(1, min(threads, n // PIECE))
    return [(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


def in_threads(work: Callable[[T], None], pieces: Sequence[T]) -> None:
    """Do the work of all pieces, each in a thread of its own; what one raises is raised."""
    if len(pieces) < 2:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(len(pieces)) as pool:
        for done in [pool.submit(work, piece) for piece in pieces]:
            done.result()
