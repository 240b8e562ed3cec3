"""Figures 6 and 7 of paper 000: throughput against recalculation, and the cost by window."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregations import Max, StdDev
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.feeds import compiled, whole_numbers
from windrow.bench.points import Point
from windrow.bench.rules import ahead, grows
from windrow.bench.settings import Settings
from windrow.bench.trials import curve

SMALL, LARGE = "Figure 6", "Figure 7"
AGGREGATIONS = {"Max": Max, "StdDev": StdDev}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 1024 by both, then of 1 to 2^22 by flatfat."""
    values = whole_numbers(settings.values(1 << 18))
    contenders = {
        f"{algorithm} {name}": compiled(algorithm, make, values)
        for name, make in AGGREGATIONS.items()
        for algorithm in ("recalculate", "flatfat")
    }
    yield from curve(
        SMALL, settings.powers(0, 10, quick=10), contenders, clock.share(1, of=2),
        settings, unit="million values a second", scale=1e6,
    )  # fmt: skip
    yield from curve(
        LARGE, settings.powers(0, 22, quick=18),
        {name: make for name, make in contenders.items() if "flatfat" in name},
        clock, settings, unit="µs a value", scale=1e6,
    )  # fmt: skip


EXPERIMENT = Experiment(
    "000 cost",
    "throughput against recalculation, and logarithmic cost by window",
    "The compiled loops over whole numbers, one value a slide.",
    (
        Figure(SMALL, "throughput of small windows", "window", "million values a second"),
        Figure(LARGE, "cost of a value", "window", "µs a value", (True, False)),
    ),
    run,
    source="Figures 6 and 7",
    finding="Up to 10% slower than recalculation on the smallest windows; at 1,024 almost 3 times "
    "as fast for Max and over 10 times for StdDev. The cost of a value is a straight line over the "
    "logarithm of the window, to 8 million.",
    rules=(
        ahead(SMALL, "flatfat Max", "recalculate Max", since=1024),
        ahead(SMALL, "flatfat StdDev", "recalculate StdDev", since=1024),
        grows(
            SMALL,
            "recalculate Max",
            "linear",
            since=64,
            otherwise="a compiled loop over a short array costs little more than the slide",
        ),
        grows(LARGE, "flatfat Max", "logarithmic"),
        grows(LARGE, "flatfat StdDev", "logarithmic"),
    ),
)
