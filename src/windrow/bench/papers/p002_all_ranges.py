"""Figures 14 and 15 of paper 002: queries of all ranges from 1 to n at every slide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from windrow.aggregations import Max
from windrow.algorithms import aggregator
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.measuring import timed
from windrow.bench.points import Point, Points
from windrow.bench.rules import TOO_FEW, ahead, widens
from windrow.bench.settings import Settings
from windrow.bench.trials import Make, curve

FIGURE, RATIO = "Figure 14", "Figure 15"
ALGORITHMS = ("recalculate", "flatfat", "b_int", "flatfit")


class AllRanges:
    """A full window that is asked for each of its ranges at every slide."""

    most = 1 << 14
    least = 1

    def __init__(self, algorithm: str, values: Sequence[Any], n: int) -> None:
        self.swag = aggregator(Max(), algorithm)
        self.source, self.ranges = itertools.cycle(values), range(1, n + 1)
        self.swag.extend(itertools.islice(self.source, n))
        self.first = timed(lambda: self.run(1))[0]

    def run(self, events: int) -> Any:
        """Slide so often."""
        for value in itertools.islice(self.source, events):
            self.swag.evict()
            self.swag.insert(value)
            self.swag.queries(self.ranges)


def _make(name: str, values: Sequence[Any]) -> Make:
    return lambda n, seconds: AllRanges(name, values, n)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 1024, and FlatFIT's rate by FlatFAT's."""
    values = settings.values(1 << 12).tolist()
    contenders = {name: _make(name, values) for name in ALGORITHMS}
    found = Points()
    for point in curve(
        FIGURE, settings.powers(0, 10, quick=8), contenders, clock, settings,
        unit="thousand slides a second", scale=1e3,
    ):  # fmt: skip
        found.add(point)
        yield point
    base = dict(found.line(FIGURE, "flatfat"))
    for x, y in found.line(FIGURE, "flatfit"):
        if x in base:
            yield Point(RATIO, "flatfit / flatfat", x, "ratio", (y / base[x],))


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
    (
        Figure(FIGURE, "throughput by window", "window", "thousand slides a second"),
        Figure(RATIO, "rate of flatfit by that of flatfat", "window", "ratio", (True, False)),
    ),
    run,
    source="Figures 14 and 15",
    finding="FlatFIT is the fastest from a window of 2 on, 10 times FlatFAT's rate on average and "
    "17 times at most.",
    rules=(
        ahead(FIGURE, "flatfit", "flatfat", since=2),
        ahead(FIGURE, "flatfit", "recalculate", since=16),
        widens(FIGURE, "flatfit", "flatfat"),
        Rule("Figure 15: the ratio is above 1 on average from a window of 2 on", _factor),
    ),
)
