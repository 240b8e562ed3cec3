"""A query over a streaming DataFrame: rows packed by bucket, a stateful step, results unpacked.

    rows ──watermark──▶ pack ──groupBy(bucket)──▶ transformWithState ──▶ results
                        Arrow bytes, many keys    windrow.streams
                        in one value

Spark's Python state API costs milliseconds a key and batch, and moves rows one by one. So keys are
put into a few buckets, and the rows of a bucket travel as one value: Spark sees some sixteen large
rows in a batch, and all that is done with the rows in them is vectorised. Results come out as rows;
only those with lists, structs or maps are packed again, and unpacked by a stage of their own, since
Spark would turn each of their values into an object of Python's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    IntegerType,
    StructField,
    StructType,
    UserDefinedType,
)

from windrow.errors import InvalidArgument, Unsupported
from windrow.queries.streaming import Streaming
from windrow.spark.buckets import bucket_labels, bucket_of
from windrow.spark.clock import clock
from windrow.spark.columns import as_number, column, unused
from windrow.spark.keys import needed_columns
from windrow.spark.progress import observed_name
from windrow.spark.schema import check_together, result_schema
from windrow.spark.stream_processor import (
    BEAT,
    BUCKET,
    LATE,
    PARTLY,
    PLACE,
    RESULT,
    TIMELESS,
    WindowProcessor,
)
from windrow.spark.workers import Batches, arrow_result, in_arrow, spare_garbage_collection
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.plan import Flush, Plan, identity_text
from windrow.streams.revised import REVISION, is_revisable
from windrow.tables.bind import Bound
from windrow.tables.columns import nulls_of, whole
from windrow.windows.base import written
from windrow.windows.durations import nanoseconds

_DELAY = "spark.watermarkDelayMs"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STATE = "org.apache.spark.sql.execution.streaming.state."
_PACKETS = (
    f"{BUCKET} int not null, {PLACE} bigint not null, {RESULT} binary not null, "
    f"{TIMELESS} bigint not null"
)
# A clock wakes a stream every so many milliseconds at most.
_SHORTEST = 100
# Rows are packed so many at a time: a task's packets are few, and none is very large.
_PACKED = 1 << 18


def stream(asked: Streaming, bounds: Sequence[Bound], frame: Any, columns: list[str]) -> Any:
    """The results of queries over a streaming DataFrame, in which expressions are columns."""
    _check(asked, bounds, frame)
    delay = _delay(bounds, frame)
    rows = pa.schema([bounds[0].schema.field(name) for name in columns])
    text = identity_text(asked, rows, delay)
    counters = observed_name(hashlib.sha256(text.encode()).digest(), asked)
    if delay is not None:
        frame = _without_future(asked, bounds, frame, f"{counters}_input")
        frame = _watermarked(frame, str(bounds[0].order), delay)
    if bounds[0].query.window.kept == "sessions" and asked.late is None:
        # rows become states in the state's own tasks, so as little of them as possible travels
        frame = frame.select(*needed_columns(bounds))
        few = pa.schema([bounds[0].schema.field(name) for name in frame.columns])
        bounds = [replace(bound, schema=few) for bound in bounds]
    idle = None if asked.idle is None else nanoseconds(asked.idle, "idle") // 1000
    flush = None
    if asked.flush is not None and delay is not None:
        flush = Flush(nanoseconds(asked.flush, "flush") // 1000, delay * 1000)
    plan = Plan(
        tuple(bounds),
        tuple(columns),
        timed=bool(bounds[0].query.order_by),
        update=asked.mode == "update",
        idle=idle,
        flush=flush,
        late=asked.late,
        asked=text,
    )
    _use_rocksdb(frame.sparkSession)
    labels = bucket_labels(asked.buckets, plan.keys, frame.sparkSession)
    needed = frame.select("*", bucket_of(plan.keys, labels, frame).alias(BUCKET))
    schema = _schema(plan, frame)
    packed = in_arrow(needed, Packed(plan), _PACKETS)
    if asked.flush is not None or asked.final is not None:
        period = None if plan.flush is None else max(_SHORTEST, plan.flush.after // 4000)
        beats = clock(frame.sparkSession, period).mapInArrow(Beats(labels), _PACKETS)
        packed = packed.union(beats)
    in_rows = _in_rows(schema)
    given = [StructField(f.name, f.dataType) for f in schema.fields if in_rows]
    given += [] if in_rows else [StructField(RESULT, BinaryType())]
    late, partly = (unused(name, schema.names) for name in (LATE, PARTLY))
    given += [StructField(name, IntegerType()) for name in (late, partly)]
    processor = WindowProcessor(
        plan, labels, arrow_result(StructType(given)), in_rows, final=bool(asked.final)
    )
    stepped = packed.groupBy(BUCKET).transformWithStateInPandas(
        processor,
        StructType(given),
        asked.mode.capitalize(),
        "EventTime" if plan.timed else "None",
    )
    counted = stepped.observe(
        counters, sf.sum(column(late)).alias(LATE), sf.sum(column(partly)).alias(PARTLY)
    ).where(column(late).isNull())
    if in_rows:
        return counted.select(*map(_never_null, schema.fields))
    return counted.mapInArrow(Unpacked(plan, arrow_result(schema)), schema)


# -- what a stream must have --------------------------------------------------------------------


def _delay(bounds: Sequence[Bound], frame: Any) -> int | None:
    """How far the watermark is behind the newest row, in milliseconds; None without an order."""
    query = bounds[0].query
    if not query.order_by:
        return None
    name = query.order_by[0]
    field = frame.schema[name]
    if field.dataType.typeName() not in ("timestamp", "timestamp_ntz"):
        raise InvalidArgument(
            f"order_by={name!r} is of type {field.dataType.simpleString()}, and a stream is "
            f"ordered by a timestamp: cast it, or leave order_by out to take rows as they come"
        )
    wanted = {b.query.lateness for b in bounds} - {None}
    delays = {-(-nanoseconds(each, "lateness") // 10**6) for each in wanted}
    own: int | None = field.metadata.get(_DELAY)
    if own is not None:
        if delays - {own}:
            raise InvalidArgument(
                f"lateness={wanted.pop()!r}, and the frame has a watermark of {own} ms along "
                f"{name!r} already: leave one of them out"
            )
        return own
    if len(delays) > 1:
        raise InvalidArgument(f"queries over one stream need the same lateness, got {wanted}")
    if not delays:
        raise InvalidArgument(
            f'how late may a row come? Give the query lateness="10 minutes", or the frame '
            f"withWatermark({name!r}, …)"
        )
    return delays.pop()


def _without_future(asked: Streaming, bounds: Sequence[Bound], frame: Any, counters: str) -> Any:
    """The frame without rows further ahead of the clock than `future`, which `counters` counts.

    They must be gone before the watermark is told: it would follow them, and never come back.
    """
    if asked.future is None:
        return frame
    name = str(bounds[0].order)
    field = frame.schema[name]
    if _DELAY in field.metadata:
        raise InvalidArgument(
            f"future={asked.future!r}: the frame's own watermark along {name!r} has followed rows "
            f"from the future already: give the query lateness= in place of withWatermark"
        )
    clock = sf.localtimestamp() if _is_local(field) else sf.current_timestamp()
    seconds = Decimal(nanoseconds(asked.future, "future") // 1000).scaleb(-6)
    limit = clock + sf.make_dt_interval(secs=sf.lit(seconds))
    ahead = unused("windrow_ahead", frame.columns)
    marked = frame.withColumn(ahead, sf.coalesce(column(name) > limit, sf.lit(False)))
    counted = marked.observe(counters, sf.count_if(column(ahead)).alias("ahead"))
    return counted.where(~column(ahead)).drop(ahead)


def _watermarked(frame: Any, name: str, delay: int) -> Any:
    """The frame with a watermark along the order column, unless it has its own.

    Spark's watermarks are of times with a zone. A time without one is taken for UTC there, as it
    is wherever windows are measured, so that no zone has a say in it.
    """
    field = frame.schema[name]
    if _DELAY in field.metadata:
        return frame
    if not _is_local(field):
        return frame.withWatermark(name, f"{delay} milliseconds")
    clock = unused("windrow_clock", frame.columns)
    times = sf.timestamp_micros(as_number(name, field.dataType.typeName()))
    return frame.withColumn(clock, times).withWatermark(clock, f"{delay} milliseconds").drop(clock)


def _is_local(field: StructField) -> bool:
    """Whether a column's times are without a zone."""
    return field.dataType.typeName() == "timestamp_ntz"


