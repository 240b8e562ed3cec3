"""Results of pairs are those of exact fractions, of DuckDB and of pandas."""

from __future__ import annotations

import copy
import functools
import math
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from windrow import (
    R2,
    Corr,
    Covariance,
    Intercept,
    Slope,
    rolling,
    sliding,
    sql,
    window,
)
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue

EVERY: list[Aggregation] = [Corr(), Covariance(), Covariance(ddof=0), Slope(), Intercept(), R2()]
PAIRS = pytest.mark.parametrize("agg", EVERY, ids=str)
SQL = {
    "corr": Corr("y", "x"),
    "covar_samp": Covariance("y", "x"),
    "covar_pop": Covariance("y", "x", ddof=0),
    "regr_slope": Slope("y", "x"),
    "regr_intercept": Intercept("y", "x"),
    "regr_r2": R2("y", "x"),
}


def root(value: Fraction) -> Fraction:
    """The square root to 40 digits."""
    digits = 10**40
    return Fraction(math.isqrt(value.numerator * value.denominator * digits**2)) / (
        value.denominator * digits
    )


Pairs = tuple[tuple[float, float], ...]


@functools.lru_cache(maxsize=2000)
def moments(pairs: Pairs) -> tuple[Fraction, ...]:
    """The means of y and x, and the sums of yy, xx and xy around them."""
    ys, xs = ([Fraction(pair[i]) for pair in pairs] for i in (0, 1))
    n = len(pairs)
    ym, xm = sum(ys) / n, sum(xs) / n
    yy, xx = sum(y * y for y in ys) - n * ym * ym, sum(x * x for x in xs) - n * xm * xm
    return ym, xm, yy, xx, sum(y * x for y, x in zip(ys, xs, strict=True)) - n * ym * xm


def exact(agg: Aggregation, pairs: Pairs) -> tuple[Fraction, Fraction] | None:
    """The result by fractions, and the size that its error is measured against; None: null."""
    n = len(pairs)
    ym, xm, yy, xx, xy = moments(pairs)
    if isinstance(agg, Covariance):
        return None if n <= agg.ddof else (xy / (n - agg.ddof),) * 2
    if xx == 0 or (isinstance(agg, Corr) and yy == 0):
        return None
    if isinstance(agg, Corr):
        return (xy / root(xx * yy),) * 2
    if isinstance(agg, Slope):
        return (xy / xx,) * 2
    if isinstance(agg, R2):
        return (xy * xy / (xx * yy) if yy else Fraction(1),) * 2
    return ym - xy / xx * xm, abs(ym) + abs(xy / xx * xm)


def check(agg: Aggregation, got: Any, windows: list[Pairs]) -> None:
    for i, (each, pairs) in enumerate(zip(got, windows, strict=True)):
        wanted = exact(agg, pairs)
        if wanted is None:
            assert each is None or each != each, (i, each)
            continue
        value, size = wanted
        assert abs(Fraction(float(each)) - value) <= abs(size) * Fraction(1e-12), (i, each)


def sample(offset: float, n: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    return offset + 2 * x + rng.normal(size=n), offset - 3 * x


def last(y: Any, x: Any, w: int) -> list[Pairs]:
    pairs = tuple(zip(y.tolist(), x.tolist(), strict=True))
    return [pairs[max(0, i + 1 - w) : i + 1] for i in range(len(pairs))]


@PAIRS
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_arrays_keep_their_digits(agg: Aggregation, offset: float) -> None:
    y, x = sample(offset)
    check(agg, rolling((y, x), agg, rows=120), last(y, x, 120))


def test_a_named_algorithm() -> None:
    y, x = sample(1e8)
    check(Corr(), rolling((y, x), Corr(), rows=120, algorithm="daba"), last(y, x, 120))


@PAIRS
def test_one_event_at_a_time(agg: Aggregation) -> None:
    y, x = sample(1e8, 60)
    pushed = window(agg, rows=20)
    check(agg, [pushed.push(pair) for pair in zip(y, x, strict=True)], last(y, x, 20))


def test_states_of_slices_are_merged_without_loss() -> None:
    from windrow.kernels.states import merge, states_of
    from windrow.windows.positions import Windows

    y, x = sample(1e8, 64)
    edges = np.arange(0, 64, 8)
    parts = states_of(Corr(), [y, x], Windows(np.array([0, 64]), lo=edges, hi=edges + 8))
    got = merge(Corr(), ["float64"] * 2, parts, Windows(np.array([0, 8]), rows=8)).values
    check(Corr(), got, [last(y, x, 64)[8 * i + 7] for i in range(8)])


def random_table(n: int, odd: bool) -> pa.Table:
    """Ties, gaps, nulls in either column, stretches without spread, and NaN if `odd`."""
    rng = np.random.default_rng(7)
    values = [0.5, 1.0, 2.5, None, 7.0] + [math.nan] * odd
    y = [None if v is None else float(v) for v in rng.choice(values, n)]
    x = [None if i % 11 == 0 else int(v) for i, v in enumerate(rng.integers(0, 3, n))]
    x[40:60] = [4] * 20
    t = np.cumsum(rng.choice([0, 1, 1, 9], n))
    return pa.table({"i": range(n), "t": t, "y": y, "x": pa.array(x, pa.int32())})


@pytest.mark.parametrize("odd", [False, True], ids=["numbers", "with NaN"])
@pytest.mark.parametrize("frame", ["ROWS BETWEEN 5 PRECEDING", "RANGE BETWEEN 7 PRECEDING"])
def test_duckdb_agrees(frame: str, odd: bool) -> None:
    events = random_table(200, odd)
    order, size = ("t, i", {"rows": 6}) if frame[:4] == "ROWS" else ("t", {"range": 7})
    calls = ", ".join(f"{name}(y, x) OVER w AS {name}" for name in SQL)
    spec = f"WINDOW w AS (ORDER BY {order} {frame} AND CURRENT ROW)"
    wanted = duckdb.sql(f"SELECT i, {calls} FROM events {spec} ORDER BY i").to_arrow_table()
    made = sliding(SQL, order_by=order.split(", "), **size)(events)
    for name in SQL:
        for ours, theirs in zip(made[name].to_pylist(), wanted[name].to_pylist(), strict=True):
            if theirs is None or theirs != theirs:  # DuckDB has NaN for some nulls and the reverse
                assert ours is None or ours != ours, (name, ours, theirs)
            else:
                assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9), (name, ours, theirs)


