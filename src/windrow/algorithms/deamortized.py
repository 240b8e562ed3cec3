"""What DABA and DABA Lite share: the pointers of a reversal that goes on with every operation."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

from windrow.aggregations.base import Aggregation
from windrow.algorithms.base import Aggregator
from windrow.algorithms.chunked_queue import ChunkedQueue


class DeAmortized(Aggregator):
    """Queues of one length, cut into sublists by the pointers F ≤ L ≤ R ≤ A ≤ B ≤ E.

    F and E are the ends of the queues. Each operation moves the others by one step, by `_fixup`.
    """

    def __init__(self, aggregation: Aggregation, queues: int) -> None:
        super().__init__(aggregation)
        self._queues = tuple(ChunkedQueue() for _ in range(queues))
        self._l = self._r = self._a = self._b = 0
        self._noted_end = 0  # where the window ended when the operation began

    def __len__(self) -> int:
        return len(self._queues[0])

    @abstractmethod
    def _fixup(self) -> None:
        """Do one step of the reversal; nothing is written before the last ⊕ has returned."""

    def _evict(self, k: int) -> None:
        for queue in self._queues:
            queue.drop(0)  # frees what earlier ones have left, and none that may have to return
        if k == 1:
            self._evict_one_by_one(1)
        else:
            self.atomically(self._evict_one_by_one, k)

    def _evict_one_by_one(self, k: int) -> None:
        self._note_ends()
        for _ in range(k):
            for queue in self._queues:
                queue.head += 1
            try:
                self._fixup()
            except BaseException:
                for queue in self._queues:
                    queue.head -= 1
                raise

    def _note_ends(self) -> None:
        """Note the ends of the queues, if this is the first step of `atomically`."""
        if self._undo is not None and not self._undo:
            self._noted_end = self._queues[0].end
            self._undo += [queue.mark() for queue in self._queues]

    def _note_state(self, queue: ChunkedQueue, position: int) -> None:
        """Note what a queue has at `position`, unless it came with this operation."""
        if self._undo is not None and position < self._noted_end:
            self._undo.append(partial(queue.__setitem__, position, queue[position]))

    def _check(self) -> None:
        """Assert the order of the pointers and the size invariants of Lemma 4.1."""
        first = self._queues[0]
        pointers = first.head, self._l, self._r, self._a, self._b, first.end
        f, left, right, acc, back, end = pointers
        assert f <= left <= right <= acc <= back <= end, pointers
        for queue in self._queues:
            queue._check()
            assert (queue.head, queue.end) == (f, end), pointers
        in_front, in_back = back - f, end - back
        if in_front == 0:
            assert in_back == 0, pointers
            return
        assert (back - left) + 1 == in_front - in_back, pointers
        assert right - left == acc - right, pointers
