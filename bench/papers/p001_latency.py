"""Experiment 1 of paper 001: a window of constant size, in memory and in a store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Make, curve
from bench.points import Figure, Point
from bench.rules import ahead, grows
from bench.windows import Interpreted, interpreted
from windrow import Count, Last, RocksStore, Together

COST = Figure("Figure 6", "latency by window", "window", "µs a value")


def counted() -> Together:
    """Return the experiment's monoid: how many, and the newest limit."""
    return Together(count=Count(), max_size=Last())


def stored(algorithm: str, values: list[int], stack: ExitStack) -> Make:
    """Return what makes windows in RocksDB, each in a directory of its own."""

    def make(w: int, seconds: float) -> Interpreted:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-bench-"))
        store = stack.enter_context(RocksStore(folder))
        trial = Interpreted(algorithm, counted(), values, w, seconds, store=store)
        stack.callback(trial.swag.close)  # type: ignore[attr-defined]  # a stored window's
        return trial

    return make


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """All of them at windows of 1 to 2^20."""
    values = [1 << 30] * 64
    with ExitStack() as stack:
        contenders: dict[str, Make] = {
            name: interpreted(name, counted, values)
            for name in ("recalculate", "log_mta", "amta", "daba")
        }
        contenders["log_mta, RocksDB"] = stored("log_mta", values, stack)
        contenders["amta, RocksDB"] = stored("amta", values, stack)
        yield from curve(COST, settings.powers(0, 20, quick=12), contenders, settings, clock)


EXPERIMENT = Experiment(
    "001 latency",
    "a window of constant size: AMTA flat, Log MTA logarithmic",
    "Interpreted windows that count their values and carry a limit: evict, insert and query. The "
    "paper's Couchbase cluster is RocksDB on this machine's disk. To 2^20 where the paper goes to "
    "2^25: the interpreter takes microseconds a value to fill them.",
    (COST,),
    run,
    source="Experiment 1, Figure 6",
    finding="Recalculation is fastest on the smallest windows and then grows linearly; AMTA and "
    "DABA are flat, AMTA in memory the fastest from 2^9 on; Log MTA grows logarithmically; a store "
    "adds about a microsecond.",
    rules=(
        grows(COST, "recalculate", "linear", since=16),
        grows(COST, "amta", "flat", since=16),
        grows(COST, "daba", "flat", since=16),
        grows(COST, "log_mta", "logarithmic", since=16),
        grows(
            COST,
            "amta, RocksDB",
            "flat",
            since=16,
            otherwise="every 512th value writes a batch of nodes, and small windows stay below "
            "that in the buffer",
        ),
        ahead(COST, "amta", "log_mta", since=512),
        ahead(
            COST,
            "amta",
            "daba",
            since=512,
            otherwise="DABA moves pointers over lists, which the interpreter does faster than "
            "AMTA's levels of queues; the ⊕ here is as cheap as the paper's",
        ),
        ahead(COST, "amta", "amta, RocksDB", since=512),
    ),
    weight=1.5,
)
