"""What an experiment is: the points it yields, the figures they make, and the rules they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windrow.bench.clock import Clock
from windrow.bench.points import Point, Points
from windrow.bench.settings import Settings


@dataclass(frozen=True)
class Figure:
    """How the points of one figure are drawn."""

    name: str
    title: str
    x: str
    y: str
    logarithmic: tuple[bool, bool] = (True, True)  # x, y


@dataclass(frozen=True)
class Verdict:
    """What was found, and whether it agrees; None where there are too few points to tell."""

    found: str
    agrees: bool | None


@dataclass(frozen=True)
class Rule:
    """When a shape agrees: stated in words, and computed from the points."""

    states: str
    check: Callable[[Points], Verdict]
    otherwise: str = ""  # why it may not be so here


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper, or a comparison with peers."""

    name: str
    title: str
    how: str  # what runs here
    figures: tuple[Figure, ...]
    run: Callable[[Settings, Clock], Iterator[Point]]
    source: str = ""  # the paper's figures and tables
    finding: str = ""  # what the paper found, in our words
    rules: tuple[Rule, ...] = ()
    weight: float = 1.0  # its share of the time
