"""Experiment 2 of paper 001: many values evicted at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.experiment import Clock, Experiment, Settings
from bench.measure import timed, turns
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import Counting
from windrow import Max, aggregator

TIME = Figure("Figure 7", "time of one eviction", "values evicted", "ms")
OPERATIONS = Figure(
    "⊕ of an eviction", "⊕ of one eviction and a query, exactly", "values evicted", "⊕"
)
ALGORITHMS = ("recalculate", "daba", "log_mta", "amta")


def evicted(swag: Any, k: int) -> Any:
    """Evict the k oldest, and query the rest."""
    if swag.bulk_evict or swag.algorithm == "recalculate":
        swag.evict(k)
    else:
        for _ in range(k):
            swag.evict()
    return swag.query()


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """From one value to all but one of a window; what went comes back before the next eviction."""
    n = settings.size(1 << 20, 1 << 15)
    sizes = [k for k in settings.powers(0, 20, quick=15) if k < n] + [n - 1]
    values = [i * 7919 % 1_000_003 for i in range(n)]
    yield from _operations(min(n, 1 << 13))
    windows = {name: aggregator(Max(), name) for name in ALGORITHMS}
    for swag in windows.values():
        swag.extend(values)
    for here, k in clock.shares(sizes):
        runs: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
        for name in turns(ALGORITHMS, settings.repeats):
            if not clock.over and not (runs[name] and here.over):
                runs[name].append(timed(partial(evicted, windows[name], k))[0])
                windows[name].extend(values[:k])
        for name, found in runs.items():
            yield TIME.timed(name, k, found, window=n) if found else TIME.missing(name, k)


def _operations(n: int) -> Iterator[Point]:
    """Yield the ⊕ of the same, counted."""
    for name in ALGORITHMS:
        for k in [1 << e for e in range(0, n.bit_length() - 1, 2)]:
            counting = Counting()
            swag = counting.window(name, n)
            swag.evict(1)
            before = counting.total
            evicted(swag, min(k, n - 2))
            yield OPERATIONS.point(name, k, float(max(1, counting.total - before)))


EXPERIMENT = Experiment(
    "001 bulk eviction",
    "evicting many at once: logarithmic for MTA, linear for DABA",
    "Interpreted windows of Max: evict k and query. DABA evicts one by one, as in the paper; "
    "windows of 2^20 (2^15 in a quick run) instead of 2^23. The ⊕ are counted, exactly, in a "
    "window of 2^13.",
    (TIME, OPERATIONS),
    run,
    source="Experiment 2, Figure 7",
    finding="DABA grows linearly and falls behind recalculation from 2^20 on; recalculation is "
    "constantly slow, since it aggregates all that is left; both MTA grow logarithmically and stay "
    "below a millisecond.",
    rules=(
        grows(TIME, "daba", "linear", since=64),
        grows(TIME, "amta", "logarithmic"),
        grows(TIME, "log_mta", "logarithmic"),
        grows(OPERATIONS, "amta", "logarithmic"),
        grows(OPERATIONS, "daba", "linear", since=16),
        ahead(TIME, "amta", "daba", since=256, by=10),
    ),
)
