"""The experiments of paper 000: the Reactive Aggregator, recalculation and B-Int."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import Make, curve
from bench.memory import memory_of
from bench.papers.breaking_even import break_evens, never
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, grows
from bench.windows import Compiled, Interpreted
from windrow import (
    Aggregation,
    ArgMax,
    Collect,
    Count,
    Max,
    Mean,
    MinCount,
    PopulationStdDev,
    SampleStdDev,
    StdDev,
    Sum,
)

# -- break-even ------------------------------------------------------------------------------------

TABLE_3 = Figure("Table 3", "smallest window where flatfat is faster", "aggregation", "window")
TEN_TIMES = Figure(
    "Table 3, 10×", "smallest window where it is ten times faster", "aggregation", "window"
)
BOTH = ("recalculate", "flatfat")
CHEAP_AND_DEAR = {"Max": Max(), "StdDev": StdDev()}
# whole numbers or doubles; those that users ask for most come first, should the time be short
AGGREGATIONS: dict[str, tuple[Aggregation, bool]] = {
    "Max": (Max(), True),
    "SampleStdDev": (SampleStdDev(), True),
    "Sum": (Sum(), True),
    "Count": (Count(), True),
    "ArithmeticMean": (Mean(), True),
    "ArgMax": (ArgMax(), True),
    "MinCount": (MinCount(), True),
    "PopulationStdDev": (PopulationStdDev(), True),
    "Max<Double>": (Max(), False),
    "Sum<Double>": (Sum(), False),
    "ArgMax<Double>": (ArgMax(), False),
}


def break_even(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Both at windows of 2 to 8192, an aggregation at a time."""
    floats, whole = settings.values(1 << 18), settings.whole_numbers(1 << 18)
    cases: dict[str, dict[str, Any]] = {
        name: {a: partial(Compiled, a, part, whole if integer else floats) for a in BOTH}
        for name, (part, integer) in AGGREGATIONS.items()
    }
    cases["Collect"] = {a: partial(Interpreted, a, Collect(), whole[:4096].tolist()) for a in BOTH}
    windows, tables = settings.powers(1, 13, quick=11), {TABLE_3: 1.0, TEN_TIMES: 10.0}
    yield from break_evens(cases, windows, settings, clock, tables, "flatfat")


def _small(points: Points) -> Verdict:
    values = points.values(TABLE_3, "flatfat").items()
    windows = [(w, x) for x, w in values if x not in ("Count", "Collect")]
    if not windows:
        return TOO_FEW
    (least, first), (most, last) = min(windows), max(windows)
    return Verdict(f"from {least:.0f} ({first}) to {most:.0f} ({last})", most <= 400)


BREAK_EVEN = Experiment(
    "000 break-even",
    "from which window on incremental aggregation pays",
    "The compiled loops of flatfat and recalculate over whole numbers and doubles, and Collect in "
    "the interpreter; windows are powers of two, and between them a straight line in log–log.",
    (TABLE_3, TEN_TIMES),
    break_even,
    source="Table 3",
    finding="The Reactive Aggregator is faster from windows of 10 to 370 on, the sooner the dearer "
    "the aggregation, and ten times faster from 700 to 5,810 on; never for Count, whose baseline "
    "reads a size, nor for Collect, whose result is as long as the window.",
    rules=(
        Rule(
            "Table 3: every break-even is at most 400",
            _small,
            "the recalculation here is a compiled loop over an array, faster than the paper's "
            "operator, so it stays ahead for longer",
        ),
        never(TABLE_3, "Collect").unless(
            "Python copies lists far faster than it calls a combine, on which the margin hangs"
        ),
        never(TABLE_3, "Count").unless(
            "recalculate adds up n ones here; the paper's baseline reads the size of the window"
        ),
    ),
    weight=5.0,
)


# -- cost ------------------------------------------------------------------------------------------

FIGURE_6 = Figure("Figure 6", "throughput of small windows", "window", "million values a second")
FIGURE_7 = Figure("Figure 7", "cost of a value", "window", "µs a value", (True, False))


