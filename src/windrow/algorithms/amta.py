"""AMTA, the Amortized Monoid Tree Aggregator (section 4.2 of paper 001)."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING
from windrow.algorithms.levels import LevelledTree, blocks


class Amta(LevelledTree):
    """Amortised O(1) ⊕ an insert and an evict, O(log n) at worst, and for any number at once.

    A forest of complete trees as a list of queues, one a level: node m of level l is the ⊕ of
    the positions [m·2^l, (m+1)·2^l), written once, when its last value arrives. The result is
    the result pair R0 ⊕ R1, split at the position `_split`:

        level 2             [    4    ]
        level 1      [  2  ][  4  ][  6  ]
        level 0   [1][ 2 ][3][4][5][6][7] │ [8][9]      window 1 … 9
                  └──────── R0 ─────────┘ split └ R1 ┘

        stack:    ⊕ 2…7, ⊕ 4…7                       R0 without its first blocks, top first

    An insert adds to R1. An evict takes R0 from the top of the stack, which always begins one
    behind the oldest value, and refills it from the tree; when the split is reached, the whole
    window becomes R0. Evicting many is the same with one search down the tree.
    """

    algorithm = "amta"
    full_name = "Amortized Monoid Tree Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._split = 0
        self._r0: State = NOTHING
        self._r1: State = NOTHING
        self._both: State = NOTHING  # R0 ⊕ R1, where a query has made it
        self._stack: list[tuple[int, State]] = []  # (position, ⊕ from there to the split)

    def _insert(self, state: State) -> None:
        r1 = state if self._r1 is NOTHING else self._combine(self._r1, state)
        position = self._end
        nodes = [state]  # the nodes that this value completes, by level
        while not position + 1 & (1 << len(nodes)) - 1:
            level = len(nodes)
            if position + 1 - (1 << level) < self._head:
                break
            sibling = self._levels[level - 1][(position >> level - 1) - 1]
            nodes.append(self._combine(sibling, nodes[-1]))
        for level, node in enumerate(nodes):
            self._append(level, position >> level, node)
        self._r1, self._both, self._end = r1, NOTHING, position + 1

    def _evict(self, k: int) -> None:
        head = self._head + k
        if head == self._end:
            self._stack, self._r0, self._r1, self._split = [], NOTHING, NOTHING, head
        elif head >= self._split:
            self._restack(head, [], self._end)
            self._r1, self._split = NOTHING, self._end
        else:
            kept = len(self._stack)
            while kept and self._stack[kept - 1][0] < head:
                kept -= 1
            self._restack(head, self._stack[:kept], self._split)
        self._both = NOTHING
        self._drop(head)
        self._drop_times(k)

    def _restack(self, head: int, stack: list[tuple[int, State]], split: int) -> None:
        """Set R0 and the stack for a window that begins at `head`; `stack` has what remains."""
        r0 = NOTHING
        if stack and stack[-1][0] == head:
            r0 = stack.pop()[1]
        limit, suffix = stack[-1] if stack else (split, NOTHING)
        if head + 1 < limit:
            for level, m in reversed(list(blocks(head + 1, limit))):
                suffix = self._plus(self._levels[level][m], suffix)
                stack.append((m << level, suffix))
        if r0 is NOTHING:
            r0 = self._levels[0][head]
            if suffix is not NOTHING:
                r0 = self._combine(r0, suffix)
        self._r0, self._stack = r0, stack

    def _query(self) -> State:
        if self._both is NOTHING:
            self._both = self._plus(self._r0, self._r1)
        return self._both

    def _query_last(self, last: int) -> State:
        """At most 2·log₂ n ⊕: what the stack and R1 have of it, and the nodes before that."""
        start, limit, suffix = self._end - last, self._end, NOTHING
        if start <= self._split:
            limit, suffix = self._split, self._r1
            for position, part in reversed(self._stack):  # the oldest that is not before `start`
                if position >= start:
                    limit, suffix = position, self._plus(part, suffix)
                    break
        for level, m in reversed(list(blocks(start, limit))):
            suffix = self._plus(self._levels[level][m], suffix)
        return suffix

    def _append(self, level: int, m: int, node: State) -> None:
        if level == len(self._levels) or self._levels[level].end != m:
            # A new level, or one whose nodes up to m would begin before the window.
            above = self._levels[level + 1 :]
            self._levels = [*self._levels[:level], self._queue(level, m), *above]
        queue = self._levels[level]
        self._mark(queue)
        queue.append(node)

    def _drop(self, head: int) -> None:
        """Remove the nodes that begin before `head`; only the levels where one does are touched."""
        old, self._head = self._head, head
        for level, queue in enumerate(self._levels):
            first = -(-head >> level)
            if first == -(-old >> level):
                break
            self._mark(queue)
            queue.drop(max(0, min(first, queue.end) - queue.head))

    def _check(self) -> None:
        head, split, end = self._head, self._split, self._end
        assert head <= split <= end or head == end, (head, split, end)
        assert (self._r0 is NOTHING) == (head >= split), (head, split)
        assert (self._r1 is NOTHING) == (split >= end or head == end), (split, end)
        positions = [position for position, _ in self._stack]
        assert positions == sorted(positions, reverse=True), positions
        assert all(head < p < split for p in positions), (head, positions, split)
        assert not positions or positions[-1] == head + 1, (head, positions)
        assert self._both is NOTHING or head < end, (head, end)
        for level, queue in enumerate(self._levels):
            queue._check()
            whole = range(-(-head >> level), end >> level)
            assert all(queue.head <= m < queue.end for m in whole), (level, whole, queue.head)
