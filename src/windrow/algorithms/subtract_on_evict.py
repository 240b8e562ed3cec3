"""Subtract-on-Evict (figure 2 of paper 003): a running total, less what leaves."""

from __future__ import annotations

import itertools
from collections import deque
from math import isfinite

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator


class SubtractOnEvict(Aggregator):
    """1 ⊕ an insert, 1 inverse an evict, none a query.

        ┌────┬────┬─────┬──────┐
        │ v₀ │ v₁ │  …  │ vₙ₋₁ │    total = v₀ ⊕ … ⊕ vₙ₋₁      evict: total ⊖ v₀
        └────┴────┴─────┴──────┘

    Floats drift under subtraction, so `auto` takes it for exact aggregations only. Nothing can be
    subtracted from infinity or NaN: a total that holds one is made anew, with n ⊕.
    """

    algorithm = "subtract_on_evict"
    full_name = "Subtract on evict"
    needs_inverse = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._states: deque[State] = deque()
        self._total: State = NOTHING

    def __len__(self) -> int:
        return len(self._states)

    def _insert(self, state: State) -> None:
        total = self._plus(self._total, state)
        self._note_length(self._states)
        self._total = total
        self._states.append(state)

    def _evict(self, k: int) -> None:
        gone, total = list(itertools.islice(self._states, k)), NOTHING
        if k < len(self):
            total = self._total
            for state in gone:
                total = self.aggregation.inverse(total, state)
            if _is_lost(total):
                total = self._fold(itertools.islice(self._states, k, None))
        self._note(self._states.extendleft, gone[::-1])
        self._total = total
        for _ in gone:
            self._states.popleft()

    def _query(self) -> State:
        return self._total

    def _check(self) -> None:
        assert (self._total is NOTHING) == (not self._states), (self._total, self._states)


def _is_lost(state: State) -> bool:
    """Return whether a state holds a float that is not finite."""
    if isinstance(state, tuple):
        return any(map(_is_lost, state))
    return isinstance(state, float) and not isfinite(state)
