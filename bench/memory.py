"""The memory of a window: a process of its own forks, fills it and tells."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from bench.alone import alone, private_memory, tell
from bench.experiment import Clock
from bench.measure import failure
from bench.points import TIME_IS_UP, Figure, Point
from windrow import Max, RocksStore, RollingState, aggregator, rolling

PIECE = 1 << 14


def memory_of(
    figure: Figure, contenders: Mapping[str, str], sizes: Sequence[int], clock: Clock
) -> Iterator[Point]:
    """Yield the memory in MB of windows of the sizes.

    A contender is KIND:ALGORITHM, where KIND is compiled, process or rocksdb.
    """
    grown: dict[tuple[str, int], float] = {}
    why = TIME_IS_UP
    names = list(contenders.values())
    try:
        seconds = max(1, round(clock.left / 3))
        for name, size, megabytes in alone(fill, seconds, names, sizes, seconds=clock.left):
            grown[name, size] = megabytes
    except TimeoutError:
        pass
    except Exception as error:
        why = failure(error)
    for name, contender in contenders.items():
        for size in sizes:
            if (contender, size) in grown:
                yield figure.point(name, size, max(grown[contender, size], 1e-3))
            else:
                yield figure.missing(name, size, why)


def fill(seconds: int, contenders: Sequence[str], sizes: Sequence[int]) -> None:
    """Tell by how many MB each window makes a fork of this process grow.

    Each is filled in a fork: memory that an earlier window gave back would be found again. Who
    takes too long is ended by an alarm, and is left out of the larger sizes.
    """
    for name in contenders:  # loads and compiles; not RocksDB, whose threads a fork loses
        with ExitStack() as stack:
            _window(name.replace("rocksdb", "process"), 1, stack)()
    gone = set()
    for size in sizes:
        for name in contenders:
            if name in gone:
                continue
            child = os.fork()
            if not child:
                signal.alarm(seconds)
                _tell_growth(name, size)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                gone.add(name)


def _tell_growth(name: str, size: int) -> None:
    with ExitStack() as stack:
        before = private_memory()["private"]
        window = _window(name, size, stack)
        window()
        tell([name, size, (private_memory()["private"] - before) / 2**20])


def _window(name: str, size: int, stack: ExitStack) -> Callable[[], Any]:
    """Return what fills a window of the size and holds it."""
    kind, _, algorithm = name.partition(":")
    if kind == "compiled":
        return partial(_stream, size, algorithm, RollingState())
    options: dict[str, Any] = {}
    if kind == "rocksdb":
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-bench-"))
        options["store"] = stack.enter_context(RocksStore(folder))
    swag = aggregator(Max(), algorithm, **options)
    return partial(_fill, swag, size)


def _fill(swag: Any, size: int) -> None:
    for start in range(0, size, PIECE):
        values = range(start, min(start + PIECE, size))
        swag.extend(i * 7919 % 1_000_003 for i in values)


def _stream(size: int, algorithm: str, state: RollingState) -> None:
    values = np.random.default_rng(1).random(PIECE)
    for start in range(0, size + 1, PIECE):
        piece = values[: min(PIECE, size + 1 - start)]
        rolling(piece, Max(), rows=size, algorithm=algorithm, state=state)
