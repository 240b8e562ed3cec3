"""The mean of decimals is the exact quotient with four more digits, halves away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.streams.feeding import Stream, plan_of
from windrow import (
    HLL,
    Corr,
    Count,
    Max,
    Mean,
    Median,
    Quantile,
    StdDev,
    Sum,
    Variance,
    shared,
    sliding,
)
from windrow.errors import InvalidValue

N = 480


def prices(digits: int, scale: int = 2) -> pa.Table:
    """Rows whose means are often halfway between two decimals, of both signs."""
    last = [(7 * i * i + 3) % 10007 - 5000 for i in range(N)]
    last[160:] = [value * 3 for value in last[160:]]
    return pa.table(
        {
            "id": range(N),
            "ts": pa.array([10**15 + i * 10**6 for i in range(N)], pa.timestamp("us", "UTC")),
            "m": pa.array([Decimal(v).scaleb(-scale) for v in last], pa.decimal128(digits, scale)),
        }
    )


def exact(values: list[Decimal], scale: int) -> Decimal:
    """The mean by fractions."""
    with localcontext(prec=100):
        mean = Fraction(sum(map(Fraction, values), Fraction(0)), len(values))
        whole = mean * 10**scale
        half = Fraction(1, 2)
        sign = -1 if whole < 0 else 1
        return Decimal(sign * int(abs(whole) + half)).scaleb(-scale)


def expected(rows: pa.Table, window: list[list[int]]) -> list[Decimal]:
    values, scale = rows.column("m").to_pylist(), rows.schema.field("m").type.scale + 4
    return [exact([values[i] for i in part], scale) for part in window]


SO_FAR = [list(range(i + 1)) for i in range(N)]


@pytest.mark.parametrize("digits", [6, 10, 18, 24, 34])
def test_means_are_exact_in_tables_and_streams(digits: int) -> None:
    rows = prices(digits)
    running = sliding(order_by="ts", range="unbounded", mean=Mean("m"), total=Sum("m"))
    hopping = sliding(order_by="ts", range="160 s", slide="160 s", mean=Mean("m"))
    assert running(rows)["mean"].to_pylist() == expected(rows, SO_FAR)
    begins = 10**9 // 160 * 160 - 10**9  # of the first window, which is cut short
    parts = [[i for i in range(N) if (i - begins) // 160 == k] for k in range(4)]
    parts = [part for part in parts if part]
    assert hopping(rows)["mean"].to_pylist() == expected(rows, parts)
    alone, with_others = hopping(rows), shared(hopping, hopping)(rows)[1]
    assert alone["mean"].to_pylist() == with_others["mean"].to_pylist()
    for query, want in ((running, expected(rows, SO_FAR)), (hopping, expected(rows, parts))):
        stream = Stream(plan_of(query, schema=rows.schema), 0)
        for at in range(0, N, 50):
            stream.push(rows.slice(at, 50))
        assert stream.finish()["mean"].to_pylist() == want


def test_halves_go_away_from_zero() -> None:
    """13.1525625, of which Spark's own avg makes 13.152562 for so few digits, by way of doubles."""
    values: list[Any] = [Decimal("2104.41"), *[Decimal("0.00")] * 159]
    for sign, want in ((1, "13.152563"), (-1, "-13.152563")):
        rows = pa.table({"m": pa.array([v * sign for v in values], pa.decimal128(10, 2))})
        made = sliding(rows="unbounded", mean=Mean("m"))(rows)["mean"].to_pylist()[-1]
        assert made == Decimal(want)
        quotient = sum(values) * sign / 160
        assert made == quotient.quantize(Decimal("1e-6"), ROUND_HALF_UP)


MEASURES = {
    "deviation": StdDev("m"),
    "middle": Median("m"),
    "some": Variance("m").where("id % 3 > 0"),
    "along": Corr("m", "n"),
    "both": Quantile("n", q=[0.25, 0.75]),
}


def test_what_takes_only_numbers_takes_decimals_as_doubles() -> None:
    """As SQL does; the query prints as it was written."""
    rows = prices(10)
    rows = rows.append_column("n", pc.multiply(rows["m"], Decimal("0.125")))
    doubles = rows
    for name in ("m", "n"):
        nearest = pa.array(map(float, rows[name].to_pylist()))
        doubles = doubles.set_column(rows.schema.get_field_index(name), name, nearest)
    query = sliding(order_by="ts", range="20 s", **MEASURES)
    names = list(MEASURES)
    assert query(rows).select(names) == query(doubles).select(names)
    assert "StdDev('m')" in str(query.explain(rows))
    hopping = sliding(order_by="ts", range="60 s", slide="20 s", **MEASURES)
    assert hopping(rows).select(names) == hopping(doubles).select(names)


