"""Table 1 of paper 004: ⊕ a slide, amortised and at worst, counted."""

from __future__ import annotations

import random
from collections.abc import Iterator

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.counting import Counting
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.points import Point, Points, missing
from windrow.bench.rules import TOO_FEW, grows
from windrow.bench.settings import Settings

MEAN, WORST = "Table 1, amortised", "Table 1, worst"
# the paper's bounds: of a slide on average, and at worst (None: it grows with the window)
BOUNDS: dict[str, tuple[float, float | None]] = {
    "two_stacks": (3, None),
    "daba": (5, 8),
    "flatfit": (3, None),
    "slick_deque": (2, None),
    "pba": (3, 3),
}
UNIT = "⊕ a slide"


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Three windows' worth of slides over random values; of PBA what the caller waits for."""
    for n in settings.powers(3, 14, quick=11):
        for name in BOUNDS:
            if clock.over:
                yield missing(MEAN, name, n, UNIT, TIME_IS_UP)
                yield missing(WORST, name, n, UNIT, TIME_IS_UP)
                continue
            costs = _slides(name, n)
            yield Point(MEAN, name, n, UNIT, (sum(costs) / len(costs),), more={"exact": True})
            yield Point(WORST, name, n, UNIT, (float(max(costs)),), more={"exact": True})


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


def _at_most(figure: str, name: str, bound: float, why: str = "") -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(figure, name)
        if not line:
            return TOO_FEW
        x, y = max(line, key=lambda point: point[1])
        return Verdict(f"{y:.2f} at most, at n = {x:,.0f}", y <= bound)

    return Rule(f"{figure}: {name} makes at most {bound:g} ⊕ a slide", check, why)


EXPERIMENT = Experiment(
    "004 operations",
    "⊕ a slide, amortised and at worst, exactly",
    "A counting maximum over random values in the interpreted windows: evict, insert, query. Of "
    "PBA only what the caller's thread does is counted; the second thread has as many again.",
    (
        Figure(MEAN, "⊕ of a slide on average", "window", UNIT, (True, False)),
        Figure(WORST, "⊕ of the dearest slide", "window", UNIT),
    ),
    run,
    source="Table 1",
    finding="On average 3 for Two-Stacks and FlatFIT, 5 for DABA, fewer than 2 for SlickDeque and "
    "fewer than 3 for PBA; at worst 3 for PBA and 8 for DABA, and the whole window for the others.",
    rules=(
        *(_at_most(MEAN, name, mean) for name, (mean, _) in BOUNDS.items()),
        *(_at_most(WORST, name, worst) for name, (_, worst) in BOUNDS.items() if worst is not None),
        grows(WORST, "two_stacks", "linear"),
        grows(WORST, "flatfit", "linear"),
    ),
    weight=0.6,
)
