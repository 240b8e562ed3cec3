"""Recalculate: keep the values, aggregate them anew for every result. The oracle of the tests."""

from __future__ import annotations

import itertools
from collections import deque

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator


class Recalculate(Aggregator):
    """n − 1 ⊕ a query, none for the rest; best for tiny windows and for states that are lists.

    ┌────┬────┬─────┬──────┐
    │ v₀ │ v₁ │  …  │ vₙ₋₁ │    query: v₀ ⊕ v₁ ⊕ … ⊕ vₙ₋₁
    └────┴────┴─────┴──────┘
    """

    algorithm = "recalculate"
    full_name = "Recalculate from scratch"
    several_ranges = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._states: deque[State] = deque()

    def __len__(self) -> int:
        return len(self._states)

    def _insert(self, state: State) -> None:
        self._note_length(self._states)
        self._states.append(state)

    def _evict(self, k: int) -> None:
        gone = [self._states.popleft() for _ in range(k)]
        self._note(self._states.extendleft, gone[::-1])

    def _query(self) -> State:
        return self._fold(self._states)

    def _query_last(self, last: int) -> State:
        return self._fold(itertools.islice(self._states, len(self) - last, None))

    def _check(self) -> None:
        assert NOTHING not in self._states, self._states
