"""The step of a stream as Spark calls it, and what a worker remembers of streams."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import OrderedDict
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as st
from pyspark.sql.conversion import PandasToArrowConversion
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

from tests.streams.feeding import plan_of
from windrow import Collect, sliding
from windrow.errors import InvalidArgument
from windrow.spark import stream_processor, workers
from windrow.spark.workers import arrow_result
from windrow.stores.encoding.tables import decode, encode
from windrow.streams.bucket import StepResult
from windrow.streams.plan import Flush

VALUES = {
    "byte": (st.ByteType(), 1),
    "long": (st.LongType(), 2**60 + 1),
    "flag": (st.BooleanType(), True),
    "raw": (st.BinaryType(), b"x\0"),
    "text": (st.StringType(), "é"),
    "day": (st.DateType(), dt.date(1, 1, 1)),
    "time": (st.TimestampType(), dt.datetime(9999, 12, 31, tzinfo=dt.UTC)),
    "clock": (st.TimestampNTZType(), dt.datetime(2020, 3, 29, 2, 30)),
    "span": (st.DayTimeIntervalType(), dt.timedelta(microseconds=-1)),
    "short": (st.FloatType(), float("inf")),
    "price": (st.DecimalType(38, 10), Decimal("1.5")),
}


def test_what_a_process_remembers_of_checked_partitions_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that lives for many runs of many queries."""
    numbers = itertools.count()
    task = SimpleNamespace(getLocalProperty=lambda _: "run", partitionId=lambda: next(numbers))
    client = SimpleNamespace(
        handle_state=StatefulProcessorHandleState.CREATED,
        remove_implicit_key=lambda: None,
    )
    handle: Any = SimpleNamespace(_statefulProcessorApiClient=client)
    processor = object.__new__(stream_processor.WindowProcessor)
    processor._identity, processor._labels = b"a query", ()
    monkeypatch.setattr(stream_processor, "_CHECKED", OrderedDict())
    monkeypatch.setattr(stream_processor, "_MOST_CHECKED", 3)
    monkeypatch.setattr(stream_processor, "TaskContext", SimpleNamespace(get=lambda: task))
    for _ in range(10):
        processor._check_partition(handle)
    assert [partition for _, partition, _ in stream_processor._CHECKED] == [7, 8, 9]


class Chunks(dict[Any, Any]):
    """A map of a bucket."""

    getValue, updateValue, removeKey = dict.get, dict.__setitem__, dict.__delitem__  # noqa: N815
    exists = dict.__len__


class Bucket:
    """One bucket as Spark calls its processor: batches of rows, beats of the clock, timers."""

    def __init__(self, plan: Any, final: bool = False, before: Bucket | None = None) -> None:
        self.chunks = Chunks() if before is None else before.chunks
        handle: Any = SimpleNamespace(
            getMapState=lambda *_: self.chunks,
            registerTimer=lambda _: None,
            deleteTimer=lambda _: None,
        )
        self.plan, self.tables = plan, []
        count = pa.field(stream_processor.COUNT, pa.int32())
        given = pa.schema([pa.field(stream_processor.RESULT, pa.binary()), count])
        self.processor = stream_processor.WindowProcessor(plan, range(1), given, False, final=final)
        self.processor.init(handle)

    def batch(self, *rows: pa.Table, beat: bool, watermark: int = 0, clock: int = 0) -> None:
        """A micro-batch; times are in seconds."""
        packets = [(i, encode(each)) for i, each in enumerate(rows)]
        packets += [(stream_processor.BEAT, b"")] if beat else []
        names = [stream_processor.PLACE, stream_processor.RESULT]
        timers = SimpleNamespace(
            getCurrentWatermarkInMs=lambda: watermark * 1000,
            getCurrentProcessingTimeInMs=lambda: clock * 1000,
        )
        frames = iter([pd.DataFrame(packets, columns=names)])
        for made in self.processor.handleInputRows((0,), frames, timers):
            for packet in made[stream_processor.RESULT].dropna():
                self.tables += decode(packet, [self.plan.result], "results")


