"""Figure 16 of paper 002: memory, with windows that are no power of two."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.memory import grown
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, grows

MEMORY = Figure("Figure 16", "memory by window", "window", "MB")
CONTENDERS = {name: f"compiled:{name}" for name in ("flatfat", "b_int", "flatfit", "recalculate")}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Powers of two, and just above them, where a tree is rounded up."""
    powers = [1 << e for e in (range(16, 20, 2) if settings.quick else range(16, 23))]
    sizes = sorted({s for n in powers for s in (n, n * 9 // 8, n * 3 // 2)})
    yield from grown(MEMORY, CONTENDERS, settings.sizes(sizes), clock)


def _average(points: Points) -> Verdict:
    ratios = points.ratios(MEMORY, "flatfit", "flatfat").values()
    if not ratios:
        return TOO_FEW
    mean = sum(ratios) / len(ratios)
    return Verdict(f"{mean:.2f} times less on average, {max(ratios):.2f} at most", mean >= 1.1)


EXPERIMENT = Experiment(
    "002 memory",
    "FlatFIT's arrays against trees that are rounded up",
    "The compiled loops of Max over doubles, each window in a fork of its own: by how much its "
    "private memory grows.",
    (MEMORY,),
    run,
    source="Figure 16",
    finding="FlatFIT takes 2n where the trees take twice the next power of two: 1.4 times less "
    "than FlatFAT on average, 1.9 times at most. Recalculation takes the least.",
    rules=(
        ahead(MEMORY, "flatfit", "flatfat"),
        Rule("Figure 16: FlatFAT takes 1.1 times FlatFIT's memory or more on average", _average),
        grows(MEMORY, "flatfit", "linear"),
        grows(MEMORY, "flatfat", "linear"),
    ),
)
