"""`min_rows=`: null until a window has so many values that are not null, as pandas has it."""

from __future__ import annotations

from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.tables.oracle import same
from tests.tables.test_tables import ALL, ROWS, table_of
from windrow import (
    All,
    ArgMax,
    Count,
    First,
    Max,
    Mean,
    StdDev,
    Sum,
    aggregation,
    rolling,
    sliding,
    sql,
    window,
)
from windrow.errors import InvalidArgument
from windrow.kernels.rolling import RollingState

WINDOWS: list[dict[str, Any]] = [
    {"rows": 4}, {"rows": (-2, 2)}, {"range": 5}, {"range": (-3, 6)}, {"rows": "unbounded"},
    {"range": (-3, 6), "exclude": "current row"}, {"range": 6, "slide": 3}, {"rows": 4, "slide": 2},
]  # fmt: skip


@pytest.mark.parametrize("size", WINDOWS, ids=str)
@examples(15)
@given(rows=ROWS, least=st.integers(1, 5))
def test_null_below(size: dict[str, Any], rows: Any, least: int) -> None:
    """The results are those without it, but for windows of too few values."""
    table = table_of(rows, pa.int64())
    counts = {name: Count(*part.columns[:1]) for name, part in ALL.items()}
    asked = {"partition_by": "key", "order_by": "t", **size}
    made = sliding(ALL, **asked, min_rows=least)(table)
    plain, counted = sliding(ALL, **asked)(table), sliding(counts, **asked)(table)
    for name in ALL:
        whole = zip(made[name].to_pylist(), plain[name].to_pylist(), strict=True)
        for (got, want), n in zip(whole, counted[name].to_pylist(), strict=True):
            assert same(got, want if n >= least else None), (name, got, want, n)


@pytest.mark.parametrize(
    "size",
    [
        {"rows": 40},
        {"rows": (-20, 20)},
        {"rows": (-39, 0), "exclude": "current row"},
        {"rows": (-20, 20), "exclude": "current row"},
        {"range": 90},
        {"range": (-40, 40), "exclude": "current row"},
    ],
    ids=str,
)
def test_few_windows_of_many(size: dict[str, Any]) -> None:
    """The bits of a few nulls are cleared one by one, besides those of windows without a row."""
    random = np.random.default_rng(3)
    n = 3000
    table = pa.table(
        {
            "key": random.integers(0, 2, n),
            "t": np.cumsum(random.integers(0, 5, n)),
            "v": random.normal(size=n),
            "on": random.random(n) < 0.9,
            "name": random.choice(["a", "b"], n),
        }
    )
    parts = {
        "high": Max("v"), "mean": Mean("v"), "n": Count("v"), "deviation": StdDev("v"),
        "every": All("on"), "word": Max("name"), "at": ArgMax("v", "t"),
    }  # fmt: skip
    asked = {"partition_by": "key", "order_by": "t", **size}
    counts = sliding(n=Count(), **asked)(table)["n"].to_numpy()
    least = int(np.quantile(counts, 0.005)) + 1
    made, plain = sliding(parts, **asked, min_rows=least)(table), sliding(parts, **asked)(table)
    assert 0 < (counts < least).sum() < n // 16
    for name in parts:
        assert made[name].null_count >= (counts < least).sum()
        made[name].validate(full=True)
        for got, want, count in zip(
            made[name].to_pylist(), plain[name].to_pylist(), counts, strict=True
        ):
            assert same(got, want if count >= least else None), (name, got, want, count)


@pytest.mark.parametrize("name", ["max", "sum", "mean", "std", "count"])
def test_as_pandas(name: str) -> None:
    random = np.random.default_rng(7)
    values = random.normal(size=200)
    values[random.random(200) < 0.3] = np.nan
    ours = {"max": Max, "sum": Sum, "mean": Mean, "std": StdDev, "count": Count}[name]
    theirs = getattr(pd.Series(values).rolling(6, min_periods=4), name)().to_numpy()
    if name == "count":  # of pandas, for which min_periods are rows
        theirs = np.where(theirs < 4, np.nan, theirs)
    part = ours("v") if name == "count" else ours()
    made = rolling(values, part, rows=6, min_rows=4, nan="null")
    made = np.ma.filled(made.astype(float), np.nan)
    assert np.allclose(made, theirs, equal_nan=True)
    frame = pd.DataFrame({"v": values})
    asked = sliding(rows=6, min_rows=4, a=ours("v"))(frame)["a"].astype(float)
    assert np.allclose(asked, theirs, equal_nan=True)


@pytest.mark.parametrize("least", [2, 60])  # few results are null, and many
def test_nulls_of_pandas(least: int) -> None:
    frame = pd.DataFrame({"v": np.arange(100.0), "i": np.arange(100)}, index=np.arange(100) * 2)
    query = sliding(rows=90, min_rows=least, a=Sum("v"), b=Max("i"), c=Count("v"), d=All("i > 3"))
    made, wanted = query(frame), query(pa.Table.from_pandas(frame, preserve_index=False))
    assert made.index.equals(frame.index)
    assert [str(made[name].dtype) for name in "abcd"] == ["float64", "Int64", "Int64", "boolean"]
    for name in "abcd":
        listed = [None if pd.isna(each) else each for each in made[name]]
        assert listed == wanted[name].to_pylist()
        made.loc[2, name] = made[name].iloc[99]  # a frame of the user's own
    assert np.array_equal(frame["v"], np.arange(100.0))


