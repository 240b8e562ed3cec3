"""What the state of a stream costs: bytes written and kept, and the time of a restart."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.experiment import Clock, Experiment, Settings
from bench.feed import Feed
from bench.measure import timed
from bench.points import Figure, Point
from bench.results import OURS
from bench.sessions import session
from windrow import Max, sliding

BYTES = Figure("state", "bytes of the state", "window", "bytes", contest=False)
RESTART = Figure("restart", "from the start of a query to its end", "window", "s", (True, False))
WRITTEN, KEPT, RAW = "written by a batch of 4,096 rows", "kept", "raw values"
BATCH, BATCHES = 4096, 10
CHECKPOINT = "kept"


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 2^12 to 2^20 rows of one key."""
    batches = 2 if settings.quick else BATCHES
    with session() as spark, tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        for window in settings.sizes([1 << e for e in range(12, 17 if settings.quick else 21, 2)]):
            if clock.over:
                yield from (BYTES.missing(name, window) for name in (WRITTEN, KEPT, RAW))
                yield RESTART.missing(OURS, window)
                continue
            yield from _state(spark, Path(folder), window, batches)


def _state(spark: Any, folder: Path, window: int, batches: int) -> Iterator[Point]:
    query = sliding(partition_by="key", rows=window, m=Max("v"))
    feed = Feed(spark, folder, keys=1, per_second=1000)
    read = partial(feed.run, lambda frame: frame.transform(query), checkpoint=CHECKPOINT)
    feed.add(window)
    read()
    for _ in range(batches):
        feed.add(BATCH)
    progress = read().recentProgress
    feed.add(BATCH)
    restart = timed(read)[0]
    chunks = spark.read.format("statestore").option("stateVarName", "chunks")
    sizes = chunks.load(str(feed.folder / CHECKPOINT)).selectExpr(
        "sum(length(user_map_value.value))"
    )
    yield BYTES.point(WRITTEN, window, _written(progress) / batches)
    yield BYTES.point(KEPT, window, float(sizes.first()[0]))
    yield BYTES.point(RAW, window, float(window * 8))
    yield RESTART.point(OURS, window, restart)


def _written(progress: list[Any]) -> int:
    """Return the bytes that the state store wrote."""
    name = "rocksdbTotalBytesWritten"
    return sum(o["customMetrics"].get(name, 0) for p in progress for o in p["stateOperators"])


EXPERIMENT = Experiment(
    "streaming state",
    "what the state of a stream costs",
    "Max over the last rows of one key, with RocksDB as Spark's state store: the bytes that a "
    "micro-batch of 4,096 rows writes, those that are kept, and the time of a query that starts "
    "from a checkpoint and reads one more file.",
    (BYTES, RESTART),
    run,
)
