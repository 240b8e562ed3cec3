"""Reads the checkpoint of a stream, what its state holds, and spreads it over more partitions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from windrow.errors import InvalidArgument
from windrow.spark.stream_processor import BUCKET, EARLIER_LAYOUT, HEAD, TEXT
from windrow.stores.encoding import decode
from windrow.streams.header import Header

_COMPACTED = "spark.sql.streaming.fileSink.log.compactInterval"


@dataclass(frozen=True)
class BucketState:
    """What is kept of a bucket of keys. Times are microseconds since 1970."""

    bucket: int
    partition: int
    waiting: int  # rows that the watermark has not reached
    kept: int  # rows, or states of many, that windows to come may hold
    chunks: int
    bytes: int
    oldest: int | None  # the time of the oldest row that waits, or lies in a chunk of rows


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint of windrow's holds."""

    query: str
    batch: int  # the number of the last one that is done
    watermark: int | None  # milliseconds since 1970
    partitions: int
    buckets: tuple[BucketState, ...]
    operators: int = 1  # how many stateful steps the streaming query has


def read_checkpoint(session: Any, path: str) -> Checkpoint:
    """Return the state of a stream as its last batch left it; the stream may run meanwhile.

    Of a chain of stateful steps, it is that of the first one.
    """
    try:
        about = session.read.format("state-metadata").load(path).collect()
        heads = entry_of(session, path, HEAD).collect()
        texts = entry_of(session, path, TEXT).limit(1).collect()
        sizes = stored(session, path).groupBy(BUCKET)
        sizes = sizes.agg(sf.sum(sf.length("value")).alias("bytes")).collect()
        batch = max(row["maxBatchId"] for row in about)
        (_, text), *_ = offsets(session, path, batch)  # the first line is a version
    except PySparkException as error:
        raise _unreadable(path, error) from None
    if sizes and not heads:
        raise InvalidArgument(f"{path}: {EARLIER_LAYOUT}")
    watermark = json.loads(text).get("batchWatermarkMs") or None
    lengths = {row[0]: row[1] for row in sizes}
    buckets = sorted((_bucket(row, lengths) for row in heads), key=lambda state: state.bucket)
    partitions = max(row["numPartitions"] for row in about)
    query = decode(bytes(texts[0]["value"]), "the text of the stream's query") if texts else ""
    operators = len({row["operatorId"] for row in about})
    return Checkpoint(query, batch, watermark, partitions, tuple(buckets), operators)


def repartition(session: Any, path: str, partitions: int, output: str | None = None) -> None:
    """Spread the state of a stream that does not run over so many partitions.

    A partition is the share of one task, so this is how a stream gets more of them, or fewer. Where
    the stream writes files to `output`, Spark's list of them gets an entry for this batch, without
    which the files could not be read any more.
    """
    manager = getattr(session, "_streamingCheckpointManager", None)
    if manager is None:
        raise InvalidArgument("Spark repartitions a state from 4.2 on, and not through Connect")
    batch = read_checkpoint(session, path).batch + 1
    check_listed(session, output, batch)
    try:
        manager.repartition(path, partitions)
    except PySparkException as error:
        raise _unreadable(path, error) from None
    if output is not None:
        list_batch(session, output, batch)


def check_listed(session: Any, output: str | None, batch: int) -> None:
    """Refuse a batch of which an entry in Spark's list of files would not be enough."""
    every = int(session.conf.get(_COMPACTED, "10"))
    if output is not None and (batch + 1) % every == 0:
        raise InvalidArgument(
            f"this would be batch {batch}, with which Spark compacts the list of files in "
            f"{output}: let the stream run for one more batch first"
        )


def list_batch(session: Any, output: str, batch: int) -> None:
    """Add an entry for a batch without files to Spark's list of those in `output`."""
    write_text(session, f"{output}/_spark_metadata/{batch}", "v1")


def write_text(session: Any, path: str, text: str) -> None:
    """Write a file wherever Spark writes files, over the one that is there."""
    place, system = located(session, path)
    entry = system.create(place, True)
    entry.write(bytearray(text.encode()))
    entry.close()


def located(session: Any, path: str) -> tuple[Any, Any]:
    """Return a path and its file system, as objects of Hadoop."""
    java: Any = getattr(session, "_jvm", None)
    context: Any = getattr(session, "_jsc", None)
    if java is None:
        raise InvalidArgument("this goes by Spark's own files: it needs a session without Connect")
    place = java.org.apache.hadoop.fs.Path(path)
    return place, place.getFileSystem(context.hadoopConfiguration())


def stored(session: Any, path: str) -> Any:
    """Return the state of the first of windrow's queries as a frame: a row for each entry."""
    about = session.read.format("state-metadata").load(path)
    ours = about.where("operatorName LIKE 'transformWithState%'").selectExpr("min(operatorId)")
    reader = session.read.format("statestore").option("stateVarName", "chunks")
    entries = reader.option("operatorId", ours.collect()[0][0] or 0).load(path)
    return entries.select(f"key.{BUCKET}", "user_map_key.*", "user_map_value.value", "partition_id")


def entry_of(session: Any, path: str, entry: tuple[int, int]) -> Any:
    """Return one entry of each bucket, as a frame."""
    log, number = entry
    return stored(session, path).where((sf.col("log") == log) & (sf.col("number") == number))


def offsets(session: Any, path: str, batch: int) -> list[Any]:
    """Return the two lines that describe a batch, and then the line of each source's offset."""
    lines = [row[0] for row in session.read.text(f"{path}/offsets/{batch}").collect()]
    return [lines[:2], *lines[2:]]


def _bucket(row: Any, lengths: dict[int, int]) -> BucketState:
    header, bucket = Header.decode(bytes(row["value"])), row[BUCKET]
    chunks = [chunk for log in header.logs for chunk in log]
    times = [piece.next for piece in header.waiting] + [c.low for c in chunks if c.high]
    return BucketState(
        bucket,
        row["partition_id"],
        sum(piece.rows - piece.gone for piece in header.waiting),
        sum(chunk.rows for chunk in chunks),
        len(header.waiting) + len(chunks),
        lengths[bucket],
        min(times, default=None),
    )


def _unreadable(path: str, error: PySparkException) -> InvalidArgument:
    """Return an error that says which checkpoint cannot be read, in Spark's words."""
    reason = str(error).partition("\n")[0].partition(" SQLSTATE")[0]
    return InvalidArgument(
        f"{path} is not the checkpoint of a stream of windrow's, or cannot be read: {reason}"
    )
