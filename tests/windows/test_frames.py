"""Frames with two ends, against DuckDB's own over rows with ties, nulls, NaN and gaps."""

from __future__ import annotations

import datetime
import itertools
import pickle
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.tables.oracle import same
from windrow import (
    ArgMax,
    Collect,
    Concat,
    Count,
    CountDistinct,
    Covariance,
    First,
    HyperLogLog,
    Last,
    Max,
    Mean,
    Median,
    Min,
    StdDev,
    Sum,
    aggregation,
    rolling,
    sliding,
    sql,
    window,
)  # fmt: skip
from windrow.errors import InvalidArgument
from windrow.kernels.rolling import RollingState
from windrow.windows import arrays
from windrow.windows.bounds import frame_edges
from windrow.windows.exclude import peers

NAN = float("nan")
ENDS = st.one_of(st.just("unbounded"), st.integers(-6, 6))
EXCLUDED = st.sampled_from([None, "current row", "group", "ties"])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.one_of(st.none(), st.just(NAN), st.integers(0, 24).map(float)),
        st.one_of(st.none(), st.integers(-9, 9)),
    ),
    max_size=40,
)
# what DuckDB is asked beside each of ours; the rows themselves are told by the bits of `which`
SQL = {
    "n": (Count(), "count(*)"),
    "present": (Count("v"), "count(v)"),
    "which": (Sum("bit"), "sum(bit)"),
    "high": (Max("v"), "max(v)"),
    "low": (Min("v"), "min(v)"),
    "mean": (Mean("v"), "avg(v)"),
    "deviation": (StdDev("v"), "stddev_samp(v)"),
    "at": (ArgMax("odd", "bit"), "arg_max(bit, odd)"),
    "different": (CountDistinct("v"), "count(DISTINCT v)"),
    "middle": (Median("v"), "median(v)"),
    "together": (Covariance("v", "odd"), "covar_samp(v, odd)"),
}


def ordered(ends: tuple[Any, Any]) -> bool:
    start, end = ends
    return "unbounded" in ends or start <= end


def frame_of(rows: list[Any], when: Any = float) -> pa.Table:
    keys, times, values = zip(*rows, strict=True) if rows else ((), (), ())
    n = len(rows)
    return pa.table(
        {
            "id": pa.array(range(n), pa.int64()),
            "key": pa.array(keys, pa.string()),
            "t": pa.array(times, pa.float64()) if when is float else when(times),
            "v": pa.array(values, pa.int64()),
            "bit": pa.array([1 << i for i in range(n)], pa.int64()),
            "odd": pa.array([None if v is None else v + i / 64 for i, v in enumerate(values)]),
        }
    )


def dates(times: Any) -> pa.Array:
    first = datetime.datetime(2026, 1, 1)
    days = [None if t is None or t != t else first + datetime.timedelta(days=t) for t in times]
    return pa.array(days, pa.timestamp("us"))


def in_sql(name: str, ends: tuple[Any, Any], exclude: str | None, unit: str = "") -> str:
    """The frame as SQL writes it."""
    words = []
    for end, side in zip(ends, ("PRECEDING", "FOLLOWING"), strict=True):
        if end == "unbounded":
            words.append(f"UNBOUNDED {side}")
        elif end == 0:
            words.append("CURRENT ROW")
        else:
            size = f"INTERVAL {abs(end)} {unit}" if unit else str(abs(end))
            words.append(f"{size} {'FOLLOWING' if end > 0 else 'PRECEDING'}")
    rest = f" EXCLUDE {exclude.upper()}" if exclude else ""
    return f"{name.upper()} BETWEEN {words[0]} AND {words[1]}{rest}"


def check(rows_: pa.Table, query: Any, frame: str) -> None:
    """Each result of a query is DuckDB's over the same frame."""
    ties = ", id" if frame.startswith("ROWS") else ""
    asked = ", ".join(f"{text} OVER w AS {name}" for name, (_, text) in SQL.items())
    theirs = duckdb.sql(
        f"SELECT {asked} FROM rows_ "
        f"WINDOW w AS (PARTITION BY key ORDER BY t NULLS FIRST{ties} {frame}) ORDER BY id"
    ).fetchall()
    ours = query(rows_).to_pylist()
    assert len(ours) == len(theirs)
    for mine, row in zip(ours, theirs, strict=True):
        for name, want in zip(SQL, row, strict=True):
            assert same(mine[name], want), (frame, mine, name, want)


