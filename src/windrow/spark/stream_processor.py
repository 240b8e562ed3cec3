"""The step of a stream inside Spark's stateful operator: a bucket of keys, its state, its timer."""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import SparkFiles, TaskContext
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from windrow.errors import InvalidArgument
from windrow.spark.state_calls import StateCalls
from windrow.spark.stream_state import client_of, has_rows, state_of
from windrow.spark.workers import spare_garbage_collection
from windrow.stores.encoding import decode as decoded
from windrow.stores.encoding import encode as encoded
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.bucket import Bucket, StepResult
from windrow.streams.cache import SHARED
from windrow.streams.changes import side_by_side
from windrow.streams.description import Description
from windrow.streams.header import Header, check_identity
from windrow.streams.plan import StreamPlan
from windrow.streams.step import nullable
from windrow.tables.columns import whole

BUCKET, PLACE, RESULT = "windrow_bucket", "windrow_place", "windrow_rows"
# In the place of a packet that has no rows: a clock wakes a bucket; or how many rows without a
# time were left out.
BEAT, TIMELESS = -1, -2
# Where the description of the query lies among the chunks, its text for those who read it, and the
# head of the bucket, which every step writes.
ABOUT, TEXT, HEAD = (-1, 0), (-1, 1), (-1, 2)
EARLIER_LAYOUT = (
    "the checkpoint was made by an earlier version of windrow, which laid its state out in another "
    "way: go on with that version, or start with a new checkpoint"
)
PACKET = ["log", "place", "newest", "rows"]  # of a state that another query adopts
LATE, PARTLY = "late", "partly_late"  # what is counted
# The column of the operator that is null but in rows that count: rows that were late are a number
# above zero, and those that were partly late one below it.
COUNT = "windrow_late"
_RUN = "spark.jobGroup.id"  # Spark names the jobs of a stream after its run
# Results go back so many rows at a time, at most.
_PACKET = 1 << 16
# What this process remembers of buckets: reading it from the store is needed only if another
# process had the last step, or none had it.
_REMEMBERED: OrderedDict[tuple[bytes, int], Bucket] = OrderedDict()
_MOST_REMEMBERED = 64
# The partitions of a query's runs whose state this process has seen to be of that query, the last
# so many: one more is looked at again.
_CHECKED: OrderedDict[tuple[str, int, bytes], None] = OrderedDict()
_MOST_CHECKED = 4096
_SHARED = "windrow-chunks"  # the folder of chunks that workers share


