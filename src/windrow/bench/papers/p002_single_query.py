"""Figure 13 of paper 002: throughput of one query over the whole window."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregations import Max
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.feeds import compiled
from windrow.bench.points import Point
from windrow.bench.rules import ahead, grows, widens
from windrow.bench.settings import Settings
from windrow.bench.trials import curve

FIGURE = "Figure 13"
ALGORITHMS = ("recalculate", "flatfat", "b_int", "flatfit")


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 2^22."""
    values = settings.values(1 << 18)
    contenders = {name: compiled(name, Max, values) for name in ALGORITHMS}
    yield from curve(
        FIGURE, settings.powers(0, 22, quick=16), contenders, clock, settings,
        unit="million slides a second", scale=1e6,
    )  # fmt: skip


EXPERIMENT = Experiment(
    "002 single query",
    "throughput of one query over the whole window",
    "The compiled loops of Max. To 2^22 where the paper goes to 2^27.",
    (Figure(FIGURE, "throughput by window", "window", "million slides a second"),),
    run,
    source="Figure 13",
    finding="FlatFIT is ahead of FlatFAT from windows of 8 on, 1.8 times as fast on average and up "
    "to 2.6 times, and the gap grows with the window; B-Int is behind FlatFAT; recalculation falls "
    "to nothing.",
    rules=(
        ahead(FIGURE, "flatfit", "flatfat", since=8),
        widens(FIGURE, "flatfit", "flatfat"),
        grows(FIGURE, "recalculate", "linear", since=64),
        grows(FIGURE, "flatfat", "logarithmic"),
        grows(
            FIGURE,
            "flatfit",
            "flat",
            since=8,
            otherwise="windows beyond the caches cost memory traffic, whatever the ⊕ are",
        ),
        ahead(
            FIGURE,
            "flatfat",
            "b_int",
            since=8,
            otherwise="as in 000 b_int: compiled, the fewer updates of b_int weigh more than its "
            "longer look-up",
        ),
    ),
)
