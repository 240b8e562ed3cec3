"""Skewness, Kurtosis and WeightedMean are those of fractions, of DuckDB, pandas and Polars."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from windrow import Kurtosis, Skewness, WeightedMean, rolling, sliding, window
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument

SHAPES: list[Aggregation] = [
    Skewness(), Skewness(bias=True), Kurtosis(), Kurtosis(bias=True),
]  # fmt: skip
NAN, INF = math.nan, math.inf


@functools.lru_cache(maxsize=2000)
def around_the_mean(values: tuple[float, ...]) -> tuple[Fraction, ...]:
    """The sums of the second, third and fourth powers of what values are away from their mean."""
    known = [Fraction(v) for v in values]
    mean = sum(known) / len(known)
    return tuple(sum((v - mean) ** k for v in known) for k in (2, 3, 4))


def exact(agg: Any, values: list[float]) -> float:
    """The result by fractions, rounded once or twice at the end; NaN where there is none."""
    n = len(values)
    m2, m3, m4 = around_the_mean(tuple(values))
    skewed = isinstance(agg, Skewness)
    if m2 == 0 or n < (2 if agg.bias else 3 if skewed else 4):
        return NAN
    if skewed:
        square = Fraction(n) * m3 * m3 / m2**3
        if not agg.bias:
            square *= Fraction(n * (n - 1), (n - 2) ** 2)
        return math.copysign(math.sqrt(square), m3)
    excess = n * m4 / m2**2 - 3
    if agg.bias:
        return float(excess)
    return float(Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6))


def last(values: Any, w: int) -> list[list[float]]:
    listed = list(map(float, values))
    return [listed[max(0, i + 1 - w) : i + 1] for i in range(len(listed))]


def check(agg: Aggregation, got: Any, windows: list[list[float]]) -> None:
    for i, (each, values) in enumerate(zip(got, windows, strict=True)):
        wanted = exact(agg, values)
        if wanted != wanted:
            assert each is None or each != each, (i, each)
        else:  # an excess is what is left after 3 are taken away
            assert math.isclose(each, wanted, rel_tol=1e-12, abs_tol=1e-12), (i, each, wanted)


@pytest.mark.parametrize("agg", SHAPES, ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_arrays_keep_their_digits(agg: Aggregation, offset: float) -> None:
    values = offset + np.random.default_rng(1).exponential(size=300)
    check(agg, rolling(values, agg, rows=100), last(values, 100))


@pytest.mark.parametrize("agg", SHAPES, ids=str)
def test_one_event_at_a_time(agg: Aggregation) -> None:
    values = 1e8 + np.random.default_rng(2).exponential(size=60)
    pushed = window(agg, rows=20)
    check(agg, [pushed.push(value) for value in values], last(values, 20))


def test_pandas_agrees() -> None:
    values = np.random.default_rng(3).normal(size=200)
    theirs = pd.Series(values).rolling(30)
    for agg, right in ((Skewness(), theirs.skew()), (Kurtosis(), theirs.kurt())):
        np.testing.assert_allclose(
            rolling(values, agg, rows=30)[29:], right.to_numpy()[29:], rtol=1e-8
        )


def test_duckdb_agrees() -> None:
    rng = np.random.default_rng(5)
    x = [None if v is None else float(v) for v in rng.choice([0.5, 1.0, 1.0, None, 7.0], 200)]
    w = [None if i % 9 == 0 else int(v) for i, v in enumerate(rng.integers(1, 5, 200))]
    t = np.cumsum(rng.choice([0, 1, 1, 9], 200))
    events = pa.table({"i": range(200), "t": t, "x": x, "w": w})
    parts = {
        "skewness(x)": Skewness("x"), "kurtosis(x)": Kurtosis("x"),
        "kurtosis_pop(x)": Kurtosis("x", bias=True),
        "sum(x * w) / sum(w) FILTER (x IS NOT NULL)": WeightedMean("x", "w"),
    }  # fmt: skip
    over = "OVER (ORDER BY t RANGE BETWEEN 7 PRECEDING AND CURRENT ROW)"
    texts = [
        " / ".join(f"{call} {over}" for call in text.split(" / ")) + f" AS r{i}"
        for i, text in enumerate(parts)
    ]
    wanted = duckdb.sql(f"SELECT i, {', '.join(texts)} FROM events ORDER BY i").to_arrow_table()
    named = {f"r{i}": part for i, part in enumerate(parts.values())}
    made = sliding(named, order_by="t", range=7)(events)
    for name in named:
        for ours, theirs in zip(made[name].to_pylist(), wanted[name].to_pylist(), strict=True):
            if theirs is None or ours is None:
                assert ours == theirs, (name, ours, theirs)
            else:
                assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9), (name, ours, theirs)


def test_polars_agrees_on_a_population() -> None:
    pl = pytest.importorskip("polars")
    values = np.random.default_rng(6).exponential(size=50)
    series = pl.Series(values)
    assert rolling(values, Skewness(bias=True), rows=50)[-1] == pytest.approx(series.skew())
    assert rolling(values, Kurtosis(bias=True), rows=50)[-1] == pytest.approx(series.kurtosis())


@pytest.mark.parametrize(
    ("values", "wanted"),  # of Skewness(), Skewness(bias=True), Kurtosis(), Kurtosis(bias=True)
    [
        ([2.0], [None] * 4),
        ([1.0, 2.0], [None, 0.0, None, -2.0]),
        ([1.0, 2.0, 4.0], [0.9352195295828243, 0.3818017741606063, None, -1.5]),
        ([3.0] * 5, [None] * 4),
        ([3.0, NAN, 1.0, 2.0, 5.0], [NAN] * 4),
        ([3.0, INF, 1.0, 2.0, 5.0], [NAN] * 4),
        ([1e308, -1e308, 1.0, 2.0], [NAN] * 4),
    ],
    ids=["one", "two", "three", "no spread", "NaN", "infinity", "too large"],
)
def test_what_has_no_result(values: list[float], wanted: list[Any]) -> None:
    table = pa.table({"t": range(len(values)), "x": values})
    for agg, right in zip(SHAPES, wanted, strict=True):
        pushed = agg.lower(agg.fold(map(agg.lift, values)))
        query = sliding(order_by="t", range="unbounded", r=type(agg)("x", bias=agg.constants[0]))
        compiled = query(table)["r"].to_pylist()[-1]
        for got in (pushed, compiled):
            assert (got is None) == (right is None), (agg, got)
            assert got == pytest.approx(right, nan_ok=True), (agg, got)


def test_bias_is_a_flag() -> None:
    with pytest.raises(InvalidArgument, match="Skewness: bias must be True or False, got 'no'"):
        Skewness(bias="no")  # type: ignore[arg-type]


def test_weighted_means_keep_their_digits() -> None:
    rng = np.random.default_rng(7)
    values, weights = 1e8 + rng.normal(size=200), rng.integers(1, 9, 200)
    got = rolling((values, weights), WeightedMean(), rows=50)
    for i, each in enumerate(got):
        here = slice(max(0, i - 49), i + 1)
        pairs = list(zip(map(Fraction, values[here]), weights[here].tolist(), strict=True))
        wanted = sum(v * w for v, w in pairs) / sum(w for _, w in pairs)
        assert abs(Fraction(each) - wanted) <= wanted * Fraction(1e-12)


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ([(3.0, 0.0)], None),
        ([(3.0, 2.0), (1.0, -2.0)], None),
        ([(3.0, None), (None, 2.0)], None),
        ([(5.0, 1.0), (None, 2.0), (8.0, 2.0)], 7.0),
        ([(INF, 1.0), (8.0, 2.0)], INF),
        ([(NAN, 1.0), (8.0, 2.0)], NAN),
    ],
    ids=str,
)
def test_weights(pairs: list[tuple[Any, Any]], wanted: Any) -> None:
    columns = [pa.array([pair[i] for pair in pairs], pa.float64()) for i in (0, 1)]
    table = pa.table({"t": range(len(pairs)), "x": columns[0], "w": columns[1]})
    query = sliding(order_by="t", range="unbounded", r=WeightedMean("x", "w"))
    agg = WeightedMean()
    pushed = agg.lower(agg.fold(map(agg.lift, pairs)))
    for got in (pushed, query(table)["r"].to_pylist()[-1]):
        assert got == pytest.approx(wanted, nan_ok=True)