@pytest.mark.parametrize("name", ["corr", "cov"])
def test_pandas_agrees(name: str) -> None:
    y, x = sample(0.0)
    agg = {"corr": Corr(), "cov": Covariance()}[name]
    theirs = getattr(pd.Series(y).rolling(50), name)(pd.Series(x)).to_numpy()[49:]
    np.testing.assert_allclose(rolling((y, x), agg, rows=50)[49:], theirs, rtol=1e-9)


NAN, INF = math.nan, math.inf


def columns_of(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    return {name: pa.array([p[i] for p in pairs], pa.float64()) for i, name in enumerate("yx")}


def bound(agg: Aggregation) -> Aggregation:
    made = copy.copy(agg)
    made.columns = ("y", "x")
    return made


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize(
    ("pairs", "wanted"),  # of Corr, Covariance, Covariance(ddof=0), Slope, Intercept, R2
    [
        ([], [None] * 6),
        ([(1.0, 2.0)], [None, None, 0.0, None, None, None]),
        ([(1.0, 2.0), (3.0, 2.0)], [None, 0.0, 0.0, None, None, None]),
        ([(3.0, 1.0), (3.0, 2.0)], [None, 0.0, 0.0, 0.0, 3.0, 1.0]),
        ([(NAN, 1.0), (3.0, 2.0)], [NAN] * 6),
        ([(1.0, 1.0), (3.0, INF)], [NAN] * 6),
        ([(1e300, 1e300), (-1e300, 0.0), (1.0, 1.0)], [NAN] * 6),
        ([(5.0, None), (1.0, 1.0), (None, 7.0), (3.0, 2.0)], [1.0, 1.0, 0.5, 2.0, -1.0, 1.0]),
    ],
    ids=["none", "one", "no x", "no y", "NaN", "infinity", "too large", "nulls"],
)
def test_what_has_no_result(
    compiled: bool, pairs: list[tuple[float, float]], wanted: list[Any]
) -> None:
    for agg, right in zip(EVERY, wanted, strict=True):
        if compiled:
            known = pa.table({"t": range(len(pairs)), **columns_of(pairs)})
            query = sliding(order_by="t", range="unbounded", r=bound(agg))
            got = query(known)["r"].to_pylist()[-1] if pairs else None
        else:
            got = agg.lower(agg.fold(map(agg.lift, pairs)))
        assert (got is None) == (right is None), (agg, got)
        assert got == pytest.approx(right, nan_ok=True), (agg, got)


def test_aggregations_of_the_same_pairs_keep_one_state() -> None:
    from windrow.aggregations.shared_states import SharedStates
    from windrow.tables.states import StateColumns

    assert len(SharedStates(*SQL.values()).parts or {}) == 1
    kept = StateColumns(SQL.items(), {"y": pa.float64(), "x": pa.int32()})
    assert len(kept.fields) == len(Corr.fields)


def test_cql_and_what_it_prints() -> None:
    for name, agg in SQL.items():
        query = sql(f"SELECT {name.upper()}(y, x) AS r FROM events [ORDER BY t RANGE 7]")
        assert query == sliding(order_by="t", range=7, r=agg)
        assert repr(agg) in repr(query)
        assert repr(agg) in str(query.explain())


def test_wrong_use() -> None:
    with pytest.raises(InvalidValue, match=r"Corr\(\) takes pairs \(y, x\), not int 3"):
        Corr().lift(3)
    with pytest.raises(InvalidValue, match=r"Slope\(\) takes numbers, not str 'a'"):
        Slope().lift((1, "a"))
    with pytest.raises(InvalidArgument, match="takes a tuple of 2 arrays of values, got 1"):
        rolling(np.arange(3.0), Corr(), rows=2)
    with pytest.raises(InvalidArgument, match="Covariance: ddof must be 1"):
        Covariance(ddof=2)
    table = pa.table({"t": [1], "y": [1.0], "x": ["a"]})
    with pytest.raises(InvalidValue, match="takes two columns of numbers, and 'x' is of type"):
        sliding(order_by="t", rows=2, r=Corr("y", "x"))(table)
    with pytest.raises(InvalidValue, match="takes numbers, not datetime64"):
        rolling((np.arange(3.0), np.arange(3).astype("M8[s]")), Corr(), rows=2)
