"""A cache of one level's nodes, which reads ahead while they are read in order."""

from __future__ import annotations

from typing import Any

MISSING: Any = object()


class LevelCache:
    """Nodes by position, at most about twice `capacity`, and which ones to read ahead.

    When values leave one by one, the nodes of a level are read in order, each or every second one.
    Such a run reads ahead 2 more nodes, then 4, 8, … up to `capacity`, each time that half of the
    last ones are used up. A read elsewhere, as by an eviction of many, starts a new run and reads
    nothing ahead. So a run costs one read a node, and a jump one read.

    >>> cache = LevelCache(512)
    >>> [cache.follow(m) for m in (10, 11, 12, 13, 14)]
    [range(0, 0), range(12, 14), range(0, 0), range(14, 18), range(0, 0)]
    """

    __slots__ = ("_last", "_size", "_wanted", "capacity", "nodes")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.nodes: dict[int, Any] = {}
        self._last = -3  # the last position read
        self._size = 1  # how many were wanted last
        self._wanted = 0  # up to which position they were

    def follow(self, m: int) -> range:
        """Note that position m is read; return the positions to read ahead now. O(1)."""
        step = m - self._last
        if not step:
            return _NOTHING
        self._last = m
        if not 0 < step <= 2:
            self._size, self._wanted = 1, m
            return _NOTHING
        if 2 * (self._wanted - m) > self._size * step:
            return _NOTHING
        start = max(self._wanted, m + step)
        self._size = min(self.capacity, 2 * self._size)
        self._wanted = start + self._size * step
        return range(start, self._wanted, step)

    def add(self, m: int, state: Any, first: int) -> None:
        """Keep a node; those before `first`, which left the window, make room. Amortised O(1)."""
        self.nodes[m] = state
        if len(self.nodes) > 2 * self.capacity:
            self.nodes = {k: node for k, node in self.nodes.items() if k >= first}
            if 4 * len(self.nodes) > 7 * self.capacity:
                self.nodes = {m: state}  # single reads far from the head, which are rare


_NOTHING = range(0)
