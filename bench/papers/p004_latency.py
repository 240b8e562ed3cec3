"""Tables 2 and 3 and Figure 7 of paper 004: latency of Max and of MomentSketch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import EVENT, TYPICAL, latencies
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead
from bench.windows import stepping
from windrow import Aggregation, Max, MomentSketch

ALGORITHMS = ("two_stacks", "slick_deque", "sba", "pba")
MAX = Figure("Table 2", "latency of Max", "statistic", EVENT)
SERIES = Figure(
    "Figure 7", "Max event by event, the longest of each stretch", "event", EVENT, (False, True)
)
SKETCH = Figure("Table 3", "latency of MomentSketch", "statistic", EVENT)
ONE_THREAD = (
    "Python runs one thread at a time: what the second thread computes, the first waits for"
)


def sketch() -> Aggregation:
    """Return MomentSketch with ten powers; its result is the state itself."""
    return MomentSketch(order=10)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max over 2^14 values, then MomentSketch over an hour of seconds."""
    n = settings.size(1 << 14, 1 << 12)
    events = settings.size(1 << 17, 1 << 13)
    values = np.random.default_rng(1).random(events).tolist()
    cases: list[tuple[Figure, Callable[[], Aggregation], int, int, Figure | None]] = [
        (MAX, Max, n, events, SERIES),
        (SKETCH, sketch, min(n, 3600), min(events, 8192), None),
    ]
    for share, (figure, make, w, count, stretches) in clock.shares(cases):
        contenders = {name: stepping(name, make, values, w) for name in ALGORITHMS}
        yield from latencies(figure, contenders, values[:count], settings, share, stretches)


def _mean(points: Points) -> Verdict:
    found = {name: points.value(MAX, name, "mean") for name in ALGORITHMS}
    if found["sba"] is None or found["two_stacks"] is None or found["slick_deque"] is None:
        return TOO_FEW
    text = ", ".join(f"{name} {ns:,.0f} ns" for name, ns in found.items() if ns is not None)
    return Verdict(text, found["sba"] <= 1.1 * max(found["two_stacks"], found["slick_deque"]))


EXPERIMENT = Experiment(
    "004 latency",
    "latency of Max and of MomentSketch",
    "Interpreted windows: Max over 2^14 values (2^12 in a quick run), and MomentSketch with ten "
    "powers over an hour of partials a second apart. Python's threads take turns, so PBA's second "
    "thread disturbs the first; its ⊕ are counted in 004 operations. SlickDeque needs an "
    "aggregation that selects, and MomentSketch does not.",
    (MAX, SERIES, SKETCH),
    run,
    source="Tables 2 and 3, Figure 7",
    finding="Two-Stacks has a spike at every flip, SBA a smaller one at every boundary, SlickDeque "
    "and PBA none; PBA has the best mean, the smallest maximum and the smallest deviation.",
    rules=(
        ahead(MAX, "slick_deque", "two_stacks", at=TYPICAL, by=2),
        ahead(MAX, "pba", "two_stacks", at=TYPICAL, by=2, otherwise=ONE_THREAD),
        ahead(MAX, "sba", "two_stacks", at=TYPICAL),
        ahead(SKETCH, "pba", "two_stacks", at=TYPICAL, by=2, otherwise=ONE_THREAD),
        Rule(
            "Table 2: SBA's mean is at most 1.1 of the slower of Two-Stacks and SlickDeque", _mean
        ),
    ),
)
