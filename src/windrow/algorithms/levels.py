"""What AMTA and Log MTA share: a binary tree as a list of queues, one a level (paper 001)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import Aggregator, no_time, no_times, times_of
from windrow.algorithms.chunked_queue import ChunkedQueue
from windrow.errors import InvalidValue


def blocks(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The fewest nodes (level, m) that make up the positions [start, end), left to right.

    >>> list(blocks(1, 8))
    [(0, 1), (1, 1), (2, 1)]
    """
    while start < end:
        largest = (end - start).bit_length() - 1
        aligned = (start & -start).bit_length() - 1 if start else largest
        level = min(largest, aligned)
        yield level, start >> level
        start += 1 << level


class LevelledTree(Aggregator):
    """A window of the positions [head, end), and the nodes of a tree above them.

    Node m of level l is an aggregate of the positions [m·2^l, (m+1)·2^l). Where values have times,
    those are one more level, in which position p is the time of the value there.
    """

    bulk_evict = True
    prefix_search = True
    several_ranges = True
    keeps_times = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._head = self._end = 0
        self._levels = [self._queue(0, 0)]
        self._times: ChunkedQueue | None = None

    def __len__(self) -> int:
        return self._end - self._head

    def insert(self, value: Any, at: Any = None) -> None:
        """Add `value` as the newest; `at` is its time, which must not be before the last one."""
        if at is not None or self._times is not None:
            self._check_time(at)
        super().insert(value)
        if at is not None:
            if self._times is None:
                self._times = self._times_queue(self._end - 1)
            self._mark(self._times)
            self._times.append(at)

    def extend(self, values: Iterable[Any], at: Iterable[Any] | None = None) -> None:
        """Insert all of `values`, in order, with a time for each if `at` is given: all or none."""
        if at is None:
            self._check_time(None)
            super().extend(values)
            return
        values = list(values)
        self.atomically(self._insert_timed, zip(values, times_of(len(values), at), strict=True))

    def _insert_timed(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        for value, at in pairs:
            self.insert(value, at)

    def _check_time(self, at: Any) -> None:
        """Raise unless `at` goes with the times so far: each value has one, or none has."""
        if at is None and self._times is not None:
            raise InvalidValue("insert: the window's values have times; give this one its at=")
        if at is None:
            return
        if self._times is None and len(self):
            raise no_times("insert", at)
        if at != at:
            raise no_time("insert", at)
        if self._times is not None and len(self) and at < (newest := self._times[self._end - 1]):
            raise InvalidValue(
                f"insert: at={at!r} is before the newest time, {newest!r}, and {self.algorithm} "
                f"keeps values in the order of their arrival; take fiba or flatfat"
            )

    @property
    def oldest_time(self) -> Any:
        """The time of the oldest value; None where values have no times."""
        return self._times[self._head] if self._times is not None and len(self) else None

    def count_older(self, goes: Callable[[Any], object]) -> int:
        """Return how many of the oldest values have times that satisfy `goes`.

        O(log k) reads for a result of k, by steps that double and are then halved.

        >>> from windrow import Sum, aggregator
        >>> swag = aggregator(Sum(), algorithm="amta")
        >>> for t in (10, 20, 20, 30): swag.insert(1, at=t)
        >>> swag.count_older(lambda t: t < 25)
        3
        """
        if self._times is None:
            return 0
        times, low, end, step = self._times, self._head, self._end, 1
        while low + step <= end and goes(times[low + step - 1]):
            low += step
            step = low - self._head  # 1, 1, 2, 4, …
        high = min(low + step - 1, end)
        while low < high:
            middle = (low + high) // 2
            if goes(times[middle]):
                low = middle + 1
            else:
                high = middle
        return low - self._head

    def _drop_times(self, k: int) -> None:
        """Remove the k oldest times, with their values."""
        if self._times is not None:
            self._mark(self._times)
            self._times.drop(k)

    def _queue(self, level: int, start: int) -> ChunkedQueue:
        """Return an empty level whose first node will be `start`."""
        return ChunkedQueue(start)

    def _times_queue(self, start: int) -> ChunkedQueue:
        """Return an empty queue of times, the first of which will be that of position `start`."""
        return ChunkedQueue(start)

    def _mark(self, queue: ChunkedQueue, position: int | None = None) -> None:
        """Note a level's ends, and its node at `position`, if a step of `atomically` changes them.

        Of several inserts only the first may change a node that was there before them.
        """
        if self._undo is not None and queue.noted != self._operations:
            queue.noted = self._operations
            self._undo.append(queue.mark(position))

    def _count_while(self, goes: Callable[[State], bool]) -> int:
        levels, head = self._levels, self._head
        return self._search(lambda level, m: levels[level][m], head, self._end, goes) - head
