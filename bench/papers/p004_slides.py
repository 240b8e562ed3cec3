"""Figure 5 of paper 004: throughput of count-based windows by slide."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import Make, curve
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, scales
from bench.windows import Sliced

RATE = Figure("Figure 5", "throughput by slide", "slide", "million values a second", (False, False))
ALGORITHMS = ("two_stacks", "slick_deque", "sba", "pba")


def _make(algorithm: str, values: NDArray[np.float64], window: int) -> Make:
    def make(slide: int, seconds: float) -> Sliced:
        n = values.size - values.size % slide
        starts = np.arange(0, n, slide)
        return Sliced(algorithm, values[:n], starts, max(1, window // slide), seconds)

    return make


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Slides of 1 to 10 over a range of 2^17."""
    window = settings.size(1 << 17, 1 << 15)
    values = settings.uniform(max(1 << 12, 4 * window))
    slides = [1, 2, 4, 7, 10] if settings.quick else list(range(1, 11))
    contenders = {name: _make(name, values, window) for name in ALGORITHMS}
    yield from curve(RATE, slides, contenders, settings, clock)


def _closer(points: Points) -> Verdict:
    lines = [dict(points.line(RATE, name)) for name in ALGORITHMS]
    common = sorted(set.intersection(*map(set, lines)))
    if len(common) < 2:
        return TOO_FEW
    spread = [max(at) / min(at) for at in ([line[x] for line in lines] for x in common)]
    return Verdict(
        f"the fastest by the slowest: {spread[0]:.2f} at a slide of {common[0]:.0f}, "
        f"{spread[-1]:.2f} at {common[-1]:.0f}",
        spread[-1] < spread[0],
    )


EXPERIMENT = Experiment(
    "004 slides",
    "throughput by slide: the algorithms draw near each other",
    "Slices of the slide's length are aggregated by NumPy, and their partials merged by the "
    "compiled loop; the range is 2^17 (2^15 in a quick run), rounded down to whole slices.",
    (RATE,),
    run,
    source="Figure 5",
    finding="All gain with the slide, since fewer partials are merged; PBA leads at small slides, "
    "and the algorithms come closer as slicing becomes the larger part of the work.",
    rules=(
        Rule(
            "Figure 5: the fastest and the slowest are nearer at the largest slide than at 1",
            _closer,
        ),
        scales(RATE, "two_stacks", 1.0),
        scales(RATE, "sba", 1.0),
        ahead(
            RATE,
            "pba",
            "two_stacks",
            until=2,
            otherwise="as in 004 ranges: a ⊕ of Max is too cheap for a second thread to save much",
        ),
    ),
)