PARTS = {name: part for name, (part, _) in SQL.items()}


@pytest.mark.parametrize("kind", ["rows", "range", "groups"])
@examples(60)
@given(rows=ROWS, ends=st.tuples(ENDS, ENDS).filter(ordered), exclude=EXCLUDED)
def test_every_frame_of_sql(kind: str, rows: Any, ends: Any, exclude: str | None) -> None:
    if kind == "rows" and exclude in ("group", "ties"):
        exclude = "current row"
    query = sliding(partition_by="key", order_by="t", **{kind: ends}, exclude=exclude, **PARTS)
    check(frame_of(rows), query, in_sql(kind, ends, exclude))
    assert eval(repr(query), {"sliding": sliding, **vars(__import__("windrow"))}) == query
    assert pickle.loads(pickle.dumps(query)) == query
    assert sql(query.sql()) == query


@pytest.mark.parametrize("exclude", ["current row", "group", "ties"])
@pytest.mark.parametrize("kind", ["range", "groups"])
def test_what_is_left_out_where_no_two_rows_have_one_time(kind: str, exclude: str) -> None:
    rows = frame_of([("a", float(i), i % 5) for i in range(9)] + [("b", 0.0, 3)])
    for ends in ((-2, 2), (-3, -1), (-2, 0), (0, 2)):
        query = sliding(partition_by="key", order_by="t", **{kind: ends}, exclude=exclude, **PARTS)
        check(rows, query, in_sql(kind, ends, exclude))


@pytest.mark.parametrize("ends", [(-20, 20), (-30, 7), (-9, 0), (0, 9), (-70, 70)], ids=str)
def test_long_keys_without_the_current_row(ends: tuple[int, int]) -> None:
    """Most windows are put together from those of other rows, and those near the ends are not."""
    random = np.random.default_rng(3)
    n = 1500
    rows_ = pa.table({"id": np.arange(n), "key": random.integers(0, 4, n) % 3})
    rows_ = rows_.append_column("v", pa.array(random.normal(size=n)))
    rows_ = rows_.append_column("i", pa.array(random.integers(-9, 9, n), mask=np.arange(n) % 7 < 1))
    asked = {
        "max(v)": Max("v"), "min(i)": Min("i"), "sum(i)": Sum("i"), "avg(v)": Mean("v"),
        "avg(i)": Mean("i"), "stddev_samp(v)": StdDev("v"), "stddev_samp(i)": StdDev("i"),
        "count(*)": Count(), "count(i)": Count("i"), "arg_max(id, v)": ArgMax("v", "id"),
        "median(v)": Median("v"), "median(i)": Median("i"), "first(v)": First("v"),
        "covar_samp(v, i)": Covariance("v", "i"), "last(v)": Last("v"),
    }  # fmt: skip
    parts = {f"a{i}": part for i, part in enumerate(asked.values())}
    query = sliding(partition_by="key", order_by="id", rows=ends, exclude="current row", **parts)
    frame = in_sql("rows", ends, "current row")
    theirs = duckdb.sql(
        f"SELECT {', '.join(f'{text} OVER w' for text in asked)} FROM rows_ "
        f"WINDOW w AS (PARTITION BY key ORDER BY id {frame}) ORDER BY id"
    ).fetchall()
    for mine, want in zip(query(rows_).select(list(parts)).to_pylist(), theirs, strict=True):
        for name, got, right in zip(asked, mine.values(), want, strict=True):
            assert same(got, right), (name, got, right)
    pandas = query(rows_.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get))
    assert pandas["a3"].notna().tolist() == [row[3] is not None for row in theirs]


@examples(30)
@given(rows=ROWS, ends=st.tuples(ENDS, ENDS).filter(ordered))
def test_ranges_of_days(rows: Any, ends: Any) -> None:
    days = tuple(end if end in ("unbounded", 0) else f"{end} days" for end in ends)
    query = sliding(partition_by="key", order_by="t", range=days, **PARTS)
    check(frame_of(rows, dates), query, in_sql("range", ends, None, "DAY"))


