"""Figures 14 and 15 of paper 002: queries of all ranges from 1 to n at every slide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import Make, curve
from bench.papers.p002_single_query import ALGORITHMS
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, widens
from bench.windows import Interpreted
from windrow import Max

RATE = Figure("Figure 14", "throughput by window", "window", "thousand slides a second")
RATIO = Figure("Figure 15", "rate of flatfit by that of flatfat", "window", "ratio", (True, False))


class AllRanges(Interpreted):
    """A full window that is asked for each of its ranges at every slide."""

    most = 1 << 14

    def __init__(self, algorithm: str, values: Sequence[Any], n: int) -> None:
        super().__init__(algorithm, Max(), values, n)
        self.least = 1

    def run(self, events: int) -> Any:
        """Slide so often."""
        ranges = range(1, len(self.swag) + 1)
        for value in itertools.islice(self.source, events):
            self.swag.evict()
            self.swag.insert(value)
            self.swag.queries(ranges)


def _make(name: str, values: Sequence[Any]) -> Make:
    return lambda n, seconds: AllRanges(name, values, n)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 1024, and FlatFIT's rate by FlatFAT's."""
    values = settings.values(1 << 12).tolist()
    contenders = {name: _make(name, values) for name in ALGORITHMS}
    points = Points()
    for point in curve(RATE, settings.powers(0, 10, quick=8), contenders, settings, clock):
        yield points.add(point)
    for x, ratio in points.ratios(RATE, "flatfit", "flatfat").items():
        yield RATIO.point("flatfit / flatfat", x, ratio)


def _factor(points: Points) -> Verdict:
    line = [y for x, y in points.line(RATIO, "flatfit / flatfat") if x >= 2]
    if not line:
        return TOO_FEW
    mean = sum(line) / len(line)
    return Verdict(f"{mean:.1f} on average, {max(line):.1f} at most", mean > 1)


EXPERIMENT = Experiment(
    "002 all ranges",
    "throughput with a query of every range at every slide",
    "Interpreted windows of Max: evict, insert, and queries of the ranges 1 to n.",
    (RATE, RATIO),
    run,
    source="Figures 14 and 15",
    finding="FlatFIT is the fastest from a window of 2 on, 10 times FlatFAT's rate on average and "
    "17 times at most.",
    rules=(
        ahead(RATE, "flatfit", "flatfat", since=2),
        ahead(RATE, "flatfit", "recalculate", since=16),
        widens(RATE, "flatfit", "flatfat"),
        Rule("Figure 15: the ratio is above 1 on average from a window of 2 on", _factor),
    ),
)
