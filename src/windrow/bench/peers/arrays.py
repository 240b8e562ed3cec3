"""Arrays: `rolling` against bottleneck, numbagg, pandas, Polars, SciPy, DuckDB and river."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.measuring import measure
from windrow.bench.peers.libraries import COMPARISONS, PEERS, Data
from windrow.bench.peers.results import UNIT, point
from windrow.bench.points import Point, missing
from windrow.bench.ratios import OURS
from windrow.bench.settings import Settings

WINDOWS = (8, 64, 1024, 16384, 1 << 20)
TOLERANCE = 1e-6


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each question at each window, everyone on one thread.

    Polars' rolling kernels are; its threads are left as they are, for the tables have all of them.
    """
    data = Data(settings.values(settings.size(4_000_000, 400_000)))
    n = data.values.size
    windows = [w for w in WINDOWS if 2 * w <= n and (w <= 1 << 14 or not settings.quick)]
    cells = [(w, question) for w in windows for question in COMPARISONS]
    for w, question in cells:
        calls = COMPARISONS[question]
        if clock.over:
            yield from (missing(question, name, w, UNIT, TIME_IS_UP) for name in calls)
            continue
        bound = {name: partial(call, data, w) for name, call in calls.items()}
        results = measure(bound, settings.repeats, TOLERANCE)
        for name in (OURS, *PEERS):
            if name in results:
                share = len(data.few) / n if name == "river" else 1.0
                scaled = {"scaled_from": len(data.few)} if share < 1 else {}
                yield point(question, name, w, results[name] | scaled, share)


EXPERIMENT = Experiment(
    "arrays",
    "rolling aggregates of arrays",
    "Everyone on one thread over the same doubles, 4,000,000 of them (400,000 in a quick run). "
    "Answers are compared with ours; a library without the function is left out. river takes one "
    "value at a time and is asked about a twentieth of them, and its time multiplied (*).",
    tuple(Figure(question, f"rolling {question}", "window", UNIT) for question in COMPARISONS),
    run,
    weight=3.0,
)
