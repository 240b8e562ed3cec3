"""Exact quantiles, extremes, ranks, modes and histograms, against NumPy, pandas and DuckDB."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aggregations.test_answers import answer
from tests.examples import examples
from windrow import (
    BottomK,
    Histogram,
    Median,
    Mode,
    PercentRank,
    Quantile,
    Rank,
    RollingState,
    TopK,
    rolling,
    sliding,
    window,
)
from windrow.aggregations.base import Aggregation
from windrow.aggregations.quantiles import INTERPOLATIONS
from windrow.errors import InvalidArgument, InvalidValue

NAN, INF = math.nan, math.inf
SHARES = (0.0, 0.1, 0.25, 0.5, 0.9, 1.0)
numbers = st.lists(st.one_of(st.integers(-9, 9), st.floats(-1e6, 1e6)), min_size=1, max_size=14)


# -- one window --------------------------------------------------------------------------------


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@given(values=numbers)
@examples(40)
def test_quantiles_are_those_of_numpy(interpolation: str, values: list[float]) -> None:
    expected = np.quantile(np.array(values, float), SHARES, method=interpolation)
    got = answer(Quantile(q=SHARES, interpolation=interpolation), values)
    assert got == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-9)
    assert answer(Quantile(q=0.25, interpolation=interpolation), values) == got[2]


@given(values=numbers)
def test_the_others_are_what_they_say(values: list[float]) -> None:
    ordered = sorted(values)
    assert answer(Median(), values) == pytest.approx(float(np.median(values)), rel=1e-12)
    assert answer(TopK(k=3), values) == ordered[::-1][:3]
    assert answer(BottomK(k=3), values) == ordered[:3]
    assert answer(Mode(), values) == max(ordered, key=Counter(values).__getitem__)
    series = pd.Series(values, dtype=float)
    for method in ("min", "max", "average"):
        assert answer(Rank(method=method), values) == series.rank(method=method).iloc[-1]
    others = max(len(values) - 1, 1)
    assert answer(PercentRank(), values) == sum(v < values[-1] for v in values) / others
    edges = (-5, 0, 3, 100.5)
    assert answer(Histogram(edges=edges), values) == np.histogram(values, edges)[0].tolist()


def test_nan_is_the_largest_and_nulls_are_left_out() -> None:
    values = [2.0, NAN, None, 1.0, INF]
    assert answer(Quantile(q=0.5, interpolation="lower"), values) == 2.0
    assert answer(Median(), [2.0, None, 1.0, 7.0]) == 2.0
    assert math.isnan(answer(Median(), [1.0, NAN]))
    assert answer(Median(), [INF, INF]) == INF
    assert math.isnan(answer(TopK(k=2), values)[0]) and answer(TopK(k=2), values)[1] == INF
    assert answer(BottomK(k=2), values) == [1.0, 2.0]
    assert answer(Rank(), [5, NAN]) == 2 and answer(Rank(), [NAN, NAN]) == 1
    assert math.isnan(answer(Mode(), [NAN, 1.0, NAN]))
    assert answer(Histogram(edges=(0, 1)), [0.5, NAN, 1.0, 3.0]) == [2]
    for each in (Median(), TopK(k=2), Mode(), Rank(), PercentRank(), Histogram(edges=(0, 1))):
        assert answer(each, []) is None and answer(each, [None]) is None


def test_what_has_an_order_is_enough_where_no_number_is_made() -> None:
    words = ["b", "a", "c", "a"]
    assert answer(Quantile(q=0.5, interpolation="inverted_cdf"), words) == "a"
    assert answer(TopK(k=2), words) == ["c", "b"]
    assert answer(Mode(), words) == "a"
    with pytest.raises(InvalidValue, match="takes numbers"):
        Median().lift("a")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Quantile(q=1.5), "q must be from 0 to 1, got 1.5"),
        (lambda: Quantile(q=()), "a share at least"),
        (lambda: Quantile(q=0.5, interpolation="liner"), "did you mean 'linear'"),
        (lambda: TopK(k=0), "k must be 1 or more"),
        (lambda: Rank(method="dense"), "method='dense' is unknown"),
        (lambda: Histogram(), "give edges=, or bins=, low= and high="),
        (lambda: Histogram(bins=3), "give edges=, or bins=, low= and high="),
        (lambda: Histogram(edges=(0, 1), bins=3), "give edges="),
        (lambda: Histogram(edges=(1, 0)), "edges must rise"),
        (lambda: Histogram(edges=()), r"edges must rise, two of them at least, got \(\)"),
        (lambda: Histogram(edges=(0, NAN)), "an edge must be a number"),
    ],
)
def test_wrong_parameters(make: Any, problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        make()


# -- windows, compiled ---------------------------------------------------------------------------

PARTS: dict[str, Aggregation] = {
    "median": Median(),
    "quantiles": Quantile(q=SHARES),
    "disc": Quantile(q=0.3, interpolation="inverted_cdf"),
    "near": Quantile(q=(0.3, 0.5), interpolation="nearest"),
    "top": TopK(k=4),
    "bottom": BottomK(k=70),
    "mode": Mode(),
    "rank": Rank(),
    "average": Rank(method="average"),
    "percent": PercentRank(),
    "histogram": Histogram(edges=(-3, 0, 1, 2.5)),
}


def values_of(kind: str, n: int, seed: int) -> Any:
    """Values of a kind: far and near each other, equal, with NaN, whole."""
    random = np.random.default_rng(seed)
    if kind == "whole":
        return random.integers(-3, 4, n)
    if kind == "large":
        return random.integers(-(2**62), 2**62, n)
    if kind == "near":  # that differ in their lowest bits only, in clusters
        return random.choice([0.0, 1e9], n) + random.integers(0, 5, n) * 2.0**-20
    values = random.normal(size=n)
    if kind == "odd":
        values[random.random(n) < 0.1] = NAN
        values[random.random(n) < 0.1] = 0.0
        values[random.random(n) < 0.1] = -0.0
        values[random.random(n) < 0.1] = -INF
    return values


def equal(got: Any, wanted: Any) -> bool:
    """Whether two results are the same, NaN being itself; a list may have nulls behind it."""
    if isinstance(got, list):
        found = [] if wanted is None else wanted
        return all(map(equal, got, [*found, *[None] * (len(got) - len(found))]))
    if wanted is None:
        return got is None or bool(np.isnan(got))
    return bool(got == wanted) or (wanted != wanted and got != got) or math.isclose(got, wanted)


@pytest.mark.parametrize("kind", ["floats", "whole", "large", "near", "odd"])
@pytest.mark.parametrize("nulls", [False, True], ids=["", "nulls"])
def test_windows_are_those_of_the_interpreter(kind: str, nulls: bool) -> None:
    for n, w, seed in ((300, 1, 0), (300, 7, 1), (9000, 1500, 2), (300, 1000, 3)):
        values = values_of(kind, n, seed)
        gone = np.random.default_rng(seed).random(n) < 0.3 if nulls else None
        made = rolling(values, PARTS, rows=w, nulls=gone)
        some = range(0, n, max(1, n // 20))
        for name, part in PARTS.items():
            found = made[name].tolist()
            for i in some:
                inside = range(max(0, i + 1 - w), i + 1)
                wanted = answer(
                    part, [None if gone is not None and gone[j] else values[j] for j in inside]
                )
                assert equal(found[i], wanted), (name, n, w, i, found[i], wanted)


@pytest.mark.parametrize("w", [3, 50, 1500])
def test_windows_are_those_of_pandas(w: int) -> None:
    values = np.round(np.random.default_rng(w).normal(size=15_000), 2)
    series = pd.Series(values)
    of = series.rolling(w, min_periods=1)
    assert np.allclose(rolling(values, Median(), rows=w), of.median())
    for interpolation in ("linear", "lower", "higher", "nearest", "midpoint"):
        part = Quantile(q=0.3, interpolation=interpolation)
        assert np.allclose(
            rolling(values, part, rows=w), of.quantile(0.3, interpolation=interpolation)
        )
    for method in ("min", "max", "average"):
        assert np.array_equal(rolling(values, Rank(method=method), rows=w), of.rank(method))


def test_nan_is_null_where_it_is_said_to_be() -> None:
    values = np.where(
        np.random.default_rng(8).random(3000) < 0.3, NAN, values_of("floats", 3000, 8)
    )
    of = pd.Series(values).rolling(3, min_periods=1)
    got = rolling(values, Median(), rows=3, nan="null")
    assert np.allclose(got, of.median(), equal_nan=True) and np.isnan(got).any()
    made = sliding(rows=3, low=Quantile("v", q=0.3))(pd.DataFrame({"v": values}))
    assert np.allclose(made["low"], of.quantile(0.3), equal_nan=True)


def test_windows_by_time_jump_grow_and_shrink() -> None:
    """Bursts and gaps: stretches end where windows become short, and begin anew."""
    random = np.random.default_rng(4)
    steps = random.choice([0, 1, 1, 2, 5000], 6000, p=[0.3, 0.3, 0.2, 0.195, 0.005])
    at, values = np.cumsum(steps), random.integers(0, 40, 6000)
    made = rolling(values, PARTS, range=900, at=at, closed="right")
    for i in random.choice(6000, 40):
        inside = values[(at > at[i] - 900) & (at <= at[i])]
        last = np.flatnonzero(at == at[i])[-1]
        assert inside[-1] == values[last]
        for name, part in PARTS.items():
            assert equal(made[name][i].tolist(), answer(part, inside.tolist())), name


def test_a_stream_in_batches_and_threads_change_no_bit() -> None:
    values = np.random.default_rng(5).normal(size=300_000)
    whole = rolling(values, Median(), rows=500)
    assert np.array_equal(rolling(values, Median(), rows=500, threads=3), whole)
    state, parts = RollingState(), []
    for a in range(0, 30_000, 7001):
        parts.append(rolling(values[a : min(a + 7001, 30_000)], Median(), rows=500, state=state))
    assert np.array_equal(np.concatenate(parts), whole[:30_000])


def test_one_value_at_a_time() -> None:
    pushed = window({"median": Median(), "top": TopK(k=2), "mode": Mode()}, rows=3)
    for value in (5, 1, 1, 7):
        result = pushed.push(value)
    assert dict(result) == {"median": 1.0, "top": [7, 1], "mode": 1}


# -- tables --------------------------------------------------------------------------------------


def frame(n: int = 400) -> pa.Table:
    random = np.random.default_rng(6)
    return pa.table(
        {
            "key": pa.array(random.choice(["a", "b", "c"], n)),
            "t": pa.array(np.arange(n)),
            "x": pa.array(random.integers(0, 20, n).astype(float), mask=random.random(n) < 0.1),
            "d": pa.array(random.integers(0, 90, n), pa.int32()).cast(pa.date32()),
            "m": pa.array(random.integers(0, 900, n)).cast(pa.decimal128(24, 2)),
            "s": pa.array(random.choice(["x", "yy", "z", "w"], n)),
        }
    )


def test_tables_are_those_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = frame()
    over = "OVER (PARTITION BY key ORDER BY t ROWS BETWEEN 29 PRECEDING AND CURRENT ROW)"
    asked: dict[str, tuple[Aggregation, str]] = {
        "median": (Median("x"), "median(x)"),
        "cont": (Quantile("x", q=0.3), "quantile_cont(x, 0.3)"),
        "several": (Quantile("x", q=(0.1, 0.9)), "quantile_cont(x, [0.1, 0.9])"),
        "disc": (Quantile("x", q=0.3, interpolation="inverted_cdf"), "quantile_disc(x, 0.3)"),
        "date": (Quantile("d", q=0.7, interpolation="inverted_cdf"), "quantile_disc(d, 0.7)"),
        "dates": (
            Quantile("d", q=(0.2, 0.7), interpolation="inverted_cdf"),
            "quantile_disc(d, [0.2, 0.7])",
        ),
        "money": (Quantile("m", q=0.7, interpolation="inverted_cdf"), "quantile_disc(m, 0.7)"),
        "top": (TopK("x", k=3), "max(x, 3)"),
        "bottom": (BottomK("d", k=3), "min(d, 3)"),
        "names": (TopK("s", k=2), "list_reverse_sort(list(s))[:2]"),
        "commonest": (Mode("s"), "NULL"),
    }
    made = sliding(
        {name: part for name, (part, _) in asked.items()},
        partition_by="key", order_by="t", rows=30,
    )(rows)  # fmt: skip
    columns = ", ".join(
        sql.replace("list(s)", f"list(s) {over}") + f" AS {name}"
        if "list(" in sql
        else f"{sql} {over if '(' in sql else ''} AS {name}"
        for name, (_, sql) in asked.items()
    )
    wanted = duckdb.sql(f"SELECT t, {columns} FROM rows ORDER BY t").to_arrow_table()
    for name in asked:
        if name == "commonest":
            continue
        got = made.column(name).to_pylist()
        assert all(map(equal_values, got, wanted.column(name).to_pylist())), name


def equal_values(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(equal_values, got, wanted))
    return bool(got == wanted) or math.isclose(got, wanted)


def test_numbers_are_asked_for_where_numbers_are_made() -> None:
    with pytest.raises(InvalidValue, match="takes a column of numbers, and 's' is of type string"):
        sliding(order_by="t", rows=3, m=Median("s"))(frame())
