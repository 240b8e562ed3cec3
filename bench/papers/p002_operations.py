"""Table 1, Figures 8 and 10 of paper 002: ⊕ a slide, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.papers.p002_single_query import ALGORITHMS
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW
from bench.windows import Counting

UNIT = "⊕ a slide"
SINGLE = Figure("Figure 8", "one query over the whole window", "window", UNIT)
ALL = Figure("Figure 10", "queries of all ranges from 1 to n", "window", UNIT)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Whole periods of n + 1 slides: the window's whole range, then all ranges at once."""
    for figure, sizes in (
        (SINGLE, settings.powers(1, 12, quick=10)),
        (ALL, settings.powers(1, 8, quick=7)),
    ):
        for n in sizes:
            for name in ALGORITHMS:
                if clock.over:
                    yield figure.missing(name, n)
                else:
                    yield figure.point(name, n, _counted(name, n, figure is ALL), exact=True)


def _counted(name: str, n: int, all_ranges: bool) -> float:
    counting = Counting()
    swag = counting.window(name, n)
    ranges = range(1, n + 1)

    def slide(value: int) -> None:
        swag.evict()
        swag.insert(value)
        if all_ranges:
            swag.queries(ranges)
        else:
            swag.query()

    for i in range(n + 1):  # until the period is in its swing
        slide(i)
    before = counting.total
    for i in range(n + 1):
        slide(i)
    return max((counting.total - before) / (n + 1), 1e-9)


def _equals(figure: Figure, name: str, formula: str, value: Callable[[float], float]) -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(figure, name)
        if not line:
            return TOO_FEW
        wrong = [(x, y) for x, y in line if abs(y - value(x)) > 1e-6]
        if wrong:
            x, y = wrong[0]
            return Verdict(f"{y:.3f} at n = {x:,.0f}, not {value(x):.3f}", False)
        return Verdict(f"exactly so at all {len(line)} windows", True)

    return Rule(f"{figure.name}: {name} makes {formula} ⊕ a slide, exactly", check)


def _below(
    figure: Figure, name: str, bound: str, value: Callable[[float], float], why: str = ""
) -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(figure, name)
        if not line:
            return TOO_FEW
        x, y = max(line, key=lambda point: point[1] / value(point[0]))
        found = f"at most {y / value(x):.2f} of that, at n = {x:,.0f}"
        return Verdict(found, all(y <= value(x) + 1e-9 for x, y in line))

    return Rule(f"{figure.name}: {name} makes at most {bound} ⊕ a slide", check, why)


def _log(n: float) -> float:
    return max(1, (int(n) - 1).bit_length())


EXPERIMENT = Experiment(
    "002 operations",
    "⊕ a slide, exactly",
    "A counting maximum in the interpreted windows, over a whole period of n + 1 slides. Nothing "
    "here depends on the machine.",
    (SINGLE, ALL),
    run,
    source="Table 1, Figures 8 and 10",
    finding="A slide costs n − 1 ⊕ by recalculation, log n by FlatFAT and B-Int, and 3 by FlatFIT: "
    "3(n − 1) in a period of n + 1 slides. For all ranges at once it is n²/2, n·log n and n − 1.",
    rules=(
        _equals(SINGLE, "recalculate", "n − 1", lambda n: n - 1),
        _equals(SINGLE, "flatfit", "3(n − 1)/(n + 1)", lambda n: 3 * (n - 1) / (n + 1)),
        _below(
            SINGLE,
            "flatfat",
            "3·log n",
            lambda n: 3 * _log(n),
            "an evict and an insert both climb to the root, and an inverted window asks for a "
            "suffix and a prefix",
        ),
        _below(SINGLE, "b_int", "3·log n", lambda n: 3 * _log(n)),
        _equals(ALL, "flatfit", "n − 1", lambda n: n - 1),
        _equals(ALL, "recalculate", "n(n − 1)/2", lambda n: n * (n - 1) / 2),
        _below(ALL, "flatfat", "n·log n + 2·log n", lambda n: (n + 2) * _log(n)),
    ),
    weight=0.6,
)
