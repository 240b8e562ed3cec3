"""Windows over rows that are sorted by key and order, as positions of rows.

Both bounds of the windows never go back, over all keys, so one pass of one loop answers them all.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument
from windrow.windows import arrays, bounds, lengths
from windrow.windows.arrays import Positions, between, ordinary, roomy

if TYPE_CHECKING:
    from windrow.windows.span_bounds import Extent

# A window that no table fills, and to which positions can be added.
LONGEST = 1 << 60
# So many windows of rows have their bounds at a time, which then stay in the cache.
_AT_ONCE = 1 << 14

# Rows of their own in so many: with more of them, all windows go by their bounds.
FEW = 4

Chosen = slice | Positions
EVERY = slice(None)


def _as_positions(array: NDArray[Any]) -> Positions:
    """An array of whole numbers as kernels take it: itself, if it is so already."""
    flags = array.flags
    if array.dtype == np.int64 and flags.c_contiguous and flags.writeable:
        return array
    return ordinary(array.astype(np.int64, copy=False))


class Piece(NamedTuple):
    """Windows `begin` … `stop` − 1, for one thread.

    `split` is where Two-Stacks was split before the first of them, if that is one at which it
    flips: a window that shares values with the one before, and is the first to begin behind it.
    """

    begin: int
    stop: int
    split: int | None = None


@dataclass(eq=False)  # frozen ones take three times as long to make
class Windows:
    """Windows over rows that are sorted by segment and by order within it.

    Segment s is the rows `starts[s]` … `starts[s + 1]` − 1. Windows are given in one of two ways:

    - `rows`: each row from `first` to `past` − 1 has a window of so many rows of its segment, which
      ends with the row itself, or with the one that is so many rows `ahead`. Rows before `first`
      are a tail carried over from an earlier batch;
    - `lo`, `hi`: window i has the positions [lo[i], hi[i]). Neither bound ever falls, unless they
      may `go_back`. `extent` is how long the shortest and the longest are, if they were measured.

    >>> Windows(np.array([0, 2, 3]), rows=2).bounds()
    (array([0, 0, 2]), array([1, 2, 3]))
    """

    starts: Positions
    rows: int | None = None
    first: int = 0
    lo: Positions | None = None
    hi: Positions | None = None
    ahead: int = 0
    past: int | None = None
    go_back: bool = False
    extent: Extent | None = None

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.lo is None) or (self.lo is None) != (self.hi is None):
            raise InvalidArgument("Windows: give rows=, or lo= and hi=")
        self.starts = _as_positions(self.starts)
        self.n = int(self.starts[-1])  # how many rows there are
        if self.lo is not None and self.hi is not None:
            self.lo, self.hi = _as_positions(self.lo), _as_positions(self.hi)

    def __len__(self) -> int:
        if self.lo is not None:
            return self.lo.size
        return max(0, (self.n if self.past is None else self.past) - self.first)

    @property
    def longest(self) -> int:
        """A length that no window exceeds, and 1 at least. O(segments), or O(windows) by bounds."""
        if self.lo is not None:
            return max(1, self._extent[1])
        assert self.rows is not None
        return max(1, min(self.rows, int(np.diff(self.starts).max(initial=0))))

    @cached_property
    def _extent(self) -> tuple[int, int]:
        """How long the shortest and the longest window are, by their bounds."""
        if self.extent is not None:
            shortest, longest = self.extent
            return int(shortest.min(initial=longest)), longest
        assert self.lo is not None and self.hi is not None
        least, most = lengths.extent(self.lo, self.hi)
        return int(least), int(most)

    @property
    def filled(self) -> bool:
        """Whether a window has a row."""
        return self.lo is None or self._extent[1] > 0

    def lengths(self, fewer: int = 0) -> Positions:
        """Return how many rows each window has, so many `fewer`."""
        counts = roomy(len(self), np.int64)
        if self.lo is not None:
            lengths.bounds_lengths(self.lo, self.hi, fewer, counts)
        else:
            lengths.frame_lengths(self.starts, *self._frame, self.first, fewer, counts)
        return counts

    @property
    def _frame(self) -> tuple[int, int]:
        """Where windows of so many rows begin and end, counted from the current row."""
        assert self.rows is not None
        return self.ahead + 1 - self.rows, self.ahead

    def shorter_than(self, length: int) -> NDArray[np.bool_] | None:
        """Return which windows have fewer rows; None if none has. O(those) where they are rows."""
        if self.lo is not None and self.hi is not None:
            if self._extent[0] >= length or not self.lo.size:
                return None
            return lengths.shorter_than(self.lo, self.hi, length, self.extent)
        if length <= 1 and not self.ahead:
            return None  # each has its own row
        places = self.places_shorter_than(length)
        if not places.size:
            return None
        short = np.zeros(len(self), np.bool_)
        short[places] = True
        return short

    def few_shorter_than(self, length: int) -> Positions | None:
        """Return the numbers of the windows with fewer rows, in no order; None if they are many."""
        if self.lo is not None and self.hi is not None:
            return lengths.few_shorter_than(self.lo, self.hi, length, self.extent)
        places = self.places_shorter_than(length)
        return places if places.size * lengths.RARE <= len(self) else None

    def places_shorter_than(self, length: int) -> Positions:
        """Return which windows of so many rows have fewer, by their numbers, in no order.

        They are near the ends of segments, or in short ones, or all.
        """
        assert self.rows is not None
        if self.starts.size == 2 and not self.ahead and self.rows >= length:
            since = int(self.starts[0]) - self.first
            return np.arange(max(0, since), max(0, min(len(self), since + length - 1)))
        begin, end = self.starts[:-1], self.starts[1:]
        shortest = min(self.rows, self.ahead + 1, self.rows - self.ahead)  # beside an end
        if shortest >= length and (end - begin).min(initial=length) >= length:
            return np.empty(0, np.int64)
        early = np.clip(begin + length - 1 - self.ahead, begin, end)  # those before end too early
        early = np.where((end - begin < length) | (self.rows < length), end, early)
        late = np.clip(end - length - self.ahead + self.rows, early, end)  # begin too late
        parts = [between(begin, early), between(late, end)]
        places = np.concatenate(parts) - self.first
        return places[(places >= 0) & (places < len(self))]

    def bounds(self) -> tuple[Positions, Positions]:
        """The windows as positions [lo, hi). O(n) where they are rows."""
        return self.bounds_of(0, len(self))

    def chosen(self, numbers: Chosen = EVERY) -> Windows:
        """Return the windows with these numbers, by their positions."""
        if self.ahead and not isinstance(numbers, slice):  # some of many
            lo, hi = np.empty(numbers.size, np.int64), np.empty(numbers.size, np.int64)
            bounds.frame_of_some(self.starts, *self._frame, numbers + self.first, lo, hi)
            return Windows(self.starts, lo=lo, hi=hi)
        lo, hi = self.bounds()
        return Windows(self.starts, lo=lo[numbers], hi=hi[numbers], go_back=self.go_back)

    @cached_property
    def layers(self) -> list[tuple[Positions, Windows]]:
        """The windows in groups of which no bound falls, and their numbers; one group at least."""
        from windrow.windows.calendar_bounds import layers

        groups = layers(*self.bounds()) or [np.empty(0, np.int64)]
        return [(numbers, replace(self.chosen(numbers), go_back=False)) for numbers in groups]

    def end_before(self, i: int) -> int:
        """Return where the window before the i-th ends; 0 if there is none."""
        if self.hi is not None or self.ahead:
            return int(self.bounds_of(i - 1, i)[1][0]) if i else 0
        return self.first + i if i else 0

    def in_slices(
        self, piece: Piece, most: int | None = None
    ) -> Iterator[tuple[slice, Positions, Positions]]:
        """The windows of a piece, some at a time (`most`), with their bounds."""
        step = most or (_AT_ONCE if self.lo is None else max(1, piece.stop - piece.begin))
        for a in range(piece.begin, piece.stop, step):
            b = min(a + step, piece.stop)
            yield slice(a, b), *self.bounds_of(a, b)

    def bounds_of(self, a: int, b: int) -> tuple[Positions, Positions]:
        """Return the bounds of windows a … b − 1."""
        if self.lo is not None and self.hi is not None:
            return self.lo[a:b], self.hi[a:b]
        assert self.rows is not None
        lo, hi = np.empty(b - a, np.int64), np.empty(b - a, np.int64)
        if self.ahead:
            bounds.frame_of_rows(self.starts, *self._frame, self.first + a, lo, hi)
        else:
            bounds.row_bounds(self.starts, min(self.rows, self.n), self.first + a, lo, hi)
        return lo, hi

    # -- cutting ----------------------------------------------------------------------------

    def pieces(self, threads: int, *, anywhere: bool) -> list[Piece]:
        """Return the windows in parts of about equal work, one a thread, with the same results.

        A part begins with a segment, or else, within a long segment, `anywhere` or at a window
        at which Two-Stacks flips. O(log n) for a part, and O(flips) in a long segment.
        """
        count, least = len(self), 2 * arrays.PIECE
        parts = 1
        if threads > 1 and count + self.n >= 2 * least:  # no window ends behind the last row
            parts = min(threads, self._work(count) // least)
        if parts < 2:
            return [Piece(0, count)]
        begins = [Piece(0, 0)]
        for k in range(1, parts):
            wanted = self._work(count) * k // parts
            i = bisect.bisect_left(range(count), wanted, key=self._work)
            if begins[-1].begin < i < count:
                cut = self._cut(i, anywhere)
                if cut.begin < count:
                    begins.append(cut)
        stops = [cut.begin for cut in begins[1:]] + [count]
        return [Piece(cut.begin, stop, cut.split) for cut, stop in zip(begins, stops, strict=True)]

    def _work(self, i: int) -> int:
        """Return the work of the first i windows: their number, and the rows up to their end."""
        if self.hi is None:
            return 2 * i
        return i + int(self.hi[i - 1]) if i else 0

    def _cut(self, i: int, anywhere: bool) -> Piece:
        """Return where a part that should begin with window i had better begin."""
        at = i + self.first if self.lo is None else int(self.lo[i])
        segment = int(np.searchsorted(self.starts[:-1], at, side="right")) - 1
        begin, end = self._since(self.starts[segment]), self._since(self.starts[segment + 1])
        if i == begin or end - begin < arrays.PIECE:
            return Piece(end if i > begin else i, 0)
        if anywhere:
            return Piece(i, 0)
        flip, split = self._flip(begin, i)
        return Piece(flip, 0, split) if flip < end else Piece(end, 0)

    def _since(self, position: Any) -> int:
        """Return the first window that begins at a segment's start or behind it."""
        if self.lo is None:
            return max(0, int(position) - self.first)
        return int(np.searchsorted(self.lo, position, side="left"))

    def _flip(self, begin: int, wanted: int) -> tuple[int, int]:
        """Return the first window from `wanted` on at which Two-Stacks flips, and its split."""
        if self.lo is not None or self.ahead:
            phase: tuple[int, int] = bounds.phase_after(*self.bounds(), begin, wanted)
            return phase
        assert self.rows is not None
        split = int(self.bounds_of(begin, begin + 1)[0][0])
        flips = -(-(wanted + self.first - split) // self.rows)
        flip = split + max(1, flips) * self.rows
        return flip - self.first, flip - self.rows


def rows_apart(starts: NDArray[np.int64], *ahead: int) -> NDArray[np.int64]:
    """The rows for which one of the rows that are so many ahead is not of their segment.

    >>> rows_apart(np.array([0, 4, 5]), 2), rows_apart(np.array([0, 4, 5]), -1, 1)
    (array([2, 3, 4]), array([0, 3, 4]))
    >>> rows_apart(np.array([0, 4]), -1, 2), rows_apart(np.array([0, 4]), 9)
    (array([0, 2, 3]), array([0, 1, 2, 3]))
    """
    if starts.size == 2:
        first, past = starts.tolist()
        early = min(first - min(0, *ahead), past)
        late = max(past - max(0, *ahead), early)
        return np.concatenate([np.arange(first, early), np.arange(late, past)])
    begin, end = starts[:-1], starts[1:]
    early = np.minimum(begin - min(0, *ahead), end)
    late = np.maximum(end - max(0, *ahead), early)
    return between(*(np.stack(pair, axis=1).ravel() for pair in ((begin, late), (early, end))))
