"""Windows as lists of their values: Collect, FirstN, LastN, and Concat, which joins the list.

A window is a stretch of sorted positions, so its list is a stretch of the column without nulls;
nothing is computed but where it begins and ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.aggregations.algebra import Listing
from windrow.windows.positions import Windows


def stretches(
    array: pa.Array,
    rows: NDArray[Any],
    nulls: NDArray[np.bool_] | None,
    windows: Windows,
    listing: Listing,
) -> pa.Array:
    """The list of each window's values that are not null; null for none. O(result's size).

    `rows` are the rows of `array` in sorted order, `nulls` their nulls in that order.
    """
    lo, hi = windows.bounds()
    if nulls is not None:
        before = np.concatenate([[0], np.cumsum(~nulls)])
        lo, hi, rows = before[lo], before[hi], rows[~nulls]
    if listing.first is not None:
        hi = np.minimum(hi, lo + min(listing.first, rows.size))
    if listing.last is not None:
        lo = np.maximum(lo, hi - min(listing.last, rows.size))
    sizes = hi - lo
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    where = np.repeat(lo - offsets[:-1], sizes) + np.arange(offsets[-1])
    values = array.take(pa.array(rows[where]))
    if listing.separator is not None:
        values = values.cast(pa.string())
    empty = pa.array(sizes == 0) if (sizes == 0).any() else None
    kind = pa.ListArray if offsets[-1] < 2**31 else pa.LargeListArray
    ends = pa.array(offsets, pa.int32() if kind is pa.ListArray else pa.int64())
    lists = kind.from_arrays(ends, values, mask=empty)
    return lists if listing.separator is None else pc.binary_join(lists, listing.separator)
