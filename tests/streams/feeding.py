"""A stream without Spark: batches, a watermark, a store, and restarts between any two steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.queries.query import Query
from windrow.queries.shared import shared
from windrow.queries.streaming import streaming
from windrow.streams.bucket import Bucket, StepResult
from windrow.streams.cache import DECODED
from windrow.streams.header import Header
from windrow.streams.plan import StreamPlan, identity_text
from windrow.tables.bind import bind


class Store:
    """A map of chunks that counts the bytes that are written and read."""

    def __init__(self) -> None:
        self.chunks: dict[tuple[int, int], bytes] = {}
        self.written = self.read = 0

    def get(self, log: int, number: int) -> bytes:
        self.read += len(self.chunks[log, number])
        return self.chunks[log, number]

    def put(self, log: int, number: int, value: bytes) -> None:
        self.written += len(value)
        self.chunks[log, number] = value

    def remove(self, log: int, number: int) -> None:
        del self.chunks[log, number]

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks.values()))


@dataclass
class Stream:
    """Steps of a plan over one bucket, as an engine would make them."""

    plan: StreamPlan
    lateness: int = 0
    store: Store = field(default_factory=Store)
    tables: list[pa.Table] = field(default_factory=list)
    late: int = 0
    partly: int = 0
    watermark: int | None = None
    timers: int = 0
    clock: int = 0
    run: int = 1

    def __post_init__(self) -> None:
        self.identity = self.plan.identity(1)[0]
        self.bucket = Bucket(self.plan, self.store, Header(self.identity))

    def restart(self, cold: bool = True) -> None:
        """Forget all but the store and the head, and if it is cold, what the process decoded."""
        if cold:
            DECODED.clear()
        header = Header.decode(self.bucket.header.encode())
        assert header.identity == self.identity
        self.bucket = Bucket(self.plan, self.store, header)

    def push(self, rows: pa.Table) -> None:
        """One batch, then the step that the watermark behind it asks for."""
        arrived = rows
        if self.plan.presliced is not None:
            arrived = self.plan.presliced.slices(rows)[0].select(self.plan.arrives.names)
        self._step([arrived.cast(self.plan.arrives)])
        if self.plan.timed and rows.num_rows:
            at = rows.column(self.plan.time).cast(pa.int64()).to_numpy()
            newest = int(at.max()) // 1000 * 1000 - self.lateness
            if newest > 0:
                self.watermark = max(self.watermark or 0, newest)
            self.tick()

    def tick(self) -> None:
        due = self.bucket.due
        if due is not None and self.watermark is not None and due <= self.watermark:
            self.timers += 1
            self._step([])
            due = self.bucket.due
            assert due is None or due > self.watermark

    def finish(self) -> pa.Table:
        """Let the watermark pass everything."""
        if self.plan.timed:
            self.watermark = 2**61
            self.tick()
        return self.result()

    def result(self) -> pa.Table:
        return pa.concat_tables([self.plan.result.empty_table(), *self.tables])

    def beat(self, clock: int) -> None:
        """So much time has passed by the clock."""
        self.clock = clock
        self._step([])

    def end(self) -> None:
        """No row comes any more."""
        self._take(self.bucket.end())

    def _step(self, arrived: list[pa.Table]) -> None:
        now: int | None = 0
        if self.plan.timed:
            now = self.bucket.watermark(self.watermark, bool(arrived), self.clock, self.run)
        self._take(self.bucket.step(arrived, now))

    def _take(self, outcome: StepResult) -> None:
        self.tables += outcome.tables
        self.late += outcome.late
        self.partly += outcome.partly


def plan_of(*queries: Query, schema: pa.Schema, **options: Any) -> StreamPlan:
    bounds = tuple(bind(query, schema) for query in queries)
    asked = identity_text(streaming(shared(*queries)), schema, None)
    timed = bool(bounds[0].query.order_by)
    return StreamPlan(bounds, tuple(schema.names), timed, asked=asked, **options)


def results_with_restarts(plan: StreamPlan, came: pa.Table, lateness: int) -> pa.Table:
    """All results of rows that come seventeen at a time, with a restart after each time."""
    stream = Stream(plan, lateness)
    for at in range(0, came.num_rows, 17):
        stream.push(came.slice(at, 17))
        stream.restart()
    return stream.finish()


def of_each_query(
    made: pa.Table, queries: Sequence[Query], came: pa.Table
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """What queries that share a stream have made, each beside what it makes of a table."""
    for i, query in enumerate(queries):
        yield made.filter(pa.array(np.array(made.column("query")) == i)), query(came)


def readings(n: int, keys: int, seed: int, spread: int = 60) -> pa.Table:
    """Rows in the order of time, with ties, nulls and gaps, numbered."""
    random = np.random.default_rng(seed)
    step = random.integers(0, 2 * max(1, spread // max(1, n)) + 2, n) * 1_000_000
    at = 10**15 + np.cumsum(step)
    value = random.integers(-50, 50, n)
    return pa.table(
        {
            "id": pa.array(np.arange(n)),
            "key": pa.array(
                [f"k{k}" if k else None for k in random.integers(0, keys, n)], pa.string()
            ),
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "x": pa.array(value, mask=random.random(n) < 0.1),
            "y": pa.array(value / 4.0),
        }
    )


def disordered(rows: pa.Table, by: int, seed: int) -> pa.Table:
    """The same rows, each up to `by` microseconds later than its turn."""
    at = rows.column("ts").cast(pa.int64()).to_numpy()
    came = at + np.random.default_rng(seed).integers(0, by + 1, rows.num_rows)
    return rows.take(pa.array(np.argsort(came, kind="stable")))
