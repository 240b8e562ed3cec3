"""Figure 12 of paper 000: memory of the Reactive Aggregator and of recalculation."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Settings
from bench.memory import grown
from bench.points import Figure, Point
from bench.rules import grows

MEMORY = Figure("Figure 12", "memory by window", "window", "MB")


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Interpreted windows in processes of their own."""
    contenders = {name: f"process:{name}" for name in ("recalculate", "flatfat")}
    yield from grown(MEMORY, contenders, settings.powers(12, 21, quick=16), clock)


EXPERIMENT = Experiment(
    "000 memory",
    "memory is linear in the window, with a small constant",
    "Interpreted windows of Max, each in a fork of its own: by how much its private memory grows. "
    "Windows begin where the paper's end, since a page is the smallest step that shows.",
    (MEMORY,),
    run,
    source="Figure 12",
    finding="Memory is linear in the window and the constant is small; up to 4 thousand values it "
    "is lost in the size of the process.",
    rules=(grows(MEMORY, "flatfat", "linear"), grows(MEMORY, "recalculate", "linear")),
)
