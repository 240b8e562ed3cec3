"""Aggregations that SQL, pandas and Polars have as well, against what these give."""

from __future__ import annotations

import itertools
import typing

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from windrow import (
    EWM,
    Aggregation,
    All,
    Any,
    BitAnd,
    BitOr,
    BitXor,
    Delta,
    EWMByTime,
    Increase,
    Max,
    Mode,
    Rate,
    TopK,
    rolling,
    sliding,
    sql,
)

Array = np.ndarray[typing.Any, typing.Any]

FRAMES = {
    "ROWS BETWEEN 4 PRECEDING AND CURRENT ROW": {"rows": 5},
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": {"rows": "unbounded"},
    "RANGE BETWEEN 6 PRECEDING AND CURRENT ROW": {"range": 6},
}


def readings(n: int = 400, seed: int = 5) -> pa.Table:
    """Rows with keys, ties and gaps in the order, nulls and NaN."""
    random = np.random.default_rng(seed)
    t = np.cumsum(random.integers(0, 3, n) * random.integers(0, 4, n))
    real = np.where(random.random(n) < 0.02, np.nan, random.normal(size=n).round(2))

    def column(values: Array, kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind, mask=random.random(n) < 0.3)

    return pa.table(
        {
            "key": pa.array(random.choice(["a", "b", "c"], n)),
            "t": pa.array(t, pa.int64()),
            "at": pa.array(1_700_000_000_000_000 + t * 1_500_000, pa.timestamp("us")),
            "flag": column(random.random(n) < 0.5, pa.bool_()),
            "v": column(random.integers(-9, 9, n), pa.int32()),
            "w": column(real, pa.float64()),
        }
    )


@pytest.mark.parametrize("frame", FRAMES)
def test_booleans_and_bits_are_duckdb_s(frame: str) -> None:
    readings_ = readings()
    ties = ", row" if frame.startswith("ROWS") else ""
    over = f"OVER (PARTITION BY key ORDER BY t{ties} {frame})"
    made = sliding(
        partition_by="key", order_by="t", a=Any("flag"), b=All("flag"), c=BitAnd("v"),
        d=BitOr("v"), e=BitXor("v"), **FRAMES[frame],
    )(readings_)  # fmt: skip
    wanted = duckdb.sql(
        f"SELECT bool_or(flag) {over} a, bool_and(flag) {over} b, bit_and(v) {over} c, "
        f"bit_or(v) {over} d, bit_xor(v) {over} e "
        "FROM (SELECT *, row_number() OVER () AS row FROM readings_) ORDER BY row"
    ).to_arrow_table()
    assert made.schema.field("a").type == pa.bool_()
    assert made.schema.field("e").type == pa.int32()
    for name in "abcde":
        assert made.column(name).to_pylist() == wanted.column(name).to_pylist(), name


@pytest.mark.parametrize("other", [Max("flag"), Mode("flag"), TopK("flag", k=2)])
@pytest.mark.parametrize("window", [{"range": 6, "slide": 2}, {"rows": 6, "slide": 3}, {"gap": 2}])
def test_booleans_beside_what_orders_them(
    window: dict[str, typing.Any], other: Aggregation
) -> None:
    windows = {"partition_by": "key", "order_by": "t", **window}
    beside = sliding(**windows, other=other, a=Any("flag"), b=All("flag"))(readings())
    alone = sliding(**windows, a=Any("flag"), b=All("flag"))(readings())
    assert beside.select("ab").equals(alone.select("ab"))


def test_names_in_sql() -> None:
    asked = "ANY(f) a, SOME(f) b, BOOL_OR(f) c, ALL(f) d, EVERY(f) e, BOOL_AND(f) g, BIT_AND(v) h, "
    query = sql(f"SELECT {asked} BIT_OR(v) i, BIT_XOR(v) j FROM s [ROWS 3]")
    assert [part for _, part in query.aggregations] == [
        *(Any("f"), Any("f"), Any("f"), All("f"), All("f"), All("f")),
        *(BitAnd("v"), BitOr("v"), BitXor("v")),
    ]