def test_what_hashes_decimals_does_not_take_them_as_doubles() -> None:
    """Two decimals that differ may be the same double."""
    with pytest.raises(InvalidValue, match="a column of numbers or strings"):
        sliding(order_by="ts", rows=3, n=HLL("m"))(prices(30))


# -- windows along decimals -----------------------------------------------------------------------

ENDS = {  # in SQL
    (-0.5, 0.25): "0.5 PRECEDING AND 0.25 FOLLOWING",
    (-0.07, -0.02): "0.07 PRECEDING AND 0.02 PRECEDING",
    (0, 1): "CURRENT ROW AND 1 FOLLOWING",
    (-0.1, 0): "0.1 PRECEDING AND CURRENT ROW",
    ("unbounded", 0.1): "UNBOUNDED PRECEDING AND 0.1 FOLLOWING",
}


def levels(digits: int) -> pa.Table:
    """Decimals a few hundredths apart, some of them equal, of both signs, in no order."""
    source = np.random.default_rng(digits)
    last = source.integers(-150, 150, 400).tolist()
    kind = pa.decimal128(digits, 2)
    return pa.table(
        {
            "id": range(400),
            "key": source.integers(0, 3, 400),
            "at": pa.array([Decimal(v).scaleb(-2) for v in last], kind),
            "x": source.integers(0, 1000, 400),
        }
    )


@pytest.mark.parametrize("exclude", [None, "current row", "group"])
@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("digits", [5, 18, 38])
def test_ranges_along_decimals_as_duckdb_has_them(digits: int, ends: Any, exclude: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = levels(digits)
    query = sliding(
        partition_by="key", order_by="at", range=ends, exclude=exclude,
        high=Max("x"), total=Sum("x"), count=Count(),
    )  # fmt: skip
    without = "" if exclude is None else f"EXCLUDE {exclude.upper()}"
    over = f'(PARTITION BY key ORDER BY "at" RANGE BETWEEN {ENDS[ends]} {without})'
    results = f"max(x) OVER {over}, sum(x) OVER {over}, count(*) OVER {over}"
    wanted = duckdb.sql(f"SELECT {results} FROM rows ORDER BY id").fetchall()
    made = query(rows)
    assert list(zip(*(made[n].to_pylist() for n in ("high", "total", "count")), strict=True)) == [
        (high, None if total is None else int(total), count) for high, total, count in wanted
    ]
    if exclude is None:
        for frame in (rows.to_pandas(), pl.from_arrow(rows)):
            assert list(query(frame)["count"]) == made["count"].to_pylist()


def test_one_size_along_decimals_has_both_its_ends() -> None:
    rows = pa.table({"at": [Decimal("0.1"), Decimal("0.2"), Decimal("0.3")], "x": [1, 2, 4]})
    assert sliding(order_by="at", range=0.1, s=Sum("x"))(rows)["s"].to_pylist() == [1, 3, 6]
    left = sliding(order_by="at", range=0.1, closed="right", s=Sum("x"))
    assert left(rows)["s"].to_pylist() == [1, 2, 4]
    between = sliding(order_by="at", range=0.15, closed="right", s=Sum("x"))  # two of their ticks
    assert between(rows)["s"].to_pylist() == [1, 3, 6]


def test_what_cannot_be_measured_along_decimals() -> None:
    rows = pa.table({"at": pa.array([Decimal(10**19)], pa.decimal128(38, 0)), "x": [1]})
    with pytest.raises(InvalidValue, match="'at' has a decimal of more than 18 digits; range="):
        sliding(order_by="at", range=1, s=Sum("x"))(rows)
    with pytest.raises(InvalidValue, match="measures along times or numbers"):
        sliding(order_by="at", range=2, slide=1, s=Sum("x"))(rows)


@pytest.mark.parametrize("part", [Sum("price"), Mean("price")])
def test_what_has_too_many_digits_to_be_summed_is_refused(part: Any) -> None:
    wide = pa.array([Decimal(10**50), None], pa.decimal256(60, 0))
    with pytest.raises(InvalidValue, match=r"38 digits at most, and .* decimal256\(60, 0\) have"):
        sliding(rows=2, r=part)(pa.table({"price": wide}))
    small = pa.table({"price": wide.fill_null(3).slice(1)})
    assert sliding(rows=2, r=part)(small)["r"].to_pylist() == [3]
