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
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
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
from windrow.spark.keys import needed_columns, shuffle_partitions
from windrow.spark.packets import PACKETS, Beats, Unpacked, in_packets
from windrow.spark.progress import observed_name
from windrow.spark.schema import check_together, result_schema
from windrow.spark.stream_processor import (
    BUCKET,
    COUNT,
    LATE,
    PARTLY,
    RESULT,
    WindowProcessor,
)
from windrow.spark.stream_state import Deferred
from windrow.spark.workers import arrow_result
from windrow.streams.description import Description, describe
from windrow.streams.plan import Flush, StreamPlan, identity_text
from windrow.streams.revised import REVISION, is_revisable
from windrow.tables.bind import Bound
from windrow.windows.base import written
from windrow.windows.durations import nanoseconds

_DELAY = "spark.watermarkDelayMs"
_STATEFUL = {  # operators of Spark's whose results come from before the watermark, as windrow's do
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Distinct",
    "FlatMapGroupsInPandasWithState",
    "FlatMapGroupsWithState",
    "Join",
    "TransformWithState",
    "TransformWithStateInPySpark",
}
# Where windrow tells Spark the watermark, it is so many milliseconds before the one that counts.
_EARLIER = 1
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STATE = "org.apache.spark.sql.execution.streaming.state."
_SHORTENED = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"
_SHORTENS = "SPARK_SIMPLIFIED_TRACEBACK"  # as Spark tells it to workers
# A clock wakes a stream every so many milliseconds at most.
_SHORTEST = 100


@dataclass(frozen=True)
class PlannedStream:
    """What runs for a stream: its plan, the rows that it goes over, and what lies in its state."""

    plan: StreamPlan
    frame: Any
    labels: Sequence[int]  # of the buckets
    about: Description
    counters: str  # the name of what is counted
    schema: StructType  # of the results

    @property
    def in_rows(self) -> bool:
        """Whether Spark takes results as they are, where it does not look at each value."""
        fields = self.schema.fields
        own = any(isinstance(field.dataType, UserDefinedType) for field in fields)
        return not own and not any(pa.types.is_nested(f.type) for f in arrow_result(self.schema))

    @property
    def count(self) -> str:
        """The column of the operator in which late rows are counted."""
        return unused(COUNT, self.schema.names)

    @property
    def output(self) -> StructType:
        """The columns of the stateful operator: results, and a count of late rows."""
        results = [StructField(RESULT, BinaryType())]
        if self.in_rows:
            results = [StructField(f.name, f.dataType) for f in self.schema.fields]
        return StructType([*results, StructField(self.count, IntegerType())])

    def bucketed(self, frame: Any) -> Any:
        """A frame that has the key columns, with the bucket of each row."""
        return frame.select("*", bucket_of(self.plan.keys, self.labels, frame).alias(BUCKET))

    def stepped(self, packets: Any, processor: type[WindowProcessor], **options: Any) -> Any:
        """What a processor makes of packets, each of them of a bucket."""
        arguments = arrow_result(self.output), self.in_rows, self.about.encode()
        with _same_workers(packets.sparkSession):
            return packets.groupBy(BUCKET).transformWithStateInPandas(
                Deferred(processor(self.plan, self.labels, *arguments, **options)),
                self.output,
                "Update" if self.plan.update else "Append",
                "EventTime" if self.plan.timed else "None",
            )


@contextmanager
def _same_workers(session: Any) -> Iterator[None]:
    """Let stateful functions that are made in the block run in the workers that all others have.

    Spark has a daemon, which loads everything, for each environment that workers are to have. It
    tells all Python functions but stateful ones to shorten tracebacks: so those are told so here.
    """
    context = getattr(session, "_sc", None)
    if (
        context is None
        or session.conf.get(_SHORTENED) != "true"
        or _SHORTENS in context.environment
    ):
        yield
        return
    context.environment[_SHORTENS] = "1"
    try:
        yield
    finally:
        del context.environment[_SHORTENS]


