"""Rows of a stream as packets: those of a bucket as one value, and results as rows again.

Spark moves the rows of a stateful operator one by one, so many of them travel as one.

    rows      k ts v   k ts v   k ts v   k ts v     columns go to the worker one by one
    answers   packet   packet   null     null       as many as there are rows; nulls are left out

For `mapInArrow`, which may answer with as many rows as it likes, Spark packs the columns of a row
into a struct first, which takes twice as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark import TaskContext
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    UserDefinedType,
)

from windrow.kernels.sort import order_rows
from windrow.spark.columns import column
from windrow.spark.stream_processor import BEAT, BUCKET, PLACE, RESULT, TIMELESS
from windrow.spark.stream_state import Travelling
from windrow.spark.workers import Batches, arrow_result, in_arrow, spare_garbage_collection
from windrow.stores.encoding import encode as encoded
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.plan import StreamPlan
from windrow.tables.columns import nulls_of, whole

PACKETS = StructType(
    [
        StructField(BUCKET, IntegerType(), False),
        StructField(PLACE, LongType(), False),
        StructField(RESULT, BinaryType(), False),
    ]
)
# Rows are packed so many at a time: a task's packets are few, and none is very large.
_PACKED = 1 << 18


def in_packets(frame: Any, plan: StreamPlan) -> Any:
    """The rows of a frame, which has the bucket of each, as packets."""
    if not _is_plain(frame.schema):
        return in_arrow(frame, Packed(plan), PACKETS)
    answer = StructType([StructField(field.name, field.dataType) for field in PACKETS.fields])
    function: Any = arrow_udf(  # type: ignore[call-overload]  # it does take structs
        _answers(Travelling(Packed(plan)), frame.columns), answer
    )
    called = function.asNondeterministic()(*[column(name) for name in frame.columns])
    answers = frame.select(called.alias(RESULT)).where(column(RESULT).isNotNull())
    bucket, *others = (column(RESULT)[name].alias(name) for name in PACKETS.names)
    return answers.select(sf.coalesce(bucket, sf.lit(0)).alias(BUCKET), *others)  # never null


def _is_plain(schema: StructType) -> bool:
    """Whether all columns are of types that functions over columns surely take as they are."""
    if any(isinstance(field.dataType, UserDefinedType) for field in schema.fields):
        return False
    tests = pt.is_primitive, pt.is_decimal, pt.is_string, pt.is_binary
    return all(any(test(field.type) for test in tests) for field in arrow_result(schema))


def _answers(travelling: Travelling, names: list[str]) -> Any:
    """What a worker runs: arrays in, and an answer for each row, which is a packet or null."""

    def run(inputs: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        taken = 0  # rows without an answer

        def batches() -> Batches:
            nonlocal taken
            for arrays in inputs:
                batch = pa.RecordBatch.from_arrays(list(arrays), names)
                taken += batch.num_rows
                yield batch

        for packets in travelling.load()(batches()):
            answers = packets.to_struct_array()
            yield pa.concat_arrays([answers, pa.nulls(taken - len(answers), answers.type)])
            taken = 0

    run.__annotations__ = {  # Spark reads them, and would not find the names of a string
        "inputs": Iterator[tuple[pa.Array, ...]],
        "return": Iterator[pa.Array],
    }
    return run


@dataclass(frozen=True)
class Packed:
    """What a worker runs over rows: those of a bucket as one value, or slices of them."""

    plan: StreamPlan

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
        first_label, timeless = int(bucket[0]), 0
        if self.plan.presliced is not None:
            nulls = nulls_of(whole(rows.column(self.plan.time)))
            if nulls is not None:  # such rows lie in no slice: they are late
                rows, bucket = rows.filter(pa.array(~nulls)), bucket[~nulls]
                timeless = int(nulls.sum())
            slices, first = self.plan.presliced.slices(rows)
            rows, bucket = slices.select(self.plan.arrives.names), bucket[first]
        order, starts = order_rows(bucket, int(bucket.max(initial=0)) + 1, [], bucket.size)
        rows = rows if order is None else rows.take(pa.array(order.rows))
        sizes = np.diff(starts)
        labels = np.flatnonzero(sizes).tolist()
        packets = [encode(rows.slice(starts[label], sizes[label])) for label in labels]
        places = [place] * len(labels)
        if timeless:
            labels.append(first_label)
            places.append(TIMELESS)
            packets.append(encoded(timeless))
        return _packets(labels, places, packets)


@dataclass(frozen=True)
class Beats:
    """What a worker runs over rows of the clock: a packet without rows for each bucket."""

    labels: Sequence[int]

    def __call__(self, batches: Batches) -> Batches:
        """The packets, which have no place among those of rows."""
        for batch in batches:
            labels = list(self.labels) if batch.num_rows else []
            yield _packets(labels, [BEAT] * len(labels), [b""] * len(labels))


def _packets(labels: list[int], places: list[int], packets: list[bytes]) -> pa.RecordBatch:
    arrays = [pa.array(labels, pa.int32()), pa.array(places, pa.int64())]
    return pa.RecordBatch.from_arrays([*arrays, pa.array(packets, pa.binary())], PACKETS.names)


@dataclass(frozen=True)
class Unpacked:
    """What a worker runs over packed results: rows again."""

    plan: StreamPlan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """The rows, packet by packet."""
        for batch in batches:
            for packet in batch.column(RESULT):
                (table,) = decode(packet.as_py(), [self.plan.result], "a packet of results")
                yield from table.cast(self.schema).to_batches()
