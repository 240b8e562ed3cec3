"""A stream of operations that any process can repeat from its number on, and its oracle.

    python -m tests.stores.stream KIND WHERE ALGORITHM START LOG

opens the window, does the operations from START on without end, and notes in LOG how many were
confirmed by `flush`. It is made to be killed; the next one has a window in Redis when the lease of
the one before has run out.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import deque

from windrow import aggregation, aggregator
from windrow.aggregations.base import Aggregation
from windrow.algorithms.stored import Stored
from windrow.stores import LmdbStore, RedisStore, RocksStore, Store, WindowInUse

PRIME = 1_000_003


def lift(value: int) -> tuple[int, int]:
    """A map x ↦ a·x + b: composing them depends on their order, and is exact."""
    return value % 1009 + 1, value % 997


def compose(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
    return f[0] * g[0] % PRIME, (g[0] * f[1] + g[1]) % PRIME


def lower(f: tuple[int, int]) -> tuple[int, int]:
    return f


AFFINE: Aggregation = aggregation(lift=lift, combine=compose, lower=lower)


def operation(number: int, length: int) -> tuple[str, int]:
    """The operation of that number, on a window of that length; always the same one."""
    chance = random.Random(number)
    if length > 700 or (length and chance.random() < 0.1):
        return "evict", chance.choice([1, 1, 1, chance.randrange(1, length + 1)])
    return "insert", chance.randrange(10**6)


class Model:
    """The same operations, on a list."""

    def __init__(self) -> None:
        self.values: deque[int] = deque()
        self.done = self.head = self.end = 0

    def step(self) -> None:
        what, argument = operation(self.done, len(self.values))
        if what == "insert":
            self.values.append(argument)
            self.end += 1
        else:
            for _ in range(argument):
                self.values.popleft()
            self.head += argument
        self.done += 1

    def answer(self) -> tuple[int, int] | None:
        return AFFINE.fold(map(lift, self.values)) if self.values else None

    def check(self, swag: Stored) -> None:
        """That `swag` holds these values, all the way down. It is empty afterwards."""
        assert (swag._head, swag._end) == (self.head, self.end)
        swag._check()
        values = list(self.values)
        while values:
            assert swag.query() == AFFINE.fold(map(lift, values))
            k = 1 + len(values) // 5
            swag.evict(k)
            del values[:k]
        assert len(swag) == 0


def step(swag: Stored, number: int) -> None:
    what, argument = operation(number, len(swag))
    if what == "insert":
        swag.insert(argument)
    else:
        swag.evict(argument)


def open_window(store: Store, algorithm: str) -> Stored:
    swag = aggregator(AFFINE, algorithm, store=store, window="w", buffer=32, cache=8)
    assert isinstance(swag, Stored)
    return swag


def open_store(kind: str, where: str) -> Store:
    if kind == "redis":
        return RedisStore(where, patience=1, lease=1.5)
    return RocksStore(where) if kind == "rocks" else LmdbStore(where)


def main(kind: str, where: str, algorithm: str, start: str, log: str) -> None:
    store = open_store(kind, where)
    while True:
        try:
            swag = open_window(store, algorithm)
            break
        except WindowInUse:
            time.sleep(0.02)
    number = int(start)
    confirmed = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.write(confirmed, b"ready\n")
    while True:
        step(swag, number)
        number += 1
        if number % 53 == 0:
            swag.flush()
            os.write(confirmed, b"%d\n" % number)


if __name__ == "__main__":
    main(*sys.argv[1:])
