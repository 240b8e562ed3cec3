"""What users would pick instead: one file a kind of data, the questions and how each asks them."""

from __future__ import annotations

from importlib import import_module

from windrow.bench.experiment import Experiment

KINDS = ("arrays", "tables", "spark", "streaming")


def experiments(kinds: tuple[str, ...] = KINDS) -> list[Experiment]:
    """The comparisons of some kinds of data.

    >>> [e.name for e in experiments(("arrays", "tables"))]
    ['arrays', 'tables']
    """
    return [import_module(f"{__name__}.{kind}").EXPERIMENT for kind in KINDS if kind in kinds]