@examples(60)
@given(
    sizes=st.lists(st.integers(0, 30), max_size=6),
    seed=st.integers(0, 99),
    ends=st.tuples(st.integers(-9, 9), st.integers(-9, 9)).filter(ordered),
    closed=st.sampled_from(["both", "left", "right", "neither"]),
    real=st.booleans(),
)
def test_edges(sizes: list[int], seed: int, ends: Any, closed: str, real: bool) -> None:
    random = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    at = np.concatenate([np.empty(0, int), *(np.sort(random.integers(-20, 20, n)) for n in sizes)])
    scale = 0.25 if real else 1
    at, (start, end) = at * scale, (each * scale for each in ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", 8)
        lo = frame_edges(at, starts, start, closed in ("both", "left"), threads=1 + seed % 3)
        hi = frame_edges(at, starts, end, closed in ("left", "neither"), threads=1 + seed % 3)
    for s in range(len(sizes)):
        a, b = starts[s], starts[s + 1]
        for i in range(a, b):
            own = at[a:b] - at[i]
            after = own >= start if closed in ("both", "left") else own > start
            before = own <= end if closed in ("both", "right") else own < end
            inside = a + np.flatnonzero(after & before)
            assert list(range(lo[i], hi[i])) == inside.tolist()


@examples(40)
@given(
    sizes=st.lists(st.sampled_from([1, 255, 256, 300, 2000]), min_size=1, max_size=3),
    spread=st.sampled_from([2, 300, 5000, 10**9]),
    steps=st.booleans(),
    real=st.booleans(),
    shift=st.sampled_from([0, 1, -1, 40, -40, 900, -900, 10**9]),
    keep=st.booleans(),
    seed=st.integers(0, 99),
)
def test_edges_of_long_segments(
    sizes: Any, spread: int, steps: bool, real: bool, shift: int, keep: bool, seed: int
) -> None:
    """Where rows are walked through side by side, as NumPy finds them."""
    random = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    at = random.integers(-spread, spread, starts[-1])
    if steps:  # of a few places, far from each other
        at = at // 250 * 250
    at = np.concatenate([np.sort(at[a:b]) for a, b in itertools.pairwise(starts)])
    at = at * 0.25 if real else at
    made = frame_edges(at, starts, shift, keep)
    for a, b in itertools.pairwise(starts):
        own, side = at[a:b], "left" if keep else "right"
        assert (made[a:b] == a + np.searchsorted(own, own + shift, side=side)).all()


def test_edges_at_the_ends_of_time() -> None:
    at = np.array([-(2**63), -(2**62), 0, 2**62, 2**63 - 1])
    ends = np.array([0, 5])
    assert frame_edges(at, ends, 2**62, False).tolist() == [2, 3, 4, 5, 5]
    assert frame_edges(at, ends, -(2**62), True).tolist() == [0, 0, 1, 2, 3]
    assert frame_edges(at, ends, 5, False).tolist() == [1, 2, 3, 4, 5]


# -- rolling --------------------------------------------------------------------------------------

EVERY = {
    "sum": Sum(), "high": Max(), "mean": Mean(), "deviation": StdDev(),
    "first": First(), "last": Last(), "n": Count(), "about": HyperLogLog(),
    "own": aggregation(lift=lambda v: v, combine=lambda a, b: a + b, lower=lambda s: s),
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ["auto", "two_stacks", "daba", "flatfit", "recalculate"])
@examples(20)
@given(
    n=st.integers(0, 60),
    seed=st.integers(0, 99),
    ends=st.tuples(ENDS, ENDS).filter(ordered),
    timed=st.booleans(),
)
def test_rolling_in_batches(algorithm: str, n: int, seed: int, ends: Any, timed: bool) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-9, 9, n)
    at = np.sort(random.integers(0, 30, n))
    parts = EVERY if algorithm == "auto" else {k: EVERY[k] for k in ("sum", "high")}
    table = pa.table({"t": at, "v": values})
    size = {"range": ends} if timed else {"rows": ends}
    named = {name: type(p)("v") for name, p in parts.items() if name != "own"}
    whole = sliding(named, order_by="t", **size)(table)
    state, found = RollingState(), []
    given_at = {"at": at} if timed else {}
    one = rolling(values, parts, **size, **given_at, algorithm=algorithm)
    if n:
        for a in range(0, n, 7):
            here = {"at": at[a : a + 7]} if timed else {}
            found.append(
                rolling(values[a : a + 7], parts, **size, **here, algorithm=algorithm, state=state)
            )
        found.append(state.finish())
    for name in parts:
        if n:
            cut = np.ma.concatenate([each[name] for each in found])
            cut, all_ = (np.ma.filled(each, 77) for each in (cut, one[name]))
            assert np.array_equal(cut, all_, equal_nan=True), name
        if name in named:
            for mine, want in zip(one[name].tolist(), whole[name].to_pylist(), strict=True):
                assert same(mine, want) or (mine != mine and want is None), name


