"""Figure 5 of paper 004: throughput of count-based windows by slide."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.papers.slices import Sliced
from windrow.bench.points import Point, Points
from windrow.bench.rules import TOO_FEW, ahead
from windrow.bench.settings import Settings
from windrow.bench.trials import Make, curve

FIGURE = "Figure 5"
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
    uniform = np.random.default_rng(1).random(max(1 << 12, 4 * window))
    values = settings.values(uniform.size) if settings.data else uniform
    slides = [1, 2, 4, 7, 10] if settings.quick else list(range(1, 11))
    contenders = {name: _make(name, values, window) for name in ALGORITHMS}
    yield from curve(
        FIGURE, slides, contenders, clock, settings,
        unit="million values a second", scale=1e6,
    )  # fmt: skip


def _closer(points: Points) -> Verdict:
    lines = [dict(points.line(FIGURE, name)) for name in ALGORITHMS]
    common = sorted(set.intersection(*map(set, lines)))
    if len(common) < 2:
        return TOO_FEW
    spread = [max(at) / min(at) for at in ([line[x] for line in lines] for x in common)]
    return Verdict(
        f"the fastest by the slowest: {spread[0]:.2f} at a slide of {common[0]:.0f}, "
        f"{spread[-1]:.2f} at {common[-1]:.0f}",
        spread[-1] < spread[0],
    )


def _more(name: str) -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(FIGURE, name)
        if len(line) < 2:
            return TOO_FEW
        return Verdict(f"{line[-1][1] / line[0][1]:.2f} times the rate", line[-1][1] > line[0][1])

    return Rule(f"{FIGURE}: {name} takes more values a second at the largest slide", check)


EXPERIMENT = Experiment(
    "004 slides",
    "throughput by slide: the algorithms draw near each other",
    "Slices of the slide's length are aggregated by NumPy, and their partials merged by the "
    "compiled loop; the range is 2^17 (2^15 in a quick run), rounded down to whole slices.",
    (Figure(FIGURE, "throughput by slide", "slide", "million values a second", (False, False)),),
    run,
    source="Figure 5",
    finding="All gain with the slide, since fewer partials are merged; PBA leads at small slides, "
    "and the algorithms come closer as slicing becomes the larger part of the work.",
    rules=(
        Rule(
            "Figure 5: the fastest and the slowest are nearer at the largest slide than at 1",
            _closer,
        ),
        _more("two_stacks"),
        _more("sba"),
        ahead(
            FIGURE,
            "pba",
            "two_stacks",
            until=2,
            otherwise="as in 004 ranges: a ⊕ of Max is too cheap for a second thread to save much",
        ),
    ),
)
