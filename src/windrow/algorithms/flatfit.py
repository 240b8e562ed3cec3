"""FlatFIT, the Flat and Fast Index Traverser (paper 002)."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, SMALLEST, Aggregator, shrunk


class FlatFit(Aggregator):
    """A full query costs 3(n−1) ⊕ in a period of n+1 slides; ranges 1 … n together n−1 a slide.

    A partial at i covers the positions from i up to its pointer, where the next one begins. Two
    circular arrays:

        position     3        4        5        6        7
        pointers   ┌ 6 ┐    ┌ 5 ┐    ┌ 6 ┐    ┌ 7 ┐    ┌ 8 ┐
        partials   │3⊕5│    │ 4 │    │ 5 │    │ 6 │    │ 7 │      query from 3: 3⊕5, 6, 7
                   └───┘    └───┘    └───┘    └───┘    └───┘

    A query follows the pointers from its start and, on the way back, makes every partial that it
    passed, but its first, reach to the end: the next query jumps over what this one did.
    """

    algorithm = "flatfit"
    full_name = "Flat and Fast Index Traverser"
    several_ranges = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._head = self._end = 0
        self._partials: list[State] = [NOTHING] * SMALLEST
        self._pointers: list[int] = [0] * SMALLEST

    def __len__(self) -> int:
        return self._end - self._head

    def _insert(self, state: State) -> None:
        capacity = len(self._partials)
        if len(self) == capacity:
            self._resize(2 * capacity)
        slot = self._end % len(self._partials)
        self._partials[slot], self._pointers[slot] = state, self._end + 1
        self._end += 1

    def _evict(self, k: int) -> None:
        self._head += k
        capacity = shrunk(len(self._partials), len(self))
        if capacity < len(self._partials):
            self._resize(capacity)

    def _query(self) -> State:
        return self._from(self._head) if len(self) else NOTHING

    def _query_last(self, last: int) -> State:
        return self._from(self._end - last)

    def _from(self, start: int) -> State:
        """⊕ over [start, end)."""
        partials, pointers, end = self._partials, self._pointers, self._end
        capacity = len(partials)
        passed = []  # the paper's stack Positions
        while start != end:
            passed.append(start)
            start = pointers[start % capacity]
        answer = partials[passed.pop() % capacity]
        if self._undo is not None:
            slots = [position % capacity for position in passed]
            self._note(_write, pointers, slots, [pointers[slot] for slot in slots])
            self._note(_write, partials, slots, [partials[slot] for slot in slots])
        while len(passed) > 1:
            slot = passed.pop() % capacity
            answer = self._combine(partials[slot], answer)
            partials[slot], pointers[slot] = answer, end
        # The first one stays short: with one query it leaves the window before its next use,
        # and the counts of the paper's examples follow from this rule.
        return self._combine(partials[passed[0] % capacity], answer) if passed else answer

    def _resize(self, capacity: int) -> None:
        partials: list[State] = [NOTHING] * capacity
        pointers = [0] * capacity
        old = len(self._partials)
        for position in range(self._head, self._end):
            partials[position % capacity] = self._partials[position % old]
            pointers[position % capacity] = self._pointers[position % old]
        self._partials, self._pointers = partials, pointers

    def _check(self) -> None:
        assert len(self) <= len(self._partials)
        for position in range(self._head, self._end):
            pointer = self._pointers[position % len(self._pointers)]
            assert position < pointer <= self._end, (position, pointer, self._end)
            assert self._partials[position % len(self._partials)] is not NOTHING


def _write(array: list[Any], slots: list[int], values: list[Any]) -> None:
    for slot, value in zip(slots, values, strict=True):
        array[slot] = value
