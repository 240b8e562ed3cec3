"""DABA Lite (Tangwongsan, Hirzel and Schneider, VLDB Journal 2021): DABA in one queue."""

from __future__ import annotations

from functools import partial

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.chunked_queue import ChunkedQueue


class DabaLite(Aggregator):
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
        super().__init__(aggregation)
        self._states = ChunkedQueue()
        self._l = self._r = self._a = self._b = 0
        self._middle: State = NOTHING
        self._total: State = NOTHING
        self._noted_end = 0  # where the window ended when `whole` began

    def __len__(self) -> int:
        return len(self._states)

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

    def _evict(self, k: int) -> None:
        self._states.drop(0)  # frees what earlier ones have left, and none that may have to return
        if k == 1:
            self._evict_one_by_one(1)
        else:
            self.whole(self._evict_one_by_one, k)

    def _evict_one_by_one(self, k: int) -> None:
        states = self._states
        self._note_ends()
        for _ in range(k):
            states.head += 1
            try:
                self._fixup()
            except BaseException:
                states.head -= 1
                raise

    def _query(self) -> State:
        states = self._states
        front = states[states.head] if states.head != self._b else NOTHING
        return self._plus(front, self._total)

    def _fixup(self) -> None:
        """One step of the reversal. Nothing is written before the last ⊕ has returned."""
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
            self._note_state(left)
            self._note_state(acc - 1)
            states[left] = whole
            states[acc - 1] = newest
            left, acc = left + 1, acc - 1
        self._l, self._r, self._a, self._b = left, right, acc, back
        self._middle, self._total = middle, total

    def _note_ends(self) -> None:
        """Note both ends of the queue, if this is the first step of `whole`."""
        if self._undo is not None and not self._undo:
            self._noted_end = self._states.end
            self._undo.append(self._states.mark())

    def _note_state(self, position: int) -> None:
        """Note what lies at `position`, unless it came with this `whole`."""
        if self._undo is not None and position < self._noted_end:
            states = self._states
            self._undo.append(partial(states.__setitem__, position, states[position]))

    def _held(self) -> int:
        """Return how many states there are: n, and two totals at most."""
        return len(self) + (self._total is not NOTHING) + (self._middle is not NOTHING)

    def _check(self) -> None:
        """The order of the pointers and the size invariants of DABA."""
        pointers = self._pointers()
        f, left, right, acc, back, end = pointers
        assert f <= left <= right <= acc <= back <= end, pointers
        self._states._check()
        assert (self._total is NOTHING) == (back == end), pointers
        assert self._held() <= len(self) + 2, self._held()
        in_front, in_back = back - f, end - back
        if in_front == 0:
            assert in_back == 0, pointers
            return
        assert (back - left) + 1 == in_front - in_back, pointers
        assert right - left == acc - right, pointers

    def _pointers(self) -> tuple[int, int, int, int, int, int]:
        return self._states.head, self._l, self._r, self._a, self._b, self._states.end
