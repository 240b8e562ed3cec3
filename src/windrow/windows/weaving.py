"""Which windows profit from one plan, and which are better planned apart (after WeaveShare).

One plan for all windows cuts rows where any of them wants it. That saves a pass over the rows, and
costs little where windows cut at common edges; but every slice is held as long as the longest
window reaches, and passed by windows that would not have cut there:

    (1 s, 1 ms)        1000 slices of a millisecond         together: slices of a millisecond over
    (1000 days, 1 day) 1000 slices of a day                 1000 days, 86,400,000,000 of them

So windows are merged in pairs, the pair first that saves most, as long as it saves anything. The
work of a group, in ⊕ for each position along the order:

    rows + edges + (edges − those of the member with most)

each row enters once, each slice is passed once, and once more where the finer slices of others are
between. Nobody knows how many rows there are; they are taken to be as many as the slices of the
finest window. With more rows, sharing saves more.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from windrow.windows.progressions import Progressions
from windrow.windows.slicing import Slicing

# A plan that holds so many slices, or few times as many as its parts, is none too large.
_FEW = 1 << 12
_TIMES = 4
# Many groups are looked at: beyond so many intersections of edges an estimate will do.
_TERMS = 1 << 8


@dataclass(frozen=True)
class PlanGroup:
    """Windows with one plan: their numbers, and why they are together, or apart from others."""

    members: tuple[int, ...]
    why: str = ""

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.members))}: {self.why}"


def woven(queries: Sequence[Slicing], numbers: Sequence[int] | None = None) -> list[PlanGroup]:
    """Return the groups of windows that are planned together, by their `numbers` (0, 1, …).

    >>> from windrow.windows.slicing import slices
    >>> day = 86_400_000
    >>> for group in woven([slices(1000, 1), slices(1000 * day, day), slices(500, 5)]):
    ...     print(group.members, group.why)
    (0, 2) together: they save 1 of 2 passes over the rows, and 17 % of the slices
    (1,) apart from 0, 2: together they would hold 86400000000 slices, and apart they hold 2000
    """
    rows = max((Fraction(q.slices_per_slide, q.slide) for q in queries), default=Fraction(0))
    numbers = range(len(queries)) if numbers is None else numbers
    groups = [_Woven((i,), (query,), rows) for i, query in zip(numbers, queries, strict=True)]
    everything = _Woven(tuple(numbers), tuple(queries), rows)
    if everything.saved(*groups) is not None:  # as it mostly is
        groups = [everything]
    together = functools.cache(operator.add)
    while len(groups) > 1:
        pairs = [(together(a, b), a, b) for a, b in itertools.combinations(groups, 2)]
        worth = [
            (saved, *pair) for pair in pairs if (saved := pair[0].saved(*pair[1:])) is not None
        ]
        if not worth:
            break
        _, both, a, b = max(worth, key=operator.itemgetter(0))
        groups = [group for group in groups if group not in (a, b)] + [both]
    groups.sort(key=lambda group: group.members)
    return [PlanGroup(group.members, group.why(groups)) for group in groups]


@dataclass(frozen=True)
class _Woven:
    """Windows that are planned together, and what that costs."""

    members: tuple[int, ...]
    queries: tuple[Slicing, ...]
    rows: Fraction  # for each position

    def __add__(self, other: _Woven) -> _Woven:
        both = sorted(
            zip(self.members + other.members, self.queries + other.queries, strict=True),
            key=lambda pair: pair[0],
        )
        members, queries = zip(*both, strict=True)
        return _Woven(members, queries, self.rows)

    @cached_property
    def cuts(self) -> Progressions:
        parts = (part for query in self.queries for part in query.progressions)
        return Progressions(parts, most=_TERMS)

    @cached_property
    def work(self) -> Fraction:
        most = max(Fraction(q.slices_per_slide, q.slide) for q in self.queries)
        return self.rows + 2 * self.cuts.density - most

    @cached_property
    def held(self) -> int:
        return self.cuts.at_most(max(query.range for query in self.queries))

    def saved(self, *parts: _Woven) -> Fraction | None:
        """Return the work that one plan for these parts saves; None if it is not worth it."""
        if self.held > max(_FEW, _TIMES * sum(part.held for part in parts)):
            return None
        saved = sum((part.work for part in parts), -self.work)
        return saved if saved >= 0 else None

    def why(self, groups: Sequence[_Woven]) -> str:
        others = [group for group in groups if group is not self]
        if len(self.members) > 1:
            alone = sum(Fraction(q.slices_per_slide, q.slide) for q in self.queries)
            passes = f"{len(self.members) - 1} of {len(self.members)} passes over the rows"
            less = round(100 * (1 - float(self.cuts.density / alone)))
            return f"together: they save {passes}, and {less} % of the slices"
        if not others:
            return ""
        nearest = min(others, key=lambda other: (self + other).held)
        apart = f"and apart they hold {self.held + nearest.held}"
        names = ", ".join(map(str, nearest.members))
        return (
            f"apart from {names}: together they would hold {(self + nearest).held} slices, {apart}"
        )
