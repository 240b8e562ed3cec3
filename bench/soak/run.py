"""The stream of the soak, and what is recorded of each micro-batch."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bench.alone import ROOT
from bench.processes import family, resident_bytes
from bench.run import load, machine
from bench.sessions import session
from bench.soak.check import COLUMNS, compare, expected, is_sampled, query
from bench.soak.rows import SoakSource, Workload
from windrow.spark.progress import Progress, listening

SAMPLES = 60  # how often the state is read, of a whole run
HEAP = "1g"  # all of it is taken at the start: what grows is not the heap
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
Note = Callable[[str, float | None], None]


@dataclass
class Recorder:
    """A feed of the stream's progress: a record for each micro-batch."""

    batches: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    def progress(self, news: Progress) -> None:
        """Record a micro-batch, and the memory that its processes have now."""
        self.batches.append(
            {
                "batch": news.batch,
                "seconds": news.seconds,
                "rows": news.rows_in,
                "late": news.late,
                "store_bytes": news.state_bytes,
                "store_entries": news.state_rows,
                "load": round(load() or 0.0, 2),
                **memory_below(os.getpid()),
            }
        )

    def ended(self, query: str, error: str | None) -> None:
        """Keep what the stream ended with."""
        self.error = error


def run_stream(minutes: float, batches: int, workload: Workload, note: Note) -> dict[str, Any]:
    """Return what a stream of at least so many minutes and micro-batches took.

    An interrupt ends it in order, with what was done so far.
    """
    paths = (str(ROOT), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # workers make the rows
    about_machine, begin = machine(), time.monotonic()
    settings = {
        "spark.driver.extraJavaOptions": f"-Xms{HEAP} -XX:+AlwaysPreTouch",
        "spark.sql.shuffle.partitions": "2",
        CHANGELOG: "true",
        "spark.sql.streaming.minBatchesToRetain": "20",  # files are as many as soon as that
    }
    recorder = Recorder()
    samples: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="windrow-soak-") as name,
        session(2, HEAP, settings=settings) as spark,
        listening(spark, recorder),
        interrupts() as interrupted,
    ):
        folder = Path(name)
        stream = _started(spark, folder, workload)
        share = 0.0
        while share < 1 and stream.isActive and not interrupted.wait(0.2):
            done, passed = len(recorder.batches), (time.monotonic() - begin) / 60
            share = min(1.0, done / batches, passed / minutes if minutes else 1.0)
            note(f"{done} micro-batches, {passed:.0f} minutes", share)
            if done and share * SAMPLES >= len(samples):
                samples.append(_state(spark, folder, recorder))
        (folder / "stop").touch()
        if stream.isActive:
            stream.processAllAvailable()
        last = stream.lastProgress
        stream.stop()
        if stream.exception() is not None:
            raise RuntimeError(str(stream.exception()))
        samples.append(_state(spark, folder, recorder))
        results = [pq.read_table(path) for path in (folder / "results").iterdir()]
    done = _batch(last.sources[0].endOffset)
    wanted = expected(workload, done, _microseconds(last.eventTime["watermark"]))
    note("recalculating", 1.0)
    compared, problems = compare(results, wanted)
    return {
        "machine": about_machine,
        "asked": {"minutes": minutes, "batches": batches, **vars(workload)},
        "interrupted": interrupted.is_set(),
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "compared": compared,
        "problems": problems[:20],
        "late": sum(batch["late"] for batch in recorder.batches),
        "late_expected": sum(workload.late_rows(batch) for batch in range(done)),
        "batches": recorder.batches,
        "samples": samples,
    }


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Set an event at an interrupt, in the place of Spark's handler, which cancels the batch."""
    event = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _started(spark: Any, folder: Path, workload: Workload) -> Any:
    """Return the started stream; the results of sampled keys go to files."""
    from pyspark.sql import functions as sf

    spark.dataSource.register(SoakSource)
    options = {**vars(workload), "stop": str(folder / "stop")}
    rows = spark.readStream.format(SoakSource.name()).options(**options).load()

    (folder / "results").mkdir()

    def keep(frame: Any, batch: int) -> None:
        sampled = frame.where(is_sampled(sf.col("key"))).select(*COLUMNS).toArrow()
        pq.write_table(sampled, folder / "results" / f"{batch}.parquet")

    writer = rows.transform(query()).writeStream.foreachBatch(keep).queryName("soak")
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def _state(spark: Any, folder: Path, recorder: Recorder) -> dict[str, Any]:
    """Return the bytes of the state's chunks, and those of the checkpoint's files."""
    batch = recorder.batches[-1]["batch"]
    chunks = spark.read.format("statestore").option("stateVarName", "chunks")
    chunks = chunks.option("batchId", batch).load(str(folder / "checkpoint"))
    count, size = chunks.selectExpr("count(*)", "sum(length(user_map_value.value))").first()
    files = 0
    for path in (folder / "checkpoint").rglob("*"):
        try:
            files += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # Spark has just removed it
            continue
    return {"batch": batch, "chunks": count, "state_bytes": size or 0, "files_bytes": files}


def _batch(offset: Any) -> int:
    """Return the number of batches that were read, from an offset of Spark's."""
    fields = json.loads(offset) if isinstance(offset, str) else offset
    return int(fields["batch"])


def _microseconds(watermark: str) -> int:
    return round(datetime.fromisoformat(watermark).timestamp() * 1000) * 1000


# -- memory -------------------------------------------------------------------------------------


def memory_below(pid: int) -> dict[str, int]:
    """Return the resident bytes of a process's Java machines and Python workers, and its own."""
    below = family(pid)
    workers = [
        resident_bytes(p) for p, name in below.items() if name.startswith("python") and p != pid
    ]
    return {
        "workers": len(workers),
        "python_bytes": sum(workers),
        "largest_worker": max(workers, default=0),
        "java_bytes": sum(resident_bytes(p) for p, name in below.items() if name == "java"),
        "driver_bytes": resident_bytes(pid),
    }
