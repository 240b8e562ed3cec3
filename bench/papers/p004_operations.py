"""Table 1 of paper 004: ⊕ a slide, amortised and at worst, counted."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.points import Figure, Point
from bench.rules import at_most, grows
from bench.windows import Counting

UNIT = "⊕ a slide"
MEAN = Figure("Table 1, amortised", "⊕ of a slide on average", "window", UNIT, (True, False))
WORST = Figure("Table 1, worst", "⊕ of the dearest slide", "window", UNIT)
# the paper's bounds: of a slide on average, and at worst (None: it grows with the window)
BOUNDS: dict[str, tuple[float, float | None]] = {
    "two_stacks": (3, None),
    "daba": (5, 8),
    "flatfit": (3, None),
    "slick_deque": (2, None),
    "pba": (3, 3),
}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Three windows' worth of slides over random values; of PBA what the caller waits for."""
    for n in settings.powers(3, 14, quick=11):
        for name in BOUNDS:
            if clock.over:
                yield MEAN.missing(name, n)
                yield WORST.missing(name, n)
                continue
            costs = _slides(name, n)
            yield MEAN.point(name, n, sum(costs) / len(costs), exact=True)
            yield WORST.point(name, n, float(max(costs)), exact=True)


def _slides(name: str, n: int) -> list[int]:
    counting, source = Counting(), random.Random(n)
    swag = counting.window(name, n)
    for _ in range(n):
        swag.evict()
        swag.insert(source.randrange(1 << 30))
    costs = []
    period = n + 1 if name == "flatfit" else n  # whole ones, each with one flip
    for _ in range(3 * period):
        before = counting.here
        swag.evict()
        swag.insert(source.randrange(1 << 30))
        swag.query()
        costs.append(counting.here - before)
    return costs


EXPERIMENT = Experiment(
    "004 operations",
    "⊕ a slide, amortised and at worst, exactly",
    "A counting maximum over random values in the interpreted windows: evict, insert, query. Of "
    "PBA only what the caller's thread does is counted; the second thread has as many again.",
    (MEAN, WORST),
    run,
    source="Table 1",
    finding="On average 3 for Two-Stacks and FlatFIT, 5 for DABA, fewer than 2 for SlickDeque and "
    "fewer than 3 for PBA; at worst 3 for PBA and 8 for DABA, and the whole window for the others.",
    rules=(
        *(at_most(MEAN, mean, name) for name, (mean, _) in BOUNDS.items()),
        *(at_most(WORST, worst, name) for name, (_, worst) in BOUNDS.items() if worst is not None),
        grows(WORST, "two_stacks", "linear"),
        grows(WORST, "flatfit", "linear"),
    ),
    weight=0.6,
)
