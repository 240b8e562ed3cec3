"""DABA, the De-Amortized Banker's Aggregator (section 4 of paper 003)."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING
from windrow.algorithms.deamortized import DeAmortized


class Daba(DeAmortized):
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
        super().__init__(aggregation, queues=2)
        self._vals, self._aggs = self._queues

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

    def _query(self) -> State:
        aggs, back = self._aggs, self._b
        sum_front = aggs[aggs.head] if aggs.head != back else NOTHING
        sum_back = aggs[aggs.end - 1] if aggs.end != back else NOTHING
        return self._plus(sum_front, sum_back)

    def _fixup(self) -> None:
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
            self._note_state(aggs, left)
            self._note_state(aggs, acc - 1)
            aggs[left] = whole
            aggs[acc - 1] = newest
            left, acc = left + 1, acc - 1
        self._l, self._r, self._a, self._b = left, right, acc, back
