"""Where the slices of several windows end, and which windows are due there: one plan for all.

The slices of all queries are cut at the edges of any of them, and each slice is aggregated once:

    (6, 2)     ├───────┼───────┼───────┼───────┤    results at 2, 4, 6, 8 …
    (8, 4)     ├───────────────┼───────────────┤    answers at    4,    8 …
    shared     ├── 2 ──┼── 2 ──┼── 2 ──┼── 2 ──┤    (6, 2) over 3 slices, (8, 4) over 4
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from windrow.errors import InvalidArgument
from windrow.windows.progressions import Progressions
from windrow.windows.slicing import Slicing, choose_slicing, slices


class Due(NamedTuple):
    """A result that is due: of which query, and over how many of the newest whole slices."""

    query: int
    slices: int


class Edge(NamedTuple):
    """A position where a slice ends (`cut`), where queries are due, or both.

    `length` is that of the slice up to here, `held` the number of whole slices that any later
    result may need. Where a query is due and no slice ends, its window ends with the slice that
    still grows.
    """

    at: int
    length: int
    cut: bool
    due: tuple[Due, ...]
    held: int


class SharedPlan:
    """The slices of several windows (range, slide) or (range, slide, offset), and who is due when.

    >>> plan = SharedPlan([(6, 2), (8, 4)])
    >>> plan.composite
    4
    >>> [(edge.at, edge.due) for edge in plan.steps()]
    [(2, (Due(query=0, slices=3),)), (4, (Due(query=1, slices=4), Due(query=0, slices=3)))]
    """

    def __init__(
        self, windows: Sequence[tuple[int, ...] | Slicing], strategy: str = "auto"
    ) -> None:
        if not windows:
            raise InvalidArgument("windows: a shared plan needs at least one (range, slide)")
        self.queries: tuple[Slicing, ...] = tuple(_slicing(w, strategy) for w in windows)

    @cached_property
    def composite(self) -> int:
        """After how many positions the edges repeat: the least common multiple of the slides."""
        return math.lcm(*(query.slide for query in self.queries))

    @cached_property
    def longest(self) -> int:
        """The range of the longest window."""
        return max(query.range for query in self.queries)

    @cached_property
    def cuts(self) -> Progressions:
        """Where slices end: the cuts of all queries."""
        return Progressions(part for query in self.queries for part in query.progressions)

    def edges(self, after: int = 0, begun: bool = False) -> Iterator[Edge]:
        """The edges behind `after`, without end, as if the stream had always been running.

        With `begun`, as if it began there: the first slice begins at `after`, and windows have no
        more slices than there are. O(queries) each; unless the stream began at `after`, the first
        one costs as much for each slice of the longest window.
        """
        longest = self.longest
        by_length = sorted(enumerate(self.queries), key=lambda numbered: -numbered[1].range)
        reach = max(longest, *(query.slide for query in self.queries))
        first = after if begun else after - reach
        latest, at, count = first, after, 0
        # the numbers of the cuts that later windows begin at
        numbers = OrderedDict({after: 0} if begun else {})
        while True:
            cut = min(query.next_cut(latest) for query in self.queries)
            edge = min(cut, *(query.next_answer(at) for query in self.queries))
            length = edge - latest
            if edge == cut:
                latest, count = cut, count + 1
                numbers[cut] = count
            if edge <= after:
                continue
            at = edge
            due = tuple(
                Due(i, count - numbers[max(at - query.range, first)])
                for i, query in by_length
                if (at - query.offset) % query.slide == 0
            )
            while numbers and next(iter(numbers)) <= at - longest:
                numbers.popitem(last=False)
            yield Edge(at, length, at == cut, due, max(len(numbers) - 1, 0))

    def steps(self) -> Iterator[Edge]:
        """Return the edges of one composite slide; they repeat behind it."""
        return itertools.takewhile(lambda edge: edge.at <= self.composite, self.edges())

    def explain(self) -> str:
        """Return the slices, and what sharing them saves, counted without a walk over them.

        >>> print(SharedPlan([(6, 2), (8, 4)]).explain())
        2 windows share 2 slices in each 4 positions, where alone they have 3
        range 6, slide 2: panes, the range is a multiple of the slide: one slice a slide
        range 8, slide 4: panes, the range is a multiple of the slide: one slice a slide
        at most 4 slices are held, by flatfit: answers reuse longer ones' work
        """
        shared = self.cuts.count(0, self.composite)
        alone = sum(q.slices_per_slide * (self.composite // q.slide) for q in self.queries)
        about = "" if self.cuts.counted else "at most "
        count = f"{about}{shared} slice{'s' * (shared > 1)}"
        cut = f"{count} in each {self.composite} positions, where alone they have "
        lines = [f"{len(self.queries)} windows share {cut}{alone}"][: len(self.queries) - 1]
        for query in self.queries:
            auto, why = choose_slicing(query.range, query.slide)
            why = why if query.strategy == auto else "as it was asked for"
            lines.append(f"range {query.range}, slide {query.slide}: {query.strategy}, {why}")
        most = self.cuts.at_most(self.longest)
        lines.append(f"at most {most} slices are held, by flatfit: answers reuse longer ones' work")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"SharedPlan({[(q.range, q.slide, q.offset) for q in self.queries]})"


def _slicing(window: tuple[int, ...] | Slicing, strategy: str) -> Slicing:
    if isinstance(window, Slicing):
        return window
    if not isinstance(window, tuple) or len(window) not in (2, 3):
        raise InvalidArgument(
            f"windows: {window!r} is not (range, slide) or (range, slide, offset)"
        )
    range, slide, *offset = window
    return slices(range, slide, strategy, *offset)
