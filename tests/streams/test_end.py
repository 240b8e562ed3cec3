"""The end of a stream, and rows that stop to come: what waits comes out without one more row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams.feeding import Stream, disordered, plan_of, readings
from tests.streams.kinds import COMMUTATIVE, KINDS, LATENESS, ORDERED, streamed, told
from windrow import Count, Max, sliding, streaming
from windrow.errors import InvalidArgument
from windrow.streams.plan import Flush

SECOND = 10**6
WAITING: dict[str, dict[str, Any]] = {
    **KINDS, "rows around": {"rows": (-2, 2)}, "groups around": {"groups": (-1, 1)},
    "rows behind": {"rows": (1, 3)},
}  # fmt: skip


@pytest.mark.parametrize("kind", WAITING)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 120))
@examples(8)
def test_a_stream_that_ends_gives_all_that_the_table_gives(kind: str, seed: int, n: int) -> None:
    came = disordered(readings(n, 4, seed, spread=200), LATENESS, seed)
    common = {"partition_by": "key", "order_by": "ts", "lateness": "30 seconds"}
    for parts in (ORDERED, COMMUTATIVE):
        query = sliding(**common, **WAITING[kind], **parts)
        stream = streamed(query, came, seed)
        stream.end()
        made = stream.result()
        assert told(made) == told(query(came).select(made.column_names))


@pytest.mark.parametrize("kind", ["hopping", "sessions"])
def test_windows_that_are_told_in_the_order_of_rows_wait_for_the_end(kind: str) -> None:
    """With updates, too: so a stream of them has an end, and goes on when it is quiet."""
    came = disordered(readings(60, 3, seed=6, spread=200), LATENESS, seed=6)
    common = {"partition_by": "key", "order_by": "ts", "lateness": "30 seconds"}
    query = sliding(**common, **KINDS[kind], **ORDERED)
    assert streaming(query, mode="update", final=True, flush="10 minutes").waits
    stream = streamed(query, came, seed=6, update=True)
    stream.end()
    start = query.window.columns[0]
    latest = {(row["key"], row[start]): row for row in stream.result().to_pylist()}
    made = pa.Table.from_pylist(list(latest.values()), stream.plan.result)
    assert told(made) == told(query(came))


def test_rows_as_they_come_end_too() -> None:
    rows = readings(40, 3, seed=2)
    query = sliding(partition_by="key", rows=(-1, 2), **ORDERED)
    stream = streamed(query, rows, seed=2)
    stream.end()
    made = stream.result()
    assert told(made) == told(query(rows).select(made.column_names))


def test_nothing_comes_behind_the_end() -> None:
    rows = readings(30, 2, seed=1)
    query = sliding(partition_by="key", order_by="ts", rows=3, lateness="30 seconds", e=Count())
    stream = streamed(query, rows, seed=1)
    stream.end()
    stream.restart()
    stream.end()
    stream.tick()
    assert stream.result().num_rows == 30, "the end comes once"
    with pytest.raises(InvalidArgument, match="rows came after the end"):
        stream.push(rows)


# -- rows that stop to come -----------------------------------------------------------------------


def quiet(query: Any, rows: pa.Table, after: int = 600, **options: Any) -> Stream:
    """A stream that has read all rows at noon, and then waits."""
    flush = Flush(after * SECOND, LATENESS)
    stream = Stream(plan_of(query, schema=rows.schema, flush=flush, **options), LATENESS)
    for begin in range(0, rows.num_rows, 17):
        stream.push(rows.slice(begin, 17))
        stream.restart()
    stream.beat(0)
    stream.tables.clear()
    return stream


def row(schema: pa.Schema, at: int, number: int = 1000) -> pa.Table:
    times = pa.array([at], schema.field("ts").type)
    return pa.table([pa.array([number]), pa.array(["k1"]), times, [1], [1.0]], schema=schema)


@pytest.mark.parametrize("kind", ["rows", "many rows", "range", "unbounded", "policy", "before"])
def test_results_come_out_when_no_row_has_come_for_a_while(kind: str) -> None:
    rows = disordered(readings(90, 3, seed=4, spread=200), LATENESS, seed=4)
    newest = int(rows.column("ts").cast(pa.int64()).to_numpy().max())
    query = sliding(
        partition_by="key", order_by="ts", lateness="30 seconds", **KINDS[kind], **ORDERED
    )
    stream = quiet(query, rows, late="late")
    stream.beat(599 * SECOND)
    assert not stream.tables, "not yet"
    stream.restart()
    stream.beat(600 * SECOND)
    whole = Stream(plan_of(query, schema=rows.schema, late="late"), LATENESS)
    whole.push(rows)
    known = whole.result().num_rows
    whole.finish()
    assert told(stream.result()) == told(whole.result().slice(known)), "all that waited"
    # from now on a row is late if it is earlier than they were, and then goes by the clock
    stream.push(row(rows.schema, newest))
    assert stream.late == 1
    stream.push(row(rows.schema, newest + 601 * SECOND))
    assert stream.late == 1


def test_windows_that_are_open_close_with_the_clock() -> None:
    """The last row is at 12:00:20: the minute is over 40 seconds and the lateness later."""
    noon = 1_000_000_800 * SECOND  # a full minute
    rows = row(readings(1, 1, 0).schema, noon + 20 * SECOND)
    query = sliding(
        partition_by="key", order_by="ts", range="1 minute", slide="1 minute", n=Count(),
        lateness="30 seconds",
    )  # fmt: skip
    stream = quiet(query, rows, after=10)
    for seconds, found in ((10, 0), (40, 0), (69, 0), (70, 1), (200, 1)):
        stream.beat(seconds * SECOND)
        assert stream.result().num_rows == found, seconds
    stream.push(row(rows.schema, noon + 30 * SECOND))
    assert stream.late == 1


def test_only_time_in_which_rows_could_have_come_counts() -> None:
    rows = readings(60, 3, seed=6, spread=100)
    query = sliding(partition_by="key", order_by="ts", rows=3, lateness="30 seconds", a=Max("x"))
    stream = quiet(query, rows)
    stream.beat(500 * SECOND)
    stream.run += 1  # it was down in between
    stream.beat(5000 * SECOND)
    assert not stream.tables
    last = int(rows.column("ts").cast(pa.int64()).to_numpy().max())
    stream.clock = 5400 * SECOND
    stream.push(row(rows.schema, last - 5 * SECOND))  # a row that does not move the watermark
    stream.beat(5900 * SECOND)
    assert not stream.tables
    stream.beat(6000 * SECOND)
    assert stream.tables
