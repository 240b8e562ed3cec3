"""Break-even windows: where an algorithm overtakes recalculation, from lines over windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.points import Point, Points, missing
from windrow.bench.rules import crossing
from windrow.bench.settings import Settings
from windrow.bench.trials import Make, curve

BASE = "recalculate"
UNIT = "window"


def break_evens(
    cases: Mapping[str, Mapping[str, Make]],
    windows: Sequence[int],
    settings: Settings,
    clock: Clock,
    tables: Mapping[str, float],
    *algorithms: str,
) -> Iterator[Point]:
    """For each case and algorithm the window from which on it is ahead, by each table's factor.

    A case has the makers of all algorithms and of recalculation. The first cases come first: what
    has to compile is not cut short by those that may have no time left.
    """
    for case, makers in cases.items():
        lines = Points(curve(case, windows, makers, clock, settings))
        for table, factor in tables.items():
            for name in algorithms:
                yield _found(table, name, case, lines, factor)


def _found(table: str, name: str, case: str, lines: Points, factor: float) -> Point:
    mine, base = lines.line(case, name), lines.line(case, BASE)
    found = crossing(mine, base, factor)
    if found is not None:
        return Point(table, name, case, UNIT, (found,), more={"line": mine, "base": base})
    common = sorted({x for x, _ in mine} & {x for x, _ in base})
    if not common:
        why = next((p.status for p in lines if not p.measured), TIME_IS_UP)
        return missing(table, name, case, UNIT, why.removeprefix("not measured: "))
    return missing(table, name, case, UNIT, f"never up to a window of {common[-1]:,.0f}")
