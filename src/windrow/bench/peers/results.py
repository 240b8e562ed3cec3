"""Results of calls as points of a figure."""

from __future__ import annotations

from windrow.bench.measuring import Row
from windrow.bench.points import Point

UNIT = "ms"


def point(figure: str, series: str, x: float | str, result: Row, share: float = 1.0) -> Point:
    """A result in milliseconds; `share` of the data was asked, and the time is scaled to all."""
    status = str(result["status"])
    more = {k: result[k] for k in ("scaled_from",) if k in result}
    if "runs_s" not in result:
        return Point(figure, series, x, UNIT, status=f"not measured: {status}")
    runs = tuple(seconds * 1e3 / share for seconds in result["runs_s"])
    return Point(figure, series, x, UNIT, runs, status, result.get("first_s"), more)
