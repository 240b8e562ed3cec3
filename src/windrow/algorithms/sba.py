"""SBA, the Sequential Boundary Aggregator (paper 004 on one thread)."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.errors import InvalidArgument


def optimal_chunk(size: int, slide: int = 1) -> int:
    """Slices per chunk for a window of `size` values that moves by `slide` (theorem 1).

    >>> optimal_chunk(10), optimal_chunk(10, slide=2), optimal_chunk(1000, slide=7)
    (6, 4, 126)
    """
    q, rest = divmod(size, slide)
    if q <= slide + rest + 1:
        return q
    return (slide * (q + 1) + rest + 1) // (slide + 1)


def optimal_span(size: int | float) -> int | float:
    """Return how long a chunk lasts, of a window of `size` time units with results at any time.

    Theorem 2's chunk of a slide s and a ⊕ of T lasts size · (s + T) / (s + 2T), more or less. That
    is from half a window, for values that come as fast as they are combined, to all of it. Values
    of an array, and those of a stream that is replayed, are there at once.

    >>> optimal_span(3600), optimal_span(7), optimal_span(0.5)
    (1800, 4, 0.25)
    """
    return (-(-size // 2) if isinstance(size, int) else size / 2) or 1


@dataclass(frozen=True)
class Cuts:
    """Where chunks begin: at `first` and every `step` values behind it, or every `span` of time."""

    first: int = 0
    step: int = 0
    span: int | float | None = None

    @classmethod
    def by_rows(cls, size: int, slide: int = 1) -> Cuts:
        """Return the chunks of theorem 1, in values; they begin where windows do.

        >>> Cuts.by_rows(10, slide=3)
        Cuts(first=8, step=9, span=None)
        """
        step = optimal_chunk(size, slide) * slide
        return cls(step - size % slide, step)

    @classmethod
    def by_time(cls, size: int | float) -> Cuts:
        """Return the chunks of a window of `size` time units, see `optimal_span`."""
        return cls(span=optimal_span(size))


class Chunk:
    """A closed run of slices: their states and the aggregate of them all."""

    __slots__ = ("aggregate", "states")

    def __init__(self, states: list[State], aggregate: State) -> None:
        self.states, self.aggregate = states, aggregate

    def __len__(self) -> int:
        return len(self.states)


class BoundaryAggregator(Aggregator):
    """What SBA and PBA share: the window cut into chunks at boundaries.

                 front chunk        closed chunks            open chunk
               ┌──────────────┐  ┌───────┐  ┌───────┐  ┌──────────────────┐
               │ ░░░│ lcs …   │  │  ca   │  │  ca   │  │ saa …      → csa │
               └──────────────┘  └───────┘  └───────┘  └──────────────────┘
                evicted ↑ oldest  └──── middle ────┘               newest ↑

    query = lcs[oldest] ⊕ middle ⊕ csa. With the chunk size of theorem 1 a window spans at most
    three chunks. Without a fixed `chunk`, it follows the window's length. With a `span`, values are
    inserted with their times, and a chunk is what lies in a stretch of time of that length.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        chunk: int | None = None,
        span: int | float | None = None,
    ) -> None:
        super().__init__(aggregation)
        if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
            raise InvalidArgument(
                f"{self.algorithm}: chunk must be a whole number ≥ 1, got {chunk!r}"
            )
        self._chunk = chunk
        self.cuts_by_time = span is not None
        self._span = span
        self._stretch: Any = None  # of time, in which the newest value lies
        self._next_stretch: Any = None  # and the one that is being inserted
        self._front: list[State] = []  # lcs of the front chunk, in its order
        self._gone = 0  # how many of the front chunk have left
        self._closed: deque[Chunk] = deque()
        self._middle: State = NOTHING
        self._open: list[State] = []
        self._csa: State = NOTHING
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @classmethod
    def options_for(cls, cuts: Cuts) -> dict[str, Any]:
        """Return the chunk, or the span of time, of these cuts."""
        return {"chunk": cuts.step} if cuts.step else {"span": cuts.span}

    def insert(self, value: Any, at: Any = None) -> None:
        """Add `value` as the newest; `at` is its time, if chunks are stretches of time."""
        if self._span is None:
            super().insert(value, at)
        else:
            self._next_stretch = None if at is None else at // self._span
            super().insert(value)

    def _insert(self, state: State) -> None:
        if self._span is None:
            is_full = len(self._open) >= (self._chunk or optimal_chunk(self._size + 1))
        else:
            is_full = bool(self._open) and self._next_stretch != self._stretch
        if is_full and not (self._front and self._closes_on_entry):
            self._close()
        csa = self._plus(self._csa, state)
        self._note_length(self._open)
        self._csa = csa
        self._open.append(state)
        self._stretch = self._next_stretch
        self._size += 1

    def _close(self) -> None:
        """Draw a boundary behind the newest value."""
        middle = self._plus(self._middle, self._csa)
        chunk = self._closing(self._open, self._csa)
        self._note_length(self._open)
        self._note(self._closed.pop)
        self._middle, self._open, self._csa = middle, [], NOTHING
        self._closed.append(chunk)

    def _evict(self, k: int) -> None:
        gone = self._gone + k
        if gone < len(self._front):
            leaving = slice(self._gone, gone)
            self._note(self._front.__setitem__, leaving, self._front[leaving])
            self._front[leaving] = [NOTHING] * k
            self._gone = gone
        else:
            self._enter(gone - len(self._front))
        self._size -= k

    def _enter(self, gone: int) -> None:
        """Leave the front chunk, and `gone` values behind it."""
        chunks = list(self._closed)
        closes = gone > sum(map(len, chunks)) or (gone and self._closes_on_entry)
        if closes and self._open:
            chunks.append(self._closing(self._open, self._csa))
        left = 0
        while left < len(chunks) and gone >= len(chunks[left]):
            gone -= len(chunks[left])
            left += 1
        del chunks[:left]
        if gone:
            front, chunks, middle = self._suffixes(chunks, gone)
        else:
            front, middle = [], self._total(chunks)
        self._front, self._gone, self._middle, self._closed = front, gone, middle, deque(chunks)
        if closes:
            self._open, self._csa = [], NOTHING

    def _query(self) -> State:
        oldest = self._front[self._gone] if self._front else NOTHING
        return self._plus(self._plus(oldest, self._middle), self._csa)

    def _total(self, chunks: Iterable[Chunk]) -> State:
        return self._fold(chunk.aggregate for chunk in chunks)

    # What differs: when the lcs of a chunk are computed, and what they reach to.

    _closes_on_entry: bool

    @abstractmethod
    def _closing(self, states: list[State], aggregate: State) -> Chunk:
        """Return the chunk that is being closed."""

    @abstractmethod
    def _suffixes(self, chunks: list[Chunk], gone: int) -> tuple[list[State], list[Chunk], State]:
        """Return a new front from index `gone` on, the closed chunks behind it, and the middle."""

    def _held(self) -> int:
        """Return how many partial aggregates are held: the space of the paper's analysis."""
        chunks = [self._front, *(chunk.states for chunk in self._closed), self._open]
        states = sum(state is not NOTHING for chunk in chunks for state in chunk)
        return states + 2  # csa and middle

    def _check(self) -> None:
        held = len(self._front) - self._gone + sum(map(len, self._closed)) + len(self._open)
        assert held == self._size, (held, self._size)
        assert 0 <= self._gone < max(1, len(self._front)), (self._gone, len(self._front))
        assert (self._csa is NOTHING) == (not self._open)
        assert self._middle is not NOTHING or not self._closed or self._front


