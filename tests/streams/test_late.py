"""Rows that come too late are counted, put aside or left out, as Spark's own windows do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams.feeding import Stream, plan_of, readings
from tests.streams.kinds import LATENESS, asked, told, with_late
from windrow import Count, Max, sliding


@pytest.mark.parametrize("kind", ["rows", "range", "policy", "unbounded"])
@given(seed=st.integers(0, 2**32))
@examples(10)
def test_late_rows_are_counted_and_put_aside(kind: str, seed: int) -> None:
    rows, at = with_late(seed)
    query = asked(kind)
    stream = Stream(plan_of(query, schema=rows.schema, late="late"), LATENESS)
    late = np.zeros(at.size, np.bool_)
    for begin in range(0, rows.num_rows, 10):
        late[begin : begin + 10] = at[begin : begin + 10] < (stream.watermark or 0)
        stream.push(rows.slice(begin, 10))
    made = stream.finish()
    assert stream.late == late.sum()
    aside = made.filter(made.column("late"))
    assert aside.column("id").to_pylist() == rows.column("id").filter(pa.array(late)).to_pylist()
    assert aside.column("a").null_count == aside.num_rows
    answered = made.filter(pa.array(~np.array(made.column("late")))).drop_columns(["late"])
    kept = rows.filter(pa.array(~late))
    assert told(answered) == told(query(kept).select(answered.column_names))


@pytest.mark.parametrize("late", [None, "late"])
@given(seed=st.integers(0, 2**32))
@examples(15)
def test_a_row_enters_the_hopping_windows_that_are_open(late: str | None, seed: int) -> None:
    """Row by row and window by window: what Spark's own windows do with late rows."""
    rows, at = with_late(seed)
    size, slide = 400_000_000, 150_000_000
    query = sliding(
        partition_by="key", order_by="ts", range="400 seconds", slide="150 seconds",
        lateness="30 seconds", a=Max("x"), e=Count(),
    )  # fmt: skip
    stream = Stream(plan_of(query, schema=rows.schema, late=late), LATENESS)
    windows: dict[tuple[Any, int], list[Any]] = {}
    lost = partly = 0
    keys, values = rows.column("key").to_pylist(), rows.column("x").to_pylist()
    for begin in range(0, rows.num_rows, 10):
        now = stream.watermark or 0
        for i in range(begin, min(begin + 10, rows.num_rows)):
            starts = range(at[i] // slide * slide, at[i] - size, -slide)
            open_ = [s for s in starts if s + size > now]
            lost += not open_
            partly += 0 < len(open_) < len(starts)
            for s in open_:
                windows.setdefault((keys[i], s), []).append(values[i])
        stream.push(rows.slice(begin, 10))
        stream.restart()
    made = stream.finish()
    if late is not None:
        assert made.filter(made.column(late)).num_rows == lost
        made = made.filter(pa.array(~np.array(made.column(late))))
    assert (stream.late, stream.partly) == (lost, partly)
    starts = made.column("window_start").cast(pa.int64()).to_pylist()
    found = {
        (key, s): (a, e)
        for key, s, a, e in zip(
            made.column("key").to_pylist(), starts, made.column("a").to_pylist(),
            made.column("e").to_pylist(), strict=True,
        )
    }  # fmt: skip
    assert len(found) == made.num_rows, "a window is told once"
    present = {k: [v for v in values if v is not None] for k, values in windows.items()}
    assert found == {
        k: (max(present[k], default=None), len(values)) for k, values in windows.items()
    }


def test_rows_without_a_time_are_late() -> None:
    rows = readings(20, 2, 1)
    nulls = pa.array([None if i % 5 == 0 else t for i, t in enumerate(rows.column("ts"))])
    rows = rows.set_column(2, "ts", nulls.cast(rows.schema.field("ts").type))
    stream = Stream(plan_of(asked("rows"), schema=rows.schema))
    stream._step([rows])
    assert stream.late == 4
