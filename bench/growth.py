"""The memory of a process that answers many different queries, one after the other.

No two queries are the same: each has functions, expressions, parameters or types of its own, so
each compiles, binds and plans anew, as a service does that its users send queries to.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bench.alone import alone, private_memory, tell
from windrow import (
    Bloom,
    CountMin,
    HyperLogLog,
    Max,
    Mean,
    Sum,
    aggregation,
    rolling,
    shared,
    sliding,
    window,
)

STEPS = 10  # how often memory is told


def memory_after(queries: int) -> Iterator[tuple[int, float]]:
    """Yield how many queries a new process with an empty cache has answered, and its MB."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        yield from alone(answer_all, queries, WINDROW_CACHE_DIR=folder)


def answer_all(queries: int) -> None:
    """Answer so many different queries; tell the memory in MB ten times."""
    step = max(1, queries // STEPS)
    for i in range(queries):
        KINDS[i % len(KINDS)](i)
        if (i + 1) % step == 0:
            gc.collect()
            tell([i + 1, round(private_memory()["resident"] / 2**20, 1)])


def _own(i: int) -> Any:
    """Return an aggregation of functions that no other query has."""
    scale = i + 0.5
    if i % 2:
        return aggregation(lift=lambda v: v * scale, combine=lambda a, b: max(a, b), lower=float)
    return aggregation(
        lift=lambda v: (v, v * scale),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: s[1] - s[0],
    )


def _values(i: int) -> Any:
    dtypes = ("float64", "int64", "float32", "int16", "uint8")
    return np.arange(20).astype(dtypes[i // 7 % len(dtypes)])


def _table(i: int) -> pa.Table:
    values = pa.array(_values(i), mask=np.arange(20) % (i % 5 + 2) == 1)
    keys, order = pa.array(np.arange(20) % 3), pa.array(np.arange(20))
    return pa.table({"k": keys, "t": order, f"v{i}": values})


def _rolling_own(i: int) -> None:
    rolling(_values(i), _own(i), rows=3)


def _rolling_own_in_time(i: int) -> None:
    rolling(_values(i), _own(i), range=3, at=np.arange(20))


def _table_own(i: int) -> None:
    own = _own(i)
    query = sliding(partition_by="k", order_by="t", rows=i % 9 + 2, own=own(f"v{i}"))
    query(_table(i))


def _hopping_own(i: int) -> None:
    query = sliding(partition_by="k", order_by="t", range=6, slide=2, own=_own(i)(f"v{i}"))
    query(_table(i))


def _expression(i: int) -> None:
    query = sliding(
        partition_by="k",
        order_by="t",
        range=i + 1,
        most=Max(f"v{i} * {i} + {i % 17}.5"),
        mean=Mean(f"v{i} + {i}"),
        where=f"v{i} % {i % 5 + 2} = 1",
    )
    query(_table(i).to_pandas())


def _sketches(i: int) -> None:
    name = f"v{i}"
    sketches = (
        Bloom(name, bits=1 << i % 5 + 6, hashes=i % 7 + 1),
        CountMin(name, epsilon=1 / (i + 8), delta=1 / (i + 8)),
        HyperLogLog(name, precision=i % 9 + 4),
    )
    sliding(order_by="t", rows=i % 7 + 2, each=sketches[i // 9 % 3])(_table(i))


def _shared(i: int) -> None:
    queries = [
        sliding(order_by="t", range=size, slide=i % 3 + 1, total=Sum(f"v{i}"), own=_own(i)(f"v{i}"))
        for size in (6, 12)
    ]
    shared(*queries)(_table(i))


def _until(i: int) -> None:
    sliding(order_by="t", until=lambda total, old: total.s - old.s > i, s=Sum(f"v{i}"))(_table(i))


def _pushed(i: int) -> None:
    w = window(_own(i), rows=3)
    for value in range(5):
        w.push(float(value))


KINDS: tuple[Callable[[int], None], ...] = (
    _rolling_own,
    _table_own,
    _expression,
    _rolling_own_in_time,
    _sketches,
    _hopping_own,
    _shared,
    _until,
    _pushed,
)
