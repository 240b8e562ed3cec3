"""Rows in packets, as the worker answers them: one answer a row, and nothing lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from tests.streams.feeding import plan_of
from windrow import Max, sliding
from windrow.spark import packets
from windrow.spark.stream_processor import BUCKET, PLACE, RESULT, TIMELESS
from windrow.stores.encoding import decode as count
from windrow.stores.encoding.tables import decode


def rows_of(n: int, seed: int = 0, **columns: Any) -> pa.Table:
    random = np.random.default_rng(seed)
    made = {
        "key": pa.array(random.integers(0, 50, n)),
        "ts": pa.array(np.arange(n), pa.timestamp("us", "UTC")),
        "v": pa.array(random.random(n), mask=random.random(n) < 0.1),
        BUCKET: pa.array(random.integers(0, 3, n), pa.int32()),
    }
    return pa.table({**made, **columns})


def answers(query: Any, rows: pa.Table, sizes: int) -> tuple[Any, list[pa.StructArray]]:
    plan = plan_of(query, schema=rows.drop_columns([BUCKET]).schema)
    run = packets._answers(packets.Travelling(packets.Packed(plan)), rows.column_names)
    given = ((tuple(b.columns)) for b in rows.to_batches(max_chunksize=sizes))
    return plan, list(run(given))


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 57])
def test_all_rows_lie_in_the_packets_of_their_buckets(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packets, "_PACKED", 10)
    rows = rows_of(n)
    last = sliding(partition_by="key", order_by="ts", rows=2, lateness="1 second", m=Max("v"))
    plan, found = answers(last, rows, sizes=4)
    assert sum(map(len, found)) == n, "an answer for each row"
    told = [each for array in found for each in array.to_pylist() if each is not None]
    for bucket in range(3):
        mine = sorted((p for p in told if p[BUCKET] == bucket), key=lambda p: int(p[PLACE]))
        tables = [decode(p[RESULT], [plan.arrives], "a packet")[0] for p in mine]
        wanted = rows.filter(pa.array(rows.column(BUCKET).to_numpy() == bucket))
        got = pa.concat_tables([plan.arrives.empty_table(), *tables])
        assert got.to_pylist() == wanted.drop_columns([BUCKET]).to_pylist()


def test_rows_without_a_time_are_counted_where_no_row_is_left() -> None:
    rows = rows_of(3, ts=pa.nulls(3, pa.timestamp("us", "UTC")))
    slices = sliding(
        partition_by="key", order_by="ts", range="1 second", slide="1 second",
        lateness="1 second", m=Max("v"),
    )  # fmt: skip
    _, (found,) = answers(slices, rows, sizes=10)
    told = [each for each in found.to_pylist() if each is not None]
    assert (len(found), [each[PLACE] for each in told]) == (3, [TIMELESS])
    assert count(told[0][RESULT], "a count") == 3
