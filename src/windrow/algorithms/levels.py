"""What AMTA and Log MTA share: a binary tree as a list of queues, one a level (paper 001)."""

from __future__ import annotations

from collections.abc import Callable

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import Aggregator
from windrow.algorithms.chunked_queue import ChunkedQueue


class LevelledTree(Aggregator):
    """A window of the positions [head, end), and the nodes of a tree above them.

    Node m of level l is an aggregate of the positions [m·2^l, (m+1)·2^l).
    """

    bulk_evict = True
    prefix_search = True
    several_ranges = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._head = self._end = 0
        self._levels = [self._queue(0, 0)]

    def __len__(self) -> int:
        return self._end - self._head

    def _queue(self, level: int, start: int) -> ChunkedQueue:
        """Return an empty level whose first node will be `start`."""
        return ChunkedQueue(start)

    def _mark(self, queue: ChunkedQueue, position: int | None = None) -> None:
        """Note a level's ends, and its node at `position`, if a step of `whole` changes them.

        Of several inserts only the first may change a node that was there before them.
        """
        if self._undo is not None and queue.noted != self._wholes:
            queue.noted = self._wholes
            self._undo.append(queue.mark(position))

    def _count_while(self, goes: Callable[[State], bool]) -> int:
        levels, head = self._levels, self._head
        return self._search(lambda level, m: levels[level][m], head, self._end, goes) - head
