"""A query over a streaming DataFrame: rows packed by bucket, a stateful step, results unpacked.

    rows ──watermark──▶ pack ──groupBy(bucket)──▶ transformWithState ──▶ unpack ──▶ results
                        Arrow bytes, many keys    windrow.streams         rows again
                        in one value

Spark's Python state API costs milliseconds a key and batch, and moves rows one by one. So keys are
put into a few buckets, and the rows of a bucket travel as one value: Spark sees some sixteen large
rows in a batch, and all that is done with the rows in them is vectorised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType, StructField, StructType

from windrow.errors import InvalidArgument
from windrow.queries.streaming import Streaming
from windrow.spark.columns import column
from windrow.spark.progress import OBSERVED
from windrow.spark.schema import check_together, result_schema
from windrow.spark.stream_processor import BUCKET, PLACE, RESULT, WindowProcessor
from windrow.spark.workers import Batches, arrow_result, in_arrow
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.plan import Plan
from windrow.tables.bind import Bound
from windrow.windows.durations import nanoseconds

_DELAY = "spark.watermarkDelayMs"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STATE = "org.apache.spark.sql.execution.streaming.state."
_PACKETS = f"{BUCKET} int not null, {PLACE} bigint not null, {RESULT} binary not null"
# Rows are packed so many at a time: a task's packets are few, and none is very large.
_PACKED = 1 << 18


def stream(asked: Streaming, bounds: Sequence[Bound], frame: Any, columns: list[str]) -> Any:
    """The answers of queries over a streaming DataFrame, in which expressions are columns."""
    _check(asked, bounds, frame)
    frame = _watermarked(bounds, frame)
    idle = None if asked.idle is None else nanoseconds(asked.idle, "idle") // 1000
    plan = Plan(
        tuple(bounds),
        tuple(columns),
        timed=bool(bounds[0].query.order_by),
        update=asked.mode == "update",
        idle=idle,
        late=asked.late,
    )
    _use_rocksdb(frame.sparkSession)
    if plan.own_rows:
        frame = frame.where(column(plan.time).isNotNull())
    keys = [_hashed(name, frame) for name in plan.keys]
    buckets = asked.buckets if keys else 1
    bucket = sf.pmod(sf.xxhash64(*keys), sf.lit(buckets)) if keys else sf.lit(0)
    needed = frame.select("*", bucket.cast("int").alias(BUCKET))
    packed = in_arrow(needed, Packed(plan), _PACKETS)
    stepped = packed.groupBy(BUCKET).transformWithStateInPandas(
        WindowProcessor(plan, buckets),
        f"{RESULT} binary, late long, partly_late long",
        asked.mode.capitalize(),
        "EventTime" if plan.timed else "None",
    )
    counted = stepped.observe(
        OBSERVED, *[sf.sum(name).alias(name) for name in ("late", "partly_late")]
    ).where(sf.col(RESULT).isNotNull())
    schema = _schema(plan, frame)
    return counted.mapInArrow(Unpacked(plan, arrow_result(schema)), schema)


# -- what a stream must have --------------------------------------------------------------------


def _watermarked(bounds: Sequence[Bound], frame: Any) -> Any:
    """The frame with a watermark along the order column, as late as the queries allow."""
    query = bounds[0].query
    if not query.order_by:
        return frame
    name = query.order_by[0]
    field = frame.schema[name]
    if field.dataType.typeName() not in ("timestamp", "timestamp_ntz"):
        raise InvalidArgument(
            f"order_by={name!r} is of type {field.dataType.simpleString()}, and a stream is "
            f"ordered by a timestamp: cast it, or leave order_by out to take rows as they come"
        )
    wanted = {b.query.lateness for b in bounds} - {None}
    delays = {-(-nanoseconds(each, "lateness") // 10**6) for each in wanted}
    own = field.metadata.get(_DELAY)
    if own is not None:
        if delays - {own}:
            raise InvalidArgument(
                f"lateness={wanted.pop()!r}, and the frame has a watermark of {own} ms along "
                f"{name!r} already: leave one of them out"
            )
        return frame
    if len(delays) > 1:
        raise InvalidArgument(f"queries over one stream need the same lateness, got {wanted}")
    if not delays:
        raise InvalidArgument(
            f'how late may a row come? Give the query lateness="10 minutes", or the frame '
            f"withWatermark({name!r}, …)"
        )
    return frame.withWatermark(name, f"{delays.pop()} milliseconds")


def _check(asked: Streaming, bounds: Sequence[Bound], frame: Any) -> None:
    check_together(bounds, frame)
    if asked.mode == "update" and not bounds[0].own_rows:
        raise InvalidArgument(
            'mode="update" is for hopping windows, which change while rows come; an answer beside '
            'a row is final: leave the mode "append"'
        )
    taken = (*frame.columns, *(name for bound in bounds for name in bound.query.parts))
    if asked.late in taken:
        raise InvalidArgument(f"late={asked.late!r} is the name of another column")


def _use_rocksdb(session: Any) -> None:
    """Spark keeps the state of Python's processors in RocksDB only, and only if it is told to."""
    if session.conf.get(_PROVIDER).endswith("HDFSBackedStateStoreProvider"):
        session.conf.set(_PROVIDER, f"{_STATE}RocksDBStateStoreProvider")
        session.conf.set(
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", True
        )