@pytest.mark.parametrize("frame", FRAMES)
def test_deltas_and_increases_are_duckdb_s(frame: str) -> None:
    """In rows: DuckDB's order of ties is any, which a frame by range would show."""
    readings_ = readings()
    if frame.startswith("RANGE"):
        readings_ = readings_.set_column(1, "t", pa.array(np.arange(400) * 2 // 3 + np.arange(400)))
    over = f"OVER (PARTITION BY key ORDER BY t {frame})"
    if frame.startswith("ROWS"):
        over = over.replace(" t ", " t, row ")
    made = sliding(
        partition_by="key", order_by="t", a=Delta("v"), b=Delta("at"), c=Increase("v"),
        **FRAMES[frame],
    )(readings_)  # fmt: skip
    steps = "list_transform(range(2, len(l) + 1), lambda i: CASE WHEN l[i] < l[i-1] THEN l[i] "
    wanted = duckdb.sql(
        f"SELECT l[-1] - l[1] AS a, epoch_us(m[-1]) - epoch_us(m[1]) AS b, "
        f"CASE WHEN len(l) > 0 THEN coalesce(list_sum({steps} ELSE l[i] - l[i-1] END)), 0) END "
        "AS c FROM (SELECT row, "
        f'array_agg(v::BIGINT) FILTER (v IS NOT NULL) {over} AS l, array_agg("at") {over} AS m '
        "FROM (SELECT *, row_number() OVER () AS row FROM readings_)) ORDER BY row"
    ).to_arrow_table()
    assert made.schema.field("b").type == pa.duration("us")
    for name in "abc":
        assert made.column(name).cast(pa.int64()).to_pylist() == wanted.column(name).to_pylist(), (
            name
        )


@pytest.mark.parametrize("agg", [Delta(), Increase()], ids=repr)
def test_what_int64_cannot_hold_is_an_error(agg: typing.Any) -> None:
    with pytest.raises(OverflowError, match="exceeds int64; convert the values to float64"):
        rolling(np.array([3, -(2**62), 2**62]), agg, rows=2)


@pytest.mark.parametrize("halflife", [0.5, 7])
def test_faded_means_are_pandas_s(halflife: float) -> None:
    values = readings().column("v").to_pandas().astype(float)

    def wanted(part: pd.Series) -> float:
        return float(part.ewm(halflife=halflife, ignore_na=True).mean().iloc[-1])

    whole = values.ewm(halflife=halflife, ignore_na=True).mean()
    made = rolling(values.to_numpy(), EWM(halflife=halflife), rows=10**6, nan="null", threads=2)
    np.testing.assert_allclose(made, whole, rtol=1e-12)
    made = rolling(values.to_numpy(), EWM(halflife=halflife), rows=9, nan="null")
    last = [wanted(values[max(0, i - 8) : i + 1]) for i in range(len(values))]
    np.testing.assert_allclose(made, last, rtol=1e-12)


def test_faded_means_by_time_are_pandas_s() -> None:
    frame = readings().to_pandas()
    frame = frame[frame["w"].notna()].reset_index(drop=True)
    whole = frame["w"].ewm(halflife="20s", times=frame["at"]).mean()
    made = sliding(order_by="at", rows="unbounded", x=EWMByTime("w", "at", halflife=20))(frame)
    np.testing.assert_allclose(made["x"], whole, rtol=1e-12)
    made = sliding(order_by="at", rows=9, x=EWMByTime("w", "at", halflife=20))(frame)
    parts = [frame[max(0, i - 8) : i + 1] for i in range(len(frame))]
    last = [p["w"].ewm(halflife="20s", times=p["at"]).mean().iloc[-1] for p in parts]
    np.testing.assert_allclose(made["x"], last, rtol=1e-12)


@pytest.mark.parametrize("by", ["at", "t"])
def test_a_rate_is_the_increase_over_the_seconds(by: str) -> None:
    frame = readings()
    made = sliding(order_by=by, rows=7, rate=Rate("v", by))(frame).column("rate").to_pylist()
    rows = [(v, t) for v, t in zip(*(frame.column(c).to_pylist() for c in ("v", by)), strict=True)]
    for i, rate in enumerate(made):
        there = [pair for pair in rows[max(0, i - 6) : i + 1] if pair[0] is not None]
        if len(there) < 2:
            assert rate is None
            continue
        span = there[-1][1] - there[0][1]
        seconds = span.total_seconds() if by == "at" else span
        up = sum(b if b < a else b - a for (a, _), (b, _) in itertools.pairwise(there))
        assert np.isclose(rate, up / seconds) if seconds else np.isnan(rate)
