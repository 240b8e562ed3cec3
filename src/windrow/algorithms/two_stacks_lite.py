"""Two-Stacks Lite (Tangwongsan, Hirzel, Schneider, VLDB Journal 2021): Two-Stacks in one queue."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.chunked_queue import ChunkedQueue


class TwoStacksLite(Aggregator):
    """1 ⊕ an insert, at most 1 a query; an evict is free, but for the flip: at most n ⊕.

    One queue of n states and a total; a flip turns values into aggregates where they lie:

        F ───────────── B ─────────────────────── E
        │ …B−1  ←       │ values                  │      total = B ⊕ … ⊕ E−1
        └── front list ─┴────── back list ────────┘

    A flip goes from M down to the new oldest value. One that is broken off, because a ⊕ raised,
    stays as it is, and the next evict goes on with it; what lies behind M has a total of its own:

        F ───────────── B ───────── P ─────────── M ─────── E
        │ …B−1  ←       │ values    │ …M−1  ←     │ values  │
        └── front list ─┴──── total ──────────────┴─ newer ─┘
    """

    algorithm = "two_stacks_lite"
    full_name = "Two-Stacks Lite"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._states = ChunkedQueue()
        self._b = 0
        self._total: State = NOTHING
        self._newer: State = NOTHING
        self._flip = [0, 0]  # P and M, equal if no flip is broken off; a list outlives `atomically`
        self._noted_end = 0  # where the window ended when the operation began

    def __len__(self) -> int:
        return len(self._states)

    def _insert(self, state: State) -> None:
        if self._broken_off:
            newer = self._plus(self._newer, state)
            self._note_ends()
            self._newer = newer
        else:
            total = self._plus(self._total, state)
            self._note_ends()
            self._total = total
        self._states.append(state)

    def _evict(self, k: int) -> None:
        self._note_ends()
        head = self._states.head + k
        if head > self._b:
            if not self._broken_off:
                self._begin_flip(head)
            elif head > self._flip[1]:
                self._copy_flipped(head)
            self._flip_down_to(head)
        self._states.drop(k)

    def _begin_flip(self, head: int) -> None:
        """Let the back list, less what came with this operation, be the part that is flipped.

        Such values would be lost in the aggregates of older ones, if they had to go again.
        """
        states, end, newer = self._states, self._states.end, NOTHING
        if self._undo is not None:
            if head < self._noted_end < end:
                newer = self._fold(states[p] for p in range(self._noted_end, end))
                end = self._noted_end
            elif head >= self._noted_end:
                self._note(self._set_flip, *self._flip)
        self._newer = newer
        self._flip[:] = end, end

    def _flip_down_to(self, head: int) -> None:
        """Aggregate from M down to `head`; every step leaves a window that is whole."""
        states, (p, end) = self._states, self._flip
        while p > head:
            p -= 1
            if p < end - 1:
                states[p] = self._combine(states[p], states[p + 1])
            self._flip[0] = p
        if self._undo is not None and end <= self._noted_end:
            self._note(self._set_flip, p, end)
        self._b, self._total, self._newer = end, self._newer, NOTHING
        self._flip[0] = end

    def _copy_flipped(self, head: int) -> None:
        """Go past a flip that was broken off: its values stay where they are until this is done."""
        old, flipped = self._states, []
        total = NOTHING
        for p in range(old.end - 1, head - 1, -1):
            total = self._plus(old[p], total)
            flipped.append(total)
        states = ChunkedQueue(old.end - len(flipped))
        for state in reversed(flipped):
            states.append(state)
        states.head = old.head
        self._note(self._set_flip, *self._flip)
        self._states, self._newer = states, NOTHING
        self._flip[:] = head, states.end

    def _query(self) -> State:
        front = self._states[self._states.head] if self._states.head < self._b else NOTHING
        return self._plus(self._plus(front, self._total), self._newer)

    @property
    def _broken_off(self) -> bool:
        return self._flip[0] < self._flip[1]

    def _set_flip(self, flipped: int, end: int) -> None:
        self._flip[:] = flipped, end

    def _note_ends(self) -> None:
        """Note both ends of the queue, if this is the first step of `atomically`."""
        if self._undo is not None and not self._undo:
            self._noted_end = self._states.end
            self._undo.append(self._states.mark())

    def _held(self) -> int:
        """Return how many states there are: n, and two totals at most."""
        return len(self) + (self._total is not NOTHING) + (self._newer is not NOTHING)

    def _check(self) -> None:
        self._states._check()
        head, end = self._states.head, self._states.end
        flipped, limit = self._flip
        assert flipped <= limit <= end, (self._flip, end)
        assert self._b <= end, (head, self._b, end)
        assert (self._total is NOTHING) == (self._b == end), self._total
        assert (self._newer is NOTHING) or self._broken_off, self._newer
        assert self._held() <= len(self) + 2, self._held()