def _hashed(name: str, frame: Any) -> Any:
    """A key column as it is hashed: −0.0 is the key that 0.0 is."""
    if frame.schema[name].dataType.typeName() in ("float", "double"):
        return column(name) + sf.lit(0.0)
    return column(name)


def _schema(plan: Plan, frame: Any) -> StructType:
    """The schema of the result, all of which may be null, with the column that marks late rows."""
    found = result_schema(plan.bounds, frame, plan.columns)
    schema = StructType([StructField(field.name, field.dataType) for field in found.fields])
    if plan.late is not None:
        for name in plan.columns:
            if name not in found.names:
                schema.add(name, frame.schema[name].dataType)
        schema.add(plan.late, BooleanType(), False)
    return schema


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Packed:
    """What a worker runs over rows: those of a bucket as one value, or slices of them."""

    plan: Plan

    def __call__(self, batches: Batches) -> Batches:
        """A row for each bucket and some hundred thousand rows, and its place among all."""
        task = TaskContext.get()
        place = (0 if task is None else task.partitionId()) << 32
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(batch)
            if sum(b.num_rows for b in held) >= _PACKED:
                yield self._packets(held, place)
                held = []
                place += 1
        if held:
            yield self._packets(held, place)

    def _packets(self, batches: list[pa.RecordBatch], place: int) -> pa.RecordBatch:
        rows = pa.Table.from_batches(batches)
        bucket = rows.column(BUCKET).to_numpy()
        rows = rows.drop_columns([BUCKET]).cast(self.plan.rows)
        if self.plan.presliced is not None:
            slices, first = self.plan.presliced.slices(rows)
            rows, bucket = slices.select(self.plan.arrives.names), bucket[first]
        order = np.argsort(bucket, kind="stable")
        rows, bucket = rows.take(pa.array(order)), bucket[order]
        begins = np.flatnonzero(np.append(True, np.diff(bucket) != 0)[: bucket.size])
        ends = np.append(begins, bucket.size)
        packets = [encode(rows.slice(a, b - a)) for a, b in pairwise(ends.tolist())]
        return pa.RecordBatch.from_pydict(
            {
                BUCKET: pa.array(bucket[begins], pa.int32()),
                PLACE: pa.array(np.full(begins.size, place, np.int64)),
                RESULT: pa.array(packets, pa.binary()),
            }
        )


@dataclass(frozen=True)
class Unpacked:
    """What a worker runs over packed results: rows again."""

    plan: Plan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """The rows, packet by packet."""
        for batch in batches:
            for packet in batch.column(RESULT):
                (table,) = decode(packet.as_py(), [self.plan.result], "a packet of results")
                yield from table.cast(self.schema).to_batches()
