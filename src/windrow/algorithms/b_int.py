"""B-Int, the base intervals of Arasu and Widom (as in papers 000 and 002)."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, SMALLEST
from windrow.algorithms.circle import Circle
from windrow.algorithms.levels import blocks


class BInt(Circle):
    """Amortised 1 ⊕ an insert (log₂ n at worst), none an evict, at most 2·log₂ n a query.

    Level l holds the aggregates of the dyadic intervals [m·2^l, (m+1)·2^l) of positions, on a
    circle: interval m lies in slot m mod ⌊capacity / 2^l⌋.

        level 2   [   0 … 3   |   4 … 7   ]
        level 1   [ 0 1 | 2 3 | 4 5 | 6 7 ]
        level 0   [0| 1 |2| 3 |4| 5 |6| 7 ]     window 1 … 6 = [1] ⊕ [2 3] ⊕ [4 5] ⊕ [6]

    An insert completes the intervals that end with it and touches no other; a query splits the
    window into the fewest intervals.
    """

    algorithm = "b_int"
    full_name = "Base intervals (B-Int)"
    several_ranges = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._levels = _empty_levels(SMALLEST)

    def _insert(self, state: State) -> None:
        self._make_room()
        position = self._end
        complete = [state]  # the intervals that end here, by level
        while len(complete) < len(self._levels):
            level = len(complete)
            if (position + 1) % (1 << level) or position + 1 - (1 << level) < self._head:
                break
            sibling = self._interval(level - 1, (position >> (level - 1)) - 1)
            complete.append(self._combine(sibling, complete[-1]))
        for level, aggregate in enumerate(complete):
            slots = self._levels[level]
            slots[(position >> level) % len(slots)] = aggregate
        self._end += 1

    def _query(self) -> State:
        return self._between(self._head, self._end)

    def _query_last(self, last: int) -> State:
        return self._between(self._end - last, self._end)

    def _between(self, start: int, end: int) -> State:
        """⊕ over [start, end)."""
        result: State = NOTHING
        for level, m in blocks(start, end):
            result = self._plus(result, self._interval(level, m))
        return result

    def _interval(self, level: int, m: int) -> State:
        slots = self._levels[level]
        return slots[m % len(slots)]

    def _resize(self, capacity: int) -> None:
        levels = _empty_levels(capacity)
        for level, slots in enumerate(levels[: len(self._levels)]):
            first = -(-self._head >> level)
            for m in range(first, self._end >> level):
                slots[m % len(slots)] = self._interval(level, m)
        self._levels = levels

    def _held(self) -> int:
        return sum(map(len, self._levels))

    def _check(self) -> None:
        assert len(self) <= self._capacity, (self._head, self._end, self._capacity)
        for level in range(len(self._levels)):
            for m in range(-(-self._head >> level), self._end >> level):
                assert self._interval(level, m) is not NOTHING, (level, m)


def _empty_levels(capacity: int) -> list[list[State]]:
    return [[NOTHING] * (capacity >> level) for level in range(capacity.bit_length())]
