"""Figure 11 and Table 4 of paper 000: the Reactive Aggregator against Arasu and Widom's B-Int."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.measure import curve
from bench.points import Figure, Point, Points
from bench.rules import ahead, grows
from bench.windows import compiled
from windrow import Max, Mean, MinCount, PopulationStdDev, Sum

COST = Figure("Figure 11", "Max by both", "window", "µs a value", (True, False))
TABLE = Figure("Table 4", "time of b_int by that of flatfat", "window", "ratio", (True, False))
PAIR = ("flatfat", "b_int")
AGGREGATIONS = {"Max": Max, "Sum": Sum, "Mean": Mean, "PopulationStdDev": PopulationStdDev,
                "MinCount": MinCount}  # fmt: skip


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max at all windows, then the ratios at three windows for each aggregation."""
    values = settings.whole_numbers(1 << 18)
    pair = {name: compiled(name, Max, values) for name in PAIR}
    windows = settings.powers(0, 22, quick=16)
    yield from curve(COST, windows, pair, settings, clock.share(1, of=2))
    windows = settings.sizes([8, 8192, 1 << 17] if settings.quick else [8, 8192, 1 << 23])
    for aggregation, make in AGGREGATIONS.items():
        pair = {name: compiled(name, make, values) for name in PAIR}
        points = Points(curve(COST, windows, pair, settings, clock))
        ratios = points.ratios(COST, *PAIR)
        for w in windows:
            if w in ratios:
                yield TABLE.point(aggregation, w, ratios[w])
            else:
                why = next(p.why for p in points if not p.measured and p.x == w)
                yield TABLE.missing(aggregation, w, why)


EXPERIMENT = Experiment(
    "000 b_int",
    "FlatFAT against base intervals",
    "The compiled loops over whole numbers, one value a slide.",
    (COST, TABLE),
    run,
    source="Figure 11 and Table 4",
    finding="Both are logarithmic, and the Reactive Aggregator is faster by a constant factor that "
    "widens with the window: 1.02 to 1.06 at 8, 1.2 to 1.26 at 8 thousand, 1.35 to 1.39 at 8 "
    "million.",
    rules=(
        grows(COST, "flatfat", "logarithmic"),
        grows(COST, "b_int", "logarithmic"),
        ahead(
            COST,
            *PAIR,
            since=8,
            otherwise="b_int updates only the intervals that end with the new value, about two a "
            "slide, where FlatFAT climbs to the root twice, for the evict and for the insert; "
            "compiled, its look-up of the window costs less than that",
        ),
    ),
)
