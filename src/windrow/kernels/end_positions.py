"""Where the first or the last value of each window is that is not null."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.results import ResultArray
from windrow.kernels.special.places import bounded_first, bounded_last
from windrow.windows.positions import Piece, Windows


def ends(
    windows: Windows, nulls: NDArray[Any] | None, last: bool, left_out: int = -1
) -> NDArray[np.int64]:
    """The position of each window's first row that is not null, or its last; −1 for none. O(rows).

    A row `left_out` that is not negative is not in the first window, nor the next in the next.

    >>> windows = Windows(np.array([0, 3]), rows=2)
    >>> ends(windows, np.array([False, True, False]), last=False)
    array([0, 0, 2])
    """
    positions = np.empty(len(windows), np.int64)
    marks = np.zeros(windows.n, np.uint8) if nulls is None else nulls.astype(np.uint8)
    find, cursors = bounded_last if last else bounded_first, np.array([-1, 0, -1, 0])
    for here, lo, hi in windows.in_slices(Piece(0, len(windows))):
        row = left_out if left_out < 0 else left_out + here.start
        find(marks, lo, hi, row, cursors, positions[here])
    return positions


def placed(positions: NDArray[np.int64]) -> ResultArray:
    """Positions, missing where they are −1."""
    missing = positions < 0
    positions[missing] = 0
    return ResultArray(positions, missing if missing.any() else None)
