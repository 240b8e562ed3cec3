"""The experiments of the papers: one file each, named by the paper and what it shows.

| paper | |
|---|---|
| 000 | General Incremental Sliding-Window Aggregation |
| 001 | Monoid Tree Aggregator |
| 002 | FlatFIT |
| 003 | Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time |
| 004 | Parallel Boundary Aggregator |
"""

from __future__ import annotations

from importlib import import_module

from windrow.bench.experiment import Experiment

PAPERS = {
    "000": "General Incremental Sliding-Window Aggregation (VLDB 2015)",
    "001": "Monoid Tree Aggregator",
    "002": "FlatFIT (SSDBM 2017)",
    "003": "Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time (DEBS 2017)",
    "004": "Parallel Boundary Aggregator (KDD 2021)",
}
_FILES = (
    "p000_break_even",
    "p000_cost",
    "p000_coarse",
    "p000_resizing",
    "p000_b_int",
    "p000_memory",
    "p001_latency",
    "p001_bulk_eviction",
    "p001_policies",
    "p001_memory",
    "p001_dimensions",
    "p002_operations",
    "p002_single_query",
    "p002_all_ranges",
    "p002_memory",
    "p003_latency",
    "p003_throughput",
    "p003_break_even",
    "p004_operations",
    "p004_ranges",
    "p004_slides",
    "p004_time_windows",
    "p004_latency",
    "p004_instances",
)


def experiments(papers: tuple[str, ...] = tuple(PAPERS)) -> list[Experiment]:
    """Those of some papers, in the order of the papers.

    >>> [e.name for e in experiments(("002",))]
    ['002 operations', '002 single query', '002 all ranges', '002 memory']
    """
    return [
        import_module(f"{__name__}.{name}").EXPERIMENT for name in _FILES if name[1:4] in papers
    ]
