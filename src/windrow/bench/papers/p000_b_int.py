"""Figure 11 and Table 4 of paper 000: the Reactive Aggregator against Arasu and Widom's B-Int."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregations import Max, Mean, MinCount, PopulationStdDev, Sum
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.feeds import compiled, whole_numbers
from windrow.bench.points import Point, Points, missing
from windrow.bench.rules import ahead, grows
from windrow.bench.settings import Settings
from windrow.bench.trials import curve

FIGURE, TABLE = "Figure 11", "Table 4"
AGGREGATIONS = {"Max": Max, "Sum": Sum, "Mean": Mean, "PopulationStdDev": PopulationStdDev,
                "MinCount": MinCount}  # fmt: skip


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max at all windows, then the ratios at three windows for each aggregation."""
    values = whole_numbers(settings.values(1 << 18))
    pair = {name: compiled(name, Max, values) for name in ("flatfat", "b_int")}
    yield from curve(
        FIGURE, settings.powers(0, 22, quick=16), pair, clock.share(1, of=2), settings,
        unit="µs a value", scale=1e6,
    )  # fmt: skip
    windows = settings.sizes([8, 8192, 1 << 17] if settings.quick else [8, 8192, 1 << 23])
    for aggregation, make in AGGREGATIONS.items():
        pair = {name: compiled(name, make, values) for name in ("flatfat", "b_int")}
        lines = Points(curve("", windows, pair, clock, settings))
        for w in windows:
            ours, theirs = (lines.value("", name, w) for name in ("flatfat", "b_int"))
            if ours is None or theirs is None:
                why = next(p.status for p in lines if not p.measured and p.x == w)
                yield missing(TABLE, aggregation, w, "ratio", why.removeprefix("not measured: "))
            else:
                yield Point(TABLE, aggregation, w, "ratio", (theirs / ours,))


EXPERIMENT = Experiment(
    "000 b_int",
    "FlatFAT against base intervals",
    "The compiled loops over whole numbers, one value a slide.",
    (
        Figure(FIGURE, "Max by both", "window", "µs a value", (True, False)),
        Figure(TABLE, "time of b_int by that of flatfat", "window", "ratio", (True, False)),
    ),
    run,
    source="Figure 11 and Table 4",
    finding="Both are logarithmic, and the Reactive Aggregator is faster by a constant factor that "
    "widens with the window: 1.02 to 1.06 at 8, 1.2 to 1.26 at 8 thousand, 1.35 to 1.39 at 8 "
    "million.",
    rules=(
        grows(FIGURE, "flatfat", "logarithmic"),
        grows(FIGURE, "b_int", "logarithmic"),
        ahead(
            FIGURE,
            "flatfat",
            "b_int",
            since=8,
            otherwise="b_int updates only the intervals that end with the new value, about two a "
            "slide, where FlatFAT climbs to the root twice, for the evict and for the insert; "
            "compiled, its look-up of the window costs less than that",
        ),
    ),
)
