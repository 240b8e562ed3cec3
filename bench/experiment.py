"""What an experiment is: the points it yields, the figures they make, and the rules they keep.

This module, `points` and `measure` import no windrow: the work of `compare` uses them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.points import Figure, Point, Points

T = TypeVar("T")


class Clock:
    """Seconds that may be spent; what is left over goes to whoever comes later.

    >>> clock = Clock(100.0)
    >>> part = clock.share(1, of=4)
    >>> 24 < part.left <= 25
    True
    """

    def __init__(self, seconds: float) -> None:
        self._deadline = time.perf_counter() + seconds

    @property
    def left(self) -> float:
        """Seconds until the end, never less than 0."""
        return max(0.0, self._deadline - time.perf_counter())

    @property
    def over(self) -> bool:
        return self.left <= 0.0

    def share(self, weight: float, of: float) -> Clock:
        """Return a clock with a part of what is left."""
        return Clock(self.left * weight / of)

    def shares(self, items: Collection[T]) -> Iterator[tuple[Clock, T]]:
        """Yield each item with an equal part of what is left when its turn comes."""
        for i, item in enumerate(items):
            yield self.share(1, of=len(items) - i), item


@dataclass(frozen=True)
class Settings:
    """How much is measured, and over which values.

    `largest` bounds every size, so that all of it can be tried within seconds.

    >>> Settings(quick=True).powers(0, 20, quick=8)
    [1, 4, 16, 64, 256]
    """

    quick: bool = False
    repeats: int = 3
    largest: int = 1 << 30
    data: tuple[Path, ...] = ()
    redis: str = ""  # the address of a server to measure as well

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings that a reader must know, as they are kept with the results."""
        data = [str(path) for path in self.data]
        return {"quick": self.quick, "repeats": self.repeats, "data": data}

    @property
    def run_seconds(self) -> float:
        """Seconds that one run may take; a longer one shows nothing more."""
        return 0.002 if self.largest < 1 << 12 else 0.05 if self.quick else 0.5

    def powers(self, first: int, last: int, *, quick: int) -> list[int]:
        """Return the powers of two from 2^first to 2^last; in a quick run fewer, to 2^quick."""
        exponents = range(first, quick + 1, 2) if self.quick else range(first, last + 1)
        return self.sizes([1 << e for e in exponents])

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        """Return those that are allowed, and three at least: a line has no shape with fewer."""
        return [s for i, s in enumerate(sizes) if s <= self.largest or i < 3]

    def size(self, full: int, quick: int) -> int:
        return min(quick if self.quick else full, self.largest)

    def windows(self, windows: Sequence[int], n: int) -> list[int]:
        """Return the windows of which n values hold two or more; the first one if there is none."""
        allowed = [w for w in windows if 2 * w <= n and (w <= 1 << 14 or not self.quick)]
        return allowed or list(windows[:1])

    def values(self, n: int) -> NDArray[np.float64]:
        """Return n values: of the given files, repeated as often as needed, or normal ones."""
        if not self.data:
            return np.random.default_rng(1).standard_normal(n)
        return np.resize(_loads(self.data), n)

    def uniform(self, n: int) -> NDArray[np.float64]:
        """Return n values: of the given files, or uniform ones from 0 to 1."""
        return self.values(n) if self.data else np.random.default_rng(1).random(n)

    def whole_numbers(self, n: int, largest: float = 1e6) -> NDArray[np.int64]:
        """Return n values as whole numbers from 0 to `largest`, in the same order of size."""
        values = self.values(n)
        low, high = float(values.min()), float(values.max())
        return ((values - low) * (largest / max(high - low, 1e-300))).astype(np.int64)


@lru_cache(maxsize=1)
def _loads(paths: tuple[Path, ...]) -> NDArray[np.float64]:
    from bench import debs

    return debs.loads(paths)


@dataclass(frozen=True)
class Verdict:
    """What was found, and whether it agrees; None where there are too few points to tell."""

    found: str
    agrees: bool | None


@dataclass(frozen=True)
class Rule:
    """What is expected: stated in words, and checked on the points."""

    states: str
    check: Callable[[Points], Verdict]
    otherwise: str = ""  # why it may not be so here

    def unless(self, why: str) -> Rule:
        """Return the rule, and why it may not be so here."""
        return replace(self, otherwise=why)


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper, or a comparison with other libraries."""

    name: str
    title: str
    how: str  # what runs here
    figures: tuple[Figure, ...]
    run: Callable[[Settings, Clock], Iterator[Point]]
    source: str = ""  # the paper's figures and tables
    finding: str = ""  # what the paper found, in our words
    rules: tuple[Rule, ...] = ()
    weight: float = 1.0  # its share of the time
