"""Arrays: `rolling` against bottleneck, numbagg, pandas, Polars, SciPy, DuckDB and river."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.experiment import Clock, Experiment, Settings
from bench.measure import measure
from bench.peers.libraries import COMPARISONS, PEERS, Data
from bench.points import Figure, Point
from bench.results import OURS

FIGURES = {name: Figure(name, f"rolling {name}", "window", "ms") for name in COMPARISONS}
WINDOWS = (8, 64, 1024, 16384, 1 << 20)
TOLERANCE = 1e-6


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each question at each window, everyone on one thread.

    Polars' rolling kernels are; its threads are left as they are, for the tables have all of them.
    """
    data = Data(settings.values(settings.size(4_000_000, 400_000)))
    few, n = len(data.few), data.values.size
    for w in settings.windows(WINDOWS, n):
        for question, calls in COMPARISONS.items():
            figure = FIGURES[question]
            if clock.over:
                yield from (figure.missing(name, w) for name in calls)
                continue
            bound = {name: partial(call, data, w) for name, call in calls.items()}
            timings = measure(bound, settings.repeats, TOLERANCE)
            for name in (name for name in (OURS, *PEERS) if name in timings):
                share = few / n if name == "river" else 1.0
                timings[name].more |= {"scaled_from": few} if share < 1 else {}
                yield timings[name].point(figure, name, w, share)


EXPERIMENT = Experiment(
    "arrays",
    "rolling aggregates of arrays",
    "Everyone on one thread over the same doubles, 4,000,000 of them (400,000 in a quick run). "
    "Results are compared with ours; a library without the function is left out. river takes one "
    "value at a time and is asked about a twentieth of them, and its time multiplied (*).",
    tuple(FIGURES.values()),
    run,
    weight=6.0,
)
