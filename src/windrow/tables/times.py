"""Spans of time in the unit of the column that they are measured along."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from windrow.windows.kinds import Span

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86400 * 10**9


def tick(kind: pa.DataType) -> int | None:
    """How many nanoseconds a unit of a time column is; None for a column of numbers."""
    if pt.is_timestamp(kind) or pt.is_duration(kind):
        return UNITS[kind.unit]
    if pt.is_date32(kind):
        return _DAY
    return UNITS["ms"] if pt.is_date64(kind) else None


def reach(window: Span, kind: pa.DataType) -> tuple[Any, bool]:
    """The size of a window along a column of this type, and whether its far end belongs to it.

    Between two ticks there is nothing, so a size of one and a half has the reach of one, its end
    included.
    """
    closed = window.closed in ("both", "left")
    is_time, size = window.measured()
    unit = tick(kind) if is_time else 1
    assert unit is not None
    if pt.is_floating(kind):
        return float(size), closed
    whole, rest = divmod(size, unit)
    return int(whole), closed or rest > 0


def hop_sizes(window: Span, kind: pa.DataType) -> tuple[Any, Any, Any]:
    """Size, slide and offset of hopping windows in the unit of `kind`, which `hop_type` gave."""
    sizes: Any = window.measured()[1], window.step(), window.shift()
    unit = tick(kind)
    if unit is not None:
        sizes = tuple(int(size) // unit for size in sizes)
    cast: Any = float if pt.is_floating(kind) else int
    size, slide, offset = (cast(size) for size in sizes)
    return size, slide, offset


def hop_type(window: Span, kind: pa.DataType) -> pa.DataType:
    """The type that can tell where windows start: fine enough for range, slide and offset."""
    own = tick(kind)
    if own is None:
        sizes = [window.size, window.slide, window.offset or 0]
        return pa.float64() if any(float(s) != int(s) for s in sizes) else kind
    steps = [int(window.measured()[1]), int(window.step()), int(window.shift())]
    finest = next(
        unit for unit, size in UNITS.items() if size <= own and all(s % size == 0 for s in steps)
    )
    if pt.is_duration(kind):
        return pa.duration(finest)
    return pa.timestamp(finest, kind.tz if pt.is_timestamp(kind) else None)
