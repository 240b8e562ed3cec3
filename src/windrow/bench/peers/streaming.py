"""Spark Structured Streaming: the same query on a stream, against Spark's `window()`."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from windrow.aggregations import Max
from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.measuring import failure, rounds, timed
from windrow.bench.peers.sessions import cores, session, stopped
from windrow.bench.points import DISAGREES, OK, Point, missing
from windrow.bench.ratios import OURS
from windrow.bench.settings import Settings
from windrow.queries.query import sliding
from windrow.samples import debs

FIGURE = "hopping windows of a stream"
BUILT_IN = "Spark, window()"
UNIT = "µs a row"
SLIDE = 10  # seconds
LATE = "10 seconds"
KEYS = 100


def readings(settings: Settings, n: int) -> pa.Table:
    """Rows of (key, ts, v) in the order of ts, ten a second."""
    if settings.data:
        table = debs.readings(settings.data).slice(0, n)
        return table.rename_columns(["key", "ts", "v"])
    ts = np.datetime64("2026-01-01", "us") + np.arange(n) * 100_000
    return pa.table(
        {
            "key": np.arange(n) % KEYS,
            "ts": pa.array(ts).cast(pa.timestamp("us", "UTC")),
            "v": np.random.default_rng(1).random(n),
        }
    )


class Stream:
    """Files that a query reads to their end, a file a micro-batch."""

    def __init__(self, spark: Any, table: pa.Table, folder: Path, files: int) -> None:
        self.spark, self.folder, self.rows = spark, folder, table.num_rows
        source = folder / "in"
        source.mkdir()
        each = -(-table.num_rows // files)
        for i in range(files):
            parquet.write_table(table.slice(i * each, each), source / f"{i}.parquet")
        schema = spark.read.parquet(str(source)).schema
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        self.frame = stream.parquet(str(source))

    def answers(self, name: str, many: int) -> Any:
        """The answers of a contender: windows of `many` slides, every slide."""
        from pyspark.sql import functions as sf

        span = f"{many * SLIDE} seconds"
        if name == OURS:
            query = sliding(
                partition_by="key", order_by="ts", range=span, slide=f"{SLIDE} seconds",
                lateness=LATE, a=Max("v"),
            )  # fmt: skip
            return self.frame.transform(query)
        hops = sf.window("ts", span, f"{SLIDE} seconds")
        late = self.frame.withWatermark("ts", LATE)
        return late.groupBy("key", hops).agg(sf.max("v").alias("a"))

    def run(self, name: str, many: int, seconds: float, sink: str = "noop") -> str:
        """To the end of the files; returns the name of the memory sink's table."""
        made = f"answers_{uuid.uuid4().hex}"
        writer = self.answers(name, many).writeStream.format(sink).queryName(made)
        writer = writer.option("checkpointLocation", str(self.folder / made))
        started = writer.outputMode("append").trigger(availableNow=True).start()
        if not started.awaitTermination(max(1, int(seconds))):
            started.stop()
            raise TimeoutError(f"it took longer than {seconds:.0f} s")
        return made

    def total(self, name: str, many: int, seconds: float) -> tuple[int, float]:
        """How many answers, and their sum."""
        from pyspark.sql import functions as sf

        table = self.spark.table(self.run(name, many, seconds, "memory"))
        row = table.agg(sf.count("a"), sf.sum("a")).first()
        return int(row[0]), float(row[1] or 0.0)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Ranges of 1, 10 and 60 slides; of 600 in a full run, over fewer rows."""
    n = settings.size(400_000, 20_000)
    places = [1, 10, 60] if settings.quick else [1, 10, 60, 600]
    with stopped(session(cores())) as spark:
        for many in places:
            if clock.over:
                yield from (missing(FIGURE, s, many, UNIT, TIME_IS_UP) for s in (OURS, BUILT_IN))
                continue
            table = readings(settings, n if many < 600 else min(n, 10_000))
            with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
                stream = Stream(spark, table, Path(folder), 2 if settings.quick else 4)
                yield from _measured(stream, many, clock, settings)


def _measured(stream: Stream, many: int, clock: Clock, settings: Settings) -> Iterator[Point]:
    first: dict[str, float] = {}
    totals: dict[str, tuple[int, float]] = {}
    for name in (OURS, BUILT_IN):
        try:
            at_most = max(20.0, clock.left / 2)
            first[name], totals[name] = timed(partial(stream.total, name, many, at_most))
        except Exception as error:
            yield missing(FIGURE, name, many, UNIT, failure(error))
    enough = clock.left > 3 * settings.repeats * sum(first.values())  # for the later places, too
    repeats = settings.repeats if enough else 1
    at_most = 60.0 + 5 * max(first.values(), default=0.0)  # so long only if it hangs
    jobs = {name: partial(stream.run, name, many, at_most) for name in first}
    reference = totals.get(BUILT_IN)
    for name, runs in rounds(jobs, repeats).items():
        count, total = totals[name]
        agrees = reference is None or (
            count == reference[0] and abs(total - reference[1]) <= 1e-9 * max(1.0, abs(total))
        )
        each = tuple(seconds / stream.rows * 1e6 for seconds in runs)
        more = {"rows": stream.rows, "answers": count}
        status = OK if agrees else DISAGREES
        yield Point(FIGURE, name, many, UNIT, each, status, first[name], more)


EXPERIMENT = Experiment(
    "streaming",
    "the same query on a stream",
    "400,000 rows of 100 keys in four Parquet files (20,000 in two in a quick run), a file a "
    "micro-batch, trigger(availableNow=True) into the noop sink; windows of 10 seconds times the "
    "ratio, every 10 seconds. Numbers and sums of the answers are compared, in the memory sink.",
    (Figure(FIGURE, "hopping windows by range / slide", "range / slide", UNIT),),
    run,
    weight=2.0,
)
