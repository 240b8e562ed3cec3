"""Figure 9 of paper 000: a window whose capacity oscillates between n and 2n."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Make, curve
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import Interpreted, interpreted
from windrow import Aggregation, Max, StdDev

COST = Figure("Figure 9", "fixed and oscillating capacity", "window", "µs a value", (True, False))


class Oscillating(Interpreted):
    """Grows to n values and falls to fewer than n/4, one value at a time, so that it resizes.

    FlatFAT doubles when it is full and halves below a quarter.
    """

    def __init__(self, aggregation: Aggregation, values: Any, n: int, seconds: float) -> None:
        self.low, self.high = max(1, n // 4 - 1), n + 1
        super().__init__("flatfat", aggregation, values, self.low, seconds)
        self.least = 2 * (self.high - self.low)  # a whole round, with both resizes

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
    return lambda n, seconds: Oscillating(aggregation(), values, n, seconds)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Fixed and oscillating windows side by side."""
    values = settings.whole_numbers(1 << 14).tolist()
    contenders: dict[str, Make] = {}
    for name, make in {"Max": Max, "StdDev": StdDev}.items():
        contenders[f"{name}, fixed"] = interpreted("flatfat", make, values)
        contenders[f"{name}, oscillating"] = _oscillating(make, values)
    yield from curve(COST, settings.powers(3, 16, quick=11), contenders, settings, clock)


EXPERIMENT = Experiment(
    "000 resizing",
    "growing and shrinking is amortised",
    "The interpreted flatfat. Fixed: evict, insert, query at n values. Oscillating: single inserts "
    "up to n + 1 values and single evicts below n/4, a query after each, so that the tree doubles "
    "and halves in every round.",
    (COST,),
    run,
    source="Figure 9",
    finding="The linear cost of a resize is amortised: an oscillating window costs no more than a "
    "fixed one, less even, since it holds fewer values most of the time.",
    rules=(
        ahead(COST, "Max, oscillating", "Max, fixed"),
        ahead(COST, "StdDev, oscillating", "StdDev, fixed"),
        grows(COST, "Max, oscillating", "logarithmic"),
        grows(COST, "Max, fixed", "logarithmic"),
    ),
)
