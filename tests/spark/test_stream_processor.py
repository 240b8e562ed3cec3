"""What a worker remembers of the streams that it has steps of."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import OrderedDict
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as st
from pyspark.sql.conversion import PandasToArrowConversion

from windrow.spark import stream_processor, workers
from windrow.spark.workers import arrow_result
from windrow.streams.bucket import StepResult

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
        handle_state=stream_processor.StatefulProcessorHandleState.CREATED,
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


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_results_are_given_to_spark_as_they_are(zone: str) -> None:
    """Of plain types, with nulls, in the types that Spark expects; late rows are counted apart."""
    names = [*VALUES, "late", "partly_late"]
    kinds = [kind for kind, _ in VALUES.values()] + [st.IntegerType()] * 2
    schema = st.StructType([st.StructField(n, k) for n, k in zip(names, kinds, strict=True)])
    given = arrow_result(schema)
    rows = [{name: value for name, (_, value) in VALUES.items()}, dict.fromkeys(VALUES)]
    table = pa.Table.from_pylist(rows, pa.schema(list(given)[:-2]))
    processor: Any = object.__new__(stream_processor.WindowProcessor)
    processor._given, processor._in_rows = given, True
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
    assert [len(each) for each in made] == [1, 4]
    assert made[0].to_pylist() == [{**dict.fromkeys(VALUES), "late": 3, "partly_late": 4}]
    assert made[1].to_pylist() == [{**row, "late": None, "partly_late": None} for row in rows * 2]


def test_a_worker_sets_what_is_loaded_apart_from_garbage_in_its_first_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(workers, "_spared", 0)
    monkeypatch.setattr(workers, "gc", SimpleNamespace(freeze=lambda: frozen.append(1)))
    for _ in range(100):
        workers.spare_garbage_collection()
    assert 0 < len(frozen) < 20
