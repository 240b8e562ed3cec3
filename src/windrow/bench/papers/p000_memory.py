"""Figure 12 of paper 000: memory of the Reactive Aggregator and of recalculation."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.filling import grown
from windrow.bench.points import Point
from windrow.bench.rules import grows
from windrow.bench.settings import Settings

FIGURE = "Figure 12"


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Interpreted windows in processes of their own."""
    sizes = settings.powers(12, 21, quick=16)
    contenders = {name: ("process", name) for name in ("recalculate", "flatfat")}
    yield from grown(FIGURE, contenders, sizes, clock)


EXPERIMENT = Experiment(
    "000 memory",
    "memory is linear in the window, with a small constant",
    "Interpreted windows of Max, each in a fork of its own: by how much its private memory grows. "
    "Windows begin where the paper's end, since a page is the smallest step that shows.",
    (Figure(FIGURE, "memory by window", "window", "MB"),),
    run,
    source="Figure 12",
    finding="Memory is linear in the window and the constant is small; up to 4 thousand values it "
    "is lost in the size of the process.",
    rules=(grows(FIGURE, "flatfat", "linear"), grows(FIGURE, "recalculate", "linear")),
)
