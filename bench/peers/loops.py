"""The algorithms' own loops over arrays, on full windows."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.measure import curve
from bench.points import Figure, Point, Points
from bench.windows import compiled
from windrow import Max

RATE = Figure("loops", "Max by each algorithm's own loop", "window", "million values a second")
DRIFT = Figure("drift", "rate at the longest window by that at the shortest", "algorithm", "ratio")
COMPILED = (
    "recalculate", "subtract_on_evict", "two_stacks", "daba", "flatfat", "b_int", "flatfit",
    "slick_deque", "sba", "pba", "log_mta", "amta",
)  # fmt: skip


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each algorithm at each window; then how much its rate changes with the window."""
    values = settings.values(1 << 20)
    windows = settings.windows((64, 1024, 16384, 1 << 20), settings.size(1 << 22, 1 << 19))
    contenders = {name: compiled(name, Max, values) for name in COMPILED}
    points = Points()
    for point in curve(RATE, windows, contenders, settings, clock):
        yield points.add(point)
    for name in COMPILED:
        rates = points.values(RATE, name)
        if windows and windows[0] in rates and windows[-1] in rates:
            yield DRIFT.point("windrow", name, rates[windows[-1]] / rates[windows[0]])


EXPERIMENT = Experiment(
    "arrays loops",
    "the algorithms' own loops",
    "`rolling(…, algorithm=…)` of Max over doubles, the window full, one value a slide.",
    (RATE, DRIFT),
    run,
)