def _check(asked: Streaming, bounds: Sequence[Bound], frame: Any) -> None:
    check_together(bounds, frame)
    revised = asked.mode == "update" and not bounds[0].own_rows
    if revised:
        _check_revised(bounds, frame)
    sessions = bounds[0].query.window.kept == "sessions"
    if sessions and len({bound.query.window for bound in bounds}) > 1:
        raise Unsupported(
            "sessions of different gaps do not share a stream: run each as a query of its own"
        )
    if sessions and asked.mode == "update" and any(b.query.emit == "istream" for b in bounds):
        raise Unsupported(
            'mode="update" tells every change of a session, so emit="istream" has no say in it: '
            "leave one of them out"
        )
    for window in (bound.query.window for bound in bounds):
        if window.measured and len(bounds[0].query.order_by) > 1:
            raise Unsupported(
                f"order_by={list(bounds[0].query.order_by)!r}: over a stream such a window goes "
                f"along one column of times"
            )
        if window.endless:
            raise InvalidArgument(
                f"{', '.join(written(window.arguments()))}: such a window ends with the last row, "
                f"and a stream has none; give the frame another end"
            )
        if window.kept == "followed" and len(bounds) > 1 and not revised:
            raise Unsupported(
                f"{', '.join(written(window.arguments()))}: a result that waits for rows to come "
                f"does not share a stream with others; run it as a query of its own"
            )
        waits = window.kept == "followed" and not revised
        if waits and asked.idle is not None and not bounds[0].query.order_by:
            raise InvalidArgument(
                f"idle={asked.idle!r}: rows that wait for others would be forgotten; give order_by="
            )
    taken = (*frame.columns, *(name for bound in bounds for name in bound.query.parts))
    if asked.late in taken:
        raise InvalidArgument(f"late={asked.late!r} is the name of another column")
    for name in ("flush", "future"):
        if getattr(asked, name) is not None and not bounds[0].query.order_by:
            raise InvalidArgument(
                f"{name}={getattr(asked, name)!r} is about the times of rows: give the query "
                f"order_by="
            )


