"""A stream answers as the same query over the same rows in memory, however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from tests.examples import examples
from tests.streams.feeding import (
    Stream,
    disordered,
    of_each_query,
    plan_of,
    readings,
    results_with_restarts,
)
from tests.streams.kinds import (
    COMMUTATIVE,
    KINDS,
    LATENESS,
    ORDERED,
    asked,
    row_text,
    streamed,
    told,
)
from windrow import (
    EWM,
    HLL,
    KLL,
    All,
    BitAnd,
    BitOr,
    BitXor,
    BottomK,
    Collect,
    Count,
    Delta,
    EWMByTime,
    Histogram,
    Increase,
    Max,
    Mean,
    Mode,
    Quantile,
    Rank,
    Rate,
    Sum,
    TDigest,
    Theta,
    TopK,
    sliding,
)  # fmt: skip
from windrow.errors import InvalidArgument

EVERYDAY = {
    "a": windrow.Any("up"), "b": All("up"), "c": BitAnd("x"), "d": BitOr("x"), "e": Count(),
    "f": BitXor("x"), "g": Delta("x"), "h": Increase("x"), "i": Rate("x", "ts"),
    "j": EWM("y", halflife=3), "k": EWMByTime("y", "ts", halflife=20),
    "l": Quantile("y", q=(0.2, 0.5)), "m": TopK("x", k=2), "n": Mode("x"), "o": Rank("x"),
    "p": Histogram("x", edges=(-50, 0, 20)), "q": BottomK("key", k=2),
    "r": KLL("y", q=0.5), "s": TDigest("x", q=(0.1, 0.5)), "t": HLL("key"), "u": Theta("x"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@given(key=st.sampled_from(["key", None]), seed=st.integers(0, 2**32), n=st.integers(1, 150))
@examples(16)
def test_a_stream_answers_as_the_table(kind: str, key: str | None, seed: int, n: int) -> None:
    came = disordered(readings(n, 4, seed, spread=200), LATENESS, seed)
    for parts in (ORDERED, COMMUTATIVE):
        query = asked(kind, key, parts)
        stream = streamed(query, came, seed)
        made = stream.finish()
        assert stream.late == stream.partly == 0
        assert told(made) == told(query(came).select(made.column_names))


@pytest.mark.parametrize("kind", ["rows", "many rows", "range", "unbounded", "hopping", "policy"])
@given(seed=st.integers(0, 2**32))
@examples(5)
def test_every_day_s_aggregations(kind: str, seed: int) -> None:
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    came = came.append_column("up", pc.greater(came.column("x"), 10))
    query = asked(kind, parts=EVERYDAY)
    made = streamed(query, came, seed).finish()
    assert told(made) == told(query(came).select(made.column_names))


@pytest.mark.parametrize("kind", ["rows", "range", "hopping", "punctuation", "sessions"])
@pytest.mark.parametrize("emit", ["rstream", "istream"])
@given(seed=st.integers(0, 2**32))
@examples(10)
def test_having_and_istream(kind: str, emit: str, seed: int) -> None:
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    query = asked(kind, parts={"a": Max("x"), "e": Count()}).replace(emit=emit, having="a < 45")
    made = streamed(query, came, seed).finish()
    assert told(made) == told(query(came).select(made.column_names))


@given(seed=st.integers(0, 2**32))
@examples(20)
def test_queries_share_rows(seed: int) -> None:
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    queries = [
        sliding(partition_by="key", order_by="ts", lateness="30 seconds", **window, **parts)
        for window, parts in (
            ({"rows": 4}, {"a": Max("x")}),
            ({"range": "9 seconds"}, {"b": Collect("id"), "c": Sum("x")}),
            ({"range": "unbounded"}, {"d": Count()}),
            ({"until": lambda total, old: total.e - old.e >= 2}, {"e": Count()}),
        )
    ]
    stream = Stream(plan_of(*queries, schema=came.schema), LATENESS)
    for at in range(0, came.num_rows, 17):
        stream.push(came.slice(at, 17))
        stream.restart()
    made = stream.finish().sort_by("id")
    for query in queries:
        alone = query(came).sort_by("id")
        for name in query.parts:
            assert made.column(name).to_pylist() == alone.column(name).to_pylist(), name


@given(seed=st.integers(0, 2**32))
@examples(20)
def test_hopping_queries_share_slices(seed: int) -> None:
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    queries = [
        sliding(partition_by="key", order_by="ts", lateness="30 seconds", **window, **parts)
        for window, parts in (
            ({"range": "20 seconds", "slide": "6 seconds"}, {"a": Max("x")}),
            ({"range": "9 seconds", "slide": "9 seconds"}, {"b": Mean("x")}),
        )
    ]
    stream = Stream(plan_of(*queries, schema=came.schema), LATENESS)
    for at in range(0, came.num_rows, 17):
        stream.push(came.slice(at, 17))
        stream.restart()
    made = stream.finish()
    for i, query in enumerate(queries):
        own = made.filter(pa.array(np.array(made.column("query")) == i))
        alone = query(came)
        assert told(own.select(alone.column_names)) == told(alone)


@given(seed=st.integers(0, 2**32))
@examples(20)
def test_queries_that_count_rows_share_them(seed: int) -> None:
    """The column `query` tells whose result a row is; kept are the rows of the longest window."""
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    queries = [
        sliding(partition_by="key", order_by="ts", lateness="30 seconds", **window, **parts)
        for window, parts in (
            ({"rows": "unbounded", "slide": 7}, {"a": Count()}),
            ({"rows": 6, "slide": 2}, {"b": Max("x")}),
            ({"rows": 2, "slide": 5, "gaps": True}, {"c": Collect("id"), "d": Sum("x")}),
            ({"rows": 3}, {"e": Sum("y")}),
            ({"range": "9 seconds", "having": "f > 2"}, {"f": Count()}),
        )
    ]
    plan = plan_of(*queries, schema=came.schema)
    assert len(plan.families) == 3, "one for the rows of both count windows"
    made = results_with_restarts(plan, came, LATENESS)
    for own, alone in of_each_query(made, queries, came):
        assert told(own.select(alone.column_names)) == told(alone)
        for name in set(made.column_names) - set(alone.column_names) - {"query"}:
            assert own.column(name).null_count == own.num_rows


@pytest.mark.parametrize("kind", ["rows", "policy", "punctuation", "rows before", "all rows"])
@pytest.mark.parametrize("column", ["x", "y", "name"])
def test_all_columns_of_the_order_decide_between_equal_times(kind: str, column: str) -> None:
    rows = readings(120, 2, seed=7, spread=30)
    names = pa.array([None if i % 7 == 0 else f"n{i * 37 % 100}" for i in range(120)])
    came = disordered(rows.append_column("name", names), LATENESS, seed=7)
    query = sliding(
        partition_by="key", order_by=["ts", column, "id"], lateness="30 seconds", **KINDS[kind],
        **ORDERED,
    )  # fmt: skip
    made = streamed(query, came, seed=7).finish()
    assert told(made) == told(query(came).select(made.column_names))


# -- other ways to tell ---------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32))
@examples(15)
def test_update_tells_windows_as_they_change(seed: int) -> None:
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    query = asked("hopping", parts=COMMUTATIVE)
    stream = streamed(query, came, seed, update=True)
    latest = {(row["key"], row["window_start"]): row for row in stream.finish().to_pylist()}
    assert sorted(map(row_text, latest.values())) == told(query(came))


@given(seed=st.integers(0, 2**32), n=st.integers(1, 120))
@examples(15)
def test_rows_as_they_come_need_no_times(seed: int, n: int) -> None:
    rows = readings(n, 3, seed)
    query = sliding(partition_by="key", rows=4, a=Max("x"), c=Collect("id"))
    made = streamed(query, rows, seed).finish()
    assert told(made) == told(query(rows).select(made.column_names))


@pytest.mark.parametrize("size", [{"rows": (-2, 2)}, {"groups": (-1, 1)}], ids=str)
@given(seed=st.integers(0, 2**32))
@examples(15)
def test_rows_wait_for_those_that_follow(size: dict[str, Any], seed: int) -> None:
    """The last rows of a key wait for ever, unless it is idle for so long that none will come."""
    came = disordered(readings(120, 4, seed, spread=200), LATENESS, seed)
    query = sliding(partition_by="key", order_by="ts", lateness="30 seconds", **size, **ORDERED)
    want = told(query(came))
    made = told(streamed(query, came, seed).finish())
    assert set(made) <= set(want)
    whole = query(came)
    keys = whole["key"].to_pylist()
    if "rows" in size:
        assert len(want) - len(made) == sum(min(2, keys.count(key)) for key in set(keys))
    idle = streamed(query, came, seed, idle=10**12)
    assert told(idle.finish()) == want
    assert not any(log.chunks for log in idle.bucket._logs), "nothing is kept of idle keys"


@pytest.mark.parametrize(
    "window",
    [
        {"rows": 2}, {"rows": (-1, 1)}, {"rows": "unbounded"}, {"range": "unbounded"},
        {"range": ("unbounded", "-1 second")}, {"range": ("unbounded", "1 second")},
        {"groups": (-2, 0)}, {"groups": (-1, 1)}, {"groups": ("unbounded", -1)},
    ],
    ids=str,
)  # fmt: skip
def test_a_key_goes_on_after_a_gap(window: dict[str, Any]) -> None:
    """Rows before a gap do not see those behind it, whenever they come."""
    times = [0, 1, 2, 100, 101, 300]
    rows = pa.table({
        "id": range(6), "key": ["a"] * 6, "stretch": [0, 0, 0, 1, 1, 2],
        "ts": pa.array([10**15 + t * 10**6 for t in times], pa.timestamp("us", "UTC")),
    })  # fmt: skip
    asked = {"order_by": "ts", "lateness": "30 seconds", **window, "c": Collect("id")}
    wanted = told(sliding(partition_by=["key", "stretch"], **asked)(rows))
    query = sliding(partition_by="key", **asked)
    for most in (2, 7):
        assert told(streamed(query, rows, 1, most=most, idle=50 * 10**6).finish()) == wanted


@pytest.mark.parametrize(
    ("window", "times"),
    [
        ({"rows": 2}, [0, 1, 2, 100, 101, 300]),
        ({"range": "1 second"}, [0, 5, 10, 100, 105, 300]),
        ({"range": "1 second", "slide": "1 second"}, [0, 5, 10, 100, 105, 300]),
        ({"gap": "1 second"}, [0, 5, 10, 100, 105, 300]),
    ],
    ids=str,
)
def test_the_first_result_behind_a_gap_is_new(window: dict[str, Any], times: list[int]) -> None:
    """However a stream is cut, what a key told before it was idle does not count."""
    rows = pa.table({
        "id": range(6), "key": ["a"] * 6, "x": [7] * 6,
        "ts": pa.array([10**15 + t * 10**6 for t in times], pa.timestamp("us", "UTC")),
    })  # fmt: skip
    query = sliding(
        partition_by="key", order_by="ts", lateness="1 second", **window, emit="istream", a=Max("x")
    )
    column = query.window.columns[0] if query.window.columns else "ts"
    for most in (2, 7):
        made = streamed(query, rows, 1, most=most, idle=50 * 10**6).finish()
        seconds = made.column(column).cast(pa.int64()).to_numpy() // 10**6 - 10**9
        assert seconds.tolist() == [times[0], times[3], times[5]]


def test_idle_keys_leave() -> None:
    """A key without rows for a while starts anew, and the store forgets it, restarts or not."""
    schema = readings(1, 1, 0).schema
    query = asked("rows", parts={"e": Count()})
    for restarts in (False, True):
        stream = Stream(plan_of(query, schema=schema, idle=3600 * 10**6))
        for second, key in ((0, "a"), (1, "b"), (4000, "b"), (8000, "a"), (8001, "b"), (9000, "b")):
            at = pa.array([10**15 + second * 10**6], schema.field("ts").type)
            rows = pa.table([pa.array([second]), pa.array([key]), at, [1], [1.0]], schema=schema)
            stream.push(rows)
            if restarts:
                stream.restart(cold=second % 2 == 0)
        made = stream.finish().sort_by("ts")
        assert made.column("e").to_pylist() == [1, 1, 1, 1, 1, 2]
        stream.restart()
        assert stream.store.size == 0 or stream.bucket.due is not None


IDLE = {
    "rows of a range": [({"range": "3 hours"}, {"c": Collect("id")})],
    "summaries of a range": [({"range": "3 hours"}, {"a": Max("x")})],
    "rows and a range": [
        ({"range": "3 hours"}, {"c": Collect("id")}), ({"rows": 9}, {"d": Collect("id")}),
    ],
    "a frame": [({"range": ("-3 hours", "-1 hour")}, {"c": Collect("id")})],
    "hopping": [({"range": "4 hours", "slide": "1 hour"}, {"e": Count(), "c": Collect("id")})],
    "hopping at once": [({"range": "4 hours", "slide": "1 hour"}, {"e": Count(), "a": Max("x")})],
    "what is new": [({"range": "3 hours", "emit": "istream"}, {"a": Max("x")})],
}  # fmt: skip


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("kind", IDLE)
def test_a_range_holds_rows_of_keys_that_were_idle(kind: str, restarts: bool) -> None:
    """What a window reaches is not forgotten, however soon a key counts as idle."""
    minutes = [0, 5, 100, 150, 155, 330, 335, 900]
    rows = pa.table({
        "id": range(8), "key": list("abbabbba"), "x": [9, 1, 1, 1, 1, 1, 1, 1], "y": [0.0] * 8,
        "ts": pa.array([10**15 + m * 60 * 10**6 for m in minutes], pa.timestamp("us", "UTC")),
    }).select(["id", "key", "ts", "x", "y"])  # fmt: skip
    queries = [
        sliding(partition_by="key", order_by="ts", lateness="30 seconds", **window, **parts)
        for window, parts in IDLE[kind]
    ]
    stream = Stream(plan_of(*queries, schema=rows.schema, idle=3600 * 10**6))
    for i in range(rows.num_rows):
        stream.push(rows.slice(i, 1))
        if restarts:
            stream.restart(cold=i % 2 == 0)
    made = stream.finish()
    wanted = queries[0](rows)
    names = [name for name in wanted.column_names if name in made.column_names]
    assert told(made.select(names)) == told(wanted.select(names))
    if kind == "rows and a range":
        last = dict(zip(made["id"].to_pylist(), made["d"].to_pylist(), strict=True))
        assert last[3] == [3], "of a key that was idle, the rows are counted anew"
    stream.restart()
    assert stream.store.size == 0 or stream.bucket.due is not None


@pytest.mark.parametrize("kind", ["many rows", "range", "all rows", "hopping"])
def test_columns_that_are_never_null(kind: str) -> None:
    """What is computed of rows may be null, so it must fit what the store has of them."""
    rows = readings(600, 2, 1, spread=600).drop_columns(["x"])
    rows = rows.set_column(1, "key", rows.column("key").fill_null("none"))
    rows = rows.cast(pa.schema([field.with_nullable(False) for field in rows.schema]))
    query = asked(kind, parts={"a": Max("y"), "d": Mean("y")})
    made = streamed(query, rows, 1).finish()
    assert told(made) == told(query(rows).select(made.column_names))


@given(seed=st.integers(0, 2**32), late=st.sampled_from([None, "late"]))
@examples(15)
def test_hopping_queries_that_do_not_profit_keep_slices_apart(seed: int, late: str | None) -> None:
    """Slices of a second over a day would be kept for nothing; the results are the same."""
    came = disordered(readings(120, 3, seed, spread=200), LATENESS, seed)
    windows = [
        ({"range": "3 seconds", "slide": "1 second"}, {"a": Max("x")}),
        ({"range": "3 days", "slide": "1 day"}, {"b": Mean("x"), "c": Sum("x")}),
        ({"range": "8 seconds", "slide": "2 seconds"}, {"d": Sum("x"), "e": Count()}),
    ]
    queries = [
        sliding(partition_by="key", order_by="ts", lateness="30 seconds", **window, **parts)
        for window, parts in windows
    ]
    plan = plan_of(*queries, schema=came.schema, late=late)
    assert plan.answered == [0, 2, 1]
    stream = Stream(plan, LATENESS)
    for at in range(0, came.num_rows, 17):
        stream.push(came.slice(at, 17))
        stream.restart()
    made = stream.finish()
    assert stream.late == 0
    for i, query in enumerate(queries):
        own = made.filter(pa.array(np.array(made.column("query")) == i))
        alone = query(came)
        assert told(own.select(alone.column_names)) == told(alone)


def test_long_windows_with_short_slides_come_as_the_watermark_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row lies in 864,000,000 windows; a step makes those that are due, and refuses too many."""
    rows = readings(60, 2, seed=3, spread=60)
    size, slide = 1000 * 86_400 * 10**6, 100_000
    query = sliding(
        partition_by="key", order_by="ts", range="1000 days", slide="100 ms", lateness="1 second",
        n=Count(),
    )  # fmt: skip
    stream = Stream(plan_of(query, schema=rows.schema))
    for begin in range(0, 60, 20):
        stream.push(rows.slice(begin, 20))
    at, now = rows.column("ts").cast(pa.int64()).to_numpy(), stream.watermark
    assert now is not None
    keys = np.array(rows.column("key").to_pylist(), object)
    wanted = []
    for key in (None, "k1"):
        own = at[keys == key]
        ends = np.arange(own.min() // slide * slide + slide, now + 1, slide)
        wanted += [(key, end - size, int((own < end).sum())) for end in ends.tolist()]
    made = stream.result()
    starts = made.column("window_start").cast(pa.int64()).to_pylist()
    got = zip(made.column("key").to_pylist(), starts, made.column("n").to_pylist(), strict=True)
    assert len(wanted) > 500 and sorted(got, key=str) == sorted(wanted, key=str)
    stream.watermark = now + size
    monkeypatch.setattr("windrow.windows.room.free_memory", lambda: 10**10)
    with pytest.raises(InvalidArgument, match=r"would make 1,7\d\d,\d\d\d,\d\d\d results"):
        stream.tick()
