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

from windrow.aggregations.base import Aggregation
from windrow.compiled.segments import Windows


def stretches(
    array: pa.Array,
    rows: NDArray[Any],
    nulls: NDArray[np.bool_] | None,
    windows: Windows,
    aggregation: Aggregation,
) -> pa.Array:
    """The list of each window's values that are not null; null for none. O(answer's size).

    `rows` are the rows of `array` in sorted order, `nulls` their nulls in that order.
    """
    lo, hi = windows.bounds()
    if nulls is not None:
        before = np.concatenate([[0], np.cumsum(~nulls)])
        lo, hi, rows = before[lo], before[hi], rows[~nulls]
    n: Any = getattr(aggregation, "n", None)
    if n is not None:
        if type(aggregation).__name__ == "FirstN":
            hi = np.minimum(hi, lo + n)
        else:
            lo = np.maximum(lo, hi - n)
    sizes = hi - lo
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    where = np.repeat(lo - offsets[:-1], sizes) + np.arange(offsets[-1])
    values = array.take(pa.array(rows[where]))
    if type(aggregation).__name__ == "Concat":
        values = values.cast(pa.string())
    empty = pa.array(sizes == 0) if (sizes == 0).any() else None
    kind = pa.ListArray if offsets[-1] < 2**31 else pa.LargeListArray
    ends = pa.array(offsets, pa.int32() if kind is pa.ListArray else pa.int64())
    made = kind.from_arrays(ends, values, mask=empty)
    if type(aggregation).__name__ != "Concat":
        return made
    separator: Any = aggregation.separator  # type: ignore[attr-defined]
    return pc.binary_join(made, separator)
