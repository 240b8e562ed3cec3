"""Experiment 4 of paper 001: the local memory of windows in memory and in a store."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.memory import grown
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, grows

MEMORY = Figure("Figure 8", "memory by window", "window", "MB")
LARGE = 1 << 19  # below it RocksDB still fills its write buffers
CONTENDERS = {name: f"process:{name}" for name in ("amta", "log_mta", "daba", "recalculate")}
CONTENDERS |= {f"{name}, RocksDB": f"rocksdb:{name}" for name in ("amta", "log_mta")}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each in processes of its own."""
    yield from grown(MEMORY, CONTENDERS, settings.powers(12, 22, quick=16), clock)


def _bounded(points: Points) -> Verdict:
    stored, local = points.line(MEMORY, "amta, RocksDB"), points.line(MEMORY, "amta")
    if len(stored) < 3 or len(local) < 3:
        return TOO_FEW
    (x0, first), (x1, last) = stored[0], stored[-1]
    more = (last - first) / max(x1 - x0, 1) * 2**20
    in_memory = (local[-1][1] - local[0][1]) / max(local[-1][0] - local[0][0], 1) * 2**20
    found = (
        f"{more:.1f} bytes for each further value in the store, {in_memory:.1f} in memory "
        f"({last:.0f} MB at {x1:,.0f})"
    )
    if x1 < LARGE:
        return Verdict(f"{found}; windows of {LARGE:,} or more would tell", None)
    return Verdict(found, more < in_memory / 4 or last < 64)


EXPERIMENT = Experiment(
    "001 memory",
    "flat local memory with a store",
    "Windows of Max, each in a fork of its own: by how much its private memory grows. The axes are "
    "the paper's turned round: it bounds the heap and shows how large a window fits, and Python "
    "has no bound of that kind. RocksDB's own buffers and caches are counted.",
    (MEMORY,),
    run,
    source="Experiment 4, Figure 8",
    finding="In a store, windows of 2^25 fit in 512 MB of heap, where those in memory need 16 to "
    "32 GB: local memory is logarithmic with a store and linear without.",
    rules=(
        grows(MEMORY, "amta", "linear"),
        grows(MEMORY, "daba", "linear"),
        Rule(
            "Figure 8: with a store a further value costs a quarter of one in memory or less, or "
            "all of it stays below 64 MB",
            _bounded,
            "RocksDB fills its write buffers before it begins to give memory back",
        ),
    ),
)
