"""Slicing: where a stream is cut, so that overlapping windows share what they aggregate.

A query (range, slide) answers at every multiple of its slide, over the last `range` positions:
rows or nanoseconds, whole numbers in any case. Each slice is aggregated once, and a window is made
of slices. With f₁ = range mod slide, three ways to cut a slide that ends with an answer:

                  ├───────────── slide ─────────────┤
    panes         ├─────┼─────┼─────┼─────┼─────┼───┤   pieces of gcd(range, slide)
    pairs         ├───── slide − f₁ ─────┼─── f₁ ───┤   cut where windows begin and end
    cutty         ┄──────────────────────┼──────────┄   cut where windows begin

Where the range is a multiple of the slide all three are the same: one slice a slide.

Paper 002, section 2.1, lets the answers of pairs come after its fragment f₂ = slide − f₁. A window
of range q · slide + f₁ that both begins and ends at a cut has one f₁ more than f₂, so it ends after
an f₁: range 5 and slide 3 is 2 + 1 + 2.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from windrow.errors import InvalidArgument, did_you_mean, whole_number


@dataclass(frozen=True)
class Slicing(ABC):
    """How the stream of one query is cut; answers come at ``offset + k · slide``.

    Hopping windows [start, start + range) with start at multiples of the slide have the offset
    ``range % slide``.
    """

    range: int
    slide: int
    offset: int = 0

    strategy: ClassVar[str]

    def __post_init__(self) -> None:
        whole_number("range", self.range, least=1)
        whole_number("slide", self.slide, least=1)

    @property
    @abstractmethod
    def edges(self) -> Sequence[int]:
        """Where slices end, counted from the answer before: increasing, in 1 … slide. O(1)."""

    @property
    @abstractmethod
    def slices_per_window(self) -> int:
        """How many slices a window is made of, the one that is still growing included. O(1)."""

    @property
    def slices_per_slide(self) -> int:
        """How many slices end, and so how many partials are computed, in a slide. O(1)."""
        return len(self.edges)

    def next_cut(self, position: int) -> int:
        """The first end of a slice after `position`. O(log slices_per_slide).

        >>> Pairs(range=5, slide=3).next_cut(3), Pairs(range=5, slide=3).next_cut(4)
        (4, 6)
        """
        slides, into = divmod(position - self.offset, self.slide)
        edges = self.edges
        at = bisect_right(edges, into)
        edge = edges[at] if at < len(edges) else self.slide + edges[0]
        return self.offset + slides * self.slide + edge

    def next_answer(self, position: int) -> int:
        """The first answer after `position`. O(1)."""
        return position + self.slide - (position - self.offset) % self.slide


class Panes(Slicing):
    """Slices of one length, the greatest common divisor of range and slide.

    >>> list(Panes(range=5, slide=3).edges), Panes(range=5, slide=3).slices_per_window
    ([1, 2, 3], 5)
    """

    strategy = "panes"

    @property
    def edges(self) -> Sequence[int]:
        """The multiples of the length; not held in memory, as there may be billions."""
        length = math.gcd(self.range, self.slide)
        return range(length, self.slide + 1, length)

    @property
    def slices_per_window(self) -> int:
        """Range / gcd(range, slide)."""
        return self.range // math.gcd(self.range, self.slide)


class Pairs(Slicing):
    """Two slices a slide, one where the range is a multiple of it.

    >>> Pairs(range=5, slide=3).edges, Pairs(range=5, slide=3).slices_per_window
    ((1, 3), 3)
    """

    strategy = "pairs"

    @property
    def edges(self) -> Sequence[int]:
        """Slide − f₁, where windows begin, and the slide's end, where they end."""
        first = self.range % self.slide
        return (self.slide - first, self.slide) if first else (self.slide,)

    @property
    def slices_per_window(self) -> int:
        """2 ⌊range / slide⌋ + 1, or range / slide."""
        whole, first = divmod(self.range, self.slide)
        return 2 * whole + 1 if first else whole


class Cutty(Slicing):
    """One slice a slide, cut only where windows begin: an answer reads the slice that still grows.

    >>> Cutty(range=5, slide=3).edges, Cutty(range=5, slide=3).slices_per_window
    ((1,), 2)
    """

    strategy = "cutty"

    @property
    def edges(self) -> Sequence[int]:
        """Slide − f₁, where windows begin."""
        return (self.slide - self.range % self.slide,)

    @property
    def slices_per_window(self) -> int:
        """⌊range / slide⌋ + 1, as printed; range / slide where that is whole and nothing grows."""
        return -(-self.range // self.slide)


STRATEGIES = {kind.strategy: kind for kind in (Panes, Pairs, Cutty)}


def choose_slicing(range: int, slide: int) -> tuple[str, str]:
    """The strategy that `auto` takes, and why.

    The paper takes pairs, since Cutty's cuts travel as marks in the stream. The plans here know
    where windows begin, so nothing travels; and counted over FlatFIT, cutty makes as many ⊕ as
    pairs for one query, fewer for several, and holds half the slices.

    >>> choose_slicing(6, 2)[0], choose_slicing(5, 3)[0]
    ('panes', 'cutty')
    """
    whole_number("range", range, least=1)
    whole_number("slide", slide, least=1)
    if range % slide == 0:
        return "panes", "the range is a multiple of the slide: one slice a slide"
    return "cutty", "the range is no multiple of the slide: still one slice a slide"


def slices(range: int, slide: int, strategy: str = "auto", offset: int = 0) -> Slicing:
    """The slicing of one query by a strategy, or by the one that `choose_slicing` takes.

    >>> slices(5, 3), slices(5, 3, "pairs")
    (Cutty(range=5, slide=3, offset=0), Pairs(range=5, slide=3, offset=0))
    """
    if strategy == "auto":
        strategy = choose_slicing(range, slide)[0]
    if strategy not in STRATEGIES:
        hint = did_you_mean(str(strategy), [*STRATEGIES, "auto"])
        raise InvalidArgument(f"strategy={strategy!r} is unknown; {hint}")
    return STRATEGIES[strategy](range, slide, offset)


def composite_slide(queries: Sequence[Slicing]) -> int:
    """After how many positions the edges of all queries repeat: the lcm of their slides.

    >>> composite_slide([slices(6, 2), slices(8, 4)])
    4
    """
    return math.lcm(*(query.slide for query in queries))


def shared_edges(queries: Sequence[Slicing]) -> Iterator[int]:
    """The edges of all queries in the first composite slide, each common one once.

    One by one, as there may be many: O(log queries) an edge of a query.

    >>> list(shared_edges([slices(6, 2), slices(8, 4)]))
    [2, 4]
    """
    end = composite_slide(queries)
    last = 0
    for edge in heapq.merge(*(_edges_until(query, end) for query in queries)):
        if edge != last:
            yield edge
            last = edge


def _edges_until(query: Slicing, end: int) -> Iterator[int]:
    edge = query.next_cut(0)
    while edge <= end:
        yield edge
        edge = query.next_cut(edge)