class WindowProcessor(StatefulProcessor):
    """What Spark calls for each bucket that got rows, or whose timer went off."""

    def __init__(
        self,
        plan: StreamPlan,
        labels: Sequence[int],
        output: pa.Schema,
        in_rows: bool,
        about: str = "",
        final: bool = False,
    ) -> None:
        self._plan, self._labels, self._output, self._in_rows = plan, labels, output, in_rows
        self._about, self._final = about, final
        self._identity, self._text = plan.identity(len(labels), not isinstance(labels, range))

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state that Spark has for this partition."""
        spare_garbage_collection()
        SHARED.use(_shared_folder())
        self._handle = handle
        calls = StateCalls(client_of(handle))
        self._entries = StoredChunks(state_of(handle), calls.ahead)
        self._check_partition(handle)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Take packets of rows in, and give packets of results."""
        packets = _sorted_packets(rows, [PLACE, RESULT])
        of_rows = [packet for place, packet in packets if place >= 0]
        arrived = [decode(p, [self._plan.arrives], "a packet of rows")[0] for p in of_rows]
        late = sum(decoded(n, "a count of rows") for place, n in packets if place == TIMELESS)
        ends = self._final and any(place == BEAT for place, _ in packets)
        if ends and (arrived or late):
            raise InvalidArgument(
                "final=True is for a run in which nothing is left to read, and this one has rows: "
                "run with final=False and trigger(availableNow=True) first, and then once more"
            )
        if arrived or late or ends or self._header() is not None:
            yield from self._step(key[0], arrived, timerValues, late=late, ends=ends)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Answer what the watermark has passed, though no row came."""
        yield from self._step(key[0], [], timerValues, fired=expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is open."""

    def _step(
        self,
        label: int,
        arrived: list[pa.Table],
        timers: Any,
        fired: int | None = None,
        late: int = 0,
        ends: bool = False,
    ) -> Iterator[pd.DataFrame]:
        bucket = self._bucket(label)
        try:
            now = self._now(timers)
            if self._plan.timed:
                by_clock = self._plan.flush is not None  # each question to Spark takes its time
                clock = int(timers.getCurrentProcessingTimeInMs()) * 1000 if by_clock else 0
                came = bool(arrived or late)
                now = bucket.watermark(now, came, clock, zlib.crc32(_run().encode()))
            outcome = bucket.end() if ends else bucket.step(arrived, now)
            outcome.late += late
            if self._plan.timed:
                self._set_timer(bucket, now, fired)
            self._entries.put(*HEAD, bucket.header.encode())
        except BaseException:
            _REMEMBERED.pop((self._identity, label), None)
            raise
        yield from self._results(outcome)

    def _results(self, outcome: StepResult) -> Iterator[pd.DataFrame]:
        """Return results as Spark takes them, behind rows that count the late ones."""
        counts = [count for count in (outcome.late, -outcome.partly) if count]
        if counts:
            nothing = [pa.nulls(len(counts), field.type) for field in list(self._output)[:-1]]
            yield self._frame([*nothing, pa.array(counts)])
        for table in outcome.tables:
            for begin in range(0, table.num_rows, _PACKET):
                part = table.slice(begin, _PACKET)
                columns = part.columns if self._in_rows else [pa.array([encode(part)])]
                yield self._frame([*columns, pa.nulls(len(columns[0]), pa.int32())])

    def _frame(self, columns: Sequence[pa.Array]) -> pd.DataFrame:
        """Return Arrow's columns as a frame, in the types that Spark expects.

        pandas holds on to them, and Spark finds them there: nothing is copied.
        """
        pairs = zip(self._output, columns, strict=True)
        typed = {f.name: pa.chunked_array([whole(c)]).cast(f.type) for f, c in pairs}
        arrays = {name: pd.arrays.ArrowExtensionArray(each) for name, each in typed.items()}
        return pd.DataFrame(arrays, copy=False)

    def _now(self, timers: Any) -> int | None:
        """The watermark in microseconds; it is 0 while there is none."""
        if not self._plan.timed:
            return time.time_ns() // 1000
        watermark = int(timers.getCurrentWatermarkInMs())
        return watermark * 1000 + self._plan.past if watermark > 0 else None

    def _check_partition(self, handle: StatefulProcessorHandle) -> None:
        """Refuse the state of another query before a row of this run meets it.

        Spark calls `init` in every batch for every partition of the state, whether or not rows
        came; a run's first batch is when the state can be read first. On the driver there is none.
        """
        client = client_of(handle)
        if client is None or not has_rows(handle):
            return
        task: Any = TaskContext.get()
        run = (_run(), task.partitionId(), self._identity)
        if run[0] and run in _CHECKED:
            return
        for label in self._labels:
            client.set_implicit_key((label,))
            if self._header() is not None:
                break  # one query made all of them
        client.remove_implicit_key()
        _CHECKED[run] = None
        while len(_CHECKED) > _MOST_CHECKED:
            _CHECKED.popitem(last=False)

    def _header(self) -> Header | None:
        """The header of the bucket whose turn it is; None if the store has none."""
        data = self._entries.find(*HEAD)
        if data is None:
            if self._entries:
                raise InvalidArgument(EARLIER_LAYOUT)
            return None
        header = Header.decode(data)
        if header.identity != self._identity:
            check_identity(header, self._identity, self._both())
        return header

    def _both(self) -> str:
        """The query that made the state, and this one."""
        then = Description.decode(decoded(self._entries.get(*ABOUT), "the query of a state"))
        return side_by_side(then, Description.decode(self._about))

    def _bucket(self, label: int) -> Bucket:
        """The bucket as the store has it, or as this process remembers it if that is the same."""
        header = self._header()
        if header is None:
            self._introduce()
            bucket = Bucket(self._plan, self._entries, Header(self._identity))
            return self._remember(label, bucket)
        known = _REMEMBERED.get((self._identity, label))
        if known is not None and known.header.stamp == header.stamp:
            known.attach(self._entries)
            return known
        bucket = self._remember(label, Bucket(self._plan, self._entries, header))
        if known is not None:
            known.give_way_to(bucket)
        return bucket

    def _introduce(self) -> None:
        """Say in the state whose it is, to those who read it."""
        self._entries.put(*ABOUT, encoded(self._about))
        self._entries.put(*TEXT, encoded(self._text))

    def _remember(self, label: int, bucket: Bucket) -> Bucket:
        _REMEMBERED[self._identity, label] = bucket
        _REMEMBERED.move_to_end((self._identity, label))
        while len(_REMEMBERED) > _MOST_REMEMBERED:
            _REMEMBERED.popitem(last=False)
        return bucket

    def _set_timer(
        self, bucket: Bucket, now: int | None, fired: int | None, behind: int = 0
    ) -> None:
        """One timer a bucket, later than `behind`: when the watermark passes what is due next."""
        header, due, past = bucket.header, bucket.due, self._plan.past
        wanted = None if due is None else max(behind + 1, -((past - due) // 1000))
        if header.timer == fired:
            header.timer = None
        if header.timer is not None and now is not None and header.timer * 1000 + past <= now:
            self._handle.deleteTimer(header.timer)  # what it is for is done
            header.timer = None
        if wanted is None or (header.timer is not None and header.timer <= wanted):
            return
        if header.timer is not None:
            self._handle.deleteTimer(header.timer)
        self._handle.registerTimer(wanted)
        header.timer = wanted


def _sorted_packets(frames: Iterator[pd.DataFrame], columns: list[str]) -> list[tuple[Any, ...]]:
    """Return the packets of some frames, which a shuffle brings in any order, sorted.

    They have values of these columns, of which the last holds the bytes.
    """
    packets: list[tuple[Any, ...]] = []
    for frame in frames:
        packets += zip(*(frame[name].tolist() for name in columns), strict=True)
    return sorted(packets, key=lambda packet: packet[:-1])


def _shared_folder() -> Path | None:
    """Return where workers of this machine share chunks: with the application's files.

    Spark deletes them when the application ends. None where no task runs.
    """
    return None if TaskContext.get() is None else Path(SparkFiles.getRootDirectory()) / _SHARED


def _run() -> str:
    """What Spark calls this run of the stream; nothing if it does not tell."""
    task: Any = TaskContext.get()
    return "" if task is None else task.getLocalProperty(_RUN) or ""


class Adoption(WindowProcessor):
    """What Spark calls once for each bucket, in place of a step: its state becomes another.

    Packets have the number of their log, 0 for rows that wait, and when that was last added to.
    """

    def __init__(self, *arguments: Any, done: int | None) -> None:
        super().__init__(*arguments)
        self._done = done

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Forget what there is, and keep what comes."""
        data = self._entries.find(*HEAD)
        if data is not None:
            timer = Header.decode(data).timer
            if timer is not None:
                self._handle.deleteTimer(timer)
            self._entries.clear()
        families = [*self._plan.families, *self._plan.latest.values()]
        schemas = [self._plan.rows, *(pa.schema([*f.key_schema, *f.schema]) for f in families)]
        tables: list[list[tuple[pa.Table, int]]] = [[] for _ in schemas]
        for log, _, newest, packet in _sorted_packets(rows, PACKET):
            if log >= 0:
                (table,) = decode(packet, [nullable(schemas[log])], "a packet of state")
                tables[log].append((table, newest))
        if any(tables):
            self._introduce()
            bucket = Bucket(self._plan, self._entries, Header(self._identity))
            waiting = [table for table, _ in tables[0]]
            empty = nullable(self._plan.rows).empty_table()
            bucket.adopt(pa.concat_tables([empty, *waiting]), tables[1:], self._done)
            bucket = Bucket(self._plan, self._entries, bucket.header)
            if self._plan.timed:
                self._set_timer(bucket, None, None, int(timerValues.getCurrentWatermarkInMs()))
            self._entries.put(*HEAD, bucket.header.encode())
        yield from ()

    def _check_partition(self, handle: StatefulProcessorHandle) -> None:
        """The state is another query's, and that is meant."""


class StoredChunks:
    """The chunks of a bucket in Spark's state store, and what is kept beside them."""

    def __init__(self, state: Any, ahead: Callable[..., Any]) -> None:
        """`ahead` makes of a call one that is not waited for."""
        self._state = state
        self._update, self._remove = ahead(state.updateValue), ahead(state.removeKey)

    def get(self, log: int, number: int) -> bytes:
        """The bytes of a chunk."""
        return bytes(self._state.getValue((log, number))[0])

    def find(self, log: int, number: int) -> bytes | None:
        """The bytes of what may not be there."""
        value = self._state.getValue((log, number))
        return None if value is None else bytes(value[0])

    def __bool__(self) -> bool:
        return bool(self._state.exists())

    def put(self, log: int, number: int, value: bytes) -> None:
        """Store a chunk."""
        self._update((log, number), (value,))

    def remove(self, log: int, number: int) -> None:
        """Forget a chunk."""
        self._remove((log, number))

    def clear(self) -> None:
        """Forget all."""
        self._state.clear()