# -- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "same_as"),
    [
        ({"rows": (-2, 0)}, {"rows": 3}),
        ({"rows": ("unbounded", 0)}, {"rows": "unbounded"}),
        ({"rows": (0, 0)}, {"rows": 1}),
        ({"range": ("-1 hour", 0)}, {"range": "1 hour"}),
        ({"range": ("unbounded", 0)}, {"range": "unbounded"}),
        ({"range": (0, 0)}, {"range": "now"}),
        ({"delta": (-2.5, 0), "closed": "left"}, {"delta": 2.5, "closed": "left"}),
        ({"groups": 2}, {"groups": (-1, 0)}),
        ({"rows": 3, "exclude": "current row"}, {"rows": (-2, 0), "exclude": "current row"}),
        ({"range": "1 h", "exclude": "ties"}, {"range": ("-1 h", 0), "exclude": "ties"}),
    ],
    ids=str,
)
def test_one_way_to_say_a_window(given_: Any, same_as: Any) -> None:
    query = sliding(order_by="t", n=Count(), **given_)
    assert query == sliding(order_by="t", n=Count(), **same_as)
    assert query == eval(repr(query))


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"rows": (3, -3)}, "rows=(3, -3) ends before it begins"),
        ({"rows": (1, 2, 3)}, "must have two ends"),
        ({"rows": (-1.5, 2)}, "whole number"),
        ({"rows": ("all", 2)}, "unbounded"),
        ({"rows": (-3, 3), "slide": 2}, "slide=2 does not go with rows=(-3, 3)"),
        ({"rows": (-3, 3), "closed": "left"}, "closed='left' means nothing with rows="),
        ({"rows": (-3, 3), "exclude": "ties"}, "exclude='ties' is unknown; Known: current row"),
        ({"range": (-3, "1 hour")}, "both numbers, or both durations"),
        ({"range": ("-1 hour", "-2 hours")}, "ends before it begins"),
        ({"range": ("-1 houer", 0)}, "no unit of time"),
        ({"delta": ("-1 hour", 0)}, "its ends must be numbers"),
        ({"range": (0, "1 hour"), "closed": "midle"}, "closed='midle' is unknown"),
        ({"until": max, "exclude": "ties"}, "exclude='ties' means nothing with until="),
        ({"rows": np.array([10, 100])}, "rows=array([ 10, 100]) is an array: give one size, or a"),
        ({"range": np.array([1, 2])}, "range=array([1, 2]) is an array"),
        ({"groups": np.array([1, 2])}, "groups=array([1, 2]) is an array"),
        ({"range": 2, "slide": 1, "offset": NAN}, "offset=nan must be finite"),
        ({"range": 2, "closed": np.array([1])}, "closed=array([1]) is unknown"),
    ],
    ids=str,
)
def test_mistakes_are_told(given_: Any, words: str) -> None:
    with pytest.raises(InvalidArgument) as told:
        sliding(order_by="t", n=Count(), **given_)
    assert words in str(told.value), told.value


def test_a_push_window_says_what_to_use() -> None:
    with pytest.raises(InvalidArgument, match=r"rolling\(…, rows=\(-3, 3\), state="):
        window(Max(), rows=(-3, 3))
    with pytest.raises(InvalidArgument, match="does not end with the newest"):
        window(Max(), range=("-20 days", "-5 days"))
    assert [window(Max(), rows=(-1, 0)).push(v) for v in (5, 3)] == [5, 3]


def test_lateness_needs_a_window_that_ends_now() -> None:
    with pytest.raises(InvalidArgument, match="lateness"):
        rolling(np.array([1, 2]), Max(), range=(-1, 1), at=np.array([1, 2]), lateness=1)


