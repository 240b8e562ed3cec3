"""Log MTA, the Monoid Tree Aggregator (section 4.1 of paper 001)."""

from __future__ import annotations

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING
from windrow.algorithms.chunked_queue import ChunkedQueue
from windrow.algorithms.levels import LevelledTree


class LogMta(LevelledTree):
    """O(log n) ⊕ an insert and an evict, however many leave at once; none a query.

    A binary tree as a list of queues, one a level. Node m of level l is the ⊕ of the window's
    values at the positions [m·2^l, (m+1)·2^l); at the two sides it has what is there of them:

        level 2   [   0   |    4    ]        root pair: their ⊕ is the result
        level 1   [ 2 |  4  |  6    ]
        level 0   [3|  4 | 5 |  6   ]        window 3 … 6

    Inserting renews the right side of the tree, evicting drops nodes from the left end of every
    queue and renews the left side.
    """

    algorithm = "log_mta"
    full_name = "Logarithmic Monoid Tree Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._total: State = NOTHING
        self._gone: list[ChunkedQueue] = []  # levels that fell away, to be freed little by little

    def _insert(self, state: State) -> None:
        head, position = self._head, self._end
        top = _height(head, position + 1)
        side = [state]  # the right side of the tree, by level
        for level in range(1, top + 1):
            child = position >> (level - 1)
            has_sibling = child & 1 and child > head >> (level - 1)
            sibling = self._levels[level - 1][child - 1] if has_sibling else NOTHING
            side.append(self._plus(sibling, side[-1]))
        other = NOTHING  # the left node of the root pair
        if head >> top != position >> top:
            grown = top == len(self._levels)
            other = self._join(top, head >> top) if grown else self._levels[top][head >> top]
        total = self._plus(other, side[-1])
        if top == len(self._levels):
            self._levels = [*self._levels, self._queue(top, head >> top)]
            if other is not NOTHING:
                self._levels[top].append(other)
        for level, node in enumerate(side):
            self._put(self._levels[level], position >> level, node)
        self._end, self._total = position + 1, total
        if self._gone and not self._gone[-1].release():
            self._gone.pop()

    def _evict(self, k: int) -> None:
        head, end = self._head + k, self._end
        if head == end:
            self._remove_levels(0)
            self._levels, self._total = [self._queue(0, end)], NOTHING
            self._head = end
            self._drop_times(k)
            return
        top = _height(head, end)
        side = [self._levels[0][head]]  # the left side of the tree, by level
        for level in range(1, top + 1):
            child = head >> (level - 1)
            has_sibling = not child & 1 and child < (end - 1) >> (level - 1)
            sibling = self._levels[level - 1][child + 1] if has_sibling else NOTHING
            side.append(self._plus(side[-1], sibling))
        other = NOTHING
        if head >> top != (end - 1) >> top:
            other = self._levels[top][(end - 1) >> top]
        self._total = self._plus(side[-1], other)
        self._remove_levels(top + 1)
        for level, node in enumerate(side):
            queue = self._levels[level]
            if self._undo is not None:  # also behind inserts: it is another node that changes
                self._undo.append(queue.mark(head >> level))
            queue.drop((head >> level) - queue.head)
            queue[head >> level] = node
        self._head = head
        self._drop_times(k)

    def _remove_levels(self, first: int) -> None:
        """Remove the levels from `first` on; what they hold is freed by later inserts."""
        gone = self._levels[first:]
        for queue in gone:
            self._mark(queue)
            queue.drop(len(queue))
        self._gone = [*self._gone, *gone]
        self._levels = self._levels[:first]

    def _query(self) -> State:
        return self._total

    def _query_last(self, last: int) -> State:
        """At most log₂ n ⊕: from the oldest value always the largest node that begins there."""
        start, result = self._end - last, NOTHING
        while start < self._end:
            level = len(self._levels) - 1
            if start:
                level = min(level, (start & -start).bit_length() - 1)
            result = self._plus(result, self._levels[level][start >> level])
            start += 1 << level
        return result

    def _join(self, level: int, m: int) -> State:
        """Node m of a level that does not exist yet, from the level below."""
        below = self._levels[level - 1]
        left = below[2 * m] if 2 * m >= below.head else NOTHING
        return self._plus(left, below[2 * m + 1])

    def _put(self, queue: ChunkedQueue, position: int, node: State) -> None:
        """Write the newest node of a level, which may be there already."""
        if position == queue.end:
            self._mark(queue)
            queue.append(node)
        else:
            self._mark(queue, position)
            queue[position] = node

    def _check(self) -> None:
        head, end = self._head, self._end
        if head == end:
            assert self._total is NOTHING
            return
        assert len(self._levels) == _height(head, end) + 1, (head, end, len(self._levels))
        for level, queue in enumerate(self._levels):
            queue._check()
            assert (queue.head, queue.end) == (head >> level, ((end - 1) >> level) + 1), level


def _height(head: int, end: int) -> int:
    """Return the lowest level on which the window [head, end) has at most two nodes."""
    level = max(0, (end - head - 1).bit_length() - 2)
    while ((end - 1) >> level) - (head >> level) > 1:
        level += 1
    return level
