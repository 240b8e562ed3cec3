"""Sessions on a stream: as over the table, as Spark's rules for late rows, merged and forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.streams.feeding import (
    Stream,
    disordered,
    of_each_query,
    plan_of,
    readings,
    results_with_restarts,
)
from tests.streams.kinds import COMMUTATIVE, LATENESS, ORDERED, told, with_late
from windrow import Collect, Count, Max, Sum, sliding

SECOND = 1_000_000
SCHEMA = pa.schema(
    {"key": pa.string(), "ts": pa.timestamp("us", "UTC"), "x": pa.int64(), "own": pa.string()}
)


def rows_at(*rows: tuple[str, int, int]) -> pa.Table:
    """Rows of keys, seconds and values."""
    return pa.table(
        {
            "key": [key for key, _, _ in rows],
            "ts": pa.array([s * SECOND for _, s, _ in rows], pa.timestamp("us", "UTC")),
            "x": [x for _, _, x in rows],
            "own": ["10 s" for _ in rows],
        },
        SCHEMA,
    )


def told_so_far(stream: Stream) -> list[tuple[Any, ...]]:
    """Key, start, end and results of what came out, in seconds."""
    made = []
    for row in stream.result().to_pylist():
        start, end = (
            None if row[n] is None else int(row[n].timestamp())
            for n in ("session_start", "session_end")
        )
        made.append((row["key"], start, end, *[v for n, v in row.items() if len(n) == 1]))
    return made


def ten(parts: dict[str, Any] | None = None, **options: Any) -> Stream:
    query = sliding(
        partition_by="key", order_by="ts", gap="10 s", lateness="20 s",
        **(parts or {"n": Count(), "s": Sum("x")}),
    )  # fmt: skip
    return Stream(plan_of(query, schema=SCHEMA, **options), 20 * SECOND)


def test_a_late_row_that_bridges_two_sessions_merges_them() -> None:
    stream = ten()
    stream.push(rows_at(("a", 1000, 1), ("a", 1018, 2)))
    stream.restart()
    stream.push(rows_at(("a", 1009, 4)))
    assert told_so_far(stream) == []
    assert told_so_far_after(stream) == [("a", 1000, 1028, 3, 7)]


def told_so_far_after(stream: Stream) -> list[tuple[Any, ...]]:
    stream.restart()
    stream.finish()
    return told_so_far(stream)


def test_a_session_is_told_when_the_watermark_reaches_its_end_and_then_forgotten() -> None:
    stream = ten()
    stream.push(rows_at(("a", 1000, 1)))
    stream.push(rows_at(("b", 1029, 1)))  # the watermark is at 1009
    assert told_so_far(stream) == []
    stream.push(rows_at(("b", 1030, 1)))
    assert told_so_far(stream) == [("a", 1000, 1010, 1, 1)]
    assert stream.bucket._logs[0].rows.num_rows == 1


@pytest.mark.parametrize("parts", [COMMUTATIVE, ORDERED], ids=["at once", "in turn"])
@pytest.mark.parametrize("gap", ["2 seconds", "9 seconds", "1 minute", "own"])
@given(seed=st.integers(0, 2**32), n=st.integers(1, 150))
@settings(max_examples=6)
def test_a_stream_answers_as_the_table(parts: Any, gap: str, seed: int, n: int) -> None:
    came = disordered(readings(n, 4, seed, spread=900), LATENESS, seed)
    random = np.random.default_rng(seed)
    own = random.choice(["3 s", "20 seconds", "-1 s", "0 s"], came.num_rows)
    came = came.append_column("own", pa.array(own, mask=random.random(came.num_rows) < 0.2))
    query = sliding(partition_by="key", order_by="ts", gap=gap, lateness="30 seconds", **parts)
    stream = Stream(plan_of(query, schema=came.schema), LATENESS)
    at = 0
    while at < n:
        size = int(random.integers(1, 30))
        stream.push(came.slice(at, size))
        at += size
        if random.random() < 0.4:
            stream.restart(cold=random.random() < 0.5)
    made = stream.finish()
    assert stream.late == stream.partly == 0
    assert told(made) == told(query(came).select(made.column_names))
    assert not stream.bucket._logs[0].rows.num_rows and not stream.bucket._logs[0].chunks


@pytest.mark.parametrize("late", [None, "late"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_late_rows_are_those_that_spark_drops(late: str | None, seed: int) -> None:
    """Row by row: a row joins what is open while its own reach ends behind the watermark."""
    rows, at = with_late(seed)
    gap = 60 * SECOND
    query = sliding(
        partition_by="key", order_by="ts", gap="60 seconds", lateness="30 seconds",
        a=Max("x"), e=Count(),
    )  # fmt: skip
    stream = Stream(plan_of(query, schema=rows.schema, late=late), LATENESS)
    keys, ids = rows.column("key").to_pylist(), rows.column("id").to_pylist()
    open_: dict[Any, list[tuple[int, int, list[int]]]] = {}
    closed: list[tuple[Any, int, int, tuple[int, ...]]] = []
    lost = partly = now = 0
    for begin in range(0, rows.num_rows, 10):
        for i in range(begin, min(begin + 10, rows.num_rows)):
            start, end, inside = int(at[i]), int(at[i]) + gap, [ids[i]]
            if end <= now:
                lost += 1
                continue
            partly += start < now
            apart = []
            for s, e, held in open_.get(keys[i], []):
                if s <= end and start <= e:
                    start, end, inside = min(s, start), max(e, end), inside + held
                else:
                    apart.append((s, e, held))
            open_[keys[i]] = [*apart, (start, end, inside)]
        stream.push(rows.slice(begin, 10))
        stream.restart()
        now = stream.watermark or 0
        for key, found in open_.items():
            closed += [(key, s, e, tuple(held)) for s, e, held in found if e <= now]
            open_[key] = [each for each in found if each[1] > now]
    made = stream.finish()
    closed += [(key, s, e, tuple(held)) for key, found in open_.items() for s, e, held in found]
    if late is not None:
        assert made.filter(made.column(late)).num_rows == lost
        made = made.filter(pa.array(~np.array(made.column(late))))
    assert (stream.late, stream.partly) == (lost, partly)
    times = [made.column(n).cast(pa.int64()).to_pylist() for n in ("session_start", "session_end")]
    found_ = zip(made.column("key").to_pylist(), *times, made.column("e").to_pylist(), strict=True)
    wanted = [(key, s, e, len(held)) for key, s, e, held in closed]
    assert sorted(map(repr, found_)) == sorted(map(repr, wanted))


@pytest.mark.parametrize("parts", [COMMUTATIVE, ORDERED], ids=["at once", "in turn"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_update_tells_sessions_as_they_change_and_those_that_are_no_more(
    parts: Any, seed: int
) -> None:
    came = disordered(readings(120, 3, seed, spread=900), LATENESS, seed)
    query = sliding(
        partition_by="key", order_by="ts", gap="9 seconds", lateness="30 seconds", **parts
    )
    stream = Stream(plan_of(query, schema=came.schema, update=True), LATENESS)
    for at in range(0, came.num_rows, 9):
        stream.push(came.slice(at, 9))
        stream.restart()
    latest: dict[Any, Any] = {}
    for row in stream.finish().to_pylist():
        where = row["key"], row["session_start"]
        if row["session_end"] is None:
            assert latest.pop(where)
        else:
            latest[where] = row
    made = pa.Table.from_pylist(list(latest.values()), stream.plan.result)
    assert told(made) == told(query(came))


def test_update_names_the_sessions_that_are_gone() -> None:
    stream = ten(update=True)
    stream.push(rows_at(("a", 1000, 1), ("a", 1018, 2)))
    assert told_so_far(stream) == [("a", 1000, 1010, 1, 1), ("a", 1018, 1028, 1, 2)]
    stream.tables.clear()
    stream.push(rows_at(("a", 1009, 4)))
    assert told_so_far(stream) == [("a", 1000, 1028, 3, 7), ("a", 1018, None, None, None)]
    stream.tables.clear()
    stream.push(rows_at(("a", 995, 8)))
    assert told_so_far(stream) == [("a", 995, 1028, 4, 15), ("a", 1000, None, None, None)]


def test_having_lets_sessions_that_are_gone_through() -> None:
    query = sliding(
        partition_by="key", order_by="ts", gap="10 s", lateness="20 s", having="n < 3", n=Count()
    )
    stream = Stream(plan_of(query, schema=SCHEMA, update=True), 20 * SECOND)
    stream.push(rows_at(("a", 1000, 1), ("a", 1018, 2)))
    stream.push(rows_at(("a", 1009, 4)))
    assert told_so_far(stream) == [
        ("a", 1000, 1010, 1), ("a", 1018, 1028, 1), ("a", 1018, None, None)
    ]  # fmt: skip


def test_what_is_kept_does_not_grow_with_the_rows_of_a_session() -> None:
    stream = ten({"n": Count(), "s": Sum("x"), "m": Max("x")})
    sizes = []
    for step in range(60):
        first = 1000 + 5 * step
        stream.push(rows_at(*[("a", first + i % 5, i) for i in range(200)]))
        stream.restart()
        sizes.append(stream.store.size)
        assert stream.bucket._logs[0].rows.num_rows == 1
    assert max(sizes[30:]) <= 2 * max(sizes[:30])
    stream.finish()
    assert told_so_far(stream)[0][3] == 60 * 200


def test_queries_with_the_same_sessions_share_what_is_kept() -> None:
    came = disordered(readings(120, 3, 4, spread=900), LATENESS, 4)
    window = {"partition_by": "key", "order_by": "ts", "gap": "9 seconds", "lateness": "30 seconds"}
    queries = [sliding(**window, a=Max("x")), sliding(**window, b=Collect("id"), c=Sum("x"))]
    plan = plan_of(*queries, schema=came.schema)
    assert len(plan.families) == 1
    made = results_with_restarts(plan, came, LATENESS)
    for own, alone in of_each_query(made, queries, came):
        assert told(own.select(alone.column_names)) == told(alone)