def stream(streaming: Streaming, bounds: Sequence[Bound], frame: Any, columns: list[str]) -> Any:
    """The results of queries over a streaming DataFrame, in which expressions are columns."""
    planned = planned_stream(streaming, bounds, frame, columns, shuffle_partitions(frame))
    plan, schema = planned.plan, planned.schema
    packed = in_packets(planned.bucketed(planned.frame), plan)
    if streaming.flush is not None or streaming.final is not None:
        period = None if plan.flush is None else max(_SHORTEST, plan.flush.after // 4000)
        beats = clock(frame.sparkSession, period).mapInArrow(Beats(planned.labels), PACKETS)
        packed = packed.union(beats)
    count = column(planned.count)
    stepped = planned.stepped(packed, WindowProcessor, final=bool(streaming.final))
    counted = stepped.observe(
        planned.counters,
        sf.sum(sf.when(count > 0, count)).alias(LATE),
        sf.sum(sf.when(count < 0, -count)).alias(PARTLY),
    ).where(count.isNull())
    if planned.in_rows:
        return counted.select(*map(_result, schema.fields))
    return counted.mapInArrow(Unpacked(plan, arrow_result(schema)), schema)


def planned_stream(
    streaming: Streaming,
    bounds: Sequence[Bound],
    frame: Any,
    columns: list[str],
    partitions: int,
) -> PlannedStream:
    """What runs for queries over a streaming DataFrame, in which expressions are columns.

    `partitions` are those that a new state has.
    """
    _check(streaming, bounds, frame)
    if BUCKET in map(str.lower, columns):
        raise InvalidArgument(f"a stream has a column {BUCKET!r} of its own: rename the frame's")
    operators = _operators(frame)
    if streaming.mode == "update" and (others := _STATEFUL & operators - {"Join"}):
        raise Unsupported(
            f'mode="update": Spark has one stateful operator in a query of updates, and the frame '
            f"comes from another ({', '.join(sorted(others))}): write its results to files or a "
            f"table, and start a second stream that reads those"
        )
    own = _own_delay(bounds, frame, operators)
    delay = _delay(bounds, frame, own)
    rows = pa.schema([bounds[0].schema.field(name) for name in columns])
    text = identity_text(streaming, rows, delay)
    counters = observed_name(hashlib.sha256(text.encode()).digest(), streaming)
    if delay is not None and own is None:
        frame = _without_future(streaming, bounds, frame, f"{counters}_input")
        frame = _watermarked(frame, str(bounds[0].order), delay)
    elif streaming.future is not None:
        raise InvalidArgument(
            f"future={streaming.future!r}: the frame's own watermark along {bounds[0].order!r} has "
            f"followed rows from the future already: give the query lateness= in place of "
            f"withWatermark"
        )
    if bounds[0].query.window.kept == "sessions" and streaming.late is None:
        # rows become states in the state's own tasks, so as little of them as possible travels
        frame = frame.select(*needed_columns(bounds))
        needed = pa.schema([bounds[0].schema.field(name) for name in frame.columns])
        bounds = [replace(bound, schema=needed) for bound in bounds]
    idle = None if streaming.idle is None else nanoseconds(streaming.idle, "idle") // 1000
    flush = None
    if streaming.flush is not None and delay is not None:
        flush = Flush(nanoseconds(streaming.flush, "flush") // 1000, delay * 1000)
    plan = StreamPlan(
        tuple(bounds),
        tuple(columns),
        timed=bool(bounds[0].query.order_by),
        update=streaming.mode == "update",
        idle=idle,
        flush=flush,
        late=streaming.late,
        asked=text,
        chained=own is not None and bool(_STATEFUL & operators),
        past=_EARLIER * 1000 if own is None else 1,
    )
    _use_rocksdb(frame.sparkSession)
    labels = bucket_labels(streaming.buckets, plan.keys, partitions)
    about = describe(streaming, plan, len(labels), rows, delay, own is not None)
    schema = _schema(plan, frame, delay)
    return PlannedStream(plan, frame, labels, about, counters, schema)


# -- what a stream must have --------------------------------------------------------------------


def _own_delay(bounds: Sequence[Bound], frame: Any, operators: set[str]) -> int | None:
    """How far the frame's own watermark is behind its newest row, in ms; None if it has none."""
    if not bounds[0].query.order_by:
        return None
    name = str(bounds[0].query.order_by[0])
    marked = {f.name: f.metadata[_DELAY] for f in frame.schema.fields if _DELAY in f.metadata}
    if "EventTimeWatermark" not in operators:
        return None  # a schema that was read from the files of another stream has the marks of it
    if name in marked:
        return int(marked[name])
    if marked:
        hint = f"give order_by={next(iter(marked))!r}, along which it has it, or two streams"
    else:
        hint = (
            "its results have no time that a watermark could follow (those of mode='update', of "
            "late=, of windows that end behind the current row and along TIMESTAMP_NTZ have none): "
            "write them to files or a table, and start a second stream that reads those"
        )
    raise Unsupported(
        f"order_by={name!r}: the frame comes from a stream that has a watermark already, and Spark "
        f"has one only; {hint}"
    )


def _operators(frame: Any) -> set[str]:
    """The names of the operators in the plan of a frame."""
    plan = getattr(frame, "_jdf", None)
    explained: Any = getattr(frame, "_explain_string", None)  # on Connect
    text = plan.queryExecution().analyzed().toString() if plan else explained(extended=True)
    return set(re.findall(r"^[\W\d]*([A-Za-z]+)", text, re.MULTILINE))


def _delay(bounds: Sequence[Bound], frame: Any, own: int | None) -> int | None:
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


def _without_future(
    streaming: Streaming, bounds: Sequence[Bound], frame: Any, counters: str
) -> Any:
    """The frame without rows further ahead of the clock than `future`, which `counters` counts.

    They must be gone before the watermark is told: it would follow them, and never come back.
    """
    if streaming.future is None:
        return frame
    name = str(bounds[0].order)
    field = frame.schema[name]
    clock = sf.localtimestamp() if _is_local(field) else sf.current_timestamp()
    seconds = Decimal(nanoseconds(streaming.future, "future") // 1000).scaleb(-6)
    limit = clock + sf.make_dt_interval(secs=sf.lit(seconds))
    ahead = unused("windrow_ahead", frame.columns)
    marked = frame.withColumn(ahead, sf.coalesce(column(name) > limit, sf.lit(False)))
    counted = marked.observe(counters, sf.count_if(column(ahead)).alias("ahead"))
    return counted.where(~column(ahead)).drop(ahead)


def _watermarked(frame: Any, name: str, delay: int) -> Any:
    """The frame with a watermark along the order column.

    Spark takes a row at its watermark for late, and here it is not: so Spark's is a millisecond
    earlier, and operators of its own that follow leave out nothing.

    Spark's watermarks are of times with a zone. A time without one is taken for UTC there, as it
    is wherever windows are measured, so that no zone has a say in it.
    """
    behind, clock = f"{delay + _EARLIER} milliseconds", unused("windrow_clock", frame.columns)
    field = frame.schema[name]
    if _is_local(field):
        times = sf.timestamp_micros(as_number(name, field.dataType.typeName()))
        return frame.withColumn(clock, times).withWatermark(clock, behind).drop(clock)
    if name.isascii() and name.isidentifier():
        return frame.withWatermark(name, behind)
    # Versions of Spark differ in how they read the name of a watermark's column.
    marked = frame.withColumnRenamed(name, clock).withWatermark(clock, behind)
    return marked.withColumnRenamed(clock, name)


def _is_local(field: StructField) -> bool:
    """Whether a column's times are without a zone."""
    return field.dataType.typeName() == "timestamp_ntz"


def _check(streaming: Streaming, bounds: Sequence[Bound], frame: Any) -> None:
    check_together(bounds, frame)
    revised = streaming.mode == "update" and not bounds[0].own_rows
    if revised:
        _check_revised(bounds, frame)
    sessions = bounds[0].query.window.kept == "sessions"
    if sessions and len({bound.query.window for bound in bounds}) > 1:
        raise Unsupported(
            "sessions of different gaps do not share a stream: run each as a query of its own"
        )
    if sessions and streaming.mode == "update" and any(b.query.emit == "istream" for b in bounds):
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
        if waits and streaming.idle is not None and not bounds[0].query.order_by:
            raise InvalidArgument(
                f"idle={streaming.idle!r}: rows that wait for others would be forgotten; give "
                f"order_by="
            )
    taken = (*frame.columns, *(name for bound in bounds for name in bound.query.parts))
    if streaming.late in taken:
        raise InvalidArgument(f"late={streaming.late!r} is the name of another column")
    for name in ("flush", "future"):
        if getattr(streaming, name) is not None and not bounds[0].query.order_by:
            raise InvalidArgument(
                f"{name}={getattr(streaming, name)!r} is about the times of rows: give the query "
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


def _schema(plan: StreamPlan, frame: Any, delay: int | None) -> StructType:
    """The schema of the result, all of which may be null, with the column that marks late rows.

    Spark knows the time of a result, which its operators that follow go by, from a mark.
    """
    results = result_schema(plan.bounds, frame, plan.columns)
    fields = [StructField(field.name, field.dataType) for field in results.fields]
    for field in fields:
        if field.name == plan.event_time and not _is_local(field):
            field.metadata = {_DELAY: delay}
    schema = StructType(fields)
    if plan.revised:
        schema.add(REVISION, IntegerType())
    if plan.late is not None:
        for name in plan.columns:
            if name not in results.names:
                schema.add(name, frame.schema[name].dataType)
        schema.add(plan.late, BooleanType(), False)
    return schema


def _result(field: StructField) -> Any:
    """A column of results, with what the schema says: that it is never null, and of its time."""
    result = column(field.name)
    if not field.nullable:
        result = sf.coalesce(result, sf.lit(False))
    return result.alias(field.name, metadata=field.metadata or {})
