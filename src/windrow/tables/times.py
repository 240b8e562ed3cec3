"""The unit that windows are measured in along a column of Arrow."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from windrow.windows.sizes import Axis

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86400 * 10**9


def axis_of(kind: pa.DataType, name: str = "") -> Axis:
    """What windows along a column of this type are measured in."""
    tick = None
    if pt.is_timestamp(kind) or pt.is_duration(kind):
        tick = UNITS[kind.unit]
    elif pt.is_date(kind):
        tick = _DAY if pt.is_date32(kind) else UNITS["ms"]
    return Axis(tick, pt.is_floating(kind), name, str(kind))


def type_along(axis: Axis, kind: pa.DataType) -> pa.DataType:
    """The type of values along `axis`, which was chosen for a column of type `kind`.

    >>> str(type_along(Axis(tick=1000), pa.date32()))
    'timestamp[us]'
    """
    if axis == axis_of(kind, axis.name):
        return kind
    if axis.tick is None:
        return pa.float64() if axis.floating else kind
    unit = next(unit for unit, size in UNITS.items() if size == axis.tick)
    if pt.is_duration(kind):
        return pa.duration(unit)
    return pa.timestamp(unit, kind.tz if pt.is_timestamp(kind) else None)
