"""Islands: rows along an order that follow each other without a gap, as SQL's "gaps and islands".

at    1   2       6   7   8            each row reaches from its time to its time + size
size 3   ├───┤   ├───┤                 [1, 4) and [2, 5) overlap, [6, 9) begins anew
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.compiled import compiled
from windrow.errors import InvalidValue
from windrow.windows.arrays import Positions, ordinary

Array = np.ndarray[Any, Any]


@compiled
def _islands(
    at: Array, starts: Array, sizes: Array, places: int, placed: int, lo: Array, ends: Array
) -> int:
    """Return how many islands there are, and write where each begins and the end of its reach."""
    count = 0
    for s in range(placed, starts.size - 1, places):
        for i in range(starts[s], starts[s + 1]):
            end = at[i] + sizes[i if sizes.size > 1 else 0]
            if i == starts[s] or at[i] > ends[count - 1]:
                lo[count] = i
                ends[count] = end
                count += 1
            elif end > ends[count - 1]:
                ends[count - 1] = end
    return count


def islands(
    at: NDArray[Any], starts: Positions, size: Any, places: int = 1, placed: int = 0
) -> tuple[Positions, Positions, NDArray[Any], Positions]:
    """Return the islands of rows that reach to `size` behind their time; one size, or one a row.

    Gives the positions [lo, hi) of each island's rows, where its reach ends, and its segment. Rows
    whose reaches touch are one island, as in Spark. Times are in order within a segment, of which
    only every `places`-th counts, from `placed` on. O(rows).

    >>> lo, hi, end, segment = islands(np.array([1, 2, 6, 9, 1]), np.array([0, 4, 5]), 3)
    >>> lo.tolist(), hi.tolist(), end.tolist(), segment.tolist()
    ([0, 2, 4], [2, 4, 5], [5, 12, 4], [0, 0, 1])
    """
    at, starts = ordinary(at), ordinary(starts)
    sizes = ordinary(np.atleast_1d(np.asarray(size, at.dtype)))
    if at.size and at.dtype == np.int64 and int(at.max()) + int(sizes.max()) >= 2**63:
        raise InvalidValue(
            f"times up to {at.max()} and a gap of {sizes.max()} end outside of what int64 holds"
        )
    lo, ends = np.empty(at.size, np.int64), np.empty(at.size, at.dtype)
    count = _islands(at, starts, sizes, places, placed, lo, ends)
    lo, ends = lo[:count].copy(), ends[:count].copy()
    segment = np.searchsorted(starts, lo, side="right") - 1
    hi = np.minimum(np.append(lo[1:], starts[-1])[:count], starts[segment + 1])
    return lo, hi, ends, segment
