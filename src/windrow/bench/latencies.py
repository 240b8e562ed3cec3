"""How long each single event takes: the mean, the tail, and the longest."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.measuring import failure
from windrow.bench.points import Point, missing

UNIT = "ns an event"
STATISTICS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "mean": lambda ns: float(ns.mean()),
    "deviation": lambda ns: float(ns.std()),
    "p50": lambda ns: float(np.percentile(ns, 50)),
    "p99": lambda ns: float(np.percentile(ns, 99)),
    "p99.9": lambda ns: float(np.percentile(ns, 99.9)),
    "max": lambda ns: float(ns.max()),
}
TYPICAL = "max, medians"  # of each event's median over the rounds: without the operating system
Step = Callable[[Any], Any]


def latencies(
    figure: str,
    contenders: Mapping[str, Callable[[], Step]],
    values: Sequence[Any],
    repeats: int,
    clock: Clock,
    *,
    series_of: str = "",
) -> Iterator[Point]:
    """The statistics of each contender's events, as places of a figure.

    A contender makes a full window and gives the function that one event calls. Every round begins
    with a new one and has the same values: what an algorithm does at an event is the same in each
    round, and what the operating system does is not. With `series_of`, a second figure of that
    name has the longest event of each of 200 stretches of the run.
    """
    seen: dict[str, list[NDArray[np.float64]]] = {name: [] for name in contenders}
    why: dict[str, str] = {}
    for turn in range(repeats):
        for name in list(contenders)[:: 1 if turn % 2 == 0 else -1]:
            if name in why or (turn and clock.over):
                continue
            if clock.over:
                why[name] = TIME_IS_UP
                continue
            try:
                seen[name].append(_nanoseconds(contenders[name](), values))
            except Exception as error:
                why[name] = failure(error)
    for name, rounds in seen.items():
        if not rounds:
            for x in (*STATISTICS, TYPICAL):
                yield missing(figure, name, x, UNIT, why.get(name, TIME_IS_UP))
            continue
        more = {"events": len(values)}
        for x, statistic in STATISTICS.items():
            yield Point(figure, name, x, UNIT, tuple(map(statistic, rounds)), more=more)
        medians = np.median(rounds, axis=0)
        yield Point(figure, name, TYPICAL, UNIT, (float(medians.max()),), more=more)
        if series_of:
            for stretch in np.array_split(np.arange(medians.size), min(200, medians.size)):
                longest = float(medians[stretch].max())
                yield Point(series_of, name, int(stretch[0]) + 1, UNIT, (longest,))


def _nanoseconds(step: Step, values: Sequence[Any]) -> NDArray[np.float64]:
    """Each event's time; the collector of garbage waits, as it would hit anyone."""
    found = np.empty(len(values))
    clock = time.perf_counter_ns
    gc.disable()
    try:
        for i, value in enumerate(values):
            start = clock()
            step(value)
            found[i] = clock() - start
    finally:
        gc.enable()
    return found
