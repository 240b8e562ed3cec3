"""What FlatFIT and B-Int share: a circle of slots that is as long as the window."""

from __future__ import annotations

from abc import abstractmethod

from windrow.aggregations.base import Aggregation
from windrow.algorithms.base import SMALLEST, Aggregator, shrunk


class Circle(Aggregator):
    """A window of the positions [head, end); position p has slot p mod the capacity.

    A full circle grows by half. After each round it is cut to what was in use at most in that
    round, so in a window of a steady length no slot is unused. Moves are amortised O(1) a value.
    """

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._head = self._end = 0
        self._capacity = SMALLEST
        self._most = 0  # values at once, in this round
        self._round_ends = SMALLEST

    def __len__(self) -> int:
        return self._end - self._head

    def _make_room(self) -> None:
        """Grow, or begin a round, so that there is a slot for one value more."""
        size = self._end - self._head + 1
        if size > self._capacity:
            self._fit(size + size // 2, size)
        elif self._end >= self._round_ends:
            self._fit(max(SMALLEST, size, self._most), size)
        elif size > self._most:
            self._most = size

    def _evict(self, k: int) -> None:
        self._head += k
        capacity = shrunk(self._capacity, len(self))
        if capacity < self._capacity:
            self._fit(capacity, len(self))

    def _fit(self, capacity: int, size: int) -> None:
        """Begin a round with that capacity, in which the window has `size` values so far."""
        if capacity != self._capacity:
            self._resize(capacity)
            self._capacity = capacity
        self._most, self._round_ends = size, self._end + capacity

    @abstractmethod
    def _resize(self, capacity: int) -> None:
        """Move all that is in use to its slot on a larger or smaller circle: no ⊕."""

    @abstractmethod
    def _held(self) -> int:
        """Return how many slots there are, used or not: for tests."""
