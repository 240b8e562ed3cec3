"""Windows that are ready to slide: an algorithm's compiled loop, or the interpreted one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.algorithms import aggregator
from windrow.bench.clock import Clock
from windrow.bench.measuring import timed
from windrow.bench.trials import Make
from windrow.kernels.rolling import RollingState, rolling

EACH_ALIKE = ("recalculate", "flatfat", "b_int")  # every slide costs the same: few will do
PIECE = 1 << 12
TO_FILL = "the window was not full in its share of the time"
Aggregations = Callable[[], Aggregation]


class Compiled:
    """A stream through an algorithm's compiled loop, its window full.

    The answers of a run are thrown away, piece by piece, so that their memory is found again.
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
        self.algorithm, self.aggregation, self.w = algorithm, aggregation, w
        self.values = values
        self.least = min(w, 256) if algorithm in EACH_ALIKE else max(w, 256)
        self.state = RollingState()
        self.threads = 2 if algorithm == "pba" else 1
        self.first = timed(lambda: self.run(1))[0]
        clock = Clock(seconds)
        for _ in range(0, 2 * w, PIECE):
            self.run(min(PIECE, 2 * w))
            if clock.over:
                raise TimeoutError(TO_FILL)

    def run(self, events: int) -> Any:
        """Slide by so many values."""
        size = self.values.size
        for start in range(0, events, size):
            rolling(
                self.values[: min(size, events - start)],
                self.aggregation,
                rows=self.w,
                algorithm=self.algorithm,
                threads=self.threads,
                state=self.state,
            )


class Interpreted:
    """A window of `windrow.aggregator` that is full: evict, insert and query for each event."""

    most = 1 << 20

    def __init__(
        self,
        algorithm: str,
        aggregation: Aggregation,
        values: Sequence[Any],
        w: int,
        seconds: float,
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
        """Slide by so many values."""
        evict, insert, query = self.swag.evict, self.swag.insert, self.swag.query
        for value in itertools.islice(self.source, events):
            evict()
            insert(value)
            query()


def compiled(algorithm: str, aggregation: Aggregations, values: NDArray[Any]) -> Make:
    """Makes compiled windows of any length."""
    return lambda w, seconds: Compiled(algorithm, aggregation(), values, w, seconds)


def interpreted(
    algorithm: str, aggregation: Aggregations, values: Sequence[Any], **options: Any
) -> Make:
    """Makes interpreted windows of any length."""
    return lambda w, seconds: Interpreted(algorithm, aggregation(), values, w, seconds, **options)


def whole_numbers(values: NDArray[np.float64], largest: float = 1e6) -> NDArray[np.int64]:
    """The values as whole numbers from 0 to `largest`, in the same order of size."""
    low, high = float(values.min()), float(values.max())
    return ((values - low) * (largest / max(high - low, 1e-300))).astype(np.int64)
