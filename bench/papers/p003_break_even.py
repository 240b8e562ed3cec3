"""Table 3 of paper 003: from which window on each algorithm beats recalculation."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.papers.breaking_even import BASE, break_evens, never
from bench.papers.operators import OPERATORS, values_of
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, middle
from bench.windows import interpreted
from windrow import Collect

TABLE = Figure(
    "Table 3", "smallest window where it is faster than recalculation", "operator", "window"
)
ALGORITHMS = ("flatfat", "two_stacks", "foa", "ioa", "daba")


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """All of them at windows of 2 to 1024, an operator at a time."""
    cases = {
        name: {
            algorithm: interpreted(algorithm, make, values_of(name, settings, 1 << 12))
            for algorithm in (BASE, *ALGORITHMS)
        }
        for name, make in {**OPERATORS, "Collect": Collect}.items()
    }
    windows = settings.powers(1, 10, quick=9)
    yield from break_evens(cases, windows, settings, clock, {TABLE: 1.0}, *ALGORITHMS)


def _first(points: Points) -> Verdict:
    medians = {}
    for algorithm in ALGORITHMS:
        found = [w for x, w in points.values(TABLE, algorithm).items() if x != "Collect"]
        if found:
            medians[algorithm] = middle(found)
    if "two_stacks" not in medians or "flatfat" not in medians:
        return TOO_FEW
    text = ", ".join(f"{name} {value:.0f}" for name, value in medians.items())
    return Verdict(
        f"medians over the operators: {text}", min(medians.values()) == medians["two_stacks"]
    )


def _reactive(points: Points) -> Verdict:
    ratios = points.ratios(TABLE, "two_stacks", "flatfat").values()
    if not ratios:
        return TOO_FEW
    median = middle(ratios)
    return Verdict(f"{median:.1f} times Two-Stacks' window, median of the operators", median > 2)


EXPERIMENT = Experiment(
    "003 break-even",
    "from which window on each algorithm pays",
    "Interpreted windows; powers of two, and between them a straight line in log–log.",
    (TABLE,),
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
        never(
            TABLE,
            "Collect",
            "recalculate builds the list value by value in the interpreter, and a ⊕ that joins "
            "two halves copies them in C: most of the window then comes ready-made",
        ),
    ),
    weight=1.5,
)