def cost(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 1024 by both, then of 1 to 2^22 by flatfat."""
    values = settings.whole_numbers(1 << 18)
    contenders = {
        f"{algorithm} {name}": partial(Compiled, algorithm, part, values)
        for name, part in CHEAP_AND_DEAR.items()
        for algorithm in BOTH
    }
    windows = settings.powers(0, 10, quick=10)
    yield from curve(FIGURE_6, windows, contenders, settings, clock.share(1, of=2))
    trees = {name: make for name, make in contenders.items() if "flatfat" in name}
    yield from curve(FIGURE_7, settings.powers(0, 22, quick=18), trees, settings, clock)


COST = Experiment(
    "000 cost",
    "throughput against recalculation, and logarithmic cost by window",
    "The compiled loops over whole numbers, one value a slide.",
    (FIGURE_6, FIGURE_7),
    cost,
    source="Figures 6 and 7",
    finding="Up to 10% slower than recalculation on the smallest windows; at 1,024 almost 3 times "
    "as fast for Max and over 10 times for StdDev. The cost of a value is a straight line over the "
    "logarithm of the window, to 8 million.",
    rules=(
        ahead(FIGURE_6, "flatfat Max", "recalculate Max", since=1024),
        ahead(FIGURE_6, "flatfat StdDev", "recalculate StdDev", since=1024),
        grows(FIGURE_6, "recalculate Max", "linear", since=64).unless(
            "a compiled loop over a short array costs little more than the slide"
        ),
        grows(FIGURE_7, "flatfat Max", "logarithmic"),
        grows(FIGURE_7, "flatfat StdDev", "logarithmic"),
    ),
)


# -- coarse slides ---------------------------------------------------------------------------------

FIGURE_8 = Figure("Figure 8", "whole windows at once", "window", "µs a firing")
FIGURE_10 = Figure(
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
    """A full window that slides by `step(n)` values at once; an event is a value, or a firing."""

    def __init__(self, step: Callable[[int], int], by_firing: bool, *window: Any) -> None:
        super().__init__(*window)
        self.m = step(len(self.swag))
        self.least = 1 if by_firing else self.m

    def run(self, events: int) -> Any:
        """Slide until so many values have come, or so often."""
        for _ in range(max(1, events // self.least)):
            self.swag.evict(self.m)
            self.swag.extend(itertools.islice(self.source, self.m))
            self.swag.query()


def coarse_slides(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Tumbling windows by both algorithms, then FlatFAT for each m."""
    values = settings.whole_numbers(1 << 14).tolist()
    tumbling = {
        f"{algorithm} {name}": partial(Steps, STEPS["m = n"], True, algorithm, part, values)
        for name, part in CHEAP_AND_DEAR.items()
        for algorithm in BOTH
    }
    windows = settings.powers(0, 12, quick=12)
    yield from curve(FIGURE_8, windows, tumbling, settings, clock.share(1, of=3))
    coarse = {
        name: partial(Steps, step, False, "flatfat", StdDev(), values)
        for name, step in STEPS.items()
    }
    yield from curve(FIGURE_10, settings.powers(4, 18, quick=14), coarse, settings, clock)


COARSE_SLIDES = Experiment(
    "000 coarse",
    "m values a slide: logarithmic for a fixed m, flat for a share of the window",
    "The interpreted window: evict(m), extend of m values (one update of the tree), query.",
    (FIGURE_8, FIGURE_10),
    coarse_slides,
    source="Figures 8 and 10",
    finding="With tumbling windows, where nothing can be reused, a firing costs about the same as "
    "recalculation. The cost of a value grows as the logarithm of the window for m = 1, 4 and 64, "
    "and is constant for m = n/16, n/4 and n.",
    rules=(
        ahead(FIGURE_8, "flatfat Max", "recalculate Max", by=1 / 2).unless(
            "interpreted, a node of the tree costs more than its ⊕, and evicting writes "
            "all of them once more"
        ),
        grows(FIGURE_8, "flatfat Max", "linear", since=16),
        grows(FIGURE_10, "m = 1", "logarithmic"),
        grows(FIGURE_10, "m = 4", "logarithmic"),
        grows(FIGURE_10, "m = n/16", "flat", since=256),
        grows(FIGURE_10, "m = n/4", "flat", since=256),
        grows(FIGURE_10, "m = n", "flat", since=256),
        ahead(FIGURE_10, "m = n", "m = 1", since=64),
    ),
)


# -- resizing --------------------------------------------------------------------------------------

FIGURE_9 = Figure(
    "Figure 9", "fixed and oscillating capacity", "window", "µs a value", (True, False)
)


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


def resizing(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Fixed and oscillating windows side by side."""
    values = settings.whole_numbers(1 << 14).tolist()
    contenders: dict[str, Make] = {}
    for name, part in CHEAP_AND_DEAR.items():
        contenders[f"{name}, fixed"] = partial(Interpreted, "flatfat", part, values)
        contenders[f"{name}, oscillating"] = partial(Oscillating, part, values)
    yield from curve(FIGURE_9, settings.powers(3, 16, quick=11), contenders, settings, clock)


RESIZING = Experiment(
    "000 resizing",
    "growing and shrinking is amortised",
    "The interpreted flatfat. Fixed: evict, insert, query at n values. Oscillating: single inserts "
    "up to n + 1 values and single evicts below n/4, a query after each, so that the tree doubles "
    "and halves in every round.",
    (FIGURE_9,),
    resizing,
    source="Figure 9",
    finding="The linear cost of a resize is amortised: an oscillating window costs no more than a "
    "fixed one, less even, since it holds fewer values most of the time.",
    rules=(
        ahead(FIGURE_9, "Max, oscillating", "Max, fixed"),
        ahead(FIGURE_9, "StdDev, oscillating", "StdDev, fixed"),
        grows(FIGURE_9, "Max, oscillating", "logarithmic"),
        grows(FIGURE_9, "Max, fixed", "logarithmic"),
    ),
)


# -- B-Int -----------------------------------------------------------------------------------------

FIGURE_11 = Figure("Figure 11", "Max by both", "window", "µs a value", (True, False))
TABLE_4 = Figure("Table 4", "time of b_int by that of flatfat", "window", "ratio", (True, False))
TREES = ("flatfat", "b_int")
COMPARED = {"Max": Max(), "Sum": Sum(), "Mean": Mean(), "PopulationStdDev": PopulationStdDev(),
                "MinCount": MinCount()}  # fmt: skip


def b_int(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max at all windows, then the ratios at three windows for each aggregation."""
    values = settings.whole_numbers(1 << 18)
    pair = {name: partial(Compiled, name, Max(), values) for name in TREES}
    windows = settings.powers(0, 22, quick=16)
    yield from curve(FIGURE_11, windows, pair, settings, clock.share(1, of=2))
    windows = settings.sizes([8, 8192, 1 << 17] if settings.quick else [8, 8192, 1 << 23])
    for aggregation, part in COMPARED.items():
        pair = {name: partial(Compiled, name, part, values) for name in TREES}
        points = Points(curve(FIGURE_11, windows, pair, settings, clock))
        ratios = points.ratios(FIGURE_11, *TREES)
        for w in windows:
            if w in ratios:
                yield TABLE_4.point(aggregation, w, ratios[w])
            else:
                why = next(p.why for p in points if not p.measured and p.x == w)
                yield TABLE_4.missing(aggregation, w, why)


B_INT = Experiment(
    "000 b_int",
    "FlatFAT against base intervals",
    "The compiled loops over whole numbers, one value a slide.",
    (FIGURE_11, TABLE_4),
    b_int,
    source="Figure 11 and Table 4",
    finding="Both are logarithmic, and the Reactive Aggregator is faster by a constant factor that "
    "widens with the window: 1.02 to 1.06 at 8, 1.2 to 1.26 at 8 thousand, 1.35 to 1.39 at 8 "
    "million.",
    rules=(
        grows(FIGURE_11, "flatfat", "logarithmic"),
        grows(FIGURE_11, "b_int", "logarithmic"),
        ahead(FIGURE_11, *TREES, since=8).unless(
            "b_int updates only the intervals that end with the new value, about two a "
            "slide, where FlatFAT climbs to the root twice, for the evict and for the insert; "
            "compiled, its look-up of the window costs less than that"
        ),
    ),
)


# -- memory ----------------------------------------------------------------------------------------

FIGURE_12 = Figure("Figure 12", "memory by window", "window", "MB")


def memory(settings: Settings, clock: Clock) -> Iterator[Point]:
    contenders = {name: f"process:{name}" for name in BOTH}
    yield from memory_of(FIGURE_12, contenders, settings.powers(12, 21, quick=16), clock)


MEMORY = Experiment(
    "000 memory",
    "memory is linear in the window, with a small constant",
    "Interpreted windows of Max, each in a fork of its own: by how much its private memory grows. "
    "Windows begin where the paper's end, since a page is the smallest step that shows.",
    (FIGURE_12,),
    memory,
    source="Figure 12",
    finding="Memory is linear in the window and the constant is small; up to 4 thousand values it "
    "is lost in the size of the process.",
    rules=(grows(FIGURE_12, "flatfat", "linear"), grows(FIGURE_12, "recalculate", "linear")),
)


EXPERIMENTS = (BREAK_EVEN, COST, COARSE_SLIDES, RESIZING, B_INT, MEMORY)