def rows_at(*seconds: int) -> pa.Table:
    """Rows with the numbers that their times are, since the stream began."""
    times = pa.array([s * 10**6 for s in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(seconds), "ts": times})


def ids(bucket: Bucket) -> list[int]:
    found = [i for table in bucket.tables for i in table.column("id").to_pylist()]
    bucket.tables.clear()
    return found


def last_two(**options: Any) -> Any:
    query = sliding(order_by="ts", rows=2, lateness="30 seconds", c=Collect("id"))
    return plan_of(query, schema=rows_at(1).schema, **options)


def test_the_last_run_sends_out_what_waits() -> None:
    first = Bucket(last_two())
    first.batch(beat=True)
    assert not first.chunks, "a clock makes no state"
    first.batch(rows_at(1000, 1020), beat=True)
    first.batch(beat=False, watermark=990)
    last = Bucket(last_two(), final=True, before=first)
    with pytest.raises(InvalidArgument, match="this one has rows"):
        last.batch(rows_at(1030), beat=True, watermark=990)
    last.batch(beat=False, watermark=990)
    assert ids(first) == ids(last) == []
    last.batch(beat=True, watermark=990)
    assert ids(last) == [1000, 1020]
    empty = Bucket(last_two(), final=True)
    empty.batch(beat=True, watermark=990)
    for ended in (last, empty):
        with pytest.raises(InvalidArgument, match="rows came after the end"):
            Bucket(last_two(), before=ended).batch(rows_at(5000), beat=True, watermark=990)


def test_a_state_that_an_earlier_version_laid_out_is_refused() -> None:
    """Its head lay in a variable of its own: without it the bucket would begin anew."""
    first = Bucket(last_two())
    first.batch(rows_at(1000, 1020), beat=False)
    del first.chunks[stream_processor.HEAD]
    with pytest.raises(InvalidArgument, match="earlier version of windrow"):
        Bucket(last_two(), before=first).batch(rows_at(1030), beat=False)


def test_a_clock_lets_results_out_when_no_row_comes() -> None:
    bucket = Bucket(last_two(flush=Flush(600 * 10**6, 30 * 10**6)))
    bucket.batch(rows_at(1000, 1020), beat=False, clock=50)
    for clock, found in ((60, []), (650, []), (661, [1000, 1020]), (900, [])):
        bucket.batch(beat=True, watermark=990, clock=clock)
        assert ids(bucket) == found, clock


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_results_are_given_to_spark_as_they_are(zone: str) -> None:
    """Of plain types, with nulls, in the types that Spark expects; late rows are counted apart."""
    names = [*VALUES, "late"]
    kinds = [kind for kind, _ in VALUES.values()] + [st.IntegerType()]
    schema = st.StructType([st.StructField(n, k) for n, k in zip(names, kinds, strict=True)])
    given = arrow_result(schema)
    rows = [{name: value for name, (_, value) in VALUES.items()}, dict.fromkeys(VALUES)]
    table = pa.Table.from_pylist(rows, pa.schema(list(given)[:-1]))
    processor: Any = object.__new__(stream_processor.WindowProcessor)
    processor._output, processor._in_rows = given, True
    empty = table.slice(0, 0)
    frames = list(processor._results(StepResult([empty, pa.concat_tables([table, table])], 3, 4)))
    made = [
        PandasToArrowConversion.convert(
            [frame],
            st.StructType([st.StructField("_0", schema)]),
            timezone=zone,
            arrow_cast=True,
            assign_cols_by_name=True,
            int_to_decimal_coercion_enabled=True,
        ).column(0)
        for frame in frames
    ]
    assert [len(each) for each in made] == [2, 4]
    assert made[0].to_pylist() == [{**dict.fromkeys(VALUES), "late": n} for n in (3, -4)]
    assert made[1].to_pylist() == [{**row, "late": None} for row in rows * 2]


def test_a_worker_sets_what_is_loaded_apart_from_garbage_in_its_first_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(workers, "_spared", 0)
    monkeypatch.setattr(workers, "gc", SimpleNamespace(freeze=lambda: frozen.append(1)))
    for _ in range(100):
        workers.spare_garbage_collection()
    assert 0 < len(frozen) < 20
