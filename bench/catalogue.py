"""The experiments by name. This module imports neither windrow nor an experiment by itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.experiment import Experiment

# The files of each paper, in the order in which they run.
PAPERS = {
    "000": ("break_even", "cost", "coarse", "resizing", "b_int", "memory"),
    "001": ("latency", "bulk_eviction", "policies", "memory", "dimensions"),
    "002": ("operations", "single_query", "all_ranges", "memory"),
    "003": ("latency", "throughput", "break_even"),
    "004": ("operations", "ranges", "slides", "time_windows", "latency", "instances"),
}
# The files of each kind of data. The first one is the comparison with other libraries.
PEERS = {
    "arrays": ("arrays", "accuracy", "own_functions", "loops", "latency", "threads", "first_call"),
    "tables": ("tables", "growth", "memory"),
    "spark": ("spark", "spark_alone"),
    "streaming": ("streaming", "streaming_state"),
    "stores": ("stores",),
}


def experiments(groups: Sequence[str]) -> list[Experiment]:
    """Return the experiments of some papers or kinds of data.

    >>> [e.name for e in experiments(["002"])]
    ['002 operations', '002 single query', '002 all ranges', '002 memory']
    """
    modules = [
        f"bench.papers.p{paper}_{name}"
        for paper, names in PAPERS.items()
        for name in names
        if paper in groups
    ]
    modules += [
        f"bench.peers.{name}" for kind, names in PEERS.items() for name in names if kind in groups
    ]
    return [import_module(module).EXPERIMENT for module in modules]
