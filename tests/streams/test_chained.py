"""A stream over the results of another: rows come from between the last watermark and this one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, disordered, plan_of, readings
from windrow import Collect, Max, Query, Sum, sliding

ROWS = disordered(readings(200, 4, seed=9, spread=300), 10_000_000, seed=9)
BY_TIME: dict[str, Any] = {"partition_by": "key", "order_by": "ts"}


@pytest.mark.parametrize(
    "second",
    [
        sliding(**BY_TIME, rows=3, s=Collect("peak")),
        sliding(**BY_TIME, range="9 s", s=Sum("peak")),
        sliding(**BY_TIME, range="20 s", slide="5 s", s=Sum("peak")),  # as they come
        sliding(**BY_TIME, range="20 s", slide="5 s", s=Collect("id")),  # in their order
        sliding(**BY_TIME, gap="6 s", s=Sum("peak")),
    ],
    ids=lambda query: query.window.kept,
)
def test_results_are_taken_at_the_watermark_that_they_come_with(second: Query) -> None:
    first = sliding(**BY_TIME, range="8 s", peak=Max("x"))
    one = Stream(plan_of(first, schema=ROWS.schema), 10_000_000)
    schema = first(ROWS.slice(0, 0)).schema
    other = Stream(plan_of(second, schema=schema, chained=True))
    for at in range(0, 200, 25):
        one.push(ROWS.slice(at, 25))
        if at == 100:
            other.restart()
        follow(one, other, schema)
    one.finish()
    follow(one, other, schema)
    wanted = second(first(ROWS))
    made = other.finish().select(wanted.column_names)
    assert sorted(map(repr, made.to_pylist())) == sorted(map(repr, wanted.to_pylist()))
    assert other.late == other.partly == 0


def follow(one: Stream, other: Stream, schema: Any) -> None:
    """One step of the second stream, in the batch that made the results of the first."""
    other.watermark = one.watermark
    rows = pa.concat_tables([schema.empty_table(), *(t.cast(schema) for t in one.tables)])
    slices = other.plan.presliced
    arrived = rows if slices is None else slices.slices(rows)[0]
    other._step([arrived.select(other.plan.arrives.names).cast(other.plan.arrives)])
    one.tables = []
    other.tick()
