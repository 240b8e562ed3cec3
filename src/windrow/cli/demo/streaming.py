"""The demo's queries as Spark streams over the files that come in, all at the same time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from windrow.cli.demo.arrivals import Arrivals, without_closing
from windrow.cli.demo.questions import QUESTIONS
from windrow.cli.inputs import files_in
from windrow.cli.stream import Tally

_LOOK = 0.2


@dataclass(frozen=True)
class Streamed:
    """What one stream answered, and what it told on the way."""

    answers: pa.Table
    tally: Tally
    seconds: float


def stream_all(
    spark: Any, arrivals: Arrivals, place: Path, note: Callable[..., None]
) -> dict[str, Streamed]:
    """Run the streams until all files are read; each file is a micro-batch."""
    schema = spark.read.parquet(str(arrivals.folder)).schema
    started = time.perf_counter()
    running = {}
    for question in QUESTIONS:
        rows = (
            spark.readStream.schema(schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(arrivals.folder))
        )
        running[question.name] = (
            rows.transform(question.query)
            .writeStream.queryName(question.name)
            .trigger(availableNow=True)
            .option("checkpointLocation", str(place / "checkpoints" / question.name))
            .format("parquet")
            .start(str(place / "answers" / question.name))
        )
    tallies, ended = _follow(running, arrivals.files, note)
    return {
        name: Streamed(_read(place / "answers" / name), tallies[name], ended[name] - started)
        for name in running
    }


def _follow(
    running: dict[str, Any], files: int, note: Callable[..., None]
) -> tuple[dict[str, Tally], dict[str, float]]:
    """Watch the streams until each has ended; an error of one is raised when all have."""
    tallies = {name: Tally() for name in running}
    ended: dict[str, float] = {}
    while len(ended) < len(running):
        time.sleep(_LOOK)
        for name, query in running.items():
            active = query.isActive
            tallies[name].add(query.recentProgress)
            if not active:
                ended.setdefault(name, time.perf_counter())
        done = sum(min(tally.batches, files) for tally in tallies.values())
        rows = max(tally.rows for tally in tallies.values())
        note(f"{rows:,} rows", done / files / len(running))
    for query in running.values():
        failure = query.exception()
        if failure is not None:
            raise failure
    return tallies, ended


def _read(folder: Path) -> pa.Table:
    """The answers that the stream has committed, as its log lists them."""
    log = folder / "_spark_metadata"
    named = [
        json.loads(line)["path"]
        for entry in files_in(str(log))
        for line in Path(entry).read_text("utf-8").splitlines()[1:]
    ]
    files = [folder / Path(path).name for path in dict.fromkeys(named)]
    tables = [parquet.read_table(file) for file in files]
    made = pa.concat_tables([table for table in tables if table.num_rows] or tables[:1])
    return without_closing(made)
