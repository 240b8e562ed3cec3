"""Experiment 2 of paper 001: many values evicted at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from windrow.aggregations import Max
from windrow.algorithms import aggregator
from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.counting import Counting
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.measuring import timed
from windrow.bench.points import Point, missing
from windrow.bench.rules import ahead, grows
from windrow.bench.settings import Settings

TIME, OPERATIONS = "Figure 7", "⊕ of an eviction"
ALGORITHMS = ("recalculate", "daba", "log_mta", "amta")
UNIT = "ms"


def evicted(swag: Any, k: int) -> Any:
    """The k oldest go, and the rest is asked."""
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
    windows = {}
    for name in ALGORITHMS:
        windows[name] = aggregator(Max(), name)
        windows[name].extend(values)
    for i, k in enumerate(sizes):
        here = clock.share(1, of=len(sizes) - i)
        runs: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
        for turn in range(settings.repeats):
            for name, swag in windows.items():
                if (turn and here.over) or clock.over:
                    continue
                runs[name].append(timed(partial(evicted, swag, k))[0] * 1e3)
                swag.extend(values[:k])
        for name, found in runs.items():
            if found:
                yield Point(TIME, name, k, UNIT, tuple(found), more={"window": n})
            else:
                yield missing(TIME, name, k, UNIT, TIME_IS_UP)


def _operations(n: int) -> Iterator[Point]:
    """The same, counted."""
    for name in ALGORITHMS:
        for k in [1 << e for e in range(0, n.bit_length() - 1, 2)]:
            counting = Counting()
            swag = counting.window(name, n)
            swag.evict(1)
            before = counting.total
            evicted(swag, min(k, n - 2))
            yield Point(OPERATIONS, name, k, "⊕", (float(max(1, counting.total - before)),))


EXPERIMENT = Experiment(
    "001 bulk eviction",
    "evicting many at once: logarithmic for MTA, linear for DABA",
    "Interpreted windows of Max: evict k and query. DABA evicts one by one, as in the paper; "
    "windows of 2^20 (2^15 in a quick run) instead of 2^23. The ⊕ are counted, exactly, in a "
    "window of 2^13.",
    (
        Figure(TIME, "time of one eviction", "values evicted", "ms"),
        Figure(OPERATIONS, "⊕ of one eviction and a query, exactly", "values evicted", "⊕"),
    ),
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
