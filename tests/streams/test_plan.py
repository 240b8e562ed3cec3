"""What a checkpoint knows its query by: all that was written, and the columns that came in."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, plan_of, readings
from windrow import Count, Max, shared, sliding, streaming
from windrow.streams.plan import identity_text

SCHEMA = pa.schema({"key": pa.string(), "ts": pa.timestamp("us", "UTC"), "x": pa.int64()})


def query(**changed: Any) -> Any:
    given = {"partition_by": "key", "order_by": "ts", "rows": 3, "lateness": "1 s"}
    return sliding(**{**given, "a": Max("x * 2"), **changed})


def text(asked: Any, schema: pa.Schema = SCHEMA, delay: int = 1000) -> str:
    return identity_text(streaming(asked), schema, delay)


CHANGED = {
    "an expression": text(query(a=Max("x * 3"))),
    "where": text(query(where="x < 3")),
    "having": text(query(having="a < 3")),
    "the window": text(query(rows=4)),
    "another query beside": text(shared(query(), query(a=Max("x"), rows=4))),
    "the watermark": text(query(), delay=2000),
    "a column's type": text(query(), SCHEMA.set(2, pa.field("x", pa.int32()))),
    "a column more": text(query(), SCHEMA.append(pa.field("y", pa.int32()))),
    "the zone": text(query(), SCHEMA.set(1, pa.field("ts", pa.timestamp("us", "Asia/Tokyo")))),
    **{
        name: identity_text(streaming(query(), **{name: value}), SCHEMA, 1000)
        for name, value in {
            "late": "too_late", "idle": "7 days", "future": "1 hour", "buckets": 4,
            "mode": "update", "flush": "1 minute",
        }.items()
    },
}  # fmt: skip


def test_every_option_of_a_stream_is_part_of_its_identity() -> None:
    options = {name for name in streaming.__dataclass_fields__ if name not in ("query", "_")}
    assert options - {"final"} <= set(CHANGED)
    for final in (True, False):  # which differs from run to run
        assert identity_text(streaming(query(), final=final), SCHEMA, 1000) == text(query())


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_of_what_was_written_is_another_identity(what: str) -> None:
    assert CHANGED[what] != text(query())
    assert len(set(CHANGED.values())) == len(CHANGED)


def test_the_number_of_buckets_that_earlier_versions_had_makes_their_identity() -> None:
    assert identity_text(streaming(query(), buckets=16), SCHEMA, 1000) == text(query())
    plan = plan_of(sliding(rows=3, n=Count()), schema=SCHEMA)
    assert plan.identity(16)[1].endswith("\nin 16 buckets of keys")
    assert plan.identity(2) != plan.identity(2, in_partitions=True)


def test_the_same_query_is_the_same_and_shown_in_full() -> None:
    assert text(query()) == text(query())
    assert repr(query()) in text(query())
    assert "key: string, ts: timestamp[us, tz=UTC], x: int64" in text(query())


def test_rows_without_a_time_are_counted_as_late() -> None:
    rows = readings(20, 2, seed=1)
    timeless = rows.set_column(2, "ts", pa.nulls(20, rows["ts"].type))
    hopping = sliding(order_by="ts", range="9 s", slide="3 s", lateness="1 s", n=Count())
    stream = Stream(plan_of(hopping, schema=rows.schema, late="too_late"))
    stream.bucket.step([timeless.cast(stream.plan.arrives)], None)
    outcome = stream.bucket.step([timeless.cast(stream.plan.arrives)], None)
    assert outcome.late == 20 and outcome.tables[0]["too_late"].to_pylist() == [True] * 20