class Sba(BoundaryAggregator):
    """Amortised < 3 ⊕ a slide, all counted; outside the lcs pass at a boundary at most 3.

    The lcs of a chunk are computed when the oldest value first lies inside it, and then include
    all that was closed behind it: one ⊕ of each later query is saved, which pays for the pass.
    """

    algorithm = "sba"
    full_name = "Sequential Boundary Aggregator"
    _closes_on_entry = True

    def _closing(self, states: list[State], aggregate: State) -> Chunk:
        return Chunk(states, aggregate)

    def _suffixes(self, chunks: list[Chunk], gone: int) -> tuple[list[State], list[Chunk], State]:
        lengths = list(itertools.accumulate(map(len, chunks[:-1]), initial=0))[1:]
        middle = min(lengths, key=lambda length: abs(2 * length - self._size), default=0)
        used = lengths.index(middle) + 1 if lengths else 1
        # Chunks left over from when the window was smaller are taken together, half and half.
        states = _joined(chunks[:used])
        rest, suffix = _joined(chunks[used:]), self._total(chunks[used:])
        lcs = [NOTHING] * len(states)
        closed = [Chunk(rest, suffix)] if rest else []
        for i in range(len(states) - 1, gone - 1, -1):
            suffix = lcs[i] = self._plus(states[i], suffix)
        return lcs, closed, NOTHING


def _joined(chunks: list[Chunk]) -> list[State]:
    if len(chunks) == 1:
        return chunks[0].states
    return list(itertools.chain.from_iterable(chunk.states for chunk in chunks))
