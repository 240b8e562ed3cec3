"""How the cost of a query grows: by rows, keys, window, aggregations and cores; bytes shuffled.

    seconds = a + rows · (b + c · aggregations) / cores

is what the lines should follow: neither keys nor the window are in it.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from bench.alone import alone, tell
from bench.experiment import Clock, Experiment, Settings
from bench.measure import failure, rounds, timed
from bench.points import Figure, Place, Point
from bench.rules import grows, scales, spread
from bench.sessions import all_cores, session, to_nowhere
from windrow import (
    Aggregation,
    Count,
    First,
    Last,
    Max,
    Mean,
    Min,
    Range,
    StdDev,
    Sum,
    Variance,
    sliding,
)

TABLE, SPARK = "Arrow table", "Spark"
KEYS, WINDOW, AGGREGATIONS = 1_000, 1_000, 5  # where they do not vary
COLUMNS = 5
CACHED = 10_000_000  # so many rows at most: more are made anew, and once
KINDS: tuple[Callable[[str], Aggregation], ...] = (
    Max, Min, Sum, Mean, StdDev, Variance, Count, First, Last, Range,
)  # fmt: skip

BY_ROWS = Figure("by rows", "five aggregations, 1,000 keys", "rows", "s", contest=False)
BY_KEYS = Figure("by keys", "five aggregations", "keys", "ns a row", contest=False)
BY_WINDOW = Figure(
    "by window", "five aggregations, 1,000 keys", "window", "ns a row", contest=False
)
BY_NUMBER = Figure("by aggregations", "1,000 keys", "aggregations", "ns a row", contest=False)
BY_CORES = Figure("by cores", "five aggregations", "cores", "ns a row", (False, False), False)
SHUFFLED = Figure("bytes shuffled", "five aggregations", "keys", "bytes a row", contest=False)


@dataclass(frozen=True)
class Job:
    """Rows of so many keys, and how many aggregations over how long a window they are asked."""

    rows: int
    keys: int = KEYS
    window: int = WINDOW
    aggregations: int = AGGREGATIONS

    @property
    def query(self) -> Any:
        """The query; over so many columns as the aggregations need."""
        pairs = itertools.product(range(COLUMNS), enumerate(KINDS))
        parts: dict[str, Any] = {
            f"r{column}_{i}": kind(f"v{column}") for column, (i, kind) in pairs
        }
        chosen = dict(itertools.islice(parts.items(), self.aggregations))
        return sliding(partition_by="key", order_by="ts", rows=self.window, **chosen)

    @property
    def columns(self) -> int:
        """How many columns of values the aggregations look at."""
        return math.ceil(self.aggregations / len(KINDS))

    def table(self) -> pa.Table:
        """Return the rows, in the order of time."""
        rng = np.random.default_rng(1)
        keys, times = rng.integers(0, self.keys, self.rows), np.arange(self.rows)
        values = {f"v{i}": rng.normal(size=self.rows) for i in range(self.columns)}
        return pa.table({"key": keys, "ts": times, **values})

    def frame(self, spark: Any) -> Any:
        """Return the same for Spark, cached if they are not too many."""
        from pyspark.sql import functions as sf

        values = [sf.randn(i + 2).alias(f"v{i}") for i in range(self.columns)]
        key = (sf.rand(1) * self.keys).cast("long").alias("key")
        frame = spark.range(self.rows).select(key, sf.col("id").alias("ts"), *values)
        if self.rows <= CACHED:
            frame.cache().count()
        return frame


def jobs(settings: Settings, most: int, largest: int) -> dict[Figure, dict[Place, Job]]:
    """Return the jobs of each figure, by their places; `most` rows where rows do not vary.

    Those of up to the `largest` number of rows come last: they take what is left of the time.
    """
    powers = [10**e for e in range(3, 9)]
    rows = [n for n in settings.sizes(powers) if n <= settings.size(largest, 1_000_000)]
    keys = [1, *(10**e for e in range(1, 8))]
    windows = [1, *(4**e for e in range(2, 11))]
    n = settings.size(most, most // 10)
    return {
        BY_KEYS: {k: Job(n, keys=k) for k in keys if k <= n},
        BY_WINDOW: {w: Job(n, window=w) for w in windows if w <= n},
        BY_NUMBER: {k: Job(n, aggregations=k) for k in (1, 2, 5, 10, 20, 50)},
        BY_ROWS: {n: Job(n) for n in rows},
    }


def scaling(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Tables first, then Spark, then one core against all."""
    for share, (series, run, *most) in clock.share(4, of=5).shares(
        [(TABLE, _on_tables, 10_000_000, 10_000_000), (SPARK, _on_spark, 3_000_000, 100_000_000)]
    ):
        yield from run(series, jobs(settings, *most), settings, share)
    yield from _by_cores(settings, clock)


