"""Sums, means and differences of durations: exact, and of the type that they have."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, plan_of
from windrow import (
    Delta,
    First,
    GeometricMean,
    Max,
    Mean,
    Median,
    Min,
    Quantile,
    Range,
    StdDev,
    Sum,
    Variance,
    rolling,
    sliding,
    window,
)
from windrow.errors import InvalidValue

PARTS = {
    "total": Sum("d"), "mean": Mean("d"), "low": Min("d"), "high": Max("d"), "range": Range("d"),
    "change": Delta("d"), "first": First("d"),
}  # fmt: skip


def rows(n: int, seed: int, unit: str = "us", large: int = 10**15) -> pa.Table:
    rng = np.random.default_rng(seed)
    data = pa.array(rng.integers(-large, large, n), pa.duration(unit), mask=rng.random(n) < 0.2)
    return pa.table(
        {
            "id": np.arange(n),
            "key": pa.array([f"k{k}" for k in rng.integers(0, 3, n)]),
            "ts": pa.array(10**15 + np.arange(n) * 1_000_000, pa.timestamp("us", "UTC")),
            "d": data,
        }
    )


def expected(values: list[int | None]) -> dict[str, int | None]:
    """What PARTS are of some values, by Python's own numbers."""
    given = [v for v in values if v is not None]
    if not given:
        return dict.fromkeys(PARTS)
    mean = Fraction(sum(given), len(given))
    away = int(abs(mean) + Fraction(1, 2)) * (1 if mean >= 0 else -1)
    return {
        "total": sum(given), "mean": away, "low": min(given), "high": max(given),
        "range": max(given) - min(given), "change": given[-1] - given[0], "first": given[0],
    }  # fmt: skip


def ticks(table: pa.Table, name: str) -> list[int | None]:
    assert pa.types.is_duration(table.schema.field(name).type)
    found: list[int | None] = table.column(name).cast(pa.int64()).to_pylist()
    return found


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_windows_of_rows_keep_the_type_and_are_exact(unit: str) -> None:
    table = rows(300, seed=1, unit=unit)
    made = sliding(PARTS, order_by="id", rows=7)(table)
    values = table.column("d").cast(pa.int64()).to_pylist()
    want = [expected(values[max(0, i - 6) : i + 1]) for i in range(300)]
    for name in PARTS:
        assert str(made.schema.field(name).type) == f"duration[{unit}]"
        assert ticks(made, name) == [each[name] for each in want], name


def test_every_kind_of_frame() -> None:
    table = rows(100, seed=2)
    query = sliding(PARTS, partition_by="key", order_by="ts", range="20 s")
    whole = query(table)
    pandas = query(table.to_pandas())
    assert str(pandas["total"].dtype).startswith("timedelta64")
    assert pandas["mean"].isna().sum() == whole.column("mean").null_count
    polars = query(pl.from_arrow(table))
    for name in PARTS:
        assert isinstance(polars.schema[name], pl.Duration)
        assert polars[name].to_physical().to_list() == ticks(whole, name)
        theirs = pandas[name].dropna().dt.as_unit("us").astype("int64").tolist()
        assert theirs == [each for each in ticks(whole, name) if each is not None]


@pytest.mark.parametrize(
    "given",
    [
        {"range": "30 seconds"},
        {"range": "30 seconds", "slide": "10 seconds"},
        {"rows": 9},
        {"range": "unbounded"},
    ],
    ids=str,
)
def test_a_stream_answers_as_the_table(given: dict[str, Any]) -> None:
    table = rows(200, seed=3)
    query = sliding(PARTS, partition_by="key", order_by="ts", lateness="1 second", **given)
    stream = Stream(plan_of(query, schema=table.schema))
    for a in range(0, 200, 30):
        stream.push(table.slice(a, 30))
        stream.restart()
    made, whole = stream.finish(), query(table)
    by = [(n, "ascending") for n in ("key", "window_start", "id") if n in whole.column_names]
    made, whole = (each.select(whole.column_names).sort_by(by) for each in (made, whole))
    assert made.to_pylist() == whole.to_pylist()


def test_arrays_of_numpy() -> None:
    table = rows(200, seed=4, unit="ns", large=2**57)
    values = table.column("d").to_numpy()
    assert values.dtype == "m8[ns]"
    made = rolling(values, {name: type(part)() for name, part in PARTS.items()}, rows=5)
    ints = table.column("d").cast(pa.int64()).to_pylist()
    want = [expected(ints[max(0, i - 4) : i + 1]) for i in range(200)]
    for name in PARTS:
        assert made[name].dtype == "m8[ns]"
        found = [None if np.isnat(v) else int(v.astype(np.int64)) for v in made[name]]
        assert found == [each[name] for each in want], name
    tens = np.array([1, 2, 3], "m8[10s]")
    assert rolling(tens, Sum(), rows=2).tolist() == [dt.timedelta(seconds=s) for s in (10, 30, 50)]
    assert rolling(tens, Max(), rows=2)[2] == np.timedelta64(30, "s")


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    values = np.full(3, 2**62, "m8[ns]")
    assert rolling(values, Sum(), rows=1)[0] == values[0]
    with pytest.raises(OverflowError, match="durations to a coarser unit"):
        rolling(values, Sum(), rows=3)
    with pytest.raises(OverflowError, match="exceeds int64"):
        sliding(rows=3, s=Sum("d"))(pa.table({"d": values}))
    with pytest.raises(OverflowError, match="exceeds int64"):
        sliding(rows=3, s=Mean("d"))(pa.table({"d": values}))


@pytest.mark.parametrize(
    "part",
    [Variance("d"), StdDev("d"), GeometricMean("d"), Median("d"), Quantile("d", q=0.5)],
    ids=repr,
)
def test_what_takes_numbers_says_what_to_write(part: Any) -> None:
    with pytest.raises(InvalidValue, match="total_seconds"):
        sliding(rows=2, x=part)(rows(5, seed=1))
    plain = type(part)(**part.parameters())
    with pytest.raises(InvalidValue, match="give seconds: values / np"):
        rolling(np.arange(3).astype("m8[s]"), plain, rows=2)
    with pytest.raises(InvalidValue, match="total_seconds"):
        window(plain, rows=2).push(dt.timedelta(seconds=1))


def test_a_quantile_that_is_one_of_the_values() -> None:
    made = sliding(rows=3, q=Quantile("d", q=0.5, interpolation="lower"))(rows(20, seed=5))
    assert pa.types.is_duration(made.schema.field("q").type)


def test_pandas_agrees() -> None:
    rng = np.random.default_rng(8)
    series = pd.Series(pd.to_timedelta(rng.integers(0, 10**6, 500), unit="ms"))
    made = sliding(rows=4, s=Sum("d"), low=Min("d"))(pd.DataFrame({"d": series}))
    seconds = series.dt.total_seconds().rolling(4, min_periods=1)
    assert made["s"].dt.total_seconds().tolist() == pytest.approx(seconds.sum().tolist())
    assert made["low"].dt.total_seconds().tolist() == pytest.approx(seconds.min().tolist())
