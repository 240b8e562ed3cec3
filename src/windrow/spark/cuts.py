"""Where an order is cut into ranges, and which rows each range needs besides its own.

The order is cut into many small bins, and ranges are neighbouring bins of about as many rows. The
windows of a range begin among the rows of a few bins before it, its halo; the bins between the halo
and the range lie in all of its windows, and enter as one aggregate (paper 004's boundaries):

        ├ halo ─┤├──── middle ────┤├─── range ───┤
            └ first window begins              └ last window ends
                  └ last window begins

So a row goes to its own range and, as windows are about as long for all rows, to one or two more.

Where windows have rows behind the current one, or end before it, a range gets the rows of all bins
that its windows reach, before and behind it, and there is no middle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

BINS = 16  # for each range


@dataclass(frozen=True)
class RangeCuts:
    """Bins of the order, ranges of bins, and for each range its halo and its middle.

    Bin b holds the values from ``edges[b − 1]`` up to below ``edges[b]``; nulls are in the first.
    """

    edges: tuple[Any, ...]
    owner: tuple[int, ...]  # the range of each bin
    halos: tuple[range, ...]  # of each range: bins, all before its own
    middles: tuple[range, ...]  # of each range: the bins between
    behind: tuple[range, ...] = ()  # of each range: bins behind its own, if windows reach there

    @property
    def ranges(self) -> int:
        """How many ranges there are."""
        return len(self.halos)

    @property
    def merges(self) -> bool:
        """Whether any range needs the aggregate of bins between."""
        return any(len(middle) for middle in self.middles)

    def targets(self) -> list[list[int]]:
        """Return for each bin the ranges that its rows go to, its own first."""
        targets = [[own] for own in self.owner]
        for halos in (self.halos, self.behind):
            for p, halo in enumerate(halos):
                for b in halo:
                    targets[b].append(p)
        return targets

    @property
    def copies(self) -> int:
        """How many ranges the rows of a bin go to at most."""
        return max(map(len, self.targets()))


def cut_by_size(
    edges: Sequence[Any], counts: Sequence[int], ranges: int, size: Any, top: Any, least: Any = None
) -> RangeCuts:
    """Return cuts for windows [t − size, t] along values up to `top`.

    A size of None reaches back to the beginning. `counts` has the rows of each bin; if it is
    empty, all have about as many, as quantiles have. Where sizes differ, as those of months do,
    they are `least` to `size`.
    """
    bins = len(edges) + 1
    owner = _owner(counts or [1] * bins, ranges)
    if size is None:
        return _cuts(edges, owner, [0] * bins, [-1] * bins)
    first = [0, *(bisect_right(edges, end - size) for end in edges)]
    least = size if least is None else least
    last = [bisect_right(edges, end - least) for end in (*edges, top)]
    return _cuts(edges, owner, first, last)


def cut_by_count(edges: Sequence[Any], counts: Sequence[int], ranges: int, rows: int) -> RangeCuts:
    """Return cuts for windows of the last `rows` rows; `counts` has the rows of each bin."""
    before = [0, *accumulate(counts)]
    first = [bisect_right(before, max(0, n + 1 - rows)) - 1 for n in before[:-1]]
    last = [bisect_right(before, max(0, n - rows)) - 1 for n in before[1:]]
    return _cuts(edges, _owner(counts, ranges), first, last)


def cut_frame_by_size(
    edges: Sequence[Any], counts: Sequence[int], ranges: int, size: Any, ahead: Any, top: Any
) -> RangeCuts:
    """Return cuts for windows that lie in [t − size, t + ahead], along values up to `top`."""
    bins = len(edges) + 1
    # a bin's rows are before its end, so no window of them begins before its first row's does
    first = [0, *(bisect_right(edges, edge - size) for edge in edges)]
    last = [bisect_right(edges, end + ahead) for end in (*edges, top)]
    return _frame_cuts(edges, _owner(counts or [1] * bins, ranges), first, last)


def cut_frame_by_count(
    edges: Sequence[Any], counts: Sequence[int], ranges: int, rows: int, ahead: int
) -> RangeCuts:
    """Return cuts for windows among the last `rows` rows and `ahead` more after the current one."""
    before = [0, *accumulate(counts)]
    first = [bisect_right(before, max(0, n + 1 - rows)) - 1 for n in before[:-1]]
    most = max(0, before[-1] - 1)
    ends = [bisect_right(before, min(most, n - 1 + ahead)) - 1 for n in before[1:]]
    last = [min(b, len(counts) - 1) for b in ends]
    return _frame_cuts(edges, _owner(counts, ranges), first, last)


def _frame_cuts(
    edges: Sequence[Any], owner: tuple[int, ...], first: Sequence[int], last: Sequence[int]
) -> RangeCuts:
    """Return the halos before and behind, from the bins that each bin's windows reach."""
    halos, behind, middles = [], [], []
    for p in range(owner[-1] + 1):
        begin, end = bisect_left(owner, p), bisect_right(owner, p)
        halos.append(range(min(first[begin], begin), begin))
        behind.append(range(end, max(last[end - 1] + 1, end)))
        middles.append(range(begin, begin))
    return RangeCuts(tuple(edges), owner, tuple(halos), tuple(middles), tuple(behind))


def joined_cuts(cuts: Sequence[RangeCuts]) -> RangeCuts | None:
    """Return the cuts for several windows at once: rows from where the longest of them begins.

    None if a range would need aggregates, which are those of one window's bins only.
    """
    if len(cuts) == 1:
        return cuts[0]
    if any(cut.merges for cut in cuts):
        return None
    halos, behind = [], []
    for p in range(cuts[0].ranges):
        before = [cut.halos[p] for cut in cuts]
        halos.append(range(min(h.start for h in before), max(h.stop for h in before)))
        after = [cut.behind[p] for cut in cuts if cut.behind]
        if after:
            behind.append(range(after[0].start, max(h.stop for h in after)))
    return replace(cuts[0], halos=tuple(halos), behind=tuple(behind))


def _owner(counts: Sequence[int], ranges: int) -> tuple[int, ...]:
    """Return the range of each bin: neighbouring bins for each range, of about as many rows."""
    total = max(1, sum(counts))
    before = [0, *accumulate(counts)]
    middles = [(a + b) / 2 for a, b in pairwise(before)]
    owners = [min(ranges - 1, int(m * ranges / total)) for m in middles]
    numbers = {p: i for i, p in enumerate(sorted(set(owners)))}  # without those that have no bin
    return tuple(numbers[p] for p in owners)


def _cuts(
    edges: Sequence[Any], owner: tuple[int, ...], first: Sequence[int], last: Sequence[int]
) -> RangeCuts:
    """Return halos and middles, from the bins in which each bin's first and last windows begin."""
    halos, middles = [], []
    for p in range(owner[-1] + 1):
        begin, end = bisect_left(owner, p), bisect_right(owner, p)
        stop = min(last[end - 1] + 1, begin)
        halos.append(range(min(first[begin], stop), stop))
        middles.append(range(stop, begin))
    return RangeCuts(tuple(edges), owner, tuple(halos), tuple(middles))
