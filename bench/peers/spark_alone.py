"""Spark in processes of their own: on one core and on two, and with one key and little memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.alone import alone, tell
from bench.experiment import Clock, Experiment, Settings
from bench.measure import failure, timed, turns
from bench.points import Figure, Point
from bench.results import OURS
from bench.rules import at_most, scales
from bench.sessions import session, spark_rows, to_nowhere
from windrow import Max, sliding

CORES = Figure("cores", "max without a key, an hour", "cores", "µs a row", (False, False))
MEMORY = Figure("memory of one key", "of all processes together", "range", "MB", (True, False))
SECONDS = Figure("time of one key", "from the rows to the results", "range", "s", (True, False))


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Without a key on one core and on two, in turns; then one key, by a short and a long range."""
    rows = settings.size(10_000_000, 400_000)
    yield from _by_cores(rows, settings, clock.share(1, of=2))
    rows = settings.size(20_000_000, 800_000)
    for share, span in clock.shares(["1 minute", "1 hour"]):
        try:
            (found,) = alone(one_key, rows, span, "600m", seconds=share.left)
        except Exception as error:
            yield from (f.missing(OURS, span, failure(error)) for f in (MEMORY, SECONDS))
            continue
        yield MEMORY.point(OURS, span, found["megabytes"], rows=rows)
        yield SECONDS.point(OURS, span, found["seconds"], rows=rows)


def _by_cores(rows: int, settings: Settings, clock: Clock) -> Iterator[Point]:
    runs: dict[str, list[float]] = {"1": [], "2": []}
    why = ""
    for cores in turns(runs, settings.repeats):
        if why or (clock.over and runs[cores]):
            continue
        try:
            runs[cores] += alone(no_key, int(cores), rows, seconds=max(30.0, clock.left))
        except Exception as error:
            why = failure(error)
    for cores, found in runs.items():
        each = [seconds / rows for seconds in found]
        point = CORES.timed(OURS, int(cores), each, rows=rows)
        yield point if found else CORES.missing(OURS, int(cores), why)


def no_key(cores: int, rows: int) -> None:
    """Tell the seconds of a query without a key over cached rows, after one to warm up."""
    query = sliding(order_by="ts", range="1 hour", m=Max("v"))
    with session(cores, "4g") as spark:
        frame = spark_rows(spark, rows, 1).cache()
        frame.count()
        to_nowhere(frame.transform(query))
        tell(timed(lambda: to_nowhere(frame.transform(query)))[0])


def one_key(rows: int, span: str, heap: str) -> None:
    """Tell the seconds of a query over rows of one key, and the memory of all processes."""
    query = sliding(partition_by="key", order_by="ts", range=span, m=Max("v"))
    with Memory() as memory, session(memory=heap) as spark:
        to_nowhere(spark_rows(spark, min(rows, 200_000), 1).transform(query))
        frame = spark_rows(spark, rows, 1)
        seconds = timed(lambda: to_nowhere(frame.transform(query)))[0]
        time.sleep(0.3)  # so that the end is seen, too
    tell({"seconds": seconds, "megabytes": memory.most >> 20})


class Memory:
    """The most memory of this process and all below it, in bytes; looked at 5 times a second."""

    def __init__(self) -> None:
        self.most = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.most = max(self.most, sum(map(_bytes, _family())))


def _family() -> Iterator[int]:
    """Yield this process and all below it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            children.setdefault(parent, []).append(int(path.name))
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _bytes(pid: int) -> int:
    """Return what a process has in memory; pages that it shares count in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


EXPERIMENT = Experiment(
    "spark alone",
    "one core and two; one key in little memory",
    "Each in a process of its own. Without a key, 10,000,000 cached rows; all rows of one key, "
    "20,000,000 that are not cached, with 600 MB for Java (fewer rows in a quick run). Memory is "
    "that of Java, the driver and its workers, each page counted once.",
    (CORES, MEMORY, SECONDS),
    run,
    rules=(scales(CORES, OURS, 1.6), at_most(MEMORY, 2048)),
    weight=2.0,
)
