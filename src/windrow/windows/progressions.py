"""Positions that lie in any of several arithmetic progressions, counted without a walk over them.

    (0, 2)     ·   ●   ·   ●   ·   ●   ·   ●        r, r ± m, r ± 2m …
    (2, 3)     ·   ●   ·   ·   ●   ·   ·   ●
    either     ·   ●   ·   ●   ●   ●   ·   ●        (0, 2) + (2, 3) − (2, 6)

Inclusion and exclusion: what lies in both is counted twice, and is a progression again, of the
least common multiple. So the count over any stretch is a sum of divisions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

Progression = tuple[int, int]  # a position, and the distance from one to the next
# Twelve progressions without a common divisor have so many intersections.
_MOST_TERMS = 1 << 12


class Progressions:
    """The union of progressions (r, m).

    >>> either = Progressions([(0, 2), (2, 3)])
    >>> either.count(0, 6), either.at_most(7)
    (4, 6)
    """

    def __init__(self, progressions: Iterable[Progression], most: int = _MOST_TERMS) -> None:
        self.parts = _without_contained({(r % m, m) for r, m in progressions})
        terms = _terms(self.parts, most)
        self.counted = terms is not None  # whether counts are exact: the terms are not too many
        self._terms = terms or dict.fromkeys(self.parts, 1)

    @cached_property
    def density(self) -> Fraction:
        """How many there are for each position, on the whole; not less, if they are not counted."""
        shares = (Fraction(n, m) for (_, m), n in self._terms.items())
        return min(Fraction(1), sum(shares, Fraction(0)))

    def count(self, after: int, to: int) -> int:
        """Return how many positions lie in (after, to]; too many, unless they are `counted`."""
        return sum(n * ((to - r) // m - (after - r) // m) for (r, m), n in self._terms.items())

    def at_most(self, length: int) -> int:
        """Return a number of positions that no stretch of this length exceeds."""
        terms = self._terms.items()
        most = sum(n * (-(-length // m) if n > 0 else length // m) for (_, m), n in terms)
        return min(length, most, sum(-(-length // m) for _, m in self.parts))


def _without_contained(parts: set[Progression]) -> list[Progression]:
    """Return the progressions, by their distance, less those that lie in another one."""
    kept: list[Progression] = []
    for r, m in sorted(parts, key=lambda part: (part[1], part[0])):
        if not any(m % n == 0 and (r - a) % n == 0 for a, n in kept):
            kept.append((r, m))
    return kept


def _terms(parts: Iterable[Progression], most: int) -> dict[Progression, int] | None:
    """Progressions, and how often each counts, that sum up to the union; None for over `most`."""
    terms: Counter[Progression] = Counter()
    for part in parts:
        new = Counter({part: 1})
        for other, n in terms.items():
            both = _intersection(part, other)
            if both is not None:
                new[both] -= n
        terms.update(new)
        if len(terms) > most:
            return None
    return {term: n for term, n in terms.items() if n}


def _intersection(one: Progression, other: Progression) -> Progression | None:
    """Return what lies in both, by the Chinese remainder theorem; None for nothing.

    >>> _intersection((0, 2), (2, 3)), _intersection((0, 2), (1, 4))
    ((2, 6), None)
    """
    (r, m), (a, n) = one, other
    common = math.gcd(m, n)
    if (a - r) % common:
        return None
    steps = (a - r) // common * pow(m // common, -1, n // common) % (n // common)
    least = m // common * n
    return (r + m * steps) % least, least
