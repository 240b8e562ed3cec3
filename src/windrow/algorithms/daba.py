"""DABA, the De-Amortized Banker's Aggregator (section 4 of paper 003)."""

from __future__ import annotations

from functools import partial

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.chunked_queue import ChunkedQueue


class Daba(Aggregator):
    """At most 4 ⊕ an insert, 3 an evict, 1 a query: always, not on average.

    Two queues side by side, the values and the aggregates; the pointers F ≤ L ≤ R ≤ A ≤ B ≤ E
    cut them into sublists that are aggregated to their left or to their right end:

        F ─────────── L ─────── R ─────── A ─────── B ─────── E
        │←── … B−1    │←─ … R−1 │ R … ──→ │←─ … B−1 │ B … ──→ │
        └──────────────── front list ───────────────┴─ back ──┘

    It is Two-Stacks with the flip spread out: each operation moves the inner pointers by one
    step (`_fixup`), so that the reversal of the back list is done just when it is needed.
    """

    algorithm = "daba"
    full_name = "De-Amortized Banker's Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._vals = ChunkedQueue()
        self._aggs = ChunkedQueue()
        self._l = self._r = self._a = self._b = 0
        self._noted_end = 0  # where the window ended when `whole` began

    def __len__(self) -> int:
        return len(self._vals)

    def _insert(self, state: State) -> None:
        vals, aggs = self._vals, self._aggs
        end = vals.end
        agg = state if self._b == end else self._combine(aggs[end - 1], state)
        self._note_ends()
        vals.append(state)
        aggs.append(agg)
        try:
            self._fixup()
        except BaseException:
            vals.end = aggs.end = end
            raise

    def _evict(self, k: int) -> None:
        self._vals.drop(0)  # frees what earlier ones have left, and none that may have to return
        self._aggs.drop(0)
        if k == 1:
            self._evict_one_by_one(1)
        else:
            self.whole(self._evict_one_by_one, k)

    def _evict_one_by_one(self, k: int) -> None:
        vals, aggs = self._vals, self._aggs
        self._note_ends()
        for _ in range(k):
            vals.head += 1
            aggs.head += 1
            try:
                self._fixup()
            except BaseException:
                vals.head -= 1
                aggs.head -= 1
                raise

    def _query(self) -> State:
        aggs, back = self._aggs, self._b
        sum_front = aggs[aggs.head] if aggs.head != back else NOTHING
        sum_back = aggs[aggs.end - 1] if aggs.end != back else NOTHING
        return self._plus(sum_front, sum_back)

    def _fixup(self) -> None:
        """One step of the reversal. Nothing is written before the last ⊕ has returned."""
        vals, aggs = self._vals, self._aggs
        front, end = vals.head, vals.end
        if front == self._b:  # singleton, or empty
            self._l = self._r = self._a = self._b = end
            return
        left, right, acc, back = self._l, self._r, self._a, self._b
        if left == back:  # flip: the front and back lists become the left and right ones
            left, right, acc, back = front, back, end, end
        if left == right:  # shift
            left, right, acc = left + 1, right + 1, acc + 1
        else:  # shrink
            sum_left = aggs[left]
            sum_right = aggs[acc - 1] if right != acc else NOTHING
            sum_acc = aggs[acc] if acc != back else NOTHING
            whole = self._plus(self._plus(sum_left, sum_right), sum_acc)
            newest = self._plus(vals[acc - 1], sum_acc)
            if self._undo is not None and left < self._noted_end:  # else it came with this `whole`
                self._undo.append(partial(aggs.__setitem__, left, sum_left))
                if acc - 1 < self._noted_end:
                    self._undo.append(partial(aggs.__setitem__, acc - 1, aggs[acc - 1]))
            aggs[left] = whole
            aggs[acc - 1] = newest
            left, acc = left + 1, acc - 1
        self._l, self._r, self._a, self._b = left, right, acc, back

    def _note_ends(self) -> None:
        """Note both ends of the queues, if this is the first step of `whole`."""
        if self._undo is not None and not self._undo:
            self._noted_end = self._vals.end
            self._undo += self._vals.mark(), self._aggs.mark()

    def _check(self) -> None:
        """The order of the pointers and the size invariants of Lemma 4.1."""
        f, left, right, acc, back, end = self._pointers()
        assert f <= left <= right <= acc <= back <= end, self._pointers()
        self._vals._check()
        self._aggs._check()
        assert (f, end) == (self._aggs.head, self._aggs.end)
        in_front, in_back = back - f, end - back
        if in_front == 0:
            assert in_back == 0, self._pointers()
            return
        inner = (right - left) + (acc - right) + (back - acc)
        assert inner + 1 == in_front - in_back, self._pointers()
        assert right - left == acc - right, self._pointers()

    def _pointers(self) -> tuple[int, int, int, int, int, int]:
        return self._vals.head, self._l, self._r, self._a, self._b, self._vals.end
