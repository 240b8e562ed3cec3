"""Figures 6 and 7 of paper 000: throughput against recalculation, and the cost by window."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.measure import curve
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import compiled
from windrow import Max, StdDev

SMALL = Figure("Figure 6", "throughput of small windows", "window", "million values a second")
LARGE = Figure("Figure 7", "cost of a value", "window", "µs a value", (True, False))


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 1024 by both, then of 1 to 2^22 by flatfat."""
    values = settings.whole_numbers(1 << 18)
    contenders = {
        f"{algorithm} {name}": compiled(algorithm, make, values)
        for name, make in {"Max": Max, "StdDev": StdDev}.items()
        for algorithm in ("recalculate", "flatfat")
    }
    windows = settings.powers(0, 10, quick=10)
    yield from curve(SMALL, windows, contenders, settings, clock.share(1, of=2))
    trees = {name: make for name, make in contenders.items() if "flatfat" in name}
    yield from curve(LARGE, settings.powers(0, 22, quick=18), trees, settings, clock)


EXPERIMENT = Experiment(
    "000 cost",
    "throughput against recalculation, and logarithmic cost by window",
    "The compiled loops over whole numbers, one value a slide.",
    (SMALL, LARGE),
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
