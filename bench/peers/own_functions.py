"""A user's own functions over arrays, against pandas' apply."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock, Experiment, Settings
from bench.measure import checked, close, rounds
from bench.peers.libraries import Data
from bench.points import Figure, Point
from bench.results import OURS
from bench.rules import ahead
from windrow import aggregation, rolling

COST = Figure("own functions", "max − min as a user's own functions", "window", "ns a value")
APPLY, NUMBA = "pandas apply", "pandas apply, engine=numba"
SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)


def spread_of(window: NDArray[np.float64]) -> float:
    """Return what pandas asks for each window."""
    low: float = np.min(window)
    high: float = np.max(window)
    return high - low


def pandas_apply(data: Data, w: int, **options: Any) -> Any:
    """Return the results of pandas' apply."""
    return data.pandas(w).apply(spread_of, raw=True, **options).to_numpy()


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Results are compared on a short array: pandas takes microseconds a value."""
    values = settings.values(settings.size(4_000_000, 400_000))
    for w in settings.windows((64, 1024), values.size):
        short = Data(values[: max(20_000, 20 * w)])
        calls = {
            OURS: partial(rolling, short.values, SPREAD, rows=w),
            APPLY: partial(pandas_apply, short, w),
            NUMBA: partial(pandas_apply, short, w, engine="numba"),
        }
        if clock.over:
            yield from (COST.missing(name, w) for name in calls)
            continue
        timings = checked(calls, close)
        calls[OURS] = partial(rolling, values, SPREAD, rows=w)
        ready = {name: calls[name] for name, timing in timings.items() if timing.ready}
        for name, runs in rounds(ready, settings.repeats).items():
            timings[name].runs = runs
        for name, timing in timings.items():
            size = values.size if name == OURS else short.values.size
            timing.more["values"] = size
            yield timing.point(COST, name, w, size)


EXPERIMENT = Experiment(
    "arrays own functions",
    "a user's own functions",
    "max − min written as lift, combine and lower; pandas calls a function for each window, over "
    "20,000 values.",
    (COST,),
    run,
    rules=(ahead(COST, OURS, APPLY, by=100),),
    weight=0.5,
)
