"""Sessions over tables in memory, against a plain recalculation and DuckDB's gaps and islands."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.tables.oracle import order_key, partitions, same, value_of
from tests.tables.test_tables import ALL
from windrow import Collect, Count, First, Last, Max, Mean, Min, Query, Sum, shared, sliding
from windrow.errors import InvalidArgument, InvalidValue
from windrow.tables.bind import bind
from windrow.tables.walk import Walk

NAN = float("nan")
EPOCH = datetime.datetime(2026, 1, 1)


def sessions(query: Query, rows: list[dict[str, Any]], gap: Any) -> list[dict[str, Any]]:
    """The sessions of each key, row by row; `gap` gives that of a row."""
    (order,) = query.order_by
    out = []
    for members in partitions(query, rows):
        inside: list[dict[str, Any]] = []
        end = None

        def close(inside: list[dict[str, Any]], end: Any) -> None:
            if inside:
                keys = {k: inside[0][k] for k in query.partition_by}
                where = {"session_start": inside[0][order], "session_end": end}
                out.append(keys | where | {n: value_of(p, inside) for n, p in query.aggregations})

        for row in (rows[m] for m in members):
            size = gap(row)
            if order_key(row[order])[0] != 1 or size is None or not size > 0 * size:
                continue
            if inside and row[order] > end:
                close(inside, end)
                inside, end = [], None
            inside.append(row)
            reach = row[order] + size
            end = reach if end is None else max(end, reach)
        close(inside, end)
    return out


def check(made: pa.Table, wanted: list[dict[str, Any]]) -> None:
    """Both have the same sessions, in any order of keys."""

    def place(row: dict[str, Any]) -> Any:
        return order_key(row.get("key")), row["session_start"]

    got = sorted(made.to_pylist(), key=place)
    assert len(got) == len(wanted)
    for mine, theirs in zip(got, sorted(wanted, key=place), strict=True):
        assert all(same(mine[n], theirs[n]) for n in theirs), (mine, theirs)


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["a", "b", None]),
            "t": st.one_of(st.none(), st.integers(-20, 40)),
            "v": st.one_of(st.none(), st.integers(-5, 5)),
            "w": st.sampled_from([0.5, 1.0, 2.0, 4.0]),
            "own": st.one_of(st.none(), st.integers(-2, 6)),
            "name": st.sampled_from("xyz"),
        }
    ),
    max_size=40,
)
SCHEMA = pa.schema(
    {"key": pa.string(), "t": pa.int64(), "v": pa.int64(), "w": pa.float64(), "own": pa.int64(),
     "name": pa.string()}
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::windrow.kernels.routes.NotCompiledWarning")
@given(rows=ROWS, gap=st.sampled_from([1, 3, 10]), keyed=st.booleans())
@settings(max_examples=25)
def test_every_aggregation_over_sessions(rows: Any, gap: int, keyed: bool) -> None:
    query = sliding(ALL, partition_by="key" if keyed else None, order_by="t", gap=gap)
    table = pa.Table.from_pylist(rows, SCHEMA)
    check(query(table), sessions(query, rows, lambda row: gap))


@given(rows=ROWS, piece=st.integers(1, 9))
@settings(max_examples=60)
def test_a_gap_of_each_row_s_own_and_rows_that_come_in_batches(rows: Any, piece: int) -> None:
    query = sliding(partition_by="key", order_by="t", gap="own", n=Count(), all=Collect("v"))
    wanted = sessions(query, rows, lambda row: row["own"])
    table = pa.Table.from_pylist(rows, SCHEMA)
    check(query(table), wanted)
    rows = sorted(rows, key=lambda row: (order_key(row["key"]), order_key(row["t"])))
    ordered = pa.Table.from_pylist(rows, SCHEMA)
    batches = (ordered.slice(i, piece) for i in range(0, ordered.num_rows, piece))
    made = list(Walk(bind(query, SCHEMA), piece=1).run(batches))
    assert sum(part.num_rows for part in made) == len(wanted)
    if made:
        check(pa.concat_tables(made), wanted)


def test_sessions_touch() -> None:
    """A row exactly a gap behind the last is in its session, as in Spark; one later is not."""
    table = pa.table({"t": [0, 10, 21, 100], "v": [1, 2, 3, 4]})
    made = sliding(order_by="t", gap=10, n=Count(), s=Sum("v"))(table)
    assert made.to_pydict() == {
        "session_start": [0, 21, 100], "session_end": [20, 31, 110], "n": [2, 1, 1], "s": [3, 3, 4]
    }  # fmt: skip


def test_a_short_gap_within_a_long_one_ends_nothing() -> None:
    table = pa.table({"t": [0, 5, 40, 60], "own": [50, 1, 1, 1]})
    made = sliding(order_by="t", gap="own", n=Count())(table)
    assert made.to_pydict() == {"session_start": [0, 60], "session_end": [50, 61], "n": [3, 1]}


@given(rows=ROWS)
@settings(max_examples=25)
def test_duckdb_finds_the_same_islands(rows: Any) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA).append_column("id", pa.array(np.arange(len(rows))))
    query = sliding(
        partition_by="key", order_by="t", gap=4, n=Count(), c=Count("v"), s=Sum("v"), m=Mean("w")
    )
    wanted = duckdb.sql("""
        WITH placed AS (
            SELECT *, t - lag(t) OVER (PARTITION BY key ORDER BY t, id) > 4 AS apart
            FROM "table" WHERE t IS NOT NULL
        ), numbered AS (
            SELECT *, sum(coalesce(apart, false)::INT) OVER (PARTITION BY key ORDER BY t, id) AS i
            FROM placed
        )
        SELECT key, min(t) AS session_start, max(t) + 4 AS session_end, count(*) AS n,
               count(v) AS c, sum(v)::BIGINT AS s, avg(w) AS m
        FROM numbered GROUP BY key, i
    """)
    check(query(table), wanted.to_arrow_table().to_pylist())


def _total(values: Any) -> Any:
    return values.sum(min_count=1)


def test_pandas_finds_the_same_sessions() -> None:
    random = np.random.default_rng(3)
    at = pd.to_datetime(random.integers(0, 4 * 3600, 400), unit="s")
    frame = pd.DataFrame({"user": random.integers(0, 9, 400), "ts": at, "v": random.random(400)})
    frame.loc[::17, "v"] = np.nan
    query = sliding(partition_by="user", order_by="ts", gap="7 minutes", n=Count(), s=Sum("v"))
    made = query(frame).sort_values(["user", "session_start"], ignore_index=True)
    gap = pd.Timedelta("7 min")
    ordered = frame.sort_values(["user", "ts"], kind="stable")
    apart = ordered.groupby("user")["ts"].diff() > gap
    ordered["i"] = apart.groupby(ordered["user"]).cumsum()
    wanted = ordered.groupby(["user", "i"]).agg(
        session_start=("ts", "min"), session_end=("ts", "max"), n=("ts", "size"), s=("v", _total)
    )
    wanted["session_end"] += gap
    wanted = wanted.reset_index().drop(columns="i")
    pd.testing.assert_frame_equal(made, wanted, check_dtype=False)


def test_polars_eager_and_lazy() -> None:
    frame = pl.DataFrame({"u": ["a", "b", "a"], "t": [1, 2, 5], "v": [1.0, 2.0, 4.0]})
    query = sliding(partition_by="u", order_by="t", gap=3, s=Sum("v"))
    wanted = {"u": ["a", "a", "b"], "session_start": [1, 5, 2], "session_end": [4, 8, 5],
              "s": [1.0, 4.0, 2.0]}  # fmt: skip
    assert query(frame).to_dict(as_series=False) == wanted
    assert query(frame.lazy()).collect().to_dict(as_series=False) == wanted


TIMED = pa.table(
    {
        "ts": pa.array([EPOCH + datetime.timedelta(minutes=m) for m in (0, 3, 20, 90)]),
        "kind": ["a", "b", "a", "b"],
        "wait": pa.array([600, None, 7200, -1], pa.duration("s")),
        "v": [1, 2, 3, 4],
    }
)
SHORT = "CASE WHEN kind = 'a' THEN '5 minutes' ELSE '1 hour' END"
GAPS: dict[str, tuple[Any, list[int], list[int]]] = {
    "texts": (SHORT, [0, 90], [63, 150]),
    "durations": ("wait", [0, 20], [10, 140]),
    "intervals": ("CASE WHEN v < 3 THEN INTERVAL '9' MINUTE END", [0], [12]),
    "fixed": ("20 minutes", [0, 90], [40, 110]),
}


@pytest.mark.parametrize("gap", GAPS)
def test_gaps_of_many_types(gap: str) -> None:
    text, starts, ends = GAPS[gap]
    made = sliding(order_by="ts", gap=text, n=Count())(TIMED)
    for name, minutes in (("session_start", starts), ("session_end", ends)):
        wanted = [EPOCH + datetime.timedelta(minutes=m) for m in minutes]
        assert made.column(name).to_pylist() == wanted


@pytest.mark.parametrize(
    ("gap", "by", "zone"),
    [
        ("1 month", pd.DateOffset(months=1), None),
        ("1 month", pd.DateOffset(months=1), "Europe/Berlin"),
        ("3 days", pd.DateOffset(days=3), "Europe/Berlin"),
        ("1 month 2 hours", pd.DateOffset(months=1, hours=2), None),
    ],
)
def test_gaps_of_the_calendar(gap: str, by: Any, zone: str | None) -> None:
    random = np.random.default_rng(7)
    hours = np.sort(random.integers(0, 3 * 8760, 60 if "month" in gap else 300))
    at = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(hours, unit="h")
    rows = [{"ts": t} for t in at]
    query = sliding(order_by="ts", gap=gap, timezone=zone, n=Count())

    def size(row: dict[str, Any]) -> Any:
        local = row["ts"].tz_convert(zone or "UTC")
        return (local + by).tz_convert("UTC") - row["ts"]

    made = query(pd.DataFrame(rows))
    wanted = sessions(query, rows, size)
    assert 3 < len(wanted) < 0.8 * len(rows)
    assert made.to_dict("records") == wanted


def test_a_gap_finer_than_the_times() -> None:
    times = pa.array([0, 1, 3], pa.timestamp("s"))
    made = sliding(order_by="ts", gap="1500 ms", n=Count())(pa.table({"ts": times}))
    assert made.column("session_end").cast(pa.int64()).to_pylist() == [2500, 4500]
    assert made.schema.field("session_start").type == pa.timestamp("ms")


def test_floats_and_what_has_no_place() -> None:
    table = pa.table({"t": [0.0, NAN, 0.5, None, 3.0], "v": [1, 2, 3, 4, 5]})
    made = sliding(order_by="t", gap=0.5, s=Sum("v"))(table)
    assert made.to_pydict() == {
        "session_start": [0.0, 3.0], "session_end": [1.0, 3.5], "s": [4, 5]
    }  # fmt: skip


def test_where_min_rows_having_and_conditions() -> None:
    table = pa.table({"k": list("aaabbb"), "t": [0, 1, 9, 0, 1, 2], "v": [1, 2, 3, 4, None, 6]})
    query = sliding(
        partition_by="k", order_by="t", gap=2, where="v <> 4 OR v IS NULL", min_rows=2,
        having="n > 0 AND session_end - session_start > 2",
        n=Count(), s=Sum("v"), odd=Max("v").where("v % 2 = 1"),
    )  # fmt: skip
    assert query(table).to_pylist() == [
        {"k": "a", "session_start": 0, "session_end": 3, "n": 2, "s": 3, "odd": None},
        {"k": "b", "session_start": 1, "session_end": 4, "n": 2, "s": None, "odd": None},
    ]


def test_shared_queries_with_sessions_and_without() -> None:
    table = pa.table({"k": list("abab"), "t": [0, 1, 2, 9], "own": [5, 0, 1, 1], "v": [1, 2, 3, 4]})
    queries = [
        sliding(partition_by="k", order_by="t", gap=2, s=Sum("v")),
        sliding(partition_by="k", order_by="t", gap="own", s=Sum("v")),
        sliding(partition_by="k", order_by="t", gap=20, first=First("v"), last=Last("v")),
        sliding(partition_by="k", order_by="t", range=4, s=Sum("v")),
        sliding(partition_by="k", order_by="t", range=4, slide=4, s=Min("v")),
    ]
    for together, query in zip(shared(*queries)(table), queries, strict=True):
        assert together.equals(query(table))


def test_no_rows_at_all() -> None:
    made = sliding(partition_by="key", order_by="t", gap="own", n=Count())(SCHEMA.empty_table())
    assert made.num_rows == 0
    assert made.column_names == ["key", "session_start", "session_end", "n"]


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"gap": "30 minuts"}, InvalidArgument, "'minuts' is no unit of time; did you mean"),
    ({"gap": 0}, InvalidArgument, "gap=0 must be larger than 0"),
    ({"gap": ""}, InvalidArgument, "must be a duration"),
    ({"gap": "1 hour", "slide": "1 hour"}, InvalidArgument, "means nothing with gap="),
    ({"gap": 5, "range": 3}, InvalidArgument, "give one of"),
    ({"gap": "1 hour", "order_by": "t"}, InvalidValue, "is a duration, and 't' is of type int64"),
    ({"gap": 5}, InvalidValue, "is a number, and 'ts' is of type timestamp"),
    ({"gap": "waits"}, InvalidArgument, "no column 'waits'; did you mean"),
    ({"gap": "v"}, InvalidValue, "give durations, or texts as '5 minutes'"),
    ({"gap": "kind"}, InvalidArgument, "gap='a' is not a duration"),
    ({"gap": "v / 2", "order_by": "t"}, InvalidValue, "give whole numbers"),
    ({"gap": "CASE WHEN v > 1 THEN '1 month' END"}, InvalidArgument, "months differ in length"),
    ({"gap": "wait", "timezone": "Asia/Tokyo"}, InvalidArgument, "goes with a duration"),
    ({"gap": "1 hour", "timezone": "Mars"}, InvalidArgument, "timezone='Mars'"),
    ({"gap": "1 hour", "partition_by": "session_start"}, InvalidArgument, "such windows give"),
    ({"gap": "1 hour", "session_end": Max("v")}, InvalidArgument, "has a column 'session_end'"),
]


@pytest.mark.parametrize(("given_", "kind", "words"), WRONG, ids=lambda each: str(each)[:40])
def test_mistakes_are_named(given_: dict[str, Any], kind: type[Exception], words: str) -> None:
    table = TIMED.append_column("t", pa.array([1, 2, 3, 4])).append_column(
        "session_start", pa.array([1, 2, 3, 4])
    )
    with pytest.raises(kind, match="(?s).*" + words.replace("?", r"\?")):
        sliding(**{"order_by": "ts", "n": Count(), **given_})(table)


def test_times_near_the_end_of_what_can_be_told() -> None:
    table = pa.table({"t": [2**63 - 5]})
    with pytest.raises(InvalidValue, match="outside of what int64 holds"):
        sliding(order_by="t", gap=10, n=Count())(table)
