"""Spark Structured Streaming: the same query on a stream, and what its state costs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import debs
from bench.experiment import Clock, Experiment, Settings
from bench.feed import Feed
from bench.measure import checked, timed, turns
from bench.points import Figure, Point
from bench.results import OURS
from bench.rules import ahead
from bench.sessions import session
from windrow import Max, Mean, sliding

# -- against window() ------------------------------------------------------------------------------

HOPPING = Figure("hopping windows", "max and mean, by range / slide", "range / slide", "µs a row")
PER_ROW = Figure("a result a row", "max of 10,000 keys", "window", "µs a row")
BUILT_IN = "Spark, window()"
RATIOS = (1, 10, 60, 600, 3600)
BUILT_IN_ROWS = {1: 500_000, 10: 500_000, 60: 100_000, 600: 4_000}  # what it does in minutes
LATE = "5 seconds"
FILES = 4


def our_windows(ratio: int, frame: Any) -> Any:
    """Return our windows of so many seconds, every second."""
    return frame.transform(
        sliding(
            partition_by="key", order_by="ts", range=f"{ratio} seconds", slide="1 second",
            lateness=LATE, m=Max("v"), a=Mean("v"),
        )
    )  # fmt: skip


def their_windows(ratio: int, frame: Any) -> Any:
    """Return Spark's windows of so many seconds, every second."""
    from pyspark.sql import functions as sf

    windows = sf.window("ts", f"{ratio} seconds", "1 second")
    grouped = frame.withWatermark("ts", LATE).groupBy("key", windows)
    return grouped.agg(sf.max("v").alias("m"), sf.avg("v").alias("a"))


def against_window(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Results a row of many keys, then hopping windows of one to 3600 slides."""
    n = settings.size(500_000, 10_000)
    ratios = RATIOS[:3] if settings.quick else RATIOS
    with session() as spark, tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        for window in ({"rows": 100}, {"range": "10 minutes"}):
            yield from _per_row(spark, Path(folder), n, window, settings, clock)
        for share, ratio in clock.shares(ratios):
            yield from _hopping(spark, Path(folder), n, ratio, settings, share)


def _per_row(
    spark: Any, folder: Path, n: int, window: Any, settings: Settings, clock: Clock
) -> Iterator[Point]:
    ((name, size),) = window.items()
    x = f"{name}={size}"
    if clock.over:
        yield PER_ROW.missing(OURS, x)
        return
    query = sliding(partition_by="key", order_by="ts", lateness=LATE, m=Max("v"), **window)
    runs = []
    for _ in range(settings.repeats):
        feed = Feed(spark, folder, keys=10_000, per_second=10_000)
        for _ in range(FILES + 1):
            feed.add(n)
        runs.append(feed.row_seconds(query, 600.0))
    yield PER_ROW.timed(OURS, x, runs, rows=feed.rows)


def _feed(spark: Any, folder: Path, n: int, settings: Settings) -> Feed:
    feed = Feed(spark, folder, keys=100, per_second=1000)
    table = None
    if settings.data:
        table = debs.readings(settings.data).rename_columns(["key", "ts", "v"])
        n = min(n, max(1, table.num_rows // FILES))
    for _ in range(FILES):
        feed.add(n, table)
    return feed


def _hopping(
    spark: Any, folder: Path, n: int, ratio: int, settings: Settings, clock: Clock
) -> Iterator[Point]:
    sizes = {OURS: n, BUILT_IN: min(n, BUILT_IN_ROWS.get(ratio, 0))}
    makers = {OURS: partial(our_windows, ratio), BUILT_IN: partial(their_windows, ratio)}
    if clock.over:
        yield from (HOPPING.missing(name, ratio) for name in sizes)
        return
    if not sizes[BUILT_IN]:
        yield HOPPING.missing(BUILT_IN, ratio, "it copies a row for each of its windows")
        del sizes[BUILT_IN]
    feeds = {rows: _feed(spark, folder, rows, settings) for rows in set(sizes.values())}
    short, at_most = feeds[min(sizes.values())], max(60.0, clock.left)
    totals = {name: partial(short.total, makers[name], at_most) for name in reversed(list(sizes))}
    timings = checked(totals, lambda a, b: a[0] == b[0] and abs(a[1] - b[1]) <= 1e-9 * abs(b[1]))
    ready = [name for name in sizes if timings[name].ready]
    for name in turns(ready, settings.repeats):
        if not (clock.over and timings[name].runs):
            feed = feeds[sizes[name]]
            timings[name].runs.append(feed.row_seconds(makers[name], at_most))
            timings[name].more["rows"] = feed.rows
    for name in sizes:
        yield timings[name].point(HOPPING, name, ratio)


AGAINST_WINDOW = Experiment(
    "streaming",
    "the same query on a stream",
    f"{FILES} Parquet files of 500,000 rows (10,000 in a quick run), a file a micro-batch, "
    "trigger(availableNow=True) into the noop sink; times are those of all micro-batches but the "
    "first, which starts workers and compiles. Hopping windows: 100 keys, a slide of a second; "
    "Spark's window() copies each row for every window that it is in: it gets fewer rows. "
    "Numbers and sums of the results are compared, in the memory sink.",
    (HOPPING, PER_ROW),
    against_window,
    rules=(ahead(HOPPING, OURS, BUILT_IN, since=10),),
    weight=4.0,
)


# -- state -----------------------------------------------------------------------------------------

BYTES = Figure("state", "bytes of the state", "window", "bytes", contest=False)
RESTART = Figure("restart", "from the start of a query to its end", "window", "s", (True, False))
WRITTEN, KEPT, RAW = "written by a batch of 4,096 rows", "kept", "raw values"
BATCH, BATCHES = 4096, 10
CHECKPOINT = "kept"


def state(settings: Settings, clock: Clock) -> Iterator[Point]:
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
    read = partial(feed.run, query, checkpoint=CHECKPOINT)
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


STATE = Experiment(
    "streaming state",
    "what the state of a stream costs",
    "Max over the last rows of one key, with RocksDB as Spark's state store: the bytes that a "
    "micro-batch of 4,096 rows writes, those that are kept, and the time of a query that starts "
    "from a checkpoint and reads one more file.",
    (BYTES, RESTART),
    state,
)


EXPERIMENTS = (AGAINST_WINDOW, STATE)
