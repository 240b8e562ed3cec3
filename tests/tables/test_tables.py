"""Queries over tables in memory, against a plain recalculation and against DuckDB."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.tables.oracle import hopping, per_row, same
from windrow import (
    ArgMax,
    ArgMin,
    Collect,
    CollectDistinct,
    Concat,
    Corr,
    Count,
    CountDistinct,
    First,
    FirstN,
    HyperLogLog,
    Last,
    LastN,
    LongestRun,
    Max,
    MaxCount,
    Mean,
    Median,
    Min,
    MinCount,
    Mode,
    Quantile,
    Query,
    Range,
    Rank,
    StdDev,
    Sum,
    TopK,
    Variance,
    aggregation,
    sliding,
)  # fmt: skip
from windrow.errors import InvalidValue

EPOCH = datetime.datetime(2026, 1, 1)

ALL = {
    "n": Count(),
    "present": Count("v"),
    "total": Sum("v"),
    "mean": Mean("v"),
    "high": Max("v"),
    "low": Min("v"),
    "spread": Range("v"),
    "tops": MaxCount("v"),
    "bottoms": MinCount("v"),
    "deviation": StdDev("v"),
    "variance": Variance("v", ddof=0),
    "correlation": Corr("v", "t"),
    "where": ArgMax("v", "name"),
    "least": ArgMin("v", "name"),
    "first": First("v"),
    "last": Last("v"),
    "first_name": First("name"),
    "last_name": Last("name"),
    "high_name": Max("name"),
    "names": CountDistinct("name"),
    "values": CountDistinct("v"),
    "all": Collect("v"),
    "distinct": CollectDistinct("name"),
    "three": FirstN("v", n=3),
    "two": LastN("name", n=2),
    "joined": Concat("name", separator="-"),
    "run": LongestRun("v", "t"),
    "about": HyperLogLog("v"),
    "median": Median("v"),
    "shares": Quantile("v", q=(0.1, 0.9), interpolation="nearest"),
    "top": TopK("v", k=2),
    "mode": Mode("name"),
    "rank": Rank("v"),
    "own": aggregation("v", lift=lambda v: v * v, combine=lambda a, b: a + b, lower=lambda s: s),
}

WHOLE = st.one_of(st.none(), st.integers(-9, 9))
REAL = st.one_of(st.none(), st.sampled_from([0.5, -1.25, 3.0, float("nan"), 2.0, 1e8]))
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 30), WHOLE, st.sampled_from("xyz")),
    max_size=40,
)
SPANS = [
    {"range": r, "closed": c} for r in (1, 4, 40) for c in ("both", "right", "left", "neither")
]
WINDOWS: list[dict[str, Any]] = [
    {"rows": 1}, {"rows": 3}, {"rows": 100}, {"rows": "unbounded"}, {"rows": 4, "slide": 2},
    {"rows": 2, "slide": 5, "gaps": True},
    {"rows": "unbounded", "slide": 3}, {"range": "unbounded"}, {"range": "now"}, {"delta": 2.5},
    *SPANS, {"on": lambda row: row["v"] == 3},
]  # fmt: skip


def label(window: dict[str, Any]) -> str:
    """A window for a test's name: the same in every process, whatever functions are in it."""
    return "-".join(f"{k}={'f' if callable(v) else v}" for k, v in window.items())


def table_of(rows: list[Any], value: pa.DataType) -> pa.Table:
    """A table of (key, t, v, name) rows."""
    columns = list(zip(*rows, strict=True)) or [[]] * 4
    types = [pa.string(), pa.int64(), value, pa.string()]
    arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
    return pa.table(dict(zip(["key", "t", "v", "name"], arrays, strict=True)))


def check(query: Query, table: pa.Table) -> None:
    """The query's answers are those of the plain recalculation, in the rows' order."""
    rows = table.to_pylist()
    expected = per_row(query, rows)
    made = query(table)
    wanted = [{**row, **answer} for row, answer in zip(rows, expected, strict=True) if answer]
    assert made.num_rows == len(wanted)
    for got, want in zip(made.to_pylist(), wanted, strict=True):
        for name in want:
            assert same(got[name], want[name]), (name, got, want)


@pytest.mark.parametrize("window", WINDOWS, ids=label)
@examples(36)
@given(keys=st.sampled_from([None, "key", ["key", "name"]]), rows=ROWS)
def test_every_aggregation_over_every_window(window: dict[str, Any], keys: Any, rows: Any) -> None:
    check(sliding(ALL, partition_by=keys, order_by="t", **window), table_of(rows, pa.int64()))


@pytest.mark.parametrize("window", [{"rows": 3}, {"range": 4}, {"rows": 4, "slide": 2}], ids=str)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 30), REAL, st.sampled_from("xyz"))
    )
)
def test_floats_with_nulls_and_nan(window: dict[str, Any], rows: Any) -> None:
    some = {n: a for n, a in ALL.items() if n not in ("values", "about", "run")}
    check(sliding(some, partition_by="key", order_by="t", **window), table_of(rows, pa.float64()))


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.one_of(st.none(), st.sampled_from([0.0, 1.5, 2.0, 7.0, float("nan")])),
            st.integers(0, 9),
            st.sampled_from("xyz"),
        )
    ),
    window=st.sampled_from([{"rows": 2}, {"range": 1.5}, {"range": "now"}, {"range": "unbounded"}]),
)
def test_rows_without_a_time_come_first_and_nan_last(rows: Any, window: dict[str, Any]) -> None:
    table = table_of([(k, 0, v, n) for k, _, v, n in rows], pa.int64())
    table = table.set_column(1, "t", pa.array([t for _, t, _, _ in rows], pa.float64()))
    query = sliding(
        partition_by="key", order_by="t", **window, n=Count(), all=Collect("v"), s=Sum("v")
    )
    check(query, table)


