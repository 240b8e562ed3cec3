"""Figure 4 of paper 004: throughput of count-based windows by range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.aggregations import Max
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.feeds import compiled
from windrow.bench.points import Point
from windrow.bench.rules import ahead, grows
from windrow.bench.settings import Settings
from windrow.bench.trials import curve

FIGURE = "Figure 4"
ALGORITHMS = ("recalculate", "two_stacks", "slick_deque", "sba", "pba")


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 2^3 to 2^22, a value a slide; uniform values unless files are given."""
    uniform = np.random.default_rng(1).random(1 << 20)
    values = settings.values(1 << 20) if settings.data else uniform
    contenders = {name: compiled(name, Max, values) for name in ALGORITHMS}
    yield from curve(
        FIGURE, settings.powers(3, 22, quick=19), contenders, clock, settings,
        unit="million values a second", scale=1e6,
    )  # fmt: skip


EXPERIMENT = Experiment(
    "004 ranges",
    "throughput by range: SBA ahead on small windows, PBA on large",
    "The compiled loops of Max, one value a slide; PBA has a second thread.",
    (Figure(FIGURE, "throughput by window", "window", "million values a second"),),
    run,
    source="Figure 4",
    finding="SBA is ahead of Two-Stacks and SlickDeque even on small windows; PBA gains with the "
    "window up to 2^15 and stays there, 2.5 times Two-Stacks and 4 times SlickDeque.",
    rules=(
        ahead(
            FIGURE,
            "sba",
            "two_stacks",
            otherwise="the compiled loop of Two-Stacks is the boundary aggregator on whole "
            "windows: the same work in larger pieces",
        ),
        ahead(FIGURE, "sba", "slick_deque"),
        ahead(FIGURE, "sba", "pba", until=1 << 9),
        ahead(
            FIGURE,
            "pba",
            "sba",
            since=1 << 15,
            otherwise="the second thread needs a core to itself; on a busy machine it waits",
        ),
        ahead(
            FIGURE,
            "pba",
            "two_stacks",
            since=1 << 15,
            by=1.2,
            otherwise="a ⊕ of Max is a nanosecond here, and answers are written at the speed of "
            "memory: half of the ⊕ on another core saves less than in Java",
        ),
        grows(FIGURE, "recalculate", "linear", since=64),
    ),
)
