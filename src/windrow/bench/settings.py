"""How much is measured, and over which values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windrow.samples import debs


@dataclass(frozen=True)
class Settings:
    """What a run was asked for.

    `largest` bounds every size, so that all of it can be tried within seconds.

    >>> Settings(quick=True).powers(0, 20, quick=8)
    [1, 4, 16, 64, 256]
    """

    quick: bool = False
    repeats: int = 3
    largest: int = 1 << 30
    data: tuple[Path, ...] = field(default=())
    a_run: float = 0.5  # seconds that one run may take; a longer one says nothing more

    def powers(self, first: int, last: int, *, quick: int) -> list[int]:
        """Powers of two from 2^first to 2^last; in a quick run every other, to 2^quick."""
        exponents = range(first, quick + 1, 2) if self.quick else range(first, last + 1)
        return self.sizes([1 << e for e in exponents])

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        """Those that are allowed, and three at least: a line has no shape with fewer."""
        return [s for i, s in enumerate(sizes) if s <= self.largest or i < 3]

    def size(self, full: int, quick: int) -> int:
        """One size."""
        return min(quick if self.quick else full, self.largest)

    def values(self, n: int) -> NDArray[np.float64]:
        """`n` values: of the given files, repeated as often as needed, or normally distributed."""
        if not self.data:
            return np.random.default_rng(1).standard_normal(n)
        return np.resize(_loads(self.data), n)


@lru_cache(maxsize=1)
def _loads(paths: tuple[Path, ...]) -> NDArray[np.float64]:
    return debs.loads(paths)