@pytest.mark.parametrize("size", [{"rows": 5}, {"rows": (-2, 2)}, {"range": 4}], ids=str)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("algorithm", ["auto", "daba"])
def test_rolling_in_batches(size: dict[str, Any], nulls: bool, algorithm: str) -> None:
    random = np.random.default_rng(3)
    values, at = random.integers(0, 9, 60), np.sort(random.integers(0, 40, 60))
    gone = random.random(60) < 0.4
    state, found = RollingState(), []
    more = {"algorithm": algorithm, "min_rows": 3, **size}
    masks = {"nulls": gone} if nulls else {}
    times = {"at": at} if "range" in size else {}
    one = rolling(values, Sum(), **more, **masks, **times)
    for a in range(0, 60, 13):
        here = {name: each[a : a + 13] for name, each in (masks | times).items()}
        found.append(rolling(values[a : a + 13], Sum(), **more, **here, state=state))
    found.append(state.finish())
    assert np.ma.concatenate(found).tolist() == one.tolist()
    table = pa.table({"t": at, "v": pa.array(values, mask=gone if nulls else None)})
    asked = sliding(order_by="t", min_rows=3, **size, s=Sum("v"))(table)
    rows = "rows" in size
    want = sliding(min_rows=3, **size, s=Sum("v"))(table) if rows else asked
    assert one.tolist() == want["s"].to_pylist()


def test_late_values_count_where_they_belong() -> None:
    at, values = np.array([0, 4, 2, 9]), np.array([5, 1, 2, 7])
    made = rolling(values, Max(), range=5, at=at, lateness=3, min_rows=2)
    assert made.tolist() == [None, 5, 5, 7]
    assert made.tolist()[3] == 7


def test_push() -> None:
    peak = window(Max(), rows=3, min_rows=2)
    assert [peak.push(v) for v in (5, None, 3, None, 9)] == [None, None, 5, None, 9]
    both = window({"peak": Max(), "n": Count()}, rows=2, min_rows=2)
    assert [dict(both.push(v)) for v in (5, 3)] == [
        {"peak": None, "n": None},
        {"peak": 5, "n": 2},
    ]


def test_values_of_several_columns() -> None:
    table = pa.table({"t": [1, 2, 3, 4], "a": [1, None, 3, 4], "b": [1, 2, None, 4]})
    dot = aggregation(lift=lambda a, b: a * b, combine=lambda x, y: x + y, lower=lambda s: s)
    query = sliding(order_by="t", rows=4, min_rows=2, d=dot("a", "b"), w=ArgMax("a", "b"))
    made = query(table)
    assert made["d"].to_pylist() == [None, None, None, 17]
    assert made["w"].to_pylist() == [None, None, None, 4]
    without = sliding(
        order_by="t", rows=(-3, 0), exclude="current row", min_rows=1, d=dot("a", "b")
    )
    assert without(table)["d"].to_pylist() == [None, 1, 1, 1]


def test_it_prints_and_is_read_back() -> None:
    query = sliding(rows=5, min_rows=3, s=Sum("v"))
    assert repr(query) == "sliding(rows=5, min_rows=3, s=Sum('v'))"
    assert eval(repr(query)) == query
    table = pa.table({"v": [1, 2, 3]})
    assert sql(query.sql(), stream=table).equals(query(table))
    assert "fewer than 3 values" in query.explain()
    with pytest.raises(InvalidArgument, match="min_rows must be 1 or more, got 0"):
        sliding(rows=5, min_rows=0, s=Sum("v"))


@pytest.mark.parametrize("frame", [{}, {"exclude": "current row"}], ids=str)
@pytest.mark.parametrize("rows", [(-5, 0), (-3, 2)], ids=str)
def test_many_nulls_of_many_keys(rows: tuple[int, int], frame: dict[str, Any]) -> None:
    """Against DuckDB; their bits go back to the order of the table."""
    random, n = np.random.default_rng(3), 5000
    nulls = random.random(n) < 0.4
    table = pa.table(
        {
            "i": np.arange(n),
            "key": random.integers(0, 300, n),
            "v": pa.array(random.integers(-9, 9, n).astype(float), mask=nulls),
        }
    )
    results = {"top": Max("v"), "sum": Sum("v"), "n": Count("v"), "first": First("v")}
    query = sliding(partition_by="key", order_by="i", rows=rows, min_rows=2, **frame, **results)
    over = f"ROWS BETWEEN {-rows[0]} PRECEDING AND {rows[1]} FOLLOWING"
    over += " EXCLUDE CURRENT ROW" if frame else ""
    some = "CASE WHEN count(v) OVER w >= 2 THEN {} OVER w END"
    texts = "max(v)", "sum(v)", "count(v)", "first(v IGNORE NULLS)"
    wanted = duckdb.sql(
        f'SELECT {", ".join(map(some.format, texts))} FROM "table" '
        f"WINDOW w AS (PARTITION BY key ORDER BY i {over}) ORDER BY i"
    ).fetchall()
    made = query(table)
    assert list(zip(*(made[name].to_pylist() for name in results), strict=True)) == wanted