def test_what_an_empty_frame_gives() -> None:
    table = pa.table({"t": [1, 2], "v": [5, 6], "s": ["a", "b"]})
    query = sliding(
        order_by="t", rows=(3, 5), n=Count(), c=Count("v"), a=Sum("v"), m=Max("v"), f=First("s"),
        l=Collect("v"), d=CountDistinct("v"), w=Concat("s"),
    )  # fmt: skip
    first = query(table).to_pylist()[0]
    assert (first["n"], first["c"], first["d"]) == (0, 0, 0)
    assert [first[name] for name in ("a", "m", "f", "l")] == [None] * 4


# -- what other libraries call it, as the documents say ------------------------------------------


def hours(n: int = 60) -> tuple[pd.DataFrame, pl.DataFrame]:
    random = np.random.default_rng(4)
    minutes = np.sort(random.choice(24 * 12, n, replace=False)) * 5
    at = np.datetime64("2026-01-01", "ns") + minutes.astype("m8[m]")
    frame = pd.DataFrame({"t": at, "v": random.normal(size=n)})
    return frame, pl.from_pandas(frame)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (lambda p, _: p["v"].rolling(7, center=True).sum(), {"rows": (-3, 3), "min_rows": 7}),
        (lambda p, _: p["v"].rolling(4, center=True).sum(), {"rows": (-2, 1), "min_rows": 4}),
        (
            lambda p, _: p.rolling("6h", on="t", center=True)["v"].sum(),
            {"range": ("-3 hours", "3 hours"), "closed": "right"},
        ),
        (
            lambda p, _: p.rolling("6h", on="t", center=True, closed="both")["v"].sum(),
            {"range": ("-3 hours", "3 hours")},
        ),
        (
            lambda _, p: p.rolling("t", period="1h").agg(pl.col("v").sum())["v"],
            {"range": "1 hour", "closed": "right"},
        ),
        (
            lambda _, p: p.rolling("t", period="15h", offset="-20h").agg(pl.col("v").sum())["v"],
            {"range": ("-20 hours", "-5 hours"), "closed": "right"},
        ),
        (
            lambda _, p: p["v"].rolling_sum(7, center=True),
            {"rows": (-3, 3), "min_rows": 7},
        ),
    ],
)
def test_as_other_libraries(theirs: Any, ours: Any) -> None:
    frame, polars = hours()
    want = np.asarray(theirs(frame, polars), float)
    made = sliding(order_by="t", s=Sum("v"), **ours)(frame)["s"].to_numpy(float)
    assert np.allclose(np.nan_to_num(made), np.nan_to_num(want))


@pytest.mark.parametrize("part", [Max(), Sum(), Mean(), Count()], ids=str)
@pytest.mark.parametrize("frame", [(-7, -1), (-90, -3), (-200, -70)], ids=str)
def test_frames_behind_the_row_are_the_same_however_they_are_cut(
    part: Any, frame: tuple[int, int]
) -> None:
    values = np.random.default_rng(1).normal(size=700)
    start, end = frame
    oracle = [
        part.lower(part.fold(map(part.lift, values[max(0, i + start) : max(0, i + end + 1)])))
        for i in range(values.size)
    ]
    whole = rolling(values, part, rows=frame)
    wanted = [np.nan if each is None else each for each in oracle]  # as rolling says null of floats
    assert whole.tolist() == pytest.approx(wanted, nan_ok=True)
    for size in (1, 64, 333):
        state, made = RollingState(), []
        for at in range(0, values.size, size):
            made.append(rolling(values[at : at + size], part, rows=frame, state=state))
        made.append(state.finish())
        np.testing.assert_array_equal(np.concatenate(made), whole)


@pytest.mark.parametrize("tie", [0, 4095, 4096, 4999, 8998])
def test_two_rows_of_equal_order_among_many(tie: int) -> None:
    at = np.arange(9000)
    assert peers(at, np.array([0, 5000, 9000])) is None
    at[tie + 1 :] -= 1
    equal = peers(at, np.array([0, 5000, 9000]))
    if tie == 4999:  # of two segments
        assert equal is None
        return
    assert equal is not None
    assert np.flatnonzero(equal[0] != np.arange(9000)).tolist() == [tie + 1]
    assert np.flatnonzero(equal[1] != np.arange(1, 9001)).tolist() == [tie]
