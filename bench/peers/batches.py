"""Micro-batches of Spark Structured Streaming: how long they take, and what that time goes to."""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.alone import ROOT, alone, tell
from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.feed import Feed
from bench.measure import failure, timed, turns
from bench.peers.streaming import LATE, our_windows, their_windows
from bench.points import Figure, Point, Points
from bench.processes import processor_seconds
from bench.results import OURS
from bench.rules import TOO_FEW, ahead, at_most, spread
from bench.sessions import session
from bench.worker_times import FOLDER
from windrow import Max, Mean, sliding

LATENCY = Figure("latency", "a micro-batch of 2,000 rows, 100 keys", "query", "ms", (False, False))
WORST = Figure("worst latency", "the slowest of those batches", "query", "ms", (False, False))
SPEED = Figure("speed", "batches of 400,000 rows, 10,000 keys", "query", "µs a row", (False, False))
SMALL = Figure("small", "parts of a micro-batch of 2,000 rows", "part", "ms", (False, False), False)
LARGE = Figure(
    "large", "parts of a micro-batch of 400,000 rows", "part", "ms", (False, False), False
)
HELD = Figure(
    "held", "a micro-batch of 2,000 rows, an hour every second", "seconds held before", "ms",
    (False, False), False,
)  # fmt: skip
THREE = Figure(
    "three streams", "300,000 rows, one stream after the other", "streams", "s",
    (False, False), False,
)  # fmt: skip
BUILT_IN = "Spark"
ROW, TUMBLING, HOPPING, LONG = "a result a row", "tumbling", "60 slides", "3600 slides"
SLIDES = {TUMBLING: 1, HOPPING: 60, LONG: 3600}
FIRST = (ROW, TUMBLING, HOPPING)  # the streams of a new Java
# What Spark tells of a batch, in the order in which it happens.
DURATIONS = {
    "latestOffset": "finding new rows",
    "getBatch": "finding new rows",
    "queryPlanning": "planning",
    "walCommit": "writing the offsets",
    "commitOffsets": "writing the offsets",
    "addBatch": "running",
}
# As the documents say; it makes no difference to what Spark does without Python.
SOCKETS = {"spark.python.unix.domain.socket.enabled": "true"}
WARM_UP = 3  # batches, which start workers and compile


def ours(query: str, frame: Any) -> Any:
    """Return our results."""
    if query in SLIDES:
        return our_windows(SLIDES[query], frame)
    parts = {"m": Max("v"), "a": Mean("v")}
    last = sliding(parts, partition_by="key", order_by="ts", lateness=LATE, rows=100)
    return frame.transform(last)


