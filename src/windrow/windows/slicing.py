"""Slicing: where a stream is cut, so that overlapping windows share what they aggregate.

A query (range, slide) has a result at every multiple of its slide, over the last `range` positions:
rows or nanoseconds, whole numbers in any case. Each slice is aggregated once, and a window is made
of slices. With f₁ = range mod slide, three ways to cut a slide that ends with a result:

                  ├───────────── slide ─────────────┤
    panes         ├─────┼─────┼─────┼─────┼─────┼───┤   pieces of gcd(range, slide)
    pairs         ├───── slide − f₁ ─────┼─── f₁ ───┤   cut where windows begin and end
    cutty         ┄──────────────────────┼──────────┄   cut where windows begin

Where the range is a multiple of the slide all three are the same: one slice a slide. With cutty an
result reads the slice that still grows.

Paper 002, section 2.1, lets the results of pairs come after its fragment f₂ = slide − f₁. A window
of range q · slide + f₁ that both begins and ends at a cut has one f₁ more than f₂, so it ends after
an f₁: range 5 and slide 3 is 2 + 1 + 2.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.errors import choice, whole_number

STRATEGIES = ("panes", "pairs", "cutty")


@dataclass(frozen=True)
class Slicing:
    """How the stream of one query is cut; results come at ``offset + k · slide``.

    Hopping windows [start, start + range) with start at multiples of the slide have the offset
    ``range % slide``.

    >>> [list(slices(5, 3, strategy).edges) for strategy in STRATEGIES]
    [[1, 2, 3], [1, 3], [1]]
    """

    range: int
    slide: int
    strategy: str
    offset: int = 0

    @property
    def edges(self) -> Sequence[int]:
        """Where slices end, counted from the result before: increasing, in 1 … slide. O(1)."""
        first = self.range % self.slide
        if self.strategy == "panes":  # not held in memory, as there may be billions
            length = math.gcd(self.range, self.slide)
            return range(length, self.slide + 1, length)
        if self.strategy == "pairs" and first:
            return (self.slide - first, self.slide)
        return (self.slide - first,)

    @property
    def slices_per_window(self) -> int:
        """How many slices a window is made of, the one that is still growing included. O(log).

        >>> [slices(5, 3, strategy).slices_per_window for strategy in STRATEGIES]
        [5, 3, 2]
        """
        whole, first = divmod(self.range, self.slide)
        edges = self.edges
        beyond = len(edges) - bisect_right(edges, self.slide - first)
        return whole * len(edges) + beyond + (edges[-1] < self.slide)

    @property
    def slices_per_slide(self) -> int:
        """How many slices end, and so how many partials are computed, in a slide. O(1)."""
        return len(self.edges)

    @property
    def progressions(self) -> list[tuple[int, int]]:
        """Where slices end, as progressions: a position, and the distance to the next. O(1).

        >>> slices(5, 3, "panes").progressions, slices(5, 3, "pairs", offset=1).progressions
        ([(0, 1)], [(2, 3), (1, 3)])
        """
        if self.strategy == "panes":
            length = math.gcd(self.range, self.slide)
            return [(self.offset % length, length)]
        return [((self.offset + edge) % self.slide, self.slide) for edge in self.edges]

    def next_cut(self, position: int) -> int:
        """Return the first end of a slice after `position`. O(log slices_per_slide).

        >>> slices(5, 3, "pairs").next_cut(3), slices(5, 3, "pairs").next_cut(4)
        (4, 6)
        """
        slides, into = divmod(position - self.offset, self.slide)
        edges = self.edges
        at = bisect_right(edges, into)
        edge = edges[at] if at < len(edges) else self.slide + edges[0]
        return self.offset + slides * self.slide + edge

    def next_answer(self, position: int) -> int:
        """Return the first result after `position`. O(1)."""
        return position + self.slide - (position - self.offset) % self.slide


def choose_slicing(range: int, slide: int) -> tuple[str, str]:
    """Return the strategy that `auto` takes, and why.

    The paper takes pairs, since Cutty's cuts travel as marks in the stream. The plans here know
    where windows begin, so nothing travels; and counted over FlatFIT, cutty makes as many ⊕ as
    pairs for one query, fewer for several, and holds half the slices.

    >>> choose_slicing(6, 2)[0], choose_slicing(5, 3)[0]
    ('panes', 'cutty')
    """
    if range % slide == 0:
        return "panes", "the range is a multiple of the slide: one slice a slide"
    return "cutty", "the range is no multiple of the slide: still one slice a slide"


def slices(range: int, slide: int, strategy: str = "auto", offset: int = 0) -> Slicing:
    """Return the slicing of one query by a strategy, or by the one that `choose_slicing` takes.

    >>> slices(5, 3), slices(5, 3, "pairs").strategy
    (Slicing(range=5, slide=3, strategy='cutty', offset=0), 'pairs')
    """
    whole_number("range", range, least=1)
    whole_number("slide", slide, least=1)
    if choice("strategy", strategy, [*STRATEGIES, "auto"]) == "auto":
        strategy = choose_slicing(range, slide)[0]
    return Slicing(range, slide, strategy, offset)
