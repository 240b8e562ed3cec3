"""Break-even windows: where an algorithm overtakes recalculation, from lines over windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.experiment import Clock, Rule, Settings, Verdict
from bench.measure import Make, curve
from bench.points import TIME_IS_UP, Figure, Point, Points
from bench.rules import TOO_FEW, crossing

BASE = "recalculate"


def break_evens(
    cases: Mapping[str, Mapping[str, Make]],
    windows: Sequence[int],
    settings: Settings,
    clock: Clock,
    tables: Mapping[Figure, float],
    *algorithms: str,
) -> Iterator[Point]:
    """Yield for each case and algorithm the window from which on it is ahead, by a table's factor.

    A case has the makers of all algorithms and of recalculation, and its share of the time.
    """
    for share, (case, makers) in clock.shares(cases.items()):
        lines = Figure(case, "", "window", "ns a value")
        points = Points(curve(lines, windows, makers, settings, share))
        for table, factor in tables.items():
            for name in algorithms:
                yield _break_even(table, name, lines, points, factor)


def _break_even(table: Figure, name: str, lines: Figure, points: Points, factor: float) -> Point:
    case = lines.name
    line, base = points.line(lines, name), points.line(lines, BASE)
    window = crossing(line, base, factor)
    if window is not None:
        return table.point(name, case, window, line=line, base=base)
    common = sorted({x for x, _ in line} & {x for x, _ in base})
    if not common:
        why = next((p.why for p in points if not p.measured), TIME_IS_UP)
        return table.missing(name, case, why)
    return table.missing(name, case, f"never up to a window of {common[-1]:,.0f}")


def never(table: Figure, case: str) -> Rule:
    """Return the rule that no algorithm overtakes recalculation in a case."""

    def check(points: Points) -> Verdict:
        of_case = [p for p in points.of(table) if p.x == case]
        if not of_case:
            return TOO_FEW
        ahead = [f"{p.series} at {p.median:.0f}" for p in of_case if p.measured]
        if ahead:
            return Verdict(f"{case} breaks even: {', '.join(ahead)}", False)
        never_ahead = any("never" in p.status for p in of_case)
        return Verdict(of_case[0].why, True if never_ahead else None)

    return Rule(f"{table.name}: {case} never breaks even", check)
