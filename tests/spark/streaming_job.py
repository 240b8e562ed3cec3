"""A stream that writes files, made to be killed: ``python -m tests.spark.streaming_job DIR``.

Every query of `QUERIES`, or the one given by ``--only``, runs over the same events with a
checkpoint and a sink of its own under DIR. Lines on the standard output tell how far it is:
``running``, ``batch`` for each micro-batch, and with ``--end``, which reads to the last row and
stops, ``done`` and each query's watermark.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.conftest import SETTINGS
from windrow import ArgMax, Count, Max, Sum, sliding
from windrow.spark.events import register_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS: dict[str, Any] = {
    "rowsPerSecond": 200,
    "keys": 20,
    "disorder": "2 seconds",
    "bursts": "10 seconds",
    "seed": 5,
}
PARTS = {
    "n": Count(),
    "total": Sum("value"),  # exact: values are multiples of 1/64
    "high": Max("value"),
    "worst": ArgMax("value", "id"),
}
AGAINST = {"partition_by": "key", "order_by": "ts", "lateness": "3 seconds"}
QUERIES = {
    "rows": sliding(PARTS, **AGAINST, range="4 seconds"),
    "hops": sliding(PARTS, **AGAINST, range="6 seconds", slide="2 seconds"),
}
STREAMING = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("where", type=Path)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--rows", type=int, required=True, help="all there will ever be")
    parser.add_argument("--batch", type=int, required=True, help="rows in a micro-batch, at most")
    parser.add_argument("--tasks", type=int, default=1, help="of each query, at a time")
    parser.add_argument("--end", action="store_true")
    parser.add_argument("--only", choices=QUERIES, help="one query in place of all")
    job = parser.parse_args()
    spark = session(job.master, job.tasks)
    names = [job.only] if job.only else list(QUERIES)
    streams = [started(spark, name, job) for name in names]
    say("running")
    batch = dict.fromkeys(names, -1)
    while any(stream.isActive for stream in streams):
        for stream in streams:
            news = stream.lastProgress
            if news is not None and news.batchId > batch[stream.name]:
                batch[stream.name] = news.batchId
                say("batch", stream.name, news.batchId)
        time.sleep(0.05)
    for stream in streams:
        stream.awaitTermination()  # raises what it ended with
    marks = {stream.name: stream.lastProgress.eventTime["watermark"] for stream in streams}
    say("done", json.dumps(marks))
    spark.stop()


def session(master: str, tasks: int) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("windrow-faults")
    for name, value in {**SETTINGS, **STREAMING}.items():
        builder.config(name, value)
    builder.config("spark.sql.shuffle.partitions", tasks)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register_events(spark)
    return spark


def events(reader: Any, rows: int, **more: Any) -> DataFrame:
    """The events as a table or as a stream."""
    options = {**EVENTS, "numRows": rows, **more}
    frame: DataFrame = reader.format("windrow-events").options(**options).load()
    return frame


def started(spark: SparkSession, name: str, job: Any) -> Any:
    """One query, reading, windowing and writing."""
    rows = events(spark.readStream, job.rows, maxRowsPerTrigger=job.batch, partitions=job.tasks)
    writer = rows.transform(QUERIES[name]).writeStream.queryName(name).format("parquet")
    writer = writer.option("checkpointLocation", str(job.where / f"{name}-log"))
    trigger = {"availableNow": True} if job.end else {"processingTime": "0 seconds"}
    return writer.outputMode("append").trigger(**trigger).start(str(job.where / name))


def say(*words: Any) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    main()
