"""The bottom of Figure 13 of paper 003: throughput by window for cheap and dear operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from windrow.aggregations import Bloom, GeometricMean, Sum
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.feeds import interpreted, whole_numbers
from windrow.bench.points import Point
from windrow.bench.rules import ahead, grows
from windrow.bench.settings import Settings
from windrow.bench.trials import curve

ALGORITHMS = ("recalculate", "flatfat", "two_stacks", "foa", "ioa", "daba")
OPERATORS: dict[str, Callable[[], Any]] = {
    "Sum": Sum,
    "GeoMean": GeometricMean,
    "Bloom": lambda: Bloom(bits=16384),
}


def bottom(operator: str) -> str:
    """The name of an operator's figure."""
    return f"Figure 13, bottom, {operator}"


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 2^18; of Bloom, whose states are 2 KB, to 2^14."""
    values = (whole_numbers(settings.values(1 << 12)) + 1).tolist()
    for i, (name, make) in enumerate(OPERATORS.items()):
        share = clock.share(1, of=len(OPERATORS) - i)
        most = 14 if name == "Bloom" else 18
        contenders = {a: interpreted(a, make, values) for a in ALGORITHMS}
        yield from curve(
            bottom(name), settings.powers(0, most, quick=12), contenders, share, settings,
            unit="million values a second", scale=1e6,
        )  # fmt: skip


EXPERIMENT = Experiment(
    "003 throughput",
    "throughput by window: Two-Stacks, then DABA; FOA and IOA behind",
    "Interpreted windows, all six on equal terms: FOA and IOA are lists of linked cells, which "
    "only the interpreter has. The compiled loops of the others are in 002 and 004.",
    tuple(
        Figure(bottom(name), f"throughput of {name}", "window", "million values a second")
        for name in OPERATORS
    ),
    run,
    source="Figure 13, bottom",
    finding="Two-Stacks has the best throughput, DABA the next, FOA third; all three stay flat but "
    "for cache misses; IOA is as slow as the logarithmic Reactive; recalculation falls to nothing.",
    rules=(
        ahead(bottom("Sum"), "two_stacks", "daba"),
        ahead(bottom("Sum"), "daba", "foa"),
        ahead(
            bottom("Sum"),
            "daba",
            "ioa",
            otherwise="IOA's cells cost an allocation in C++; in Python DABA's values do, too",
        ),
        ahead(bottom("Sum"), "daba", "flatfat", since=4),
        grows(bottom("Sum"), "two_stacks", "flat", since=4),
        grows(bottom("Sum"), "daba", "flat", since=4),
        grows(bottom("Sum"), "flatfat", "logarithmic"),
        grows(bottom("Sum"), "recalculate", "linear", since=64),
        ahead(bottom("Bloom"), "two_stacks", "daba", since=4),
        ahead(bottom("Bloom"), "daba", "flatfat", since=64),
    ),
    weight=1.5,
)
