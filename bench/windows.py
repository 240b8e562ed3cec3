"""Windows that are ready to slide: an algorithm's compiled loop, or the interpreted one."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock
from bench.measure import Events, Step, nanoseconds, timed
from windrow import Aggregation, Max, RollingState, aggregation, aggregator, rolling

EACH_ALIKE = ("recalculate", "flatfat", "b_int")  # every slide costs the same: few will do
PIECE = 1 << 12
TO_FILL = "the window was not full in its share of the time"


class Compiled:
    """A stream through an algorithm's compiled loop, its window full.

    The results of a run are thrown away, piece by piece, so that their memory is found again.
    """

    most = 1 << 24

    def __init__(
        self,
        algorithm: str,
        aggregation: Aggregation,
        values: NDArray[Any],
        w: int,
        seconds: float,
    ) -> None:
        self.values = values
        self.least = min(w, 256) if algorithm in EACH_ALIKE else max(w, 256)
        self.roll = partial(
            rolling,
            aggregation=aggregation,
            rows=w,
            algorithm=algorithm,
            threads=2 if algorithm == "pba" else 1,
            state=RollingState(),
        )
        self.first = timed(lambda: self.run(1))[0]
        clock = Clock(seconds)
        for _ in range(0, 2 * w, PIECE):
            self.run(min(PIECE, 2 * w))
            if clock.over:
                raise TimeoutError(TO_FILL)

    def run(self, events: int) -> Any:
        for start in range(0, events, self.values.size):
            self.roll(self.values[: min(self.values.size, events - start)])


class Sliced(Compiled):
    """Max over slices: an event is a value, and every slide of them gives a result.

    `starts` are where the slices of `values` begin; a window is `w` slices.
    """

    def __init__(
        self,
        algorithm: str,
        values: NDArray[np.float64],
        starts: NDArray[np.int64],
        w: int,
        seconds: float,
    ) -> None:
        self.starts = starts
        super().__init__(algorithm, Max(), values, w, seconds)
        self.least = max(self.least, values.size)

    def run(self, events: int) -> Any:
        for _ in range(max(1, events // self.values.size)):
            self.roll(np.maximum.reduceat(self.values, self.starts))


class Interpreted:
    """A window of `windrow.aggregator` that is full: evict, insert and query for each event."""

    most = 1 << 20

    def __init__(
        self,
        algorithm: str,
        aggregation: Aggregation,
        values: Sequence[Any],
        w: int,
        seconds: float = float("inf"),
        **options: Any,
    ) -> None:
        self.least = min(w, 16) if algorithm in EACH_ALIKE else max(w, 16)
        self.swag = aggregator(aggregation, algorithm, **options)
        self.source = itertools.cycle(values)
        self.first = timed(lambda: self.swag.insert(next(self.source)))[0]
        clock = Clock(seconds)
        while len(self.swag) < w:
            self.swag.extend(itertools.islice(self.source, min(PIECE, w - len(self.swag))))
            if clock.over:
                raise TimeoutError(TO_FILL)

    def run(self, events: int) -> Any:
        evict, insert, query = self.swag.evict, self.swag.insert, self.swag.query
        for value in itertools.islice(self.source, events):
            evict()
            insert(value)
            query()

    @property
    def step(self) -> Step:
        evict, insert, query = self.swag.evict, self.swag.insert, self.swag.query

        def slide(value: Any) -> None:
            evict()
            insert(value)
            query()

        return slide


def interpreted_events(
    algorithm: str, aggregation: Aggregation, values: Sequence[Any], w: int
) -> Events:
    """Return what makes a full interpreted window, and times each event of it."""
    return lambda events: nanoseconds(Interpreted(algorithm, aggregation, values, w).step, events)


class Counting:
    """A maximum that counts its ⊕, exactly and by thread.

    >>> counting = Counting()
    >>> swag = counting.window("recalculate", 5)
    >>> swag.query(), counting.total
    (4, 4)
    """

    def __init__(self) -> None:
        self.by_thread: Counter[int] = Counter()

    @property
    def total(self) -> int:
        return sum(self.by_thread.values())

    @property
    def here(self) -> int:
        return self.by_thread[threading.get_ident()]

    def _combine(self, a: Any, b: Any) -> Any:
        self.by_thread[threading.get_ident()] += 1
        return a if a >= b else b

    def window(self, algorithm: str, n: int) -> Any:
        """Return a window of n values that is full; filling it has been counted."""
        counted = aggregation(lift=int, combine=self._combine, lower=int, selective=True)
        swag = aggregator(counted, algorithm)
        for i in range(n):
            swag.insert(i)
        return swag
