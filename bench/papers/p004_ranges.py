"""Figure 4 of paper 004: throughput of count-based windows by range."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.measure import curve
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import compiled
from windrow import Max

RATE = Figure("Figure 4", "throughput by window", "window", "million values a second")
ALGORITHMS = ("recalculate", "two_stacks", "slick_deque", "sba", "pba")
SAME_WORK = (
    "the compiled loop of Two-Stacks is the boundary aggregator on whole windows: the same work "
    "in larger pieces"
)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 2^3 to 2^22, a value a slide; uniform values unless files are given."""
    values = settings.uniform(1 << 20)
    contenders = {name: compiled(name, Max, values) for name in ALGORITHMS}
    yield from curve(RATE, settings.powers(3, 22, quick=19), contenders, settings, clock)


EXPERIMENT = Experiment(
    "004 ranges",
    "throughput by range: SBA ahead on small windows, PBA on large",
    "The compiled loops of Max, one value a slide; PBA has a second thread.",
    (RATE,),
    run,
    source="Figure 4",
    finding="SBA is ahead of Two-Stacks and SlickDeque even on small windows; PBA gains with the "
    "window up to 2^15 and stays there, 2.5 times Two-Stacks and 4 times SlickDeque.",
    rules=(
        ahead(RATE, "sba", "two_stacks", otherwise=SAME_WORK),
        ahead(RATE, "sba", "slick_deque"),
        ahead(RATE, "sba", "pba", until=1 << 9),
        ahead(
            RATE,
            "pba",
            "sba",
            since=1 << 15,
            otherwise="the second thread needs a core to itself; on a busy machine it waits",
        ),
        ahead(
            RATE,
            "pba",
            "two_stacks",
            since=1 << 15,
            by=1.2,
            otherwise="a ⊕ of Max is a nanosecond here, and answers are written at the speed of "
            "memory: half of the ⊕ on another core saves less than in Java",
        ),
        grows(RATE, "recalculate", "linear", since=64),
    ),
)
