"""The bottom of Figure 13 of paper 003: throughput by window for cheap and dear operators."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.measure import curve
from bench.papers.operators import OPERATORS, values_of
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import interpreted

ALGORITHMS = ("recalculate", "flatfat", "two_stacks", "foa", "ioa", "daba")
BOTTOMS = {
    name: Figure(
        f"Figure 13, bottom, {name}", f"throughput of {name}", "window", "million values a second"
    )
    for name in ("Sum", "GeoMean", "Bloom")
}
SUM, BLOOM = BOTTOMS["Sum"], BOTTOMS["Bloom"]


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 2^18; of Bloom, whose states are 2 KB, to 2^14."""
    for share, (name, figure) in clock.shares(BOTTOMS.items()):
        values = values_of(name, settings, 1 << 12)
        contenders = {a: interpreted(a, OPERATORS[name], values) for a in ALGORITHMS}
        windows = settings.powers(0, 14 if name == "Bloom" else 18, quick=12)
        yield from curve(figure, windows, contenders, settings, share)


EXPERIMENT = Experiment(
    "003 throughput",
    "throughput by window: Two-Stacks, then DABA; FOA and IOA behind",
    "Interpreted windows, all six on equal terms: FOA and IOA are lists of linked cells, which "
    "only the interpreter has. The compiled loops of the others are in 002 and 004.",
    tuple(BOTTOMS.values()),
    run,
    source="Figure 13, bottom",
    finding="Two-Stacks has the best throughput, DABA the next, FOA third; all three stay flat but "
    "for cache misses; IOA is as slow as the logarithmic Reactive; recalculation falls to nothing.",
    rules=(
        ahead(SUM, "two_stacks", "daba"),
        ahead(SUM, "daba", "foa"),
        ahead(
            SUM,
            "daba",
            "ioa",
            otherwise="IOA's cells cost an allocation in C++; in Python DABA's values do, too",
        ),
        ahead(SUM, "daba", "flatfat", since=4),
        grows(SUM, "two_stacks", "flat", since=4),
        grows(SUM, "daba", "flat", since=4),
        grows(SUM, "flatfat", "logarithmic"),
        grows(SUM, "recalculate", "linear", since=64),
        ahead(BLOOM, "two_stacks", "daba", since=4),
        ahead(BLOOM, "daba", "flatfat", since=64),
    ),
    weight=1.5,
)
