"""Figure 6 of paper 004: throughput of time-based windows by range and by slide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Make, curve
from bench.papers.p004_ranges import SAME_WORK
from bench.papers.p004_slides import ALGORITHMS, RATE
from bench.points import Point
from bench.rules import ahead
from bench.windows import Sliced

RANGES = replace(RATE, name="Figure 6a", title="by range, a slide of 10 ms", x="minutes")
SLIDES = replace(RATE, name="Figure 6b", title="by slide, the longest range", x="slide, ms")
TICK = 10  # milliseconds from one value to the next: 100 a second
MINUTE = 60_000


def slices(times: NDArray[np.int64], slide: int) -> NDArray[np.int64]:
    """Return where each stretch of `slide` milliseconds begins; every one of them has a value."""
    edges = np.arange(times[0] - times[0] % slide, times[-1] + 1, slide)
    starts: NDArray[np.int64] = np.searchsorted(times, edges[edges <= times[-1]])
    return starts


def _by_range(algorithm: str, values: NDArray[np.float64], times: NDArray[np.int64]) -> Make:
    starts = slices(times, TICK)
    return lambda minutes, seconds: Sliced(
        algorithm, values, starts, minutes * MINUTE // TICK, seconds
    )


def _by_slide(
    algorithm: str, values: NDArray[np.float64], times: NDArray[np.int64], span: int
) -> Make:
    return lambda slide, seconds: Sliced(
        algorithm, values, slices(times, slide), span * MINUTE // slide, seconds
    )


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Ranges of 6 to 60 minutes every 10 ms, then slides of 10 to 100 ms over the longest."""
    n = max(settings.size(1 << 20, 1 << 18), 1 << 12)
    values = settings.uniform(n)
    times = np.arange(n) * TICK + np.random.default_rng(2).integers(0, TICK, n)
    minutes = settings.sizes([6, 12, 24] if settings.quick else list(range(6, 61, 6)))
    minutes = [m if settings.largest > 1000 else i + 1 for i, m in enumerate(minutes)]
    by_range = {a: _by_range(a, values, times) for a in ALGORITHMS}
    yield from curve(RANGES, minutes, by_range, settings, clock.share(1, of=2))
    slides = [10, 20, 50, 100] if settings.quick else list(range(10, 101, 10))
    by_slide = {a: _by_slide(a, values, times, minutes[-1]) for a in ALGORITHMS}
    yield from curve(SLIDES, slides, by_slide, settings, clock)


EXPERIMENT = Experiment(
    "004 time windows",
    "throughput of windows by time",
    "Values at 100 a second with times that jitter; a slice is a stretch of the slide's length, "
    "found by its times and aggregated by NumPy, and a window is range/slide slices, merged by the "
    "compiled loop. In a quick run the ranges end at 24 minutes.",
    (RANGES, SLIDES),
    run,
    source="Figure 6",
    finding="PBA is the fastest at large ranges, and SBA ahead of Two-Stacks and SlickDeque; with "
    "larger slides all of them gain.",
    rules=(
        ahead(RANGES, "sba", "slick_deque"),
        ahead(RANGES, "sba", "two_stacks", otherwise=SAME_WORK),
        ahead(
            RANGES,
            "pba",
            "sba",
            since=12,
            otherwise="slicing is done before the merge, on one thread, and takes most of the "
            "time; the second thread saves on the rest only",
        ),
        ahead(SLIDES, "sba", "slick_deque", until=20),
    ),
)
