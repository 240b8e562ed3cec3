"""SlickDeque: keep only the values that may still be a result."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from functools import partial
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.subtract_on_evict import SubtractOnEvict
from windrow.errors import InvalidValue


class SlickDeque(Aggregator):
    """Fewer than 2 ⊕ a value, amortised; none a query.

    For a *selective* aggregation: a new value drives out those before it that lose to it, for
    none of them will ever be a result again. What remains beats everything behind it, so the
    first node is the result. Node i is (position, state):

        ┌─────────┬─────────┬──────────┐
        │ (3, 9)  │ (7, 6)  │ (11, 2)  │    max of the window;  a new 7 drives out 2 and 6
        └─────────┴─────────┴──────────┘

    For an *invertible* one the window is its running total, and the inverse takes the oldest away.
    """

    algorithm = "slick_deque"
    full_name = "SlickDeque"
    several_ranges = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._nodes: deque[tuple[int, State]] = deque()
        self._head = self._end = 0

    @classmethod
    def make(cls, aggregation: Aggregation, **options: Any) -> Aggregator:
        """Return the kind that the aggregation's algebra allows; selective where it is both."""
        selective = aggregation.selective or not aggregation.invertible
        return (cls if selective else InvertibleSlickDeque)(aggregation, **options)

    @classmethod
    def refuses(cls, aggregation: Aggregation) -> str | None:
        """Return why this algorithm cannot run `aggregation`; None if it can."""
        if aggregation.selective or aggregation.invertible:
            return None
        return (
            f"{cls.algorithm} needs a combine that returns one of its operands (selective) or that "
            f"has an inverse, and {aggregation!r} is neither; take two_stacks, daba or auto"
        )

    def __len__(self) -> int:
        return self._end - self._head

    def _insert(self, state: State) -> None:
        nodes = self._nodes
        losing = 0
        for _, older in reversed(nodes):
            winner = self._combine(older, state)
            if winner is older:
                break
            if winner is not state and winner != state:
                raise InvalidValue(
                    f"{self.aggregation!r} is declared selective, but combining {older!r} with "
                    f"{state!r} gave {winner!r}, which is neither"
                )
            losing += 1
        lost = [nodes.pop() for _ in range(losing)]
        if self._undo is not None:
            self._undo += partial(nodes.extend, lost[::-1]), nodes.pop
        nodes.append((self._end, state))
        self._end += 1

    def _evict(self, k: int) -> None:
        self._head += k
        nodes = self._nodes
        while nodes and nodes[0][0] < self._head:
            self._note(nodes.appendleft, nodes[0])
            nodes.popleft()

    def _query(self) -> State:
        return self._nodes[0][1] if self._nodes else NOTHING

    def _query_last(self, last: int) -> State:
        start = bisect_left(self._nodes, self._end - last, key=lambda node: node[0])
        return self._nodes[start][1]

    def _check(self) -> None:
        positions = [position for position, _ in self._nodes]
        assert positions == sorted(set(positions)), positions
        assert all(self._head <= p < self._end for p in positions), positions
        assert not len(self) or positions[-1] == self._end - 1, "the newest is always kept"


class InvertibleSlickDeque(SubtractOnEvict):
    """SlickDeque for an invertible aggregation."""

    algorithm = "slick_deque"
    full_name = "SlickDeque"
