"""Table 3 of paper 000: from which window on the Reactive Aggregator beats recalculation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.papers.breaking_even import break_evens, never
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW
from bench.windows import compiled, interpreted
from windrow import (
    ArgMax,
    Collect,
    Count,
    Max,
    Mean,
    MinCount,
    PopulationStdDev,
    SampleStdDev,
    Sum,
)

TABLE = Figure("Table 3", "smallest window where flatfat is faster", "aggregation", "window")
TEN_TIMES = Figure(
    "Table 3, 10×", "smallest window where it is ten times faster", "aggregation", "window"
)
PAIR = ("recalculate", "flatfat")
# whole numbers or doubles; those that users ask for most come first, should the time be short
AGGREGATIONS: dict[str, tuple[Callable[[], Any], bool]] = {
    "Max": (Max, True),
    "SampleStdDev": (SampleStdDev, True),
    "Sum": (Sum, True),
    "Count": (Count, True),
    "ArithmeticMean": (Mean, True),
    "ArgMax": (ArgMax, True),
    "MinCount": (MinCount, True),
    "PopulationStdDev": (PopulationStdDev, True),
    "Max<Double>": (Max, False),
    "Sum<Double>": (Sum, False),
    "ArgMax<Double>": (ArgMax, False),
}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Both at windows of 2 to 8192, an aggregation at a time."""
    floats, whole = settings.values(1 << 18), settings.whole_numbers(1 << 18)
    cases: dict[str, dict[str, Any]] = {
        name: {a: compiled(a, make, whole if integer else floats) for a in PAIR}
        for name, (make, integer) in AGGREGATIONS.items()
    }
    cases["Collect"] = {a: interpreted(a, Collect, whole[:4096].tolist()) for a in PAIR}
    windows, tables = settings.powers(1, 13, quick=11), {TABLE: 1.0, TEN_TIMES: 10.0}
    yield from break_evens(cases, windows, settings, clock, tables, "flatfat")


def _small(points: Points) -> Verdict:
    found = points.values(TABLE, "flatfat")
    found = {x: w for x, w in found.items() if x not in ("Count", "Collect")}
    if not found:
        return TOO_FEW
    low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    return Verdict(
        f"from {found[low]:.0f} ({low}) to {found[high]:.0f} ({high})", found[high] <= 400
    )


EXPERIMENT = Experiment(
    "000 break-even",
    "from which window on incremental aggregation pays",
    "The compiled loops of flatfat and recalculate over whole numbers and doubles, and Collect in "
    "the interpreter; windows are powers of two, and between them a straight line in log–log.",
    (TABLE, TEN_TIMES),
    run,
    source="Table 3",
    finding="The Reactive Aggregator is faster from windows of 10 to 370 on, the sooner the dearer "
    "the aggregation, and ten times faster from 700 to 5,810 on; never for Count, whose baseline "
    "reads a size, nor for Collect, whose answer is as long as the window.",
    rules=(
        Rule(
            "Table 3: every break-even is at most 400",
            _small,
            "the recalculation here is a compiled loop over an array, faster than the paper's "
            "operator, so it stays ahead for longer",
        ),
        never(
            TABLE,
            "Collect",
            "Python copies lists far faster than it calls a combine, on which the margin hangs",
        ),
        never(
            TABLE,
            "Count",
            "recalculate adds up n ones here; the paper's baseline reads the size of the window",
        ),
    ),
    weight=1.6,
)
