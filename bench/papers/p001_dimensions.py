"""Experiment 5 of paper 001: k aggregations in one window."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import Make, curve
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW
from bench.windows import Interpreted
from windrow import Last, MemoryStore, Sum, Together

COST = Figure("Figure 9", "latency by dimensions", "k", "µs a value", (False, False))
STORED, TOGETHER = "amta, in a store", "amta"


def counts(k: int) -> Together:
    """Return the limit, and k counts."""
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
    one = 0.0
    for p in curve(COST, places, contenders, settings, clock):
        yield p
        if p.measured and p.series == TOGETHER and p.x == 1:
            one = p.median
        if p.series == TOGETHER and one:
            yield COST.point("k windows (computed)", p.x, one * float(p.x))


def _shared(name: str) -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(COST, name)
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
        f"{COST.name}: {name}: as many dimensions as were tried take less than 0.7 of as many "
        "windows",
        check,
        "a ⊕ of k dimensions is k calls of Python, dear against what the window itself costs",
    )


EXPERIMENT = Experiment(
    "001 dimensions",
    "k aggregations share one window",
    "Interpreted AMTA of k sums and the limit together, in memory and in the store of a "
    "dictionary; a window of 2^15 (2^10 in a quick run). The line of k windows is k times the "
    "first point, as in the paper.",
    (COST,),
    run,
    source="Experiment 5, Figure 9",
    finding="Latency grows linearly with k, 411 ns a dimension beside 4,158 ns that all share: far "
    "slower than k windows would.",
    rules=(_shared(TOGETHER), _shared(STORED)),
)
