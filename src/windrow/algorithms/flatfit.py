"""FlatFIT, the Flat and Fast Index Traverser (paper 002)."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, SMALLEST
from windrow.algorithms.circle import Circle


class FlatFit(Circle):
    """A full query costs 3(n−1) ⊕ in a period of n+1 slides; ranges 1 … n together n−1 a slide.

    A partial at i covers the positions from i up to its pointer, where the next one begins. Two
    circular arrays:

        position     3        4        5        6        7
        pointers   ┌ 6 ┐    ┌ 5 ┐    ┌ 6 ┐    ┌ 7 ┐    ┌ 8 ┐
        partials   │3⊕5│    │ 4 │    │ 5 │    │ 6 │    │ 7 │      query from 3: 3⊕5, 6, 7
                   └───┘    └───┘    └───┘    └───┘    └───┘

    A query follows the pointers from its start and, on the way back, makes every partial that it
    passed, but its first, reach to the end: the next query jumps over what this one did. The way
    back is found by the pointers themselves, which the query turns around on its way.
    """

    algorithm = "flatfit"
    full_name = "Flat and Fast Index Traverser"
    several_ranges = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._partials: list[State] = [NOTHING] * SMALLEST
        self._pointers: list[int] = [0] * SMALLEST

    def _insert(self, state: State) -> None:
        self._make_room()
        slot = self._end % self._capacity
        self._partials[slot], self._pointers[slot] = state, self._end + 1
        self._end += 1

    def _query(self) -> State:
        return self._from(self._head) if len(self) else NOTHING

    def _query_last(self, last: int) -> State:
        return self._from(self._end - last)

    def _from(self, start: int) -> State:
        """⊕ over [start, end)."""
        partials, pointers, end = self._partials, self._pointers, self._end
        capacity = len(partials)
        position = pointers[start % capacity]
        if position == end:
            return partials[start % capacity]
        old: list[tuple[int, State, int]] | None = None if self._undo is None else []
        before, slot = start, position % capacity
        while (after := pointers[slot]) != end:
            if old is not None:
                old.append((slot, partials[slot], after))
            pointers[slot] = before
            before, position = position, after
            slot = position % capacity
        answer = partials[slot]
        if old:
            self._note(_write, partials, pointers, old)
        try:
            while before != start:
                slot = before % capacity
                answer = self._combine(partials[slot], answer)
                position, before = before, pointers[slot]
                partials[slot], pointers[slot] = answer, end
        except BaseException:
            while before != start:
                slot = before % capacity
                position, before, pointers[slot] = before, pointers[slot], position
            raise
        # The first one stays short: with one query it leaves the window before its next use,
        # and the counts of the paper's examples follow from this rule.
        return self._combine(partials[start % capacity], answer)

    def _resize(self, capacity: int) -> None:
        partials: list[State] = [NOTHING] * capacity
        pointers = [0] * capacity
        old = len(self._partials)
        for position in range(self._head, self._end):
            partials[position % capacity] = self._partials[position % old]
            pointers[position % capacity] = self._pointers[position % old]
        self._partials, self._pointers = partials, pointers

    def _held(self) -> int:
        return len(self._partials) + len(self._pointers)

    def _check(self) -> None:
        assert len(self) <= len(self._partials)
        for position in range(self._head, self._end):
            pointer = self._pointers[position % len(self._pointers)]
            assert position < pointer <= self._end, (position, pointer, self._end)
            assert self._partials[position % len(self._partials)] is not NOTHING


def _write(partials: list[State], pointers: list[int], old: list[tuple[int, State, int]]) -> None:
    for slot, partial, pointer in old:
        partials[slot], pointers[slot] = partial, pointer
