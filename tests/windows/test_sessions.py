"""Sessions as a kind of window: where they lie, how they print, and one value at a time."""

from __future__ import annotations

import datetime
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from windrow import Collect, Count, Max, Sum, rolling, sliding, sql, window
from windrow.errors import InvalidArgument, QuerySyntaxError, Unsupported
from windrow.windows.islands import islands
from windrow.windows.session import Session

DAY = datetime.datetime(2026, 1, 1)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(-9, 30), st.integers(1, 9)), max_size=40
    ),
    fixed=st.booleans(),
    floats=st.booleans(),
)
@settings(max_examples=100)
def test_islands_are_what_a_walk_over_the_rows_finds(
    rows: list[tuple[int, int, int]], fixed: bool, floats: bool
) -> None:
    rows = sorted(rows, key=lambda row: row[:2])
    segment, at, sizes = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    starts = np.searchsorted(segment, np.arange(4))
    times = at.astype(np.float64) if floats else at
    lo, hi, ends, owner = islands(times, starts, 3 if fixed else sizes)
    found = list(zip(lo.tolist(), hi.tolist(), ends.tolist(), owner.tolist(), strict=True))
    wanted: list[list[int]] = []
    for i, (key, t, size) in enumerate(rows):
        end = t + (3 if fixed else size)
        if not wanted or wanted[-1][3] != key or t > wanted[-1][2]:
            wanted.append([i, i, end, key])
        wanted[-1][1:3] = i + 1, max(end, wanted[-1][2])
    assert found == [tuple(each) for each in wanted]


# -- how they are written -------------------------------------------------------------------------

WRITTEN: dict[str, Any] = {
    "SELECT COUNT(*) AS n FROM s [ORDER BY ts SESSION 30 MINUTES]": {"gap": "30 minutes"},
    "SELECT COUNT(*) AS n FROM s [ORDER BY ts SESSION '30min']": {"gap": "30min"},
    "SELECT COUNT(*) AS n FROM s [ORDER BY ts SESSION 2.5]": {"gap": 2.5},
    "SELECT COUNT(*) AS n FROM s [ORDER BY ts SESSION 1 DAY TIME ZONE 'Asia/Tokyo']": {
        "gap": "1 day", "timezone": "Asia/Tokyo",
    },
    "SELECT COUNT(*) AS n FROM s [ORDER BY ts LATENESS 1 HOUR MIN_ROWS 2 SESSION 9]": {
        "gap": 9, "lateness": "1 hour", "min_rows": 2,
    },
    "SELECT COUNT(*) AS n FROM s [PARTITION BY u ORDER BY ts SESSION GAP own]": {
        "gap": "own", "partition_by": "u",
    },
    "SELECT COUNT(*) AS n FROM s [ORDER BY ts SESSION GAP CASE WHEN v > 3 THEN '1 h' END]": {
        "gap": "case when v>3 then '1 h' end",
    },
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_brackets_say_sessions_and_are_printed_back(text: str) -> None:
    query = sliding(order_by="ts", n=Count(), **WRITTEN[text])
    assert sql(text) == query
    assert sql(query.sql()) == query
    assert eval(repr(query), {"sliding": sliding, "Count": Count}) == query


@pytest.mark.parametrize(
    "call",
    ["SESSION_WINDOW(ts, '30 minutes')", "session_window(s.ts, '30 minutes')",
     "SESSION(ts, INTERVAL '30' MINUTE)"],
)  # fmt: skip
def test_group_by_asks_for_sessions_as_in_spark_and_flink(call: str) -> None:
    asked = sql(f"SELECT u, session_start, COUNT(*) AS n FROM s GROUP BY u, {call} HAVING n > 1")
    wanted = sliding(
        partition_by="u", order_by="ts", gap=asked.window.arguments()["gap"], having="n > 1",
        n=Count(),
    )  # fmt: skip
    assert asked == wanted
    assert wanted.window.gap in ("30 minutes", "30 minute")  # type: ignore[attr-defined]
    assert sql(f"SELECT COUNT(*) AS n FROM s GROUP BY {call}").partition_by == ()


def test_group_by_takes_a_gap_of_each_row_s_own() -> None:
    asked = sql("SELECT COUNT(*) AS n FROM s GROUP BY SESSION_WINDOW(ts, own)")
    assert asked == sliding(order_by="ts", gap="own", n=Count())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FROM s [ORDER BY ts SESSION 30 MINUTES SLIDE 1 HOUR]", "SLIDE means nothing in such"),
        ("FROM s [ORDER BY ts SESSION 3 RANGE 3]", "a window has one size"),
        ("FROM s [ORDER BY ts SESSION]", "the window ends too early"),
        ("FROM s [ORDER BY ts SESSION 30 MINUTS]", "no unit of time"),
        ("FROM s [ROWS 3] GROUP BY SESSION_WINDOW(ts, '3 s')", "a second window"),
        ("FROM s GROUP BY SESSION_WINDOW(ts)", r"takes \(column, gap\)"),
        ("FROM s GROUP BY SESSION_WINDOW(ts, 'soon')", "'soon' is not a duration"),
    ],
)
def test_mistakes_show_their_place(text: str, words: str) -> None:
    with pytest.raises(QuerySyntaxError, match=words) as error:
        sql(f"SELECT COUNT(*) AS n {text}")
    assert "^" in str(error.value)


