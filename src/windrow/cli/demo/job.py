"""The demo's Spark side, a process of its own, so that it can be killed while it works.

``python -m windrow.cli.demo.job PLACE`` answers the queries as batches, and then as streams;
``… PLACE 4141`` goes on with the streams from their checkpoints, to the last row, and shows them at
that port. Each line on the standard output is a report in JSON. The process ends when it is killed,
or its standard input ends.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyarrow import parquet

from windrow.cli.demo.questions import MANY, QUESTIONS
from windrow.cli.failures import failure_of
from windrow.cli.session import spark_session
from windrow.cli.stream import LOOK, Tally, raise_failure
from windrow.queries.streaming import streaming

LATE = "too_late"  # the column that marks such readings in the results of the first query
KEPT, FEW, SOME = "kept.parquet", "few.parquet", "some.parquet"
_SETTINGS = {
    # else the few rows of the warm-up go to one worker, and the other one is cold
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.python.authenticate.socketTimeout": "120s",  # a busy machine starts workers slowly
}
# A Java that is soon done spends most of its time on machine code that it hardly uses. Not where
# Spark's own functions are measured, which the better code is for.
_SHORT = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


def main(place: Path, port: int | None, verbose: bool) -> None:
    """Do the work, all of it or what is left, and report how far it is."""
    settings = _SETTINGS if port is None else _SETTINGS | _SHORT
    with spark_session(settings=settings, verbose=verbose) as spark:
        from windrow.spark import live_view

        if port is None:
            _batches(spark, place)
        with live_view(spark, port=port) as view:
            tell("live", url=view.url)
            _streams(spark, place)
            sys.stdin.readline()


def tell(what: str, **facts: Any) -> None:
    """Write a report."""
    print(json.dumps({"what": what, **facts}), flush=True)


def _batches(spark: Any, place: Path) -> None:
    """Answer the queries over all rows, and the large one by Spark's own functions, too."""
    few, kept, some = (spark.read.parquet(str(place / name)) for name in (FEW, KEPT, SOME))
    for question in (*QUESTIONS, MANY):  # workers start, and both sides compile what they need
        question.by_windrow(few).toArrow()
    MANY.by_spark(few).toArrow()
    for frame in (kept, some):
        frame.cache().count()
    tell("warm")
    frames = {question.name: question.by_windrow(kept) for question in QUESTIONS}
    frames |= {MANY.name: MANY.by_windrow(some), "own": MANY.by_spark(some)}
    for name, frame in frames.items():
        started = time.perf_counter()
        table = frame.toArrow()
        seconds = time.perf_counter() - started
        parquet.write_table(table, place / f"{name}.parquet")
        tell(name, seconds=seconds)
    for frame in (kept, some):
        frame.unpersist()


def _streams(spark: Any, place: Path) -> None:
    """Run a stream for each query, side by side; each file is a micro-batch."""
    arrivals = str(place / "arrivals")
    schema = spark.read.parquet(arrivals).schema
    running = {}
    for question in QUESTIONS:
        query = question.query
        query = streaming(query, late=LATE) if query.window.per_row else query
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(arrivals)
        running[question.name] = (
            rows.transform(query)
            .writeStream.queryName(question.name)
            .trigger(availableNow=True)
            .option("checkpointLocation", str(place / "checkpoints" / question.name))
            .format("parquet")
            .start(str(place / "streamed" / question.name))
        )
    tallies = {name: Tally() for name in running}
    active = True
    while active:
        time.sleep(LOOK)
        active = sum(tallies[name].update(query) for name, query in running.items()) > 0
        tell("batches", done=min(t.batches for t in tallies.values()), rows=tallies["plugs"].rows)
    for name, query in running.items():
        raise_failure(query)
        table = spark.read.parquet(str(place / "streamed" / name)).toArrow()
        parquet.write_table(table, place / f"{name}-streamed.parquet")
    tell("streamed")


if __name__ == "__main__":
    try:
        _, folder, *port = (argument for argument in sys.argv if argument != "--verbose")
        main(Path(folder), int(port[0]) if port else None, "--verbose" in sys.argv)
    except Exception as error:  # reported to the demo, which tells the user
        tell("failed", message=failure_of(error).message)
        raise
