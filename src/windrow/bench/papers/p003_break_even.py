"""Table 3 of paper 003: from which window on each algorithm beats recalculation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from windrow.aggregations import (
    ArgMax,
    Bloom,
    Collect,
    GeometricMean,
    Max,
    Mean,
    MinCount,
    StdDev,
    Sum,
)
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.feeds import interpreted, whole_numbers
from windrow.bench.papers.breaking_even import BASE, break_evens
from windrow.bench.points import Point, Points
from windrow.bench.rules import TOO_FEW
from windrow.bench.settings import Settings

TABLE = "Table 3"
ALGORITHMS = ("flatfat", "two_stacks", "foa", "ioa", "daba")
OPERATORS: dict[str, Callable[[], Any]] = {
    "Sum": Sum,
    "Max": Max,
    "Bloom": lambda: Bloom(bits=16384),
    "StdDev": StdDev,
    "GeoMean": GeometricMean,
    "ArithMean": Mean,
    "MinCount": MinCount,
    "ArgMax": ArgMax,
    "Collect": Collect,
}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """All of them at windows of 2 to 1024, an operator at a time."""
    whole = (whole_numbers(settings.values(1 << 12)) + 1).tolist()
    pairs = list(zip(whole, range(len(whole)), strict=True))
    cases = {
        name: {
            algorithm: interpreted(algorithm, make, pairs if name == "ArgMax" else whole)
            for algorithm in (BASE, *ALGORITHMS)
        }
        for name, make in OPERATORS.items()
    }
    windows = settings.powers(1, 10, quick=9)
    yield from break_evens(cases, windows, settings, clock, {TABLE: 1.0}, *ALGORITHMS)


def _first(points: Points) -> Verdict:
    found = {
        algorithm: sorted(
            p.median for p in points.of(TABLE, algorithm) if p.measured and p.x != "Collect"
        )
        for algorithm in ALGORITHMS
    }
    middle = {name: values[len(values) // 2] for name, values in found.items() if values}
    if "two_stacks" not in middle or "flatfat" not in middle:
        return TOO_FEW
    text = ", ".join(f"{name} {value:.0f}" for name, value in middle.items())
    return Verdict(
        f"medians over the operators: {text}", min(middle.values()) == middle["two_stacks"]
    )


def _reactive(points: Points) -> Verdict:
    ratios = [
        a / b
        for p in points.of(TABLE, "flatfat")
        if p.measured and (b := points.value(TABLE, "two_stacks", p.x)) is not None
        for a in [p.median]
    ]
    if not ratios:
        return TOO_FEW
    middle = sorted(ratios)[len(ratios) // 2]
    return Verdict(f"{middle:.1f} times Two-Stacks' window, median of the operators", middle > 2)


def _collect(points: Points) -> Verdict:
    here = [p for p in points.of(TABLE) if p.x == "Collect"]
    if not here:
        return TOO_FEW
    ahead = [f"{p.series} at {p.median:.0f}" for p in here if p.measured]
    told = any("never" in p.status for p in here)
    if ahead:
        return Verdict("ahead: " + ", ".join(ahead), False)
    return Verdict("never, for any of them", True) if told else TOO_FEW


EXPERIMENT = Experiment(
    "003 break-even",
    "from which window on each algorithm pays",
    "Interpreted windows; powers of two, and between them a straight line in log–log.",
    (Figure(TABLE, "smallest window where it is faster than recalculation", "operator", "window"),),
    run,
    source="Table 3",
    finding="Two-Stacks pays from about 30 values on, DABA from 48 to 112, FOA from 64 to 128, "
    "Reactive and IOA from 512 to 1,024; for dear operators all of them from 2 to 48; for Collect "
    "none ever does.",
    rules=(
        Rule("Table 3: Two-Stacks breaks even first, by medians over the operators", _first),
        Rule(
            "Table 3: Reactive needs more than twice Two-Stacks' window, by the median", _reactive
        ),
        Rule(
            "Table 3: Collect never breaks even",
            _collect,
            "recalculate builds the list value by value in the interpreter, and a ⊕ that joins "
            "two halves copies them in C: most of the window then comes ready-made",
        ),
    ),
    weight=1.5,
)