def test_a_session_window_is_no_result() -> None:
    text = "SELECT SESSION_WINDOW(ts, '3 s'), COUNT(*) FROM s GROUP BY SESSION_WINDOW(ts, '3 s')"
    with pytest.raises(QuerySyntaxError, match="the result has session_start and session_end"):
        sql(text)


def test_it_explains_itself() -> None:
    query = sliding(
        partition_by="u", order_by="ts", gap="30 minutes", lateness="1 hour", peak=Max("v")
    )
    said = query.explain()
    assert "sessions: rows that follow each other within 30 minutes" in said
    assert "1 a session" in said
    assert "rows enter sessions as they come; kept is an aggregate a key and open session" in said
    ordered = query.replace(aggregations=(("all", Collect("v")),)).explain()
    assert "rows wait for the watermark; kept is an aggregate a key and open session" in ordered


# -- one value at a time --------------------------------------------------------------------------


def test_a_push_answers_for_the_session_so_far() -> None:
    clicks = window({"n": Count(), "s": Sum()}, gap="30 minutes")
    made = [
        clicks.push(v, at=DAY + datetime.timedelta(minutes=m))
        for m, v in ((0, 1), (30, 2), (61, 4), (61, 8))
    ]
    assert [(each.n, each.s) for each in made] == [(1, 1), (2, 3), (1, 4), (2, 12)]
    assert "sessions" in clicks.explain()


def test_late_values_join_the_session_that_is_open() -> None:
    w = window(Sum(), gap=10, lateness=100)
    assert [w.push(v, at=t) for t, v in ((100, 1), (95, 2), (85, 4))] == [1, 3, 7]
    assert (w.push(8, at=70), w.late) == (7, 1)
    assert w.push(16, at=111) == 16


def test_time_ends_a_session() -> None:
    w = window(Count(), gap=10)
    w.push("a", at=0)
    assert (w.query(at=10), w.query(at=11), w.is_empty) == (1, 0, True)
    assert w.push("b", at=12) == 1


def test_a_window_for_each_key() -> None:
    w = window(Count(), gap=10, partition_by=True)
    made = [w.push(0, key=k, at=t) for k, t in (("a", 0), ("b", 5), ("a", 9), ("b", 16))]
    assert made == [1, 1, 2, 1]


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"gap": "own"}, "must be a duration of one length or a number"),
        ({"gap": "1 month"}, "must be a duration of one length or a number"),
        ({"gap": 3, "lateness": "1 s"}, "must be a number, as gap=3 is"),
        ({"gap": 3, "rows": 3}, "give one of"),
        ({"gap": 3, "closed": "left"}, "means nothing with gap="),
    ],
)
def test_what_a_pushed_window_refuses(given_: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        window(Max(), **given_)


def test_a_time_is_needed() -> None:
    with pytest.raises(InvalidArgument, match="gap= needs each value's time"):
        window(Max(), gap=3).push(1)


def test_arrays_and_streams_of_events_say_what_to_take_instead() -> None:
    with pytest.raises(Unsupported, match=r"sliding\(gap=…\) of a table"):
        rolling(np.arange(3), Max(), gap=3, at=np.arange(3))
    with pytest.raises(Unsupported, match="no slices of a fixed length"):
        sliding(order_by="t", gap=3, n=Count()).stream()


def test_a_kind_is_a_value() -> None:
    assert Session("30 minutes") == Session("30 minutes") != Session("31 minutes")
    assert hash(Session(3)) == hash(Session(3))
