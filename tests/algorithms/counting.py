"""What counts ⊕, and the example that the papers work through."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from windrow import aggregation
from windrow.aggregations.custom import Custom
from windrow.algorithms.base import Aggregator

SIZES = [1, 2, 3, 4, 5, 7, 8, 16, 33, 100]
# Section 3.2 of FlatFIT's paper: the largest of the last five values, and of the last two.
STREAM = (2, 4, 0, 3, 7, 6, 1, 8, 9, 5)
Q1 = [2, 4, 4, 4, 7, 7, 7, 8, 9, 9]
Q2 = [2, 4, 4, 3, 7, 7, 6, 8, 9, 9]


class Counting:
    """A maximum that counts its combines (by thread) and inverses."""

    def __init__(self) -> None:
        self.by_thread: Counter[int] = Counter()
        self.inverses = 0

    @property
    def n(self) -> int:
        return sum(self.by_thread.values())

    @property
    def here(self) -> int:
        return self.by_thread[threading.get_ident()]

    def combine(self, a: Any, b: Any) -> Any:
        self.by_thread[threading.get_ident()] += 1
        return a if a >= b else b

    def add(self, a: Any, b: Any) -> Any:
        self.by_thread[threading.get_ident()] += 1
        return a + b

    def subtract(self, total: Any, old: Any) -> Any:
        self.inverses += 1
        return total - old

    @property
    def max(self) -> Custom:
        return aggregation(lift=float, combine=self.combine, lower=float, selective=True)

    @property
    def sum(self) -> Custom:
        return aggregation(lift=int, combine=self.add, lower=int, inverse=self.subtract)

    @contextmanager
    def spent(self) -> Iterator[Callable[[], int]]:
        before = self.n
        yield lambda: self.n - before


def slides(swag: Aggregator, counting: Counting, n: int, rounds: int) -> Iterator[tuple[int, ...]]:
    """Fill a window of n, then slide it; yields the ⊕ of each evict, insert and query."""
    source = random.Random(n)
    for _ in range(n):
        swag.insert(source.random())
    for _ in range(rounds):
        start = counting.n
        swag.evict()
        evicted = counting.n
        swag.insert(source.random())
        inserted = counting.n
        swag.query()
        yield evicted - start, inserted - evicted, counting.n - inserted


def count_reads(swag: Any) -> Callable[[], int]:
    """Make the levels' queues count what is read of them."""
    reads = 0
    original = type(swag._levels[0])

    class CountingQueue(original):  # type: ignore[misc, valid-type]
        __slots__ = ()

        def __getitem__(self, position: int) -> Any:
            nonlocal reads
            reads += 1
            return super().__getitem__(position)

    for queue in swag._levels:
        queue.__class__ = CountingQueue
    return lambda: reads
