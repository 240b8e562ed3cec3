"""Expressions over Arrow tables, against DuckDB; and what DuckDB does otherwise, by example."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.queries.random_expressions import EXPRESSIONS, SCHEMA, tables
from windrow.errors import InvalidArgument, InvalidValue
from windrow.queries.expressions import parse
from windrow.tables.arithmetic import evaluate

duckdb = pytest.importorskip("duckdb", reason="DuckDB is the oracle here")

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with duckdb.connect() as made:
        for setting in ("ieee_floating_point_ops", "error_on_division_by_zero"):
            made.execute(f"SET {setting} = false")  # what is divided by 0 is null
        yield made


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        both_nan = math.isnan(ours) and math.isnan(theirs)
        return both_nan or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    return bool(ours == theirs) and (ours is None) == (theirs is None)


@examples(250)
@given(EXPRESSIONS, tables)
def test_expressions_are_what_duckdb_says(connection: Any, text: str, table: pa.Table) -> None:
    connection.register("frame", table)
    query = f"SELECT {parse(text).sql(dialect='duckdb')} AS answer FROM frame"
    theirs = [answer for (answer,) in connection.execute(query).fetchall()]
    ours = evaluate(text, table).to_pylist()
    assert len(ours) == len(theirs)
    for row, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert same(a, b), (text, table.slice(row, 1).to_pylist(), a, b)


@examples(80)
@given(EXPRESSIONS, tables, st.lists(st.integers(0, 12), max_size=3))
def test_chunks_change_nothing(text: str, table: pa.Table, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    parts = [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
    whole, cut = evaluate(text, table), evaluate(text, pa.concat_tables(parts))
    assert cut.type == whole.type == evaluate(text, SCHEMA.empty_table()).type
    assert all(map(same, whole.to_pylist(), cut.to_pylist()))


# -- by example ------------------------------------------------------------------------------

FRAME = pa.table(
    {
        "n": [1, -7, None],
        "x": [1.5, NAN, -INF],
        "kind": ["7", "b", None],
        "price": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
        "at": pa.array([dt.datetime(2026, 1, 1, 10, 30, 5), None, None], pa.timestamp("us")),
        "my col": [1, 2, 3],
        "day": pa.array([dt.date(2026, 1, 1), None, None]),
    }
)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("n / 0", [None, None, None]),
        ("x / 0", [None, None, None]),
        ("n % 0", [None, None, None]),
        ("FLOOR(x)", [1, None, None]),  # no integer is NaN or infinite
        ("CEIL(x)", [2, None, None]),
        ("FLOOR(price)", [1, None, 2]),
        ("LN(n)", [0.0, None, None]),  # as in Spark
        ("CAST(CASE WHEN n > 0 THEN 1.9 ELSE -1.9 END AS INT)", [1, -1, -1]),  # the fraction goes
        ("CASE WHEN kind = '7' THEN CAST(kind AS INT) END", [7, None, None]),  # a guard
        ("ROUND(n * 2.5)", [3.0, -18.0, None]),  # halves go away from 0
        ("ROUND(n, -1)", [0, -10, None]),
        ("ROUND(price, 1)", [Decimal("1.50"), None, Decimal("2.30")]),
        ("CONCAT(kind, 'x')", ["7x", "bx", None]),
        ("kind || NULL", [None, None, None]),
        ("price + 1", [Decimal("2.50"), None, Decimal("3.25")]),
        ("price * price", [Decimal("2.2500"), None, Decimal("5.0625")]),
        ("price / 2", [0.75, None, 1.125]),
        ("price = 1.5", [True, None, False]),
        ("CASE WHEN n = 1 THEN price ELSE 1 END", [Decimal("1.50"), Decimal(1), Decimal(1)]),
        ("CAST(x AS VARCHAR)", ["1.5", "NaN", "-Infinity"]),
        ("CAST(n AS DOUBLE)", [1.0, -7.0, None]),
        ("CAST(price AS DECIMAL(10, 1))", [Decimal("1.5"), None, Decimal("2.3")]),
        ("CAST(at AS VARCHAR)", ["2026-01-01 10:30:05", None, None]),
        ("CAST(at AS DATE)", [dt.date(2026, 1, 1), None, None]),
        ("at > '2026-01-01'", [True, None, None]),
        (
            "at - TIMESTAMP '2026-01-01'",
            [dt.timedelta(hours=10, minutes=30, seconds=5), None, None],
        ),
        ("at - day < INTERVAL '11' HOUR", [True, None, None]),
        ("day + INTERVAL '1' DAY", [dt.datetime(2026, 1, 2), None, None]),
        ("day = DATE '2026-01-01'", [True, None, None]),
        ("HOUR(day)", [0, None, None]),
        ('"my col" * 2', [2, 4, 6]),
        ("my col", [1, 2, 3]),  # the name of a column comes first
        ("N + 1", [2, -6, None]),
        ("1 + 2", [3, 3, 3]),
        ("NULL", [None, None, None]),
        ("TRUE", [True, True, True]),
    ],
)
def test_examples(text: str, answers: list[Any]) -> None:
    assert evaluate(text, FRAME).to_pylist() == answers


def test_types() -> None:
    types = {
        "n": pa.int64(),
        "n + 1": pa.int64(),
        "n / 1": pa.float64(),
        "n + x": pa.float64(),
        "LENGTH(kind)": pa.int64(),
        "YEAR(at)": pa.int64(),
        "CAST(n AS SMALLINT)": pa.int16(),
        "CAST(n AS FLOAT)": pa.float32(),
        "n > 1": pa.bool_(),
        "at - at": pa.duration("us"),
        "at + INTERVAL '1' HOUR": pa.timestamp("us"),
    }
    assert {text: evaluate(text, FRAME).type for text in types} == types


MONEY = pa.decimal128(9, 2)
LARGE = pa.table(
    {
        "cost": pa.array([Decimal("99999999.99"), Decimal("-99999999.99")], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal("9" * 34), Decimal("-1.5")], pa.decimal128(38, 4)),
        "fine": pa.array([Decimal(1), Decimal("-1.5")], pa.decimal128(30, 10)),
    }
)


@pytest.mark.parametrize(
    ("text", "kind", "answers"),
    [
        ("FLOOR(cost)", pa.int64(), [99999999, -100000000]),
        ("CEIL(cost)", pa.int64(), [100000000, -99999999]),
        ("ROUND(cost, 1)", pa.decimal128(11, 2), [Decimal(10**8), Decimal(-(10**8))]),
        ("CAST(cost AS DECIMAL(9, 0))", pa.decimal128(9, 0), [Decimal(10**8), Decimal(-(10**8))]),
        ("cost + 1", pa.decimal128(22, 2), [Decimal("100000000.99"), Decimal("-99999998.99")]),
        ("cost / 3 > 0", pa.bool_(), [True, False]),
        ("wide * 1", pa.decimal128(38, 4), [Decimal("9" * 34), Decimal("-1.5")]),
        ("wide - 0", pa.decimal128(38, 4), [Decimal("9" * 34), Decimal("-1.5")]),
        ("fine + 1", pa.decimal128(31, 10), [Decimal(2), Decimal("-0.5")]),
        (
            "CASE WHEN cost > 0 THEN cost ELSE 1 END",
            pa.decimal128(10, 2),
            [Decimal("99999999.99"), 1],
        ),
    ],
)
def test_large_decimals(text: str, kind: pa.DataType, answers: list[Any]) -> None:
    made = evaluate(text, LARGE)
    assert (made.type, made.to_pylist()) == (kind, answers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fine * fine", "fine * fine has 61 digits, 20 of them behind the point, and a decimal 38"),
        ("wide * 10", "wide * 10: Decimal value does not fit in precision 38"),
        ("FLOOR(wide)", "FLOOR(wide): Integer value out of bounds"),
    ],
)
def test_decimals_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        evaluate(text, LARGE)
    assert message in str(caught.value)


@pytest.mark.parametrize("digits", [0, 1, 2, 3, -1, -2])
def test_doubles_are_rounded_as_they_are_written(digits: int) -> None:
    random = np.random.default_rng(5)
    values = [*random.uniform(-1e3, 1e3, 2000).round(4), *10 ** random.uniform(-20, 20, 2000)]
    values += [2.675, 1.005, 0.5, -2.5, 1e15 + 0.5, 0.49999999999999994, 5e-324]
    step = Decimal(1).scaleb(-digits)
    with localcontext(prec=60):
        written = [Decimal(repr(float(v))).quantize(step, ROUND_HALF_UP) for v in values]
    assert evaluate(f"ROUND(x, {digits})", pa.table({"x": values})).to_pylist() == [
        float(each) for each in written
    ]


def test_small_integers_and_other_stores_are_computed_like_the_rest() -> None:
    table = pa.table(
        {
            "tiny": pa.array([100, None], pa.int8()),
            "big": pa.array([2**63 - 1, 1], pa.uint64()),
            "word": pa.array(["a", "b"]).dictionary_encode(),
            "view": pa.array(["a", "c"], pa.string_view()),
            "large": pa.array(["a", "d"], pa.large_string()),
        }
    )
    assert evaluate("tiny * 3", table).to_pylist() == [300, None]
    assert evaluate("big - 1", table).to_pylist() == [2**63 - 2, 0]
    assert evaluate("word = view AND view = large", table).to_pylist() == [True, False]
    assert evaluate("UPPER(word) || large", table).to_pylist() == ["Aa", "Bd"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.float32(), MONEY])
def test_a_constant_that_fits_takes_the_type_of_the_column(kind: pa.DataType) -> None:
    table = pa.table({"a": pa.array([None, 100, 3], kind)})
    larger = pa.int64() if pa.types.is_integer(kind) else pa.float64()
    kinds = {
        "COALESCE(a, 7)": ([7, 100, 3], kind),
        "CASE WHEN a > 50 THEN 0 ELSE a END": ([None, 0, 3], kind),
        "GREATEST(a, 5)": ([5, 100, 5], kind),
        "COALESCE(a, 0.1)": ([0.1, 100, 3], pa.float64()),
        "COALESCE(a, 123456789123)": (
            [123456789123, 100, 3],
            pa.decimal128(21, 2) if kind is MONEY else larger,
        ),
    }
    for text, (answers, made) in kinds.items():
        found = evaluate(text, table)
        assert (found.to_pylist(), found.type) == (answers, made), text
    found = evaluate("a > 99.99999999999", table)  # the nearest float32 is 100
    assert found.to_pylist() == [None, True, False]


def test_zones_are_kept() -> None:
    at = pa.array([dt.datetime(2026, 1, 1, 12)], pa.timestamp("ms", "Europe/Berlin"))
    table = pa.table({"at": at})
    assert evaluate("HOUR(at)", table).to_pylist() == [13]
    assert evaluate("at = TIMESTAMP '2026-01-01 13:00:00'", table).to_pylist() == [True]
    assert evaluate("at + INTERVAL '1' HOUR", table).type.tz == "Europe/Berlin"
    assert evaluate("CAST(at AS VARCHAR)", table).to_pylist() == ["2026-01-01 13:00:00"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind + 1", "kind + 1 takes numbers, not string and int64"),
        ("(n > 1) + 1", "(n > 1) + 1 takes numbers, not bool and int64"),
        ("n = kind", "n = kind takes values of one kind, not int64 and string"),
        ("NOT n", "NOT n takes booleans, not int64"),
        ("n AND TRUE", "n AND TRUE takes booleans, not int64 and bool"),
        ("LOWER(n)", "LOWER(n) takes strings, not int64"),
        ("HOUR(n)", "HOUR(n) takes times, not int64"),
        ("at + at", "takes numbers, or a time and an INTERVAL, not timestamp[us]"),
        ("at = kind", "at = kind takes values of one kind, not timestamp[us] and string"),
        ("CASE WHEN n > 1 THEN 'a' ELSE 1 END", "takes values of one kind, not string and int64"),
        ("CAST(kind AS INT)", "CAST(kind AS INT): Failed to parse string: 'b'"),
        ("CAST(x AS INT)", "CAST(x AS INT): Float value nan"),
        ("CAST(n AS DATE)", "CAST(n AS DATE) means nothing: int64 is no time"),
        ("CAST(n * 1000 AS TINYINT)", "CAST(n * 1000 AS TINYINT): Integer value 1000 not in range"),
        ("n * 9223372036854775807", "n * 9223372036854775807: overflow"),
        ("at > 'noon'", "at > 'noon': Failed to parse string: 'noon'"),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_text(text: str, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        evaluate(text, FRAME)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m", "the column 'm' is not in the frame; Known: n, x, kind, price, at, my col, day"),
        ("knd = 'a'", "\"knd = 'a'\" names 'knd', which is not in the frame; did you mean 'kind'?"),
        ('kind = "b"', "a string is written 'b', in single quotes"),
        ("SIN(n)", "SIN is no known function"),
    ],
)
def test_what_is_unknown_is_an_error_before_any_work(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        evaluate(text, FRAME.slice(0, 0))
    assert message in str(caught.value)


def test_a_name_that_fits_two_columns_is_refused() -> None:
    table = pa.table({"Load": [1], "load": [2]})
    assert evaluate("load + 0", table).to_pylist() == [2]
    with pytest.raises(InvalidArgument, match="could be 'Load' or 'load': write it exactly"):
        evaluate("LOAD + 0", table)
