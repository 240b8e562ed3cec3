"""Frames, min_rows= and filters together with slides, policies, shared passes and stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow import (
    Adwin,
    Count,
    Covariance,
    Max,
    Mean,
    RollingState,
    Sum,
    rolling,
    shared,
    sliding,
    sql,
    window,
)
from windrow.errors import InvalidArgument, Unsupported
from windrow.stores.memory import MemoryStore

RNG = np.random.default_rng(3)
V = RNG.integers(0, 50, 60).astype(float)
V[[2, 3, 17, 40, 41, 42]] = np.nan
W = V[::-1].copy()
T = np.cumsum(RNG.integers(0, 4, 60))
TABLE = pa.table(
    {
        "t": T,
        "k": RNG.integers(0, 3, 60),
        "v": pa.array(V, from_pandas=True),
        "w": pa.array(W, from_pandas=True),
        "n": RNG.integers(0, 9, 60),
    }
)


def in_batches(values: Any, *args: Any, **kwargs: Any) -> Any:
    """The results of a stream that comes in three batches."""
    state = RollingState()
    made = [
        rolling(values[a:b], *args, **kwargs, state=state) for a, b in ((0, 7), (7, 8), (8, 60))
    ]
    return np.concatenate([*made, state.finish()])


def above_200(total: float) -> bool:
    return total is not None and total > 200


def full(value: float | None) -> bool:
    return value is not None and value > 40


@pytest.mark.parametrize("algorithm", ["auto", "two_stacks", "pba"])
def test_a_slide_keeps_the_results_of_its_rows(algorithm: str) -> None:
    asked = {"rows": 5, "min_rows": 4, "nan": "null", "algorithm": algorithm}
    want = rolling(V, Sum(), **asked)[2::3]
    np.testing.assert_array_equal(rolling(V, Sum(), slide=3, **asked), want)
    np.testing.assert_array_equal(in_batches(V, Sum(), slide=3, **asked), want)


def test_a_slide_over_all_rows_so_far() -> None:
    want = rolling(V, Max(), rows="unbounded", nan="null")[3::4]
    np.testing.assert_array_equal(rolling(V, Max(), rows="unbounded", slide=4, nan="null"), want)
    looped = rolling(V, Max(), rows="unbounded", slide=4, nan="null", algorithm="pba")
    np.testing.assert_array_equal(looped, want)


@pytest.mark.parametrize("decides", [{"until": above_200}, {"on": full}], ids=["until", "on"])
def test_what_a_function_decides_needs_its_values(decides: dict[str, Any]) -> None:
    both = rolling(V, Sum(), **decides, nan="null")
    some = rolling(V, Sum(), **decides, nan="null", min_rows=3)
    kept = ~np.isnan(some)
    np.testing.assert_array_equal(some[kept], both[kept])
    assert 0 < kept.sum() < (~np.isnan(both)).sum()
    np.testing.assert_array_equal(in_batches(V, Sum(), **decides, nan="null", min_rows=3), some)
    made = sliding({"s": Sum("v")}, min_rows=3, **_of_columns(decides))(TABLE)
    if made.num_rows == 60:
        told = np.array(made["s"].to_pylist(), float)
        np.testing.assert_array_equal(told, some)


def _of_columns(decides: dict[str, Any]) -> dict[str, Any]:
    return {"until": "s > 200"} if "until" in decides else {"on": "v > 40"}


def test_frames_have_a_result_a_row() -> None:
    for more in ({"slide": 2}, {"gaps": True}):
        with pytest.raises(InvalidArgument, match="for each row; give rows= one size"):
            sliding(rows=(-3, 3), **more, s=Sum("v"))
    with pytest.raises(InvalidArgument, match="which has a result for each row"):
        rolling(V, Sum(), rows=(-3, 3), slide=2)


@pytest.mark.parametrize("size", [{"rows": 6}, {"rows": (-2, 3)}, {"rows": 6, "slide": 2}], ids=str)
def test_pairs_count_where_neither_is_null(size: dict[str, Any]) -> None:
    there = (~(np.isnan(V) | np.isnan(W))).astype(float)
    made = rolling((V, W), Covariance(), **size, min_rows=4, nan="null")
    plain = rolling((V, W), Covariance(), **size, nan="null")
    counts = rolling(there, Sum(), **size)
    np.testing.assert_array_equal(made, np.where(counts < 4, np.nan, plain))
    table = sliding(**size, min_rows=4, c=Covariance("v", "w"))(TABLE)
    np.testing.assert_allclose(np.array(table["c"].to_pylist(), float), made)


@pytest.mark.parametrize("column", ["v", "n"])
@pytest.mark.parametrize("rows", [(-2, 2), (1, 3), (-4, -2), (0, 30)], ids=str)
@pytest.mark.parametrize("keys", [[], ["k"]], ids=["one key", "keys"])
def test_results_of_a_frame_share_a_pass(column: str, rows: Any, keys: list[str]) -> None:
    parts = {
        "s": Sum(column), "m": Mean(column), "c": Count(column), "high": Max(column),
        "some": Sum(column).where("n > 4"), "few": Count(column).where("n > 4"),
    }  # fmt: skip
    asked: dict[str, Any] = {"partition_by": keys, "order_by": "t", "rows": rows}
    made = sliding(parts, **asked)(TABLE)
    for name, part in parts.items():
        assert made[name].equals(sliding({name: part}, **asked)(TABLE)[name]), name


@pytest.mark.parametrize("size", [(-3, 3), (2, 6), (-6, -2), ("unbounded", 2)], ids=str)
@pytest.mark.parametrize("argument", ["range", "rows"])
def test_boundary_aggregators_run_frames(argument: str, size: Any) -> None:
    more = {argument: size, **({"at": T} if argument == "range" else {})}
    want = rolling(V, Max(), **more, nan="null")
    made = rolling(V, Max(), **more, nan="null", algorithm="pba")
    np.testing.assert_array_equal(made, want)


def test_a_window_is_not_compiled_that_needs_so_many_values() -> None:
    peak = window(Max(), rows=3, min_rows=2)
    made = peak.push_many(V)
    np.testing.assert_array_equal(made.astype(float), rolling(V, Max(), rows=3, min_rows=2))
    assert "compiled" not in peak.explain()


def test_a_window_with_a_slide_keys_and_a_store() -> None:
    every = window(Max(), rows=3, slide=2, min_rows=3)
    assert [every.push(v) for v in (5, 3, None, 1, 2, 9)] == [None, None, None, None, None, 9]
    keyed = window(Max(), rows=2, min_rows=2, partition_by=True)
    assert [keyed.push(v, key=k) for k, v in (("a", 5), ("b", 1), ("a", 3))] == [None, None, 5]
    store = MemoryStore()
    with window(Sum(), rows=3, min_rows=2, store=store) as kept:
        assert kept.push(4) is None
    with window(Sum(), rows=3, min_rows=2, store=store) as again:
        assert again.push(2) == 6


@pytest.mark.parametrize(
    "policy",
    [
        lambda window: window.s is not None and window.s > 90,
        lambda total, old: total.c - old.c >= 4,
        "s > 90",
        Adwin("v", delta=0.3, buckets=2),
    ],
    ids=["of the window", "of a part", "text", "adwin"],
)
def test_a_policy_sees_windows_that_have_too_few_values(policy: Any) -> None:
    parts = {"s": Sum("v"), "c": Count(), "peak": Max("v")}
    query = sliding(parts, until=policy, min_rows=3)
    wanted = query(TABLE).select(list(parts)).to_pylist()
    assert {row["s"] is None for row in wanted} == {True, False}
    until = query.window.until
    pushed, kept = window(parts, until=until, min_rows=3), MemoryStore()
    rows = TABLE.to_pylist()
    assert [pushed.push(row) for row in rows] == wanted
    assert pushed.query() == wanted[-1]
    many = window(parts, until=until, min_rows=3).push_many(rows)
    assert [v or None for v in many["c"].tolist()] == [row["c"] for row in wanted]
    if not isinstance(policy, Adwin):
        with window(parts, until=until, min_rows=3, store=kept) as stored:
            first = [stored.push(row) for row in rows[:30]]
        with window(parts, until=until, min_rows=3, store=kept) as stored:
            assert [*first, *(stored.push(row) for row in rows[30:])] == wanted


def test_one_aggregation_with_a_policy_needs_its_values() -> None:
    w = window(Sum(), until=lambda window: window is not None and window > 9, min_rows=2)
    assert w.query() is None
    assert [w.push(v) for v in (4, None, 5, 1, 12, 3)] == [None, None, 9, 6, None, None]


def test_policies_read_results_of_some_rows() -> None:
    some = "SUM(v) FILTER (WHERE n > 4)"
    query = sql(f"SELECT {some} AS s FROM x [MIN_ROWS 2 UNTIL {some} > 90]")
    made = query(TABLE)["s"]
    python = sliding(until="s > 90", min_rows=2, s=Sum("v").where("n > 4"))
    assert made.equals(python(TABLE)["s"])
    assert made.null_count < 60
    slow = sliding(until=lambda w: bool(w.s and w.s > 90), min_rows=2, s=Sum("v").where("n > 4"))
    assert made.equals(slow(TABLE)["s"])
    gaps = sql("SELECT COUNT(v) AS c FROM x [ORDER BY t RANGE 3 SLIDE 5 WITH GAPS MIN_ROWS 2]")
    assert gaps == sliding(
        order_by="t", range=3, slide=5, gaps=True, min_rows=2, c=Count("v")
    ).replace(source="x")
    counts = [c for c in gaps(TABLE)["c"].to_pylist() if c is not None]
    assert counts and min(counts) >= 2


def test_shared_events_need_their_values() -> None:
    both = shared(
        sliding(rows=4, slide=2, min_rows=3, peak=Max("v")), sliding(rows=2, mean=Mean("v"))
    )
    stream = both.stream()
    made = [a.value["peak"] for v in (5, None, 3, 1) for a in stream.push({"v": v}) if not a.query]
    assert made == [None, 5]
    with pytest.raises(Unsupported, match="neither keys, where"):
        shared(sliding(rows=4, slide=2, peak=Max("v").where("v > 3"))).stream()
