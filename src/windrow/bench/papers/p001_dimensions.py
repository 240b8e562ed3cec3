"""Experiment 5 of paper 001: k aggregations in one window."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregations import Last, Sum
from windrow.aggregations.together import Together
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.feeds import Interpreted
from windrow.bench.points import Point, Points
from windrow.bench.rules import TOO_FEW
from windrow.bench.settings import Settings
from windrow.bench.trials import Make, curve
from windrow.stores.memory import MemoryStore

FIGURE = "Figure 9"
STORED, TOGETHER = "amta, in a store", "amta"


def counts(k: int) -> Together:
    """The limit, and k counts."""
    return Together(max_size=Last(), **{f"count{i}": Sum() for i in range(1, k + 1)})


def _make(window: int, stored: bool) -> Make:
    def make(k: int, seconds: float) -> Interpreted:
        options = {"store": MemoryStore()} if stored else {}
        return Interpreted("amta", counts(k), [1], window, seconds, **options)

    return make


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """k of 1 to 50."""
    window = settings.size(1 << 15, 1 << 10)
    places = [1, 10, 25, 50] if settings.quick else [1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    contenders = {TOGETHER: _make(window, False), STORED: _make(window, True)}
    proportional: dict[str, float] = {}
    for p in curve(FIGURE, places, contenders, clock, settings, unit="µs a value", scale=1e6):
        yield p
        if p.measured and p.x == 1:
            proportional[p.series] = p.median
        if p.series == TOGETHER and TOGETHER in proportional:
            apart = proportional[TOGETHER] * float(p.x)
            yield Point(FIGURE, "k windows (computed)", p.x, p.unit, (apart,))


def _shared(name: str) -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(FIGURE, name)
        if len(line) < 3:
            return TOO_FEW
        (k0, one), (k1, many) = line[0], line[-1]
        each = (many - one) / (k1 - k0)
        return Verdict(
            f"{each:.2f} µs a dimension, {one - each:.2f} µs shared by all; {k1:.0f} together "
            f"take {many / (one * k1):.2f} of {k1:.0f} windows' time",
            many < 0.7 * one * k1,
        )

    return Rule(
        f"{FIGURE}: {name}: as many dimensions as were tried take less than 0.7 of as many windows",
        check,
        "a ⊕ of k dimensions is k calls of Python, dear against what the window itself costs",
    )


EXPERIMENT = Experiment(
    "001 dimensions",
    "k aggregations share one window",
    "Interpreted AMTA of k sums and the limit together, in memory and in the store of a "
    "dictionary; a window of 2^15 (2^10 in a quick run). The line of k windows is k times the "
    "first point, as in the paper.",
    (Figure(FIGURE, "latency by dimensions", "k", "µs a value", (False, False)),),
    run,
    source="Experiment 5, Figure 9",
    finding="Latency grows linearly with k, 411 ns a dimension beside 4,158 ns that all share: far "
    "slower than k windows would.",
    rules=(_shared(TOGETHER), _shared(STORED)),
)
