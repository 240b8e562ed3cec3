"""Two-Stacks (figure 1 of paper 003): a queue of two stacks that know their aggregates."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator


class TwoStacks(Aggregator):
    """1 ⊕ an insert, at most 1 a query; an evict is free, but for the flip: at most n ⊕.

        front (top at the left)              back (top at the right)
        ┌──────────┬─────┬──────┬──────┐     ┌──────┬─────┬───────────┐
        │ v₀⊕…⊕vₘ₋₁│  …  │ …⊕vₘ₋₁│ vₘ₋₁ │     │  vₘ  │  …  │  v_{n−1}  │
        └──────────┴─────┴──────┴──────┘     └──────┴─────┴───────────┘
         oldest: evict pops                   total = vₘ ⊕ … ⊕ vₙ₋₁

    The front needs only aggregates, the back only values and their total: when the front runs
    out, the back is flipped onto it and aggregated from its newest value down.
    """

    algorithm = "two_stacks"
    full_name = "Two-Stacks"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._front: list[State] = []
        self._back: list[State] = []
        self._back_total: State = NOTHING

    def __len__(self) -> int:
        return len(self._front) + len(self._back)

    def _insert(self, state: State) -> None:
        total = self._plus(self._back_total, state)
        self._note_length(self._back)
        self._back_total = total
        self._back.append(state)

    def _evict(self, k: int) -> None:
        if k > len(self._front):
            self._flip(k - len(self._front))
        else:
            front, rest = self._front, len(self._front) - k
            self._note(front.extend, front[rest:])
            del front[rest:]

    def _flip(self, leaving: int) -> None:
        """Turn the back, less its `leaving` oldest values, into the front."""
        front: list[State] = []
        total = NOTHING
        for state in reversed(self._back[leaving:]):
            total = self._plus(state, total)
            front.append(total)
        self._front, self._back, self._back_total = front, [], NOTHING

    def _query(self) -> State:
        return self._plus(self._front[-1] if self._front else NOTHING, self._back_total)

    def _check(self) -> None:
        assert (self._back_total is NOTHING) == (not self._back), self._back_total
