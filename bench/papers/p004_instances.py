"""Figure 8 of paper 004: parallel instances on a distributed engine, here Spark.

A session has its number of cores for life, so each is a process of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

from bench.alone import alone, tell
from bench.experiment import Clock, Experiment, Settings
from bench.measure import failure, rounds
from bench.points import Figure, Point
from bench.rules import ahead, scales
from bench.sessions import session, spark_rows, to_nowhere
from windrow import Max, sliding

RATE = Figure(
    "Figure 8", "throughput by instances", "instances", "thousand rows a second", (False, True)
)
KEYS, WINDOW = 84, 1 << 10
OURS, THEIRS = "windrow on Spark", "Spark"


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """As many instances as there are cores, from one on."""
    rows = settings.size(2_000_000, 400_000)
    few = min(rows, 200_000 if not settings.quick else 40_000)
    for share, cores in clock.shares(range(1, min(6, os.cpu_count() or 1) + 1)):
        try:
            (found,) = alone(
                both, cores, rows, few, min(WINDOW, rows), settings.repeats, seconds=share.left
            )
        except Exception as error:
            yield from (RATE.missing(name, cores, failure(error)) for name in (OURS, THEIRS))
            continue
        for name in (OURS, THEIRS):
            yield RATE.timed(name, cores, found[name], found["first_s"])


def both(cores: int, rows: int, few: int, window: int, repeats: int) -> None:
    """Tell the seconds a row of both, in a session of so many cores."""
    from pyspark.sql import Window as SparkWindow
    from pyspark.sql import functions as sf

    start = time.perf_counter()
    with session(cores) as spark:
        data = spark_rows(spark, rows, KEYS)
        frames = {n: data.limit(n).cache() if n < rows else data.cache() for n in {rows, few}}
        for frame in frames.values():
            frame.count()
        query = sliding(partition_by="key", order_by="ts", rows=window, m=Max("v"))
        over = SparkWindow.partitionBy("key").orderBy("ts").rowsBetween(1 - window, 0)
        jobs = {
            OURS: partial(to_nowhere, frames[rows].transform(query)),
            THEIRS: partial(to_nowhere, frames[few].withColumn("m", sf.max("v").over(over))),
        }
        rounds(jobs, 1)  # to warm up
        first = time.perf_counter() - start
        runs = rounds(jobs, repeats)
    found = {OURS: [s / rows for s in runs[OURS]], THEIRS: [s / few for s in runs[THEIRS]]}
    tell({"first_s": first, **found})


EXPERIMENT = Experiment(
    "004 instances",
    "parallel instances on a distributed engine",
    "Max over the last 1,024 rows of 84 keys, every row an answer, in local[1], local[2], … as far "
    "as there are cores. Spark's own frame is asked about fewer rows, since it looks at 1,024 "
    "values for each; the paper's engine is Flink.",
    (RATE,),
    run,
    source="Figure 8",
    finding="Both grow linearly with the instances while each has a core for its reading and one "
    "for its aggregation, and PBA stays an order of magnitude ahead of the engine's own windows.",
    rules=(
        ahead(RATE, OURS, THEIRS, by=3),
        scales(
            RATE,
            OURS,
            1.3,
            "one machine reads, sorts and aggregates on the same cores; where others use them, "
            "a second instance has nothing to run on",
        ),
    ),
    weight=9.0,
)
