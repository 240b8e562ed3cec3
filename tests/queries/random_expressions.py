"""Expressions of every type and operator, and tables for them; DuckDB reads them as well."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

UNITS = ["year", "QUARTER", "month", "Week", "day", "hour", "minute", "second"]
SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "j": pa.int32(),
        "f": pa.float64(),
        "g": pa.float64(),
        "s": pa.string(),
        "u": pa.string(),
        "p": pa.bool_(),
        "q": pa.bool_(),
        "t": pa.timestamp("us"),
        "d": pa.date32(),
    }
)

_small = st.integers(-9, 9)
_floats = st.sampled_from([math.nan, 0.0, -0.0, 1.0, -1.5, 2.5, 7.25, -8.0, 0.1])
_texts = st.sampled_from(["", "a", "B", "ab", "a%", "bA", "é"])
_times = st.datetimes(dt.datetime(1969, 12, 30), dt.datetime(2030, 1, 1))
_VALUES = {
    **dict.fromkeys("ij", _small),
    **dict.fromkeys("fg", _floats),
    **dict.fromkeys("su", _texts),
    **dict.fromkeys("pq", st.booleans()),
    "t": _times,
    "d": _times.map(dt.datetime.date),
}
rows = st.fixed_dictionaries({name: st.none() | values for name, values in _VALUES.items()})
tables = st.lists(rows, max_size=12).map(lambda listed: pa.Table.from_pylist(listed, SCHEMA))


def _of(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda given: template.format(*given))


def _shared(kind: st.SearchStrategy[str], booleans: Any) -> list[st.SearchStrategy[str]]:
    """What every type has."""
    return [
        _of("CASE WHEN {} THEN {} WHEN {} THEN {} END", booleans, kind, booleans, kind),
        _of("CASE {} WHEN {} THEN {} ELSE {} END", kind, kind, kind, kind),
        _of("COALESCE({}, NULL, {})", kind, kind),
        _of("NULLIF({}, {})", kind, kind),
        _of("GREATEST({}, {}, {})", kind, kind, kind),
        _of("LEAST({}, {})", kind, kind),
        _of("IF({}, {}, NULL)", booleans, kind),
    ]


def _expressions(depth: int) -> dict[str, st.SearchStrategy[str]]:
    """Expressions of each type whose operators nest so deep."""
    leaves = {
        "int": st.sampled_from(["i", "j", "0", "3", "7"]),
        "float": st.sampled_from(["f", "g", "1.5e0", "0e0", "CAST('NaN' AS DOUBLE)"]),
        "text": st.sampled_from(["s", "u", "'a'", "'it''s'", "''"]),
        "bool": st.sampled_from(["p", "q", "TRUE", "FALSE"]),
        "time": st.sampled_from(["t", "TIMESTAMP '2001-02-03 04:05:06'"]),
    }
    if not depth:
        return leaves
    low = _expressions(depth - 1)
    ints, floats, texts, bools, times = (low[k] for k in ("int", "float", "text", "bool", "time"))
    numbers = ints | floats
    compared = [
        _of("({} {} {})", kind, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), kind)
        for kind in (numbers, texts, bools, times)
    ]
    made = {
        "int": [
            *(_of(f"({{}} {op} {{}})", ints, ints) for op in "+-*%"),
            _of("(- {})", ints),
            _of("ABS({})", ints),
            _of("LENGTH({})", texts),
            _of("CAST({} AS BIGINT)", bools),
            _of("{}({})", st.sampled_from(["YEAR", "MONTH", "DAY", "HOUR", "QUARTER"]), times),
            _of("EXTRACT({} FROM d)", st.sampled_from(["YEAR", "MONTH", "DAY"])),
        ],
        "float": [
            *(_of(f"({{}} {op} {{}})", floats, numbers) for op in "+-*/%"),
            _of("({} / {})", ints, ints),
            _of("(- {})", floats),
            _of("ABS({})", floats),
            _of("SQRT(ABS({}))", numbers),
            _of("EXP(LEAST({}, 3e0))", floats),
            _of("POWER({}, 2)", numbers),
            _of("ROUND({})", floats),
            _of("CAST({} AS DOUBLE)", ints),
            _of("EXTRACT(EPOCH FROM {})", times),
            _of("EPOCH({} - TIMESTAMP '2020-01-01')", times),
        ],
        "text": [
            _of("({} || {})", texts, texts),
            _of("LOWER({})", texts),
            _of("UPPER({})", texts),
            _of("TRIM(' ' || {} || ' ')", texts),
            _of("SUBSTRING({}, 2, 1)", texts),
            _of("SUBSTR({}, 2)", texts),
            _of("REPLACE({}, 'a', 'it')", texts),
            _of("CAST({} AS VARCHAR)", ints),
            _of("CAST({} AS VARCHAR)", bools),
        ],
        "bool": [
            *compared,
            _of("({} AND {})", bools, bools),
            _of("({} OR {})", bools, bools),
            _of("(NOT {})", bools),
            *(_of("({} IS NULL)", kind) for kind in (numbers, texts, bools, times)),
            _of("({} IS NOT TRUE)", bools),
            _of("({} IN ({}, {}, NULL))", numbers, numbers, numbers),
            _of("({} NOT IN ({}, {}))", texts, texts, texts),
            _of("({} BETWEEN {} AND {})", numbers, numbers, numbers),
            *(
                _of(form, texts, st.sampled_from(["a%", "%b_", "", "%", "_", "a.%"]))
                for form in ("({} LIKE '{}')", "({} NOT LIKE '{}')", "({} NOT ILIKE '{}')")
            ),
            *(_of("({} IS DISTINCT FROM {})", kind, kind) for kind in (numbers, texts, times)),
            _of("({} IS NOT DISTINCT FROM {})", numbers, numbers),
            _of("({} = NULL)", numbers),
            st.just("(d < t)"),
            _of("(d = CAST({} AS DATE))", times),
        ],
        "time": [
            _of("({} + INTERVAL '90' MINUTE)", times),
            _of("({} - INTERVAL '1' DAY)", times),
            _of("CAST(CAST({} AS DATE) AS TIMESTAMP)", times),
            _of("DATE_TRUNC('{}', {})", st.sampled_from([*UNITS, "week"]), times),
            _of("DATE_TRUNC('{}', DATE({}))", st.sampled_from(UNITS), times),
        ],
    }
    return {k: low[k] | st.one_of([*made[k], *_shared(low[k], bools)]) for k in leaves}


EXPRESSIONS = st.one_of(list(_expressions(3).values()))
