"""Figures 8 and 10 of paper 000: m values a slide, up to whole windows at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Make, curve
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import Interpreted
from windrow import Max, StdDev

TUMBLING = Figure("Figure 8", "whole windows at once", "window", "µs a firing")
COARSE = Figure(
    "Figure 10", "cost of a value by the values a slide", "window", "µs a value", (True, False)
)
STEPS: dict[str, Callable[[int], int]] = {
    "m = 1": lambda n: 1,
    "m = 4": lambda n: min(4, n),
    "m = 64": lambda n: min(64, n),
    "m = n/16": lambda n: max(1, n // 16),
    "m = n/4": lambda n: max(1, n // 4),
    "m = n": lambda n: n,
}


class Steps(Interpreted):
    """A full window that slides by m values at once; an event is a value, or a firing."""

    def slide_by(self, m: int, by_firing: bool) -> Steps:
        """Set how many values come at once, and what an event is."""
        self.m, self.least = m, 1 if by_firing else m
        return self

    def run(self, events: int) -> Any:
        """Slide until so many values have come, or so often."""
        for _ in range(max(1, events // self.least)):
            self.swag.evict(self.m)
            self.swag.extend(itertools.islice(self.source, self.m))
            self.swag.query()


def _make(algorithm: str, aggregation: Any, values: Any, step: Any, by_firing: bool) -> Make:
    return lambda n, seconds: Steps(algorithm, aggregation(), values, n).slide_by(
        step(n), by_firing
    )


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Tumbling windows by both algorithms, then FlatFAT for each m."""
    values = settings.whole_numbers(1 << 14).tolist()
    tumbling = {
        f"{algorithm} {name}": _make(algorithm, make, values, STEPS["m = n"], True)
        for name, make in {"Max": Max, "StdDev": StdDev}.items()
        for algorithm in ("recalculate", "flatfat")
    }
    windows = settings.powers(0, 12, quick=12)
    yield from curve(TUMBLING, windows, tumbling, settings, clock.share(1, of=3))
    coarse = {name: _make("flatfat", StdDev, values, step, False) for name, step in STEPS.items()}
    yield from curve(COARSE, settings.powers(4, 18, quick=14), coarse, settings, clock)


EXPERIMENT = Experiment(
    "000 coarse",
    "m values a slide: logarithmic for a fixed m, flat for a share of the window",
    "The interpreted window: evict(m), extend of m values (one update of the tree), query.",
    (TUMBLING, COARSE),
    run,
    source="Figures 8 and 10",
    finding="With tumbling windows, where nothing can be reused, a firing costs about the same as "
    "recalculation. The cost of a value grows as the logarithm of the window for m = 1, 4 and 64, "
    "and is constant for m = n/16, n/4 and n.",
    rules=(
        ahead(
            TUMBLING,
            "flatfat Max",
            "recalculate Max",
            by=1 / 2,
            otherwise="interpreted, a node of the tree costs more than its ⊕, and evicting writes "
            "all of them once more",
        ),
        grows(TUMBLING, "flatfat Max", "linear", since=16),
        grows(COARSE, "m = 1", "logarithmic"),
        grows(COARSE, "m = 4", "logarithmic"),
        grows(COARSE, "m = n/16", "flat", since=256),
        grows(COARSE, "m = n/4", "flat", since=256),
        grows(COARSE, "m = n", "flat", since=256),
        ahead(COARSE, "m = n", "m = 1", since=64),
    ),
)
