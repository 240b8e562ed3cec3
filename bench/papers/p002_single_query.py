"""Figure 13 of paper 002: throughput of one query over the whole window."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.measure import curve
from bench.points import Figure, Point
from bench.rules import ahead, grows, widens
from bench.windows import compiled
from windrow import Max

RATE = Figure("Figure 13", "throughput by window", "window", "million slides a second")
ALGORITHMS = ("recalculate", "flatfat", "b_int", "flatfit")


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 2^22."""
    values = settings.values(1 << 18)
    contenders = {name: compiled(name, Max, values) for name in ALGORITHMS}
    yield from curve(RATE, settings.powers(0, 22, quick=16), contenders, settings, clock)


EXPERIMENT = Experiment(
    "002 single query",
    "throughput of one query over the whole window",
    "The compiled loops of Max. To 2^22 where the paper goes to 2^27.",
    (RATE,),
    run,
    source="Figure 13",
    finding="FlatFIT is ahead of FlatFAT from windows of 8 on, 1.8 times as fast on average and up "
    "to 2.6 times, and the gap grows with the window; B-Int is behind FlatFAT; recalculation falls "
    "to nothing.",
    rules=(
        ahead(RATE, "flatfit", "flatfat", since=8),
        widens(RATE, "flatfit", "flatfat"),
        grows(RATE, "recalculate", "linear", since=64),
        grows(RATE, "flatfat", "logarithmic"),
        grows(
            RATE,
            "flatfit",
            "flat",
            since=8,
            otherwise="windows beyond the caches cost memory traffic, whatever the ⊕ are",
        ),
        ahead(
            RATE,
            "flatfat",
            "b_int",
            since=8,
            otherwise="as in 000 b_int: compiled, the fewer updates of b_int weigh more than its "
            "longer look-up",
        ),
    ),
)
