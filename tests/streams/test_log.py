"""What a step writes, reads and deletes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.streams.feeding import Store, Stream, plan_of
from windrow import Max, sliding
from windrow.errors import InvalidArgument
from windrow.streams.bucket import Bucket
from windrow.streams.cache import DECODED
from windrow.streams.header import Header, check_identity
from windrow.streams.log import SEALED, Log

KEYS = pa.schema({"key": pa.string()})
VALUES = pa.schema({"x": pa.int64()})
ROWS = pa.schema([*KEYS, *VALUES])


def table(keys: Any, first: int = 0) -> pa.Table:
    return pa.table({"key": [str(k) for k in keys], "x": range(first, first + len(keys))}, ROWS)


def test_chunks_are_written_once_and_deleted_whole() -> None:
    store = Store()
    log = Log(store, 1, KEYS, VALUES)
    for i in range(20):
        kept = np.arange(max(0, log.rows.num_rows - SEALED), log.rows.num_rows)
        before = store.written
        log.replace(kept, table([0] * SEALED, i * SEALED), now=i)
        assert store.written - before < 9 * SEALED, "only what is new"
        assert len(store.chunks) <= 2
    assert log.rows.column("x")[-1].as_py() == 20 * SEALED - 1


def test_small_chunks_are_merged() -> None:
    store = Store()
    log = Log(store, 1, KEYS, VALUES)
    for i in range(2000):
        log.replace(np.arange(log.rows.num_rows), table([i % 7] * 3, i * 3), now=i)
    assert len(store.chunks) < 40
    assert store.written < 6 * 2000 * 3 * 8 + 2000 * 800, "each row a few times, and frames"
    again = Log(store, 1, KEYS, VALUES, log.chunks)
    for key in range(7):
        mine = [r["x"] for r in again.rows.to_pylist() if r["key"] == str(key)]
        assert mine == sorted(mine) and len(mine) == sum(3 for i in range(2000) if i % 7 == key)


def test_idle_keys_do_not_hold_chunks_of_others() -> None:
    """One row of an idle key in every chunk: dead rows never outweigh the live ones."""
    store = Store()
    log = Log(store, 1, KEYS, VALUES)
    for i in range(50):
        held = log.rows.column("key").to_pylist()
        kept = np.flatnonzero([k != "busy" for k in held])
        log.replace(kept, table([f"idle {i}"] + ["busy"] * SEALED, i), now=i)
    assert sum(c.rows for c in log.chunks) <= 2 * log.rows.num_rows + 2 * SEALED


@pytest.mark.parametrize("window", [2**8, 2**11, 2**14])
def test_a_step_writes_the_same_however_long_the_window_is(window: int) -> None:
    schema = pa.schema({"key": pa.string(), "ts": pa.timestamp("us", "UTC"), "x": pa.float64()})
    query = sliding(partition_by="key", rows=window, a=Max("x"))
    stream = Stream(plan_of(query, schema=schema))
    written = []
    for i in range(60):
        at = pa.array(np.arange(512) + i * 512 + 10**15, schema.field("ts").type)
        rows = pa.table([["k"] * 512, at, np.random.default_rng(i).random(512)], schema=schema)
        before = stream.store.written
        stream.push(rows)
        written.append(stream.store.written - before + len(stream.bucket.header.encode()))
    assert np.mean(written[20:]) < 3 * 512 * 8
    assert stream.store.size < 1.3 * min(window, 60 * 512) * 8 + 2 * SEALED * 8


def test_a_state_of_another_query_is_refused() -> None:
    header = Header(b"a" * 16)
    check_identity(header, b"a" * 16, "both")
    with pytest.raises(
        InvalidArgument, match=r"(?s)state of another query.*\nboth\n.*windrow state export"
    ):
        check_identity(header, b"b" * 16, "both")


def test_a_head_is_read_as_it_was_written() -> None:
    stream = Stream(plan_of(sliding(partition_by="key", rows=3, a=Max("x")), schema=ROWS))
    stream.push(table([1, 2, 1]))
    header = stream.bucket.header
    assert Header.decode(header.encode()) == header


def batch(i: int, rows: int = SEALED) -> pa.Table:
    at = pa.array(np.arange(rows) + i * 10**6 + 10**15, pa.timestamp("us", "UTC"))
    return pa.table({"key": ["k"] * rows, "ts": at, "x": np.arange(rows, dtype=float)})


@pytest.mark.parametrize("window", [{"range": "3 seconds"}, {"rows": SEALED}, {"on": "x = 7"}])
def test_decoded_chunks_go_with_the_chunks(window: dict[str, Any]) -> None:
    DECODED.clear()
    query = sliding(partition_by="key", order_by="ts", lateness="1 second", a=Max("x"), **window)
    stream = Stream(plan_of(query, schema=batch(0).schema), 10**6)
    sizes = []
    for i in range(20):
        stream.push(batch(i))
        stamps = stream.bucket.header.stamps
        assert {max(stamp, ~stamp) for stamp in DECODED.stamps} <= stamps
        sizes.append(DECODED.size)
    assert max(sizes[10:]) <= max(sizes[:10]), "no longer than windows need them"
    assert stream.late == 0


def test_a_bucket_that_another_process_went_on_with_gives_its_chunks_back() -> None:
    DECODED.clear()
    schema = batch(0).schema
    query = sliding(partition_by="key", order_by="ts", lateness="1 second", range="3 s", a=Max("x"))
    here = Stream(plan_of(query, schema=schema), 10**6)
    for i in range(5):
        here.push(batch(i))
    held = DECODED.stamps
    there = Bucket(here.plan, here.store, Header.decode(here.bucket.header.encode()))
    for i in range(5, 15):
        there.step([batch(i).cast(here.plan.arrives)], i * 10**6 + 10**15)
    here.bucket.give_way_to(there)
    assert held and not DECODED.stamps & held