def _check_revised(bounds: Sequence[Bound], frame: Any) -> None:
    """Refuse what `mode="update"` cannot tell of results beside rows."""
    for query in (bound.query for bound in bounds):
        if not is_revisable(query.window):
            raise Unsupported(
                f'{", ".join(written(query.window.arguments()))}: mode="update" is for windows '
                f'with a result for each row that have a start (rows=3, range="1 hour", frames), '
                f'for hopping windows and for sessions; leave the mode "append"'
            )
        if query.having is not None or query.emit == "istream":
            what = "having=" if query.having is not None else 'emit="istream"'
            raise Unsupported(
                f'{what} does not go with mode="update": a row whose result is let through no more '
                f"could not be taken back; choose rows from the table that the results are kept in"
            )
    if REVISION in (*frame.columns, *(name for bound in bounds for name in bound.query.parts)):
        raise InvalidArgument(
            f'mode="update" tells in the column {REVISION!r} how often a result has changed, and '
            f"there is another column of that name: rename it"
        )


def _use_rocksdb(session: Any) -> None:
    """Spark keeps the state of Python's processors in RocksDB only, and only if it is told to."""
    if session.conf.get(_PROVIDER).endswith("HDFSBackedStateStoreProvider"):
        session.conf.set(_PROVIDER, f"{_STATE}RocksDBStateStoreProvider")
        session.conf.set(
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", True
        )


def _schema(plan: Plan, frame: Any) -> StructType:
    """The schema of the result, all of which may be null, with the column that marks late rows."""
    found = result_schema(plan.bounds, frame, plan.columns)
    schema = StructType([StructField(field.name, field.dataType) for field in found.fields])
    if plan.revised:
        schema.add(REVISION, IntegerType())
    if plan.late is not None:
        for name in plan.columns:
            if name not in found.names:
                schema.add(name, frame.schema[name].dataType)
        schema.add(plan.late, BooleanType(), False)
    return schema


def _in_rows(schema: StructType) -> bool:
    """Whether Spark takes results as they are, where it does not look at each value."""
    own = any(isinstance(field.dataType, UserDefinedType) for field in schema.fields)
    return not own and not any(pa.types.is_nested(field.type) for field in arrow_result(schema))


def _never_null(field: StructField) -> Any:
    """A column of results, which is known never to be null if the schema says so."""
    found = column(field.name)
    return found if field.nullable else sf.coalesce(found, sf.lit(False)).alias(field.name)


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Packed:
    """What a worker runs over rows: those of a bucket as one value, or slices of them."""

    plan: Plan

    def __call__(self, batches: Batches) -> Batches:
        """A row for each bucket and some hundred thousand rows, and its place among all."""
        spare_garbage_collection()
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
        labels, timeless = bucket[:1], 0
        if self.plan.presliced is not None:
            nulls = nulls_of(whole(rows.column(self.plan.time)))
            if nulls is not None:  # such rows lie in no slice: they are late
                rows, bucket = rows.filter(pa.array(~nulls)), bucket[~nulls]
                timeless = int(nulls.sum())
            slices, first = self.plan.presliced.slices(rows)
            rows, bucket = slices.select(self.plan.arrives.names), bucket[first]
        order = np.argsort(bucket, kind="stable")
        rows, bucket = rows.take(pa.array(order)), bucket[order]
        begins = np.flatnonzero(np.append(True, np.diff(bucket) != 0)[: bucket.size])
        ends = np.append(begins, bucket.size)
        packets = [encode(rows.slice(a, b - a)) for a, b in pairwise(ends.tolist())]
        if packets or not timeless:
            labels = bucket[begins]
        else:
            packets = [encode(rows)]  # empty: it brings the count
        late = np.zeros(labels.size, np.int64)
        late[:1] = timeless
        return pa.RecordBatch.from_pydict(
            {
                BUCKET: pa.array(labels, pa.int32()),
                PLACE: pa.array(np.full(labels.size, place, np.int64)),
                RESULT: pa.array(packets, pa.binary()),
                TIMELESS: pa.array(late),
            }
        )


@dataclass(frozen=True)
class Beats:
    """What a worker runs over rows of the clock: a packet without rows for each bucket."""

    labels: Sequence[int]

    def __call__(self, batches: Batches) -> Batches:
        """The packets, which have no place among those of rows."""
        for batch in batches:
            labels = list(self.labels) if batch.num_rows else []
            n = len(labels)
            yield pa.RecordBatch.from_pydict(
                {
                    BUCKET: pa.array(labels, pa.int32()),
                    PLACE: pa.array(np.full(n, BEAT)),
                    RESULT: pa.array([b""] * n, pa.binary()),
                    TIMELESS: pa.array(np.zeros(n, np.int64)),
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
