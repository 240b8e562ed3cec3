"""Two threads against one over arrays, and PBA against SBA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Calls, measure
from bench.peers.own_functions import SPREAD
from bench.points import Figure, Place, Point
from bench.rules import ahead
from windrow import Max, StdDev, rolling

THREADS = Figure("threads", "rolling with threads=2, w = 1000", "aggregation", "ms")
PBA = Figure("pba", "Max by SBA, and by PBA with its second thread", "window", "ms")
AGGREGATIONS = {"max": Max(), "stddev": StdDev(), "own": SPREAD}
WINDOWS = (1 << 14, 1 << 16, 1 << 18, 1 << 20)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Pairs of calls that should give the same results."""
    values = settings.values(settings.size(10_000_000, 1_000_000))
    call = partial(rolling, values)
    cases: list[tuple[Figure, Place, Calls]] = [
        (
            THREADS,
            name,
            {
                "threads=1": partial(call, aggregation, rows=min(1000, values.size)),
                "threads=2": partial(call, aggregation, rows=min(1000, values.size), threads=2),
            },
        )
        for name, aggregation in AGGREGATIONS.items()
    ]
    cases += [
        (
            PBA,
            w,
            {
                "sba": partial(call, Max(), rows=w, algorithm="sba"),
                "pba": partial(call, Max(), rows=w, algorithm="pba", threads=2),
            },
        )
        for w in settings.windows(WINDOWS, values.size)
    ]
    for figure, x, calls in cases:
        if clock.over:
            yield from (figure.missing(name, x) for name in calls)
        else:
            for name, timing in measure(calls, settings.repeats).items():
                yield timing.point(figure, name, x)


EXPERIMENT = Experiment(
    "arrays threads",
    "two threads against one",
    "10,000,000 doubles (1,000,000 in a quick run).",
    (THREADS, PBA),
    run,
    rules=(ahead(THREADS, "threads=2", "threads=1", by=1.6), ahead(PBA, "pba", "sba")),
    weight=0.5,
)
