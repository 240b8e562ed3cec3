"""Streams that are killed, again and again: what they wrote in the end is what a table gives.

The stream is a process of its own (`streaming_job.py`); SIGKILL takes it, its Java machine and
its workers at any moment, in the midst of a micro-batch or of a commit. Its sink is files with
Spark's log of them, so that a row is there exactly once if state, offsets and results agree.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

import pyarrow as pa
import pyarrow.compute as pc
import pyspark

from tests.spark.frames import alike
from windrow.spark.events import register_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PROC = Path("/proc")
MODULE = "tests.spark.streaming_job"
PATIENCE = 300.0
KILLING, MOST_KILLS = 60.0, 20  # as many kills as there are seconds for, and three at least
KEYS = {"rows": ["id"], "hops": ["key", "window_start"]}  # what no two rows have in common
FINAL = {  # by the watermark
    "rows": lambda table, mark: pc.less(table.column("ts"), mark),
    "hops": lambda table, mark: pc.less_equal(table.column("window_end"), mark),
}

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="finds processes in /proc")


class Job:
    """A running stream: what it says, and an end for it."""

    def __init__(self, where: Path, *arguments: Any, **environment: str) -> None:
        self.errors = where / "errors.txt"
        command = [sys.executable, "-m", MODULE, str(where)]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*command, *map(str, arguments)],
                env={
                    **os.environ,
                    "PYSPARK_PYTHON": sys.executable,
                    "PYSPARK_DRIVER_PYTHON": sys.executable,
                    "PYTHONPATH": str(ROOT),
                    **environment,
                },
                cwd=where, stdout=subprocess.PIPE, stderr=errors, text=True,
                start_new_session=True,  # its workers leave its group, but not its session
            )  # fmt: skip
        self.said: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.said.append(line.strip())
                self._news.notify_all()

    def wait_for(self, word: str, times: int = 1) -> str:
        """The line that begins with `word`, when it has come so many times; at once for none."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while time.monotonic() < deadline:
                found = [line for line in self.said if line.startswith(word)]
                if len(found) >= times:
                    return found[times - 1] if times else ""
                if not self._reader.is_alive():
                    break
                self._news.wait(0.5)
        raise AssertionError(f"no {word!r}: {self.said}\n{self.errors.read_text()[-5000:]}")

    def kill(self) -> None:
        """All processes of the session at once, and none is left."""
        while left := processes(self.process.pid):
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.process.poll()  # takes the dead one off the list
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def job(where: Path, *arguments: Any, **environment: str) -> Iterator[Job]:
    made = Job(where, *arguments, **environment)
    try:
        yield made
    finally:
        made.kill()


def processes(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            if int(stat[3]) == session and stat[0] != "Z":
                found.append(int(entry.name))
    return found


def command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_text()
    except OSError:
        return ""


def executors(session: int) -> list[int]:
    return [pid for pid in processes(session) if "CoarseGrainedExecutorBackend" in command(pid)]


def workers(session: int) -> list[int]:
    """Python's processes of the executors; the driver's, which read the source, end the stream."""
    daemons = {pid: parent(pid) for pid in processes(session) if "pyspark.daemon" in command(pid)}
    begun = [pid for pid, above in daemons.items() if above in executors(session)]
    return [pid for pid, above in daemons.items() if above in begun]


def parent(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def unfinished(where: Path) -> bool:
    """Whether a micro-batch was begun and not committed."""
    return any(
        newest(where / f"{name}-log/offsets") > newest(where / f"{name}-log/commits")
        for name in KEYS
    )


def newest(log: Path) -> int:
    numbers = [int(path.name) for path in log.glob("*") if path.name.isdecimal()]
    return max(numbers, default=-1)


def same_as_a_table(spark: SparkSession, where: Path, rows: int, marks: dict[str, str]) -> int:
    """Every result that is final by the watermark is there once, no other is, and all are right.

    Returns how many there are.
    """
    results = 0
    from tests.spark.streaming_job import QUERIES, events

    register_events(spark)
    for name in marks:
        got = spark.read.parquet(str(where / name)).toArrow()
        want = QUERIES[name](events(spark.read, rows).toArrow())
        told = dt.datetime.fromisoformat(marks[name]) + dt.timedelta(milliseconds=1)
        mark = pa.scalar(told, pa.timestamp("us", "UTC"))
        final = want.filter(FINAL[name](want, mark))
        assert final.num_rows > 0.5 * want.num_rows
        alike(got, final, KEYS[name])
        results += final.num_rows
    return results


@pytest.mark.slow
@pytest.mark.faults
def test_a_driver_killed_at_random_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A stream and its Java machine are killed by SIGKILL at any moment, and started again."""
    rows = 3000 * MOST_KILLS  # more than are read before the last run
    chance, begin = random.Random(MOST_KILLS), time.monotonic()
    kills = in_midst = 0
    while kills < MOST_KILLS and (kills < 3 or time.monotonic() < begin + KILLING):
        with job(tmp_path, "--rows", rows, "--batch", 500) as running:
            running.wait_for("running")
            running.wait_for("batch", times=chance.choice([0, 1, 1, 2, 2]))  # machines differ
            time.sleep(chance.uniform(0, 3))
        kills += 1
        in_midst += unfinished(tmp_path)
    assert in_midst > 0  # else nothing was tried
    with job(tmp_path, "--rows", rows, "--batch", rows, "--end") as last:
        marks = json.loads(last.wait_for("done").removeprefix("done "))
    results = same_as_a_table(spark, tmp_path, rows, marks)
    record_property("drivers killed", kills)
    record_property("of them in the midst of a micro-batch", in_midst)
    record_property("results compared", results)
    record_property("results lost, doubled or wrong", 0)  # else it has failed


@pytest.mark.slow
@pytest.mark.faults
def test_workers_and_an_executor_killed_in_mid_run_lose_and_double_nothing(
    spark: SparkSession, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """All Python workers of a stream, twice, and then an executor are killed by SIGKILL."""
    home = tmp_path / "spark"  # workers write beside what they run
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    cluster = ["--master", "local-cluster[2,1,1024]", "--tasks", 2, "--only", "rows"]
    rows = ["--rows", 3000, "--batch", 500, "--end"]
    killed = {"workers": 0, "executors": 0}
    with job(tmp_path, *cluster, *rows, SPARK_HOME=str(home)) as running:
        session = running.process.pid
        for batches, whom in enumerate(("workers", "workers", "executors"), start=1):
            running.wait_for("batch", times=batches)
            found = workers(session) if whom == "workers" else executors(session)[:1]
            for pid in found:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
                    killed[whom] += 1
        marks = json.loads(running.wait_for("done").removeprefix("done "))
        after = len([line for line in running.said if line.startswith("batch")])
    assert killed["workers"] > 0 and killed["executors"] == 1
    assert after > batches  # it was in mid-run
    results = same_as_a_table(spark, tmp_path, 3000, marks)
    record_property("workers killed", killed["workers"])
    record_property("executors killed", killed["executors"])
    record_property("results compared", results)
    record_property("results lost, doubled or wrong", 0)  # else it has failed
