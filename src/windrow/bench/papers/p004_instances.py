"""Figure 8 of paper 004: parallel instances on a distributed engine, here Spark.

A session has its number of cores for life, so each is a process of its own:

    python -m windrow.bench.papers.p004_instances CORES ROWS WINDOW KEYS REPEATS
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.points import Point, Points, missing
from windrow.bench.rules import TOO_FEW, ahead
from windrow.bench.settings import Settings

FIGURE = "Figure 8"
UNIT = "thousand rows a second"
KEYS, WINDOW = 84, 1 << 10
OURS, THEIRS = "windrow on Spark", "Spark"


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """As many instances as there are cores, from one on."""
    rows = settings.size(2_000_000, 400_000)
    few = min(rows, 200_000 if not settings.quick else 40_000)
    cores = list(range(1, min(6, os.cpu_count() or 1) + 1))
    for i, count in enumerate(cores):
        share = clock.share(1, of=len(cores) - i)
        why, found = TIME_IS_UP, {}
        arguments = [count, rows, few, min(WINDOW, rows), KEYS, settings.repeats]
        command = [sys.executable, "-m", __name__, *map(str, arguments)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=max(1.0, share.left)
            )
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["failed"])[-1][:120]
            else:
                found = json.loads(done.stdout.strip().splitlines()[-1])
        except subprocess.TimeoutExpired:
            pass
        for name in (OURS, THEIRS):
            if name in found:
                yield Point(FIGURE, name, count, UNIT, tuple(found[name]), first=found["first_s"])
            else:
                yield missing(FIGURE, name, count, UNIT, why)


def tell(cores: int, rows: int, few: int, window: int, keys: int, repeats: int) -> None:
    """What the process does: the rates of both, as JSON."""
    from pyspark.sql import Window as SparkWindow
    from pyspark.sql import functions as sf

    from windrow.aggregations import Max
    from windrow.bench.peers.sessions import session, stopped
    from windrow.queries.query import sliding

    start = time.perf_counter()
    with stopped(session(cores)) as spark:
        data = spark.range(rows).select(
            (sf.col("id") % keys).alias("key"),
            sf.timestamp_micros(sf.col("id") * 1000).alias("ts"),
            sf.rand(1).alias("v"),
        )
        frames = {n: data.limit(n).cache() if n < rows else data.cache() for n in {rows, few}}
        for frame in frames.values():
            frame.count()
        query = sliding(partition_by="key", order_by="ts", rows=window, m=Max("v"))
        over = SparkWindow.partitionBy("key").orderBy("ts").rowsBetween(1 - window, 0)
        jobs: dict[str, tuple[int, Any]] = {
            OURS: (rows, frames[rows].transform(query)),
            THEIRS: (few, frames[few].withColumn("m", sf.max("v").over(over))),
        }
        made: dict[str, Any] = {name: [] for name in jobs}
        for turn in range(repeats + 1):
            for name, (n, job) in jobs.items():
                begin = time.perf_counter()
                job.write.format("noop").mode("overwrite").save()
                if turn:  # the first one is to warm up
                    made[name].append(n / (time.perf_counter() - begin) / 1000)
            made.setdefault("first_s", time.perf_counter() - start)
    print(json.dumps(made))


def _scales(points: Points) -> Verdict:
    line = points.line(FIGURE, OURS)
    if len(line) < 2:
        return TOO_FEW
    (one, first), (most, last) = line[0], line[-1]
    return Verdict(
        f"{last / first:.2f} times the rate with {most:.0f} as with {one:.0f}", last >= 1.3 * first
    )


EXPERIMENT = Experiment(
    "004 instances",
    "parallel instances on a distributed engine",
    "Max over the last 1,024 rows of 84 keys, every row an answer, in local[1], local[2], … as far "
    "as there are cores. Spark's own frame is asked about fewer rows, since it looks at 1,024 "
    "values for each; the paper's engine is Flink.",
    (Figure(FIGURE, "throughput by instances", "instances", UNIT, (False, True)),),
    run,
    source="Figure 8",
    finding="Both grow linearly with the instances while each has a core for its reading and one "
    "for its aggregation, and PBA stays an order of magnitude ahead of the engine's own windows.",
    rules=(
        ahead(FIGURE, OURS, THEIRS, by=3),
        Rule(
            f"{FIGURE}: {OURS} takes 1.3 times as many rows a second or more with the most "
            "instances as with one",
            _scales,
            "one machine reads, sorts and aggregates on the same cores; where others use them, "
            "a second instance has nothing to run on",
        ),
    ),
    weight=9.0,
)

if __name__ == "__main__":
    tell(*map(int, sys.argv[1:]))
