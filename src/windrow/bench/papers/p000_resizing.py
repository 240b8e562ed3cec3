"""Figure 9 of paper 000: a window whose capacity oscillates between n and 2n."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from windrow.aggregations import Aggregation, Max, StdDev
from windrow.algorithms import aggregator
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.feeds import interpreted, whole_numbers
from windrow.bench.measuring import timed
from windrow.bench.points import Point
from windrow.bench.rules import ahead, grows
from windrow.bench.settings import Settings
from windrow.bench.trials import Make, curve

FIGURE = "Figure 9"


class Oscillating:
    """Grows to n values and falls to fewer than n/4, one value at a time, so that it resizes.

    FlatFAT doubles when it is full and halves below a quarter.
    """

    most = 1 << 20

    def __init__(self, aggregation: Aggregation, values: Sequence[Any], n: int) -> None:
        self.swag = aggregator(aggregation, "flatfat")
        self.source = itertools.cycle(values)
        self.low, self.high = max(1, n // 4 - 1), n + 1
        self.swag.extend(itertools.islice(self.source, self.low))
        self.least = 2 * (self.high - self.low)  # a whole round, with both resizes
        self.first = timed(lambda: self.run(1))[0]

    def run(self, events: int) -> Any:
        """So many inserts or evicts, each with a query."""
        swag, source = self.swag, self.source
        for _ in range(max(1, events // self.least)):
            for value in itertools.islice(source, self.high - len(swag)):
                swag.insert(value)
                swag.query()
            for _ in range(len(swag) - self.low):
                swag.evict()
                swag.query()


def _oscillating(aggregation: Any, values: Any) -> Make:
    return lambda n, seconds: Oscillating(aggregation(), values, n)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Fixed and oscillating windows side by side."""
    values = whole_numbers(settings.values(1 << 14)).tolist()
    contenders: dict[str, Make] = {}
    for name, make in {"Max": Max, "StdDev": StdDev}.items():
        contenders[f"{name}, fixed"] = interpreted("flatfat", make, values)
        contenders[f"{name}, oscillating"] = _oscillating(make, values)
    yield from curve(
        FIGURE, settings.powers(3, 16, quick=11), contenders, clock, settings,
        unit="µs a value", scale=1e6,
    )  # fmt: skip


EXPERIMENT = Experiment(
    "000 resizing",
    "growing and shrinking is amortised",
    "The interpreted flatfat. Fixed: evict, insert, query at n values. Oscillating: single inserts "
    "up to n + 1 values and single evicts below n/4, a query after each, so that the tree doubles "
    "and halves in every round.",
    (Figure(FIGURE, "fixed and oscillating capacity", "window", "µs a value", (True, False)),),
    run,
    source="Figure 9",
    finding="The linear cost of a resize is amortised: an oscillating window costs no more than a "
    "fixed one, less even, since it holds fewer values most of the time.",
    rules=(
        ahead(FIGURE, "Max, oscillating", "Max, fixed"),
        ahead(FIGURE, "StdDev, oscillating", "StdDev, fixed"),
        grows(FIGURE, "Max, oscillating", "logarithmic"),
        grows(FIGURE, "Max, fixed", "logarithmic"),
    ),
)
