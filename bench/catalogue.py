"""The experiments by name. This module imports neither windrow nor an experiment by itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.experiment import Experiment

PAPERS = ("000", "001", "002", "003", "004")
# The first experiment of each kind of data is the comparison with other libraries.
PEERS = ("arrays", "tables", "spark", "streaming", "batches", "stores", "scaling")


def experiments(groups: Sequence[str]) -> list[Experiment]:
    """Return the experiments of some papers or kinds of data.

    >>> [e.name for e in experiments(["002"])]
    ['002 operations', '002 single query', '002 all ranges', '002 memory']
    """
    modules = {paper: f"bench.papers.p{paper}" for paper in PAPERS}
    modules |= {kind: f"bench.peers.{kind}" for kind in PEERS}
    chosen = (name for group, name in modules.items() if group in groups)
    return [experiment for name in chosen for experiment in import_module(name).EXPERIMENTS]
