"""The state of a stream as Parquet files, and from there into the checkpoint of a changed query.

    checkpoint ──export──▶ about       the query, and what each column means
                           waiting     rows that wait for the watermark
                           kept_0 …    rows or states that windows to come hold
                           checkpoint  a copy, for the offsets and for Spark
                               │
                             import, as one more micro-batch without rows
                               ▼
                           checkpoint of the changed query, at the same offsets

Spark writes its state itself: the batch runs the changed query's own stateful operator, whose
processor takes what the files hold in place of rows. Its source gives nothing and takes any offset
for its own; the offsets that it leaves are then those of the batch before.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from windrow.errors import InvalidArgument
from windrow.queries.query import Query
from windrow.queries.shared import Shared
from windrow.queries.streaming import Streaming
from windrow.spark.checkpoint import (
    Checkpoint,
    check_listed,
    entry_of,
    list_batch,
    located,
    offsets,
    read_checkpoint,
    stored,
    write_text,
)
from windrow.spark.columns import column
from windrow.spark.dataframe import planned
from windrow.spark.expressions import spark_column
from windrow.spark.stream import PlannedStream
from windrow.spark.stream_processor import ABOUT, BUCKET, HEAD, PACKET, Adoption
from windrow.spark.workers import Batches, arrow_result, in_arrow
from windrow.stores.encoding import decode as decoded
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.changes import check_change, moved_columns
from windrow.streams.description import Description
from windrow.streams.header import Header
from windrow.streams.log import Chunks
from windrow.streams.step import nullable

# What is written beside each row: its bucket, its place there, and when its chunk was added to.
OLD_BUCKET, OLD_PLACE, NEWEST = "windrow:bucket", "windrow:order", "windrow:newest"
_BESIDE = [
    pa.field(OLD_BUCKET, pa.int32()),
    *(pa.field(n, pa.int64()) for n in (OLD_PLACE, NEWEST)),
]
_SOURCE, _AT = "windrow-nothing", "windrow_at"
_ROWS = 1 << 16  # in a packet
_PACKETS = f"{BUCKET} int, log int, place long, newest long, rows binary"


def export_state(session: Any, checkpoint: str, directory: str) -> Checkpoint:
    """Write the state of a stream that does not run to a directory of Parquet files.

    Rows are as the store has them: of two rows of a key that stand for the same slice or session,
    the later one (`windrow:order`) counts, and some may be too old for any window.
    """
    state = read_checkpoint(session, checkpoint)
    if state.operators > 1:
        raise InvalidArgument(
            f"{checkpoint} has the state of {state.operators} stateful steps in a chain, and only "
            f"that of one can be exported: let each be a streaming query of its own"
        )
    _new(session, directory)
    about = _about(session, checkpoint)
    headers = _headers(session, checkpoint)
    chunks = stored(session, checkpoint).select(BUCKET, "number", "value", "log")
    for i, (name, schema, entries) in enumerate(_logs(about)):
        work = DecodedLog(i, tuple(about.keys), schema, entries, headers)
        mine = chunks.where(sf.col("log") == i).drop("log")
        rows = in_arrow(mine, work, _spark_schema(work.output))
        rows.write.parquet(f"{directory}/{name}")
    text = session.createDataFrame([(about.encode(),)], "value string")
    text.coalesce(1).write.text(f"{directory}/about")
    _copy(session, checkpoint, f"{directory}/checkpoint")
    return state


def import_state(
    session: Any,
    directory: str,
    checkpoint: str,
    query: Query | Shared | Streaming,
    *,
    fill: bool = False,
    output: str | None = None,
) -> None:
    """Make a checkpoint from which a changed query goes on with the state in a directory.

    It may have other `buckets`, more aggregations of what is kept, and shorter windows; longer ones
    with `fill`, which then hold what is kept and fill up from now on. Anything else is refused.
    Without `buckets` there are those of a stream whose state has as many partitions as this one.
    """
    streaming = query if isinstance(query, Streaming) else Streaming(query)
    try:
        text = session.read.text(f"{directory}/about").collect()
    except PySparkException:
        raise InvalidArgument(f"{directory} is not what `windrow state export` writes") from None
    then = Description.decode("".join(row[0] for row in text))
    copied = f"{directory}/checkpoint"
    state = read_checkpoint(session, copied)
    batch = state.batch
    check_listed(session, output, batch + 1)
    source = _nothing(session, offsets(session, copied, batch)[1:])
    stream = planned(streaming, _like(source, then, streaming), state.partitions)
    check_change(then, stream.about, fill)
    place, system = _new(session, checkpoint)
    heads = _headers(session, copied)
    done = max((h.done for h in heads.values() if h.done is not None), default=None)
    fed = _packets(session, directory, then, stream, list(heads))
    fed = fed.crossJoin(sf.broadcast(source))
    if stream.plan.timed:
        fed = fed.withWatermark(_AT, "1 second")
    _copy(session, copied, checkpoint)
    try:
        running = (
            stream.stepped(fed.drop(_AT), Adoption, done=done)
            .writeStream.format("noop")
            .outputMode("update" if stream.plan.update else "append")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        new, kept = (offsets(session, checkpoint, number) for number in (batch + 1, batch))
        write_text(session, f"{checkpoint}/offsets/{batch + 1}", "\n".join([*new[0], *kept[1:]]))
    except BaseException:
        system.delete(place, True)
        raise
    if output is not None:
        list_batch(session, output, batch + 1)


# -- what lies in a checkpoint ------------------------------------------------------------------


def _about(session: Any, checkpoint: str) -> Description:
    """Return the description of the query that made a state."""
    entries = entry_of(session, checkpoint, ABOUT).limit(1).collect()
    if not entries:
        raise InvalidArgument(
            f"{checkpoint} does not say what its query was: no row has come yet, or it was made by "
            f"a version of windrow that did not keep it"
        )
    text = decoded(bytes(entries[0]["value"]), "the description of the stream's query")
    return Description.decode(text)


def _headers(session: Any, checkpoint: str) -> dict[int, Header]:
    """Return the headers of the buckets."""
    rows = entry_of(session, checkpoint, HEAD).collect()
    return {row[BUCKET]: Header.decode(bytes(row["value"])) for row in rows}


def _new(session: Any, path: str) -> tuple[Any, Any]:
    """Return a path at which there is nothing yet, and its file system."""
    place, system = located(session, path)
    if system.exists(place):
        raise InvalidArgument(f"{path} is there already: name a new directory")
    return place, system


def _copy(session: Any, path: str, into: str) -> None:
    """Copy a directory."""
    (place, system), (target, other) = located(session, path), located(session, into)
    java: Any = getattr(session, "_jvm", None)
    java.org.apache.hadoop.fs.FileUtil.copy(system, place, other, target, False, system.getConf())


def _logs(about: Description) -> list[tuple[str, pa.Schema, int]]:
    """Return of each log of a state its name, its columns, and its entries for each chunk."""
    keys = [about.waits.field(name) for name in about.keys]
    kept = [(log.name, pa.schema([*keys, *log.columns]), log.entries) for log in about.logs]
    return [("waiting", about.waits, 1), *kept]


def _spark_schema(schema: pa.Schema) -> Any:
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


@dataclass(frozen=True)
class DecodedLog:
    """What a worker runs over the chunks of a log: their rows."""

    number: int
    keys: tuple[str, ...]
    schema: pa.Schema
    entries: int
    headers: dict[int, Header]

    @property
    def output(self) -> pa.Schema:
        """The schema of the rows, and of where they were."""
        return nullable(pa.schema([*self.schema, *_BESIDE]))

    def __call__(self, batches: Batches) -> Batches:
        """Yield the rows, chunk by chunk."""
        schema = arrow_result(_spark_schema(self.output))
        for batch in batches:
            for bucket, number, value in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                if number % self.entries == 0:  # else it is a summary
                    rows = self._rows(bucket, number // self.entries, value)
                    yield from rows.cast(schema).to_batches()

    def _rows(self, bucket: int, number: int, value: bytes) -> pa.Table:
        header, newest = self.headers[bucket], 0
        if self.number == 0:
            piece = next(p for p in header.waiting if p.number == number)
            (rows,) = decode(value, [nullable(self.schema)], "a chunk of rows that wait")
            rows = rows.slice(piece.gone)
        else:
            chunk = next(c for c in header.logs[self.number - 1] if c.number == number)
            columns = pa.schema([f for f in self.schema if f.name not in self.keys])
            keys = pa.schema([self.schema.field(name) for name in self.keys])
            entries: Any = OneChunk(value)
            rows, newest = Chunks(entries, 0, keys, columns).read(chunk), chunk.newest
        places = np.arange(rows.num_rows) + (number << 32)
        beside = [pa.array(np.full(places.size, bucket, np.int32)), pa.array(places)]
        beside.append(pa.array(np.full(places.size, newest)))
        return pa.Table.from_arrays([*rows.columns, *beside], schema=self.output)


@dataclass(frozen=True)
class OneChunk:
    """What a log reads of a store that has one chunk."""

    value: bytes

    def get(self, log: int, number: int) -> bytes:
        """Return the chunk, whatever its number is."""
        return self.value


# -- what the changed query takes ---------------------------------------------------------------


def _packets(
    session: Any, directory: str, then: Description, stream: PlannedStream, old: list[int]
) -> Any:
    """Return the state in packets for the buckets of the changed query, and empty ones for old."""
    empty = [(bucket, -1, 0, 0, b"") for bucket in old]
    frames = [session.createDataFrame(empty, _PACKETS)]
    now = stream.about
    pairs = zip(_logs(then), _logs(now), strict=True)
    for i, ((name, had, _), (_, needs, _)) in enumerate(pairs):
        there = pa.schema([*had, *_BESIDE])
        rows = session.read.schema(_spark_schema(there)).parquet(f"{directory}/{name}")
        moved = moved_columns(then, had, now, needs)
        columns = []
        for name in needs.names:
            is_kept = name in moved
            value = column(moved[name]) if is_kept else spark_column(now.texts[name], rows, had)
            columns.append(value.alias(name))
        rows = stream.bucketed(rows.select(*columns, *(column(f.name) for f in _BESIDE)))
        order = [BUCKET, *(column(name) for name in (OLD_BUCKET, OLD_PLACE))]
        rows = rows.repartition(BUCKET).sortWithinPartitions(*order)
        frames.append(in_arrow(rows, PackedLog(i, nullable(needs)), _PACKETS))
    return reduce(lambda a, b: a.unionAll(b), frames)


@dataclass(frozen=True)
class PackedLog:
    """What a worker runs over the rows of a log, sorted by bucket: packets of each bucket."""

    number: int
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Yield the packets, as one batch."""
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        rows = pa.concat_tables(tables)
        bucket, newest = rows.column(BUCKET).to_numpy(), rows.column(NEWEST).to_numpy()
        edges = np.flatnonzero(np.diff(bucket, prepend=-1, append=-1))
        packets: list[tuple[Any, ...]] = []
        for a, b in pairwise(edges.tolist()):
            for begin in range(a, b, _ROWS):
                stop = min(b, begin + _ROWS)
                part = rows.slice(begin, stop - begin).select(self.schema.names).cast(self.schema)
                last = int(newest[begin:stop].max())
                packets.append((int(bucket[a]), self.number, begin, last, encode(part)))
        names = [BUCKET, *PACKET]
        kinds = [pa.int32(), pa.int32(), pa.int64(), pa.int64(), pa.binary()]
        arrays = [pa.array(v, t) for v, t in zip(zip(*packets, strict=True), kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names)


def _like(source: Any, about: Description, streaming: Streaming) -> Any:
    """Return a streaming DataFrame with the columns, and the watermark, that a query reads."""
    # the function never runs: only the frame's schema is looked at
    frame = source.mapInArrow(lambda batches: batches, _spark_schema(about.rows))
    if about.own:
        frame = frame.withWatermark(streaming.queries[0].order_by[0], f"{about.delay} milliseconds")
    return frame


def _nothing(session: Any, offsets: Sequence[str]) -> Any:
    """Return a stream of one row, from as many sources as there are offsets."""
    session.dataSource.register(Nothing)
    frames = [
        session.readStream.format(_SOURCE).option("rows", int(i == 0)).load()
        for i in range(len(offsets))
    ]
    return reduce(lambda a, b: a.unionAll(b), frames)


class Nothing(DataSource):
    """A source that is done with its first batch, wherever another one has stopped."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return _SOURCE

    def schema(self) -> str:
        """Return the schema: a time that moves no watermark."""
        return f"{_AT} timestamp"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Return the reader."""
        return NothingReader(int(self.options["rows"]))


class NothingReader(DataSourceStreamReader):
    """Reads the one row, or none."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where it would begin."""
        return {"windrow": 0}

    def latestOffset(self, start: Any, limit: Any) -> dict[str, Any]:  # noqa: N802
        """Return where it ends."""
        return {"windrow": 1}

    def partitions(self, start: Any, end: Any) -> Sequence[InputPartition]:
        """Return one partition."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the row."""
        yield from [(dt.datetime(1970, 1, 2, tzinfo=dt.UTC),)] * self._rows

    def commit(self, end: Any) -> None:
        """Do nothing: nothing is held."""
