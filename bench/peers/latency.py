"""How long a call of `rolling` with one value may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bench.experiment import Clock, Experiment, Settings
from bench.measure import EVENT, TYPICAL, Step, latencies
from bench.points import Figure, Point
from bench.rules import ahead
from windrow import Bloom, RollingState, rolling

LATENCY = Figure("latency", "one value a call, Bloom(bits=16384)", "statistic", EVENT)


def stepping(algorithm: str, values: Any, w: int) -> Callable[[], Step]:
    """Return what fills a window, and returns the function of one call."""

    def begin() -> Step:
        call = partial(
            rolling, aggregation=Bloom(bits=16384), rows=w, algorithm=algorithm,
            state=RollingState(),
        )  # fmt: skip
        call(values)
        for i in range(16):  # to warm up
            call(values[i : i + 1])
        return call

    return begin


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Two windows' worth of calls, by an algorithm that flips and by one that does not."""
    w = settings.size(1 << 14, 1 << 14)
    values = np.random.default_rng(1).integers(0, 2**62, 3 * w)
    contenders = {name: stepping(name, values[:w], w) for name in ("two_stacks", "daba")}
    calls = [values[i : i + 1] for i in range(w, values.size)]
    yield from latencies(LATENCY, contenders, calls, settings, clock)


EXPERIMENT = Experiment(
    "arrays latency",
    "the longest call of one value",
    "A window of 2^14 values, full; each call of `rolling` timed. “max, medians” is the longest of "
    "each call's median over the rounds: what the operating system does to one round is not in it.",
    (LATENCY,),
    run,
    rules=(ahead(LATENCY, "daba", "two_stacks", at=TYPICAL, by=20),),
    weight=0.5,
)
