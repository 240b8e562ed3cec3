"""DABA Lite (Tangwongsan, Hirzel and Schneider, VLDB Journal 2021): DABA in one queue."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING
from windrow.algorithms.deamortized import DeAmortized


class DabaLite(DeAmortized):
    """At most 3 ⊕ an insert, 2 an evict, 1 a query: always, not on average.

    One queue; the pointers F ≤ L ≤ R ≤ A ≤ B ≤ E cut it into sublists that are values, or
    aggregated to their right end:

        F ─────────── L ─────── R ─────── A ─────── B ─────── E
        │ …B−1  ←     │ …R−1  ← │ values  │ …B−1  ← │ values  │
        └──────────────── front list ───────────────┴─ back ──┘
                                └──── middle ───────┘  total

    DABA keeps an aggregate beside each value of R…A and of the back. It needs two of them only,
    the total of the back and that of the middle, R…B, which stays the same while A moves down.
    """

    algorithm = "daba_lite"
    full_name = "De-Amortized Banker's Aggregator Lite"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation, queues=1)
        (self._states,) = self._queues
        self._middle: State = NOTHING
        self._total: State = NOTHING

    def _insert(self, state: State) -> None:
        states, old = self._states, self._total
        total = self._plus(old, state)
        self._note_ends()
        states.append(state)
        self._total = total
        try:
            self._fixup()
        except BaseException:
            states.end -= 1
            self._total = old
            raise

    def _query(self) -> State:
        states = self._states
        front = states[states.head] if states.head != self._b else NOTHING
        return self._plus(front, self._total)

    def _fixup(self) -> None:
        states = self._states
        front, end = states.head, states.end
        if front == self._b:  # singleton, or empty
            self._l = self._r = self._a = self._b = end
            self._middle = self._total = NOTHING
            return
        left, right, acc, back = self._l, self._r, self._a, self._b
        middle, total = self._middle, self._total
        if left == back:  # flip: the front and back lists become the left and right ones
            left, right, acc, back = front, back, end, end
            middle, total = total, NOTHING
        if left == right:  # shift
            left, right, acc = left + 1, right + 1, acc + 1
            middle = NOTHING
        else:  # shrink
            whole = self._plus(states[left], middle)
            newest = states[acc - 1]
            if acc != back:
                newest = self._combine(newest, states[acc])
            self._note_state(states, left)
            self._note_state(states, acc - 1)
            states[left] = whole
            states[acc - 1] = newest
            left, acc = left + 1, acc - 1
        self._l, self._r, self._a, self._b = left, right, acc, back
        self._middle, self._total = middle, total

    def _held(self) -> int:
        """Return how many states there are: n, and two totals at most."""
        return len(self) + (self._total is not NOTHING) + (self._middle is not NOTHING)

    def _check(self) -> None:
        super()._check()
        assert (self._total is NOTHING) == (self._b == self._states.end), self._total
        assert self._held() <= len(self) + 2, self._held()