def _on_tables(
    series: str, figures: Mapping[Figure, Mapping[Place, Job]], settings: Settings, clock: Clock
) -> Iterator[Point]:
    for share, (figure, places) in clock.shares(list(figures.items())):
        for part, (x, job) in share.shares(list(places.items())):
            if part.over:
                yield figure.missing(series, x)
                continue
            call = partial(job.query, job.table())
            call()
            yield _point(figure, series, x, job, rounds({series: call}, settings.repeats)[series])


def _on_spark(
    series: str, figures: Mapping[Figure, Mapping[Place, Job]], settings: Settings, clock: Clock
) -> Iterator[Point]:
    with session() as spark:
        for share, (figure, places) in clock.shares(list(figures.items())):
            for part, (x, job) in share.shares(list(places.items())):
                if part.over:
                    yield figure.missing(series, x)
                    continue
                frame = job.frame(spark)
                cached = job.rows <= CACHED
                if cached:
                    to_nowhere(frame.transform(job.query))
                before = _shuffled(spark)
                call = partial(_run, frame, job)
                runs = rounds({series: call}, settings.repeats if cached else 1)[series]
                yield _point(figure, series, x, job, runs)
                if figure is BY_KEYS:
                    a_row = (_shuffled(spark) - before) / len(runs) / job.rows
                    yield SHUFFLED.point(series, x, a_row, rows=job.rows)
                if cached:
                    frame.unpersist()


def _run(frame: Any, job: Job) -> None:
    to_nowhere(frame.transform(job.query))


def _point(figure: Figure, series: str, x: Place, job: Job, runs: list[float]) -> Point:
    rows = 1 if figure is BY_ROWS else job.rows
    return figure.timed(series, x, [seconds / rows for seconds in runs], rows=job.rows)


def _shuffled(spark: Any) -> int:
    """Bytes that all stages so far have written for a shuffle."""
    context = spark.sparkContext
    doubles = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, doubles, None)
    return sum(stages.apply(i).shuffleWriteBytes() for i in range(stages.size()))


def _by_cores(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each number of cores in a process of its own, in turns."""
    n = settings.size(3_000_000, 300_000)
    cases = [(series, cores) for series in (TABLE, SPARK) for cores in (1, all_cores())]
    runs: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    why: dict[tuple[str, int], str] = {}
    for _ in range(settings.repeats):
        for case in cases:
            if case in why or (clock.over and runs[case]):
                continue
            try:
                runs[case] += alone(on_cores, *case, n, seconds=max(60.0, clock.left))
            except Exception as error:
                why[case] = failure(error)
    for (series, cores), times in runs.items():
        point = BY_CORES.timed(series, cores, [seconds / n for seconds in times], rows=n)
        yield point if times else BY_CORES.missing(series, cores, why[series, cores])


def on_cores(series: str, cores: int, rows: int) -> None:
    """Tell the seconds of the job on so many cores, after one to warm up."""
    os.sched_setaffinity(0, range(cores))  # one core is one for Java and Python together
    job = Job(rows)
    if series == TABLE:
        call = partial(job.query, job.table())
        call()
        tell(timed(call)[0])
        return
    with session(cores) as spark:
        call = partial(_run, job.frame(spark), job)
        call()
        tell(timed(call)[0])


SCALING = Experiment(
    "scaling",
    "how the cost of a query grows",
    f"Windows of {WINDOW:,} rows, {AGGREGATIONS} aggregations and {KEYS:,} keys where they do not "
    "vary; keys are random, and rows in the order of time. Arrow tables of 10,000,000 rows, cached "
    "Spark rows of 3,000,000 into the noop sink (a tenth in a quick run), on all cores. Of more "
    f"than {CACHED:,} rows Spark makes each as it reads it, in one run.",
    (BY_ROWS, BY_KEYS, BY_WINDOW, BY_NUMBER, BY_CORES, SHUFFLED),
    scaling,
    rules=(
        grows(BY_ROWS, TABLE, "linear", since=100_000),
        spread(BY_WINDOW, 1.5, TABLE),
        spread(BY_WINDOW, 1.5, SPARK),
        scales(BY_CORES, TABLE, 1.6),
        scales(BY_CORES, SPARK, 1.6),
    ),
    weight=6.0,
)

EXPERIMENTS = (SCALING,)