@dataclass(frozen=True)
class Size:
    """Batches of so many rows and keys, and which queries Spark's window can be asked."""

    rows: int
    keys: int
    per_second: int
    batches: int
    parts: Figure
    built_in: tuple[str, ...]

    def feed(self, spark: Any, folder: Path, settings: Settings) -> Feed:
        """Return the files, one for each batch and one that lets the last windows close."""
        feed = Feed(spark, folder, keys=self.keys, per_second=self.per_second)
        for _ in range(WARM_UP + (self.batches // 3 if settings.quick else self.batches)):
            feed.add(min(self.rows, settings.largest), groups=4)
        return feed


FEW = Size(2_000, 100, 1_000, 24, SMALL, (TUMBLING, HOPPING))
MANY = Size(400_000, 10_000, 10_000, 5, LARGE, (TUMBLING, HOPPING))


@dataclass
class Runs:
    """What the runs of a query have given, all in milliseconds but the rates."""

    latencies: list[float] = field(default_factory=list)
    worst: list[float] = field(default_factory=list)
    row: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""

    def add(self, progress: list[dict[str, Any]], tasks: list[dict[str, Any]], java: float) -> None:
        """Add a run: the batches that count, the tasks of its workers, and Java's time."""
        times = [float(batch["durationMs"]["triggerExecution"]) for batch in progress]
        self.latencies += times
        self.worst.append(max(times))
        rows = sum(batch["numInputRows"] for batch in progress)
        self.row.append(sum(times) / 1e3 / max(1, rows))
        totals: dict[str, float] = defaultdict(float)
        for batch in progress:
            for name, part in DURATIONS.items():
                totals[part] += batch["durationMs"].get(name, 0)
            for operator in batch["stateOperators"]:
                totals["of it: committing the state (sum of tasks)"] += operator["commitTimeMs"]
        totals["Java, processor"] += java
        for task in tasks:
            totals["Python, processor"] += task["processor"]
            for part, spent in task["parts"].items():
                totals[f"in {task['stage']} tasks: {part}"] += spent
        for part, total in totals.items():
            self.parts.setdefault(part, []).append(total / len(progress))


def batches(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Three streams of a new Java; then small batches of all queries in turns, then large ones.

    And small batches of long windows, with nothing and with an hour of slices held before.
    """
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as place:
        yield _three_streams(Path(place), settings, max(120.0, clock.left))
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as place:
        folder = Path(place)
        (folder / "times").mkdir()
        paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        more = {  # the workers' environment is told so, for Java may run already
            f"spark.executorEnv.{FOLDER}": str(folder / "times"),
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(paths),
            "spark.python.daemon.module": "bench.worker_times",
            "spark.python.authenticate.socketTimeout": "120s",  # a busy machine starts slowly
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            **SOCKETS,
        }
        with session(2, settings=more) as spark:
            for share, size in clock.shares([FEW, MANY]):
                yield from _sized(spark, folder, size, settings, share)
            for seconds in (0, 3600):
                yield _held(spark, folder, seconds, settings)


def _three_streams(folder: Path, settings: Settings, seconds: float) -> Point:
    """Return the seconds of three streams, which are the first ones of a new Java."""
    try:
        spent = list(alone(three_streams, str(folder), settings.largest, seconds=seconds))
    except Exception as error:
        return THREE.missing(OURS, len(FIRST), failure(error))
    return THREE.point(OURS, len(FIRST), *spent)


def three_streams(folder: str, largest: int) -> None:
    """Tell the seconds of three streams, with the settings that the documents have for short runs.

    They are for this process alone: Java would keep them for all sessions that follow.
    """
    more = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.python.daemon.module": "windrow.spark.daemon",
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.sql.shuffle.partitions": "2",
        **SOCKETS,
    }
    with session(2, settings=more) as spark:
        feed = Feed(spark, Path(folder), keys=1_000, per_second=10_000)
        for _ in range(3):
            feed.add(min(100_000, largest))
        tell(timed(lambda: [feed.run(partial(ours, query)) for query in FIRST])[0])


def _held(spark: Any, folder: Path, seconds: int, settings: Settings) -> Point:
    """Small batches of windows of an hour, with slices of 100 keys held of so many seconds."""
    feed = Feed(spark, folder, keys=FEW.keys, per_second=FEW.per_second)
    few = min(FEW.rows, settings.largest)
    before, after = min(100 * seconds, 100 * settings.largest), 12 * few
    random = np.random.default_rng(1)
    earlier = np.linspace(-seconds * 1_000_000, 0, before, endpoint=False).astype(np.int64)
    at = np.concatenate([earlier, np.arange(after) * feed.step]) + 10**15
    columns = {
        "key": random.integers(0, FEW.keys, at.size),
        "ts": pa.array(at, pa.timestamp("us", "UTC")),
        "v": random.random(at.size),
    }
    table = pa.table(columns)
    for rows in ([before] if before else []) + [few] * 12:
        feed.add(rows, table)
    progress = feed.run(partial(ours, LONG)).recentProgress
    taken = [float(b["durationMs"]["triggerExecution"]) for b in progress if b["numInputRows"]]
    return HELD.point(OURS, seconds, *taken[-12 + WARM_UP :])


def _sized(
    spark: Any, folder: Path, size: Size, settings: Settings, clock: Clock
) -> Iterator[Point]:
    makers: dict[str, Callable[[Any], Any]] = {}
    for query in (ROW, *SLIDES):
        makers[f"{OURS}, {query}"] = partial(ours, query)
        if query in size.built_in:
            makers[f"{BUILT_IN}, {query}"] = partial(their_windows, SLIDES[query])
    runs = {name: Runs() for name in makers}
    feed = size.feed(spark, folder, settings)
    for name in turns(makers, settings.repeats):
        if (clock.over and runs[name].latencies) or runs[name].problem:
            continue
        try:
            _run(feed, makers[name], runs[name], folder / "times", max(60.0, clock.left))
        except Exception as error:
            runs[name].problem = failure(error)
    for name, runs_of_query in runs.items():
        yield from _points(name, runs_of_query, size)


def _run(feed: Feed, make: Callable[[Any], Any], runs: Runs, times: Path, seconds: float) -> None:
    """Add a run of a query, without the batches that warm up."""
    for path in times.iterdir():
        path.unlink()
    before = processor_seconds("java")
    progress = [b for b in feed.run(make, seconds=seconds).recentProgress if b["numInputRows"]]
    java = 1e3 * (processor_seconds("java") - before)
    tasks = [json.loads(line) for path in times.iterdir() for line in path.open(encoding="utf-8")]
    counted = progress[WARM_UP:]
    share = len(counted) / len(progress)
    for task in tasks:  # a task does not know its batch: each batch has its share of all of them
        task["processor"] *= share
        task["parts"] = {part: spent * share for part, spent in task["parts"].items()}
    runs.add(counted, tasks, java * share)


def _points(name: str, runs: Runs, size: Size) -> Iterator[Point]:
    who, _, query = name.partition(", ")
    figures = (LATENCY, WORST) if size is FEW else (SPEED,)
    if not runs.latencies:
        yield from (figure.missing(who, query, runs.problem) for figure in figures)
        return
    if size is FEW:
        yield LATENCY.point(who, query, *runs.latencies)
        yield WORST.point(who, query, *runs.worst)
    else:
        yield SPEED.timed(who, query, runs.row)
    for part, spent in runs.parts.items():
        yield size.parts.point(name, part, *spent)


def beside_tumbling(figure: Figure, query: str, most: float) -> Rule:
    """Return the rule that a query costs at most so many times Spark's tumbling windows."""

    def check(points: Points) -> Verdict:
        ours, theirs = points.costs(figure, OURS), points.costs(figure, BUILT_IN)
        if query not in ours or TUMBLING not in theirs:
            return TOO_FEW
        ratio = ours[query] / theirs[TUMBLING]
        return Verdict(f"{ratio:.2f} times", ratio <= most)

    what = f"{query} costs at most {most:g} times Spark's tumbling windows"
    return Rule(f"{figure.name}: {what}", check)


def fast_enough(query: str, rows_per_second: float) -> Rule:
    """Return the rule that a query takes so many rows a second, in large batches."""

    def check(points: Points) -> Verdict:
        costs = points.costs(SPEED, OURS)
        if query not in costs:
            return TOO_FEW
        rate = 1e6 / costs[query]
        return Verdict(f"{rate:,.0f} rows a second", rate >= rows_per_second)

    return Rule(f"{SPEED.name}: {query} takes {rows_per_second:,.0f} rows a second or more", check)


BATCHES = Experiment(
    "batches",
    "the micro-batches of a stream",
    "Parquet files of 2,000 rows of 100 keys, and of 400,000 rows of 10,000 keys, a file a "
    "micro-batch, on 2 cores with 2 state partitions, into the noop sink; max and mean over the "
    "last 100 rows, over tumbling windows of a second, and over windows of a minute and of an "
    "hour, every second. The first 3 batches do not count. Parts are milliseconds a batch: those "
    "of Spark's own report come one after the other, those of tasks in the workers are sums over "
    "tasks that run side by side, and processor time is that of all batches of a run. Three "
    "streams (the first three queries) run one after the other in a new Java, with the settings "
    "that docs/streaming.md has for short runs, over 3 files of 100,000 rows of 1,000 keys.",
    (LATENCY, WORST, SPEED, HELD, THREE, SMALL, LARGE),
    batches,
    rules=(
        *(beside_tumbling(LATENCY, query, 1.1) for query in (TUMBLING, HOPPING, ROW)),
        *(beside_tumbling(WORST, query, 1.3) for query in (TUMBLING, HOPPING, ROW)),
        ahead(SPEED, OURS, BUILT_IN, at=TUMBLING, by=3),
        ahead(SPEED, OURS, BUILT_IN, at=HOPPING, by=5),
        fast_enough(ROW, 600_000),
        spread(HELD, 1.2, OURS, ends=True),
        at_most(THREE, 12, OURS),
    ),
    weight=3.0,
)
EXPERIMENTS = (BATCHES,)