@pytest.mark.parametrize(
    ("size", "slide", "offset"), [(6, 2, 0), (5, 3, 1), (4, 4, 0), (7, 2, -3), (2, 5, 1)]
)
@examples(60)
@given(keys=st.sampled_from([None, "key"]), rows=ROWS)
def test_hopping_windows(size: int, slide: int, offset: int, keys: Any, rows: Any) -> None:
    some = {
        n: ALL[n] for n in ("n", "total", "mean", "high", "where", "first_name", "all", "names")
    }
    query = sliding(
        some, partition_by=keys, order_by="t", range=size, slide=slide, offset=offset or None,
        gaps=slide > size,
    )  # fmt: skip
    table = table_of([(k, t - 15, v, n) for k, t, v, n in rows], pa.int64())
    made = query(table).to_pylist()
    wanted = hopping(query, table.to_pylist(), size, slide, offset)
    assert len(made) == len(wanted)
    for got, want in zip(made, wanted, strict=True):
        assert list(got) == list(want)
        assert all(same(got[name], want[name]) for name in want), (got, want)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        (pa.int8(), -128, 127), (pa.uint16(), 0, 65_535), (pa.int32(), -(2**31), 2**31 - 1),
        (pa.float32(), -(2**24), 2**24),
    ],
)  # fmt: skip
def test_windows_reach_past_what_short_numbers_hold(
    kind: pa.DataType, least: int, most: int
) -> None:
    table = pa.table({"t": pa.array([most, least, 5, least + 1], kind), "v": [1, 2, 4, 8]})
    hops = sliding(order_by="t", range=7, slide=3, offset=1, s=Sum("v"))
    assert hops(table).to_pylist() == hopping(hops, table.to_pylist(), 7, 3, 1)
    sessions = sliding(order_by="t", gap=3, s=Sum("v"))(table).to_pylist()
    assert [row["session_end"] for row in sessions] == [least + 4, 8, most + 3]


def test_integers_past_int64_as_an_order() -> None:
    t = [2**63 + 5, 3, None, 2**64 - 1, 2**62]
    table = pa.table({"t": pa.array(t, pa.uint64()), "v": list("abcde")})
    rows = sliding(order_by="t", rows=2, w=Concat("v"))
    assert rows(table)["w"].to_pylist() == ["ea", "cb", "c", "ad", "be"]
    for window in ({"range": 3}, {"range": 8, "slide": 4}, {"gap": 3}):
        with pytest.raises(InvalidValue, match=f"order_by='t' has integers past {2**63 - 1}"):
            sliding(order_by="t", **window, w=Concat("v"))(table)


@given(rows=ROWS, limit=st.integers(0, 12))
def test_policies(rows: Any, limit: int) -> None:
    def above(total: Any, old: Any) -> bool:
        return (total.size or 0) - (old.size or 0) >= limit

    query = sliding(
        partition_by="key", order_by="t", until=above,
        size=aggregation("v", lift=abs, combine=lambda a, b: a + b, lower=lambda s: s),
        all=Collect("v"),
    )  # fmt: skip
    check(query, table_of(rows, pa.int64()))


SHARED = {
    "n": (Count(), "count(*)"),
    "present": (Count("v"), "count(v)"),
    "total": (Sum("v"), "sum(v)"),
    "mean": (Mean("v"), "avg(v)"),
    "high": (Max("v"), "max(v)"),
    "low": (Min("v"), "min(v)"),
    "deviation": (StdDev("v"), "stddev_samp(v)"),
    "variance": (Variance("v", ddof=0), "var_pop(v)"),
    "names": (Max("name"), "max(name)"),
    "all": (Collect("v"), "list(v) FILTER (v IS NOT NULL)"),
    "distinct": (CountDistinct("v"), "count(DISTINCT v)"),
}


@pytest.mark.parametrize("keys", [None, "key"])
@pytest.mark.parametrize(
    ("window", "frame"),
    [
        ({"rows": 5}, "ROWS BETWEEN 4 PRECEDING AND CURRENT ROW"),
        ({"range": "4 seconds"}, "RANGE BETWEEN INTERVAL 4 SECONDS PRECEDING AND CURRENT ROW"),
        ({"range": "unbounded"}, "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    ],
    ids=str,
)
@examples(25)
@given(rows=ROWS)
def test_duckdb_agrees(window: dict[str, Any], frame: str, keys: Any, rows: Any) -> None:
    times = [EPOCH + datetime.timedelta(seconds=t) for _, t, _, _ in rows]
    table = table_of(rows, pa.int64()).set_column(1, "t", pa.array(times, pa.timestamp("us")))
    table = table.append_column("i", pa.array(range(len(rows)), pa.int64()))
    events = table  # by this name DuckDB finds it
    parts = {n: a for n, (a, _) in SHARED.items()}
    by_rows = "rows" in window
    made = sliding(parts, partition_by=keys, order_by=["t", "i"] if by_rows else "t", **window)(
        events
    )
    asked = ", ".join(f"{text} OVER w AS {n}_" for n, (_, text) in SHARED.items())
    order = "t, i" if by_rows else "t"
    wanted = duckdb.sql(
        f"SELECT *, {asked} FROM events WINDOW w AS ("
        f"{'PARTITION BY key ' if keys else ''}ORDER BY {order} {frame}) ORDER BY i"
    ).to_arrow_table()
    for name in parts:
        ours, theirs = made.column(name).to_pylist(), wanted.column(f"{name}_").to_pylist()
        for a, b in zip(ours, theirs, strict=True):
            assert same(a, b) or same(sorted(a or []), sorted(b or [])), (name, a, b)
