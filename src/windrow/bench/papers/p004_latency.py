"""Tables 2 and 3 and Figure 7 of paper 004: latency of Max and of MomentSketch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from windrow.aggregations import Max, MomentSketch
from windrow.aggregations.base import Aggregation
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.latencies import TYPICAL, UNIT, latencies
from windrow.bench.papers.p003_latency import sliding
from windrow.bench.points import Point, Points
from windrow.bench.rules import TOO_FEW
from windrow.bench.settings import Settings

ALGORITHMS = ("two_stacks", "slick_deque", "sba", "pba")
MAX, SKETCH, SERIES = "Table 2", "Table 3", "Figure 7"


def sketch() -> Aggregation:
    """MomentSketch with ten powers; its answer is the state itself, as a user would keep it."""
    return MomentSketch(order=10)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max over 2^14 values, then MomentSketch over an hour of seconds."""
    n = settings.size(1 << 14, 1 << 12)
    events = settings.size(1 << 17, 1 << 13)
    values = np.random.default_rng(1).random(events).tolist()
    cases: list[tuple[str, Callable[[], Aggregation], int, int, str]] = [
        (MAX, Max, n, events, SERIES),
        (SKETCH, sketch, min(n, 3600), min(events, 8192), ""),
    ]
    for i, (figure, make, w, count, drawn) in enumerate(cases):
        share = clock.share(1, of=len(cases) - i)
        contenders = {name: sliding(name, make, values, w) for name in ALGORITHMS}
        yield from latencies(
            figure, contenders, values[:count], settings.repeats, share, series_of=drawn
        )


def _spikes(figure: str, calm: str, other: str, why: str = "", share: float = 0.5) -> Rule:
    def check(points: Points) -> Verdict:
        a, b = (points.value(figure, name, TYPICAL) for name in (calm, other))
        if a is None or b is None:
            return TOO_FEW
        return Verdict(f"{a / 1e3:,.1f} µs against {b / 1e3:,.1f} µs", a < b * share)

    states = f"{figure}: {calm}'s longest event is less than {share:g} of {other}'s"
    return Rule(states, check, why)


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
    (
        Figure(MAX, "latency of Max", "statistic", UNIT),
        Figure(
            SERIES, "Max event by event, the longest of each stretch", "event", UNIT, (False, True)
        ),
        Figure(SKETCH, "latency of MomentSketch", "statistic", UNIT),
    ),
    run,
    source="Tables 2 and 3, Figure 7",
    finding="Two-Stacks has a spike at every flip, SBA a smaller one at every boundary, SlickDeque "
    "and PBA none; PBA has the best mean, the smallest maximum and the smallest deviation.",
    rules=(
        _spikes(MAX, "slick_deque", "two_stacks"),
        _spikes(
            MAX,
            "pba",
            "two_stacks",
            "Python runs one thread at a time: what the second thread computes, the first "
            "waits for",
        ),
        _spikes(
            MAX,
            "sba",
            "two_stacks",
            share=1.0,
        ),
        _spikes(
            SKETCH,
            "pba",
            "two_stacks",
            "Python runs one thread at a time: what the second thread computes, the first "
            "waits for",
        ),
        Rule(
            "Table 2: SBA's mean is at most 1.1 of the slower of Two-Stacks and SlickDeque", _mean
        ),
    ),
)
