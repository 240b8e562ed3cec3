"""Every aggregate function of DuckDB and of Spark: here with the same meaning, or refused."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import windrow.aggregations
from windrow import Count, sql
from windrow.errors import QuerySyntaxError
from windrow.queries.cql.functions import FILTERED, FUNCTIONS, REFUSED

DOCUMENT = (Path(__file__).parents[2] / "docs" / "cql.md").read_text("utf-8")

# What is written here, what DuckDB calls it (None: the same), and Spark (None: the same, "": not).
CALLS: list[tuple[str, str | None, str | None]] = [
    ("ANY_VALUE(i)", None, "ANY_VALUE(i, true)"),
    ("ARG_MAX(s, u)", None, "MAX_BY(s, u)"),
    ("ARG_MAX_NULL(n, u)", None, "MAX_BY(n, u)"),
    ("ARG_MAX(n, u) FILTER (WHERE n IS NOT NULL)", "ARG_MAX(n, u)", ""),
    ("ARG_MIN(s, u)", None, "MIN_BY(s, u)"),
    ("MAX_BY(s, u)", None, None),
    ("MIN_BY(s, u)", None, None),
    ("AVG(f)", None, None),
    ("MEAN(i)", None, None),
    ("FAVG(f)", None, ""),
    ("SUM(i)", None, None),
    ("FSUM(f)", None, ""),
    ("KAHAN_SUM(f)", None, ""),
    ("SUMKAHAN(f)", None, ""),
    ("PRODUCT(f)", None, "product(f)"),
    ("BIT_AND(i)", None, None),
    ("BIT_OR(i)", None, None),
    ("BIT_XOR(i)", None, None),
    ("BOOL_AND(b)", None, None),
    ("BOOL_OR(b)", None, None),
    ("EVERY(b)", "BOOL_AND(b)", None),
    ("SOME(b)", "BOOL_OR(b)", None),
    ("COUNT(*)", None, None),
    ("COUNT(f)", None, None),
    ("COUNT(DISTINCT s)", None, None),
    ("COUNT_IF(f > 0)", None, None),
    ("COUNTIF(b)", None, "COUNT_IF(b)"),
    ("CORR(f, g)", None, None),
    ("COVAR_POP(f, g)", None, None),
    ("COVAR_SAMP(f, g)", None, None),
    ("REGR_AVGX(f, g)", None, None),
    ("REGR_AVGY(f, g)", None, None),
    ("REGR_COUNT(f, g)", None, None),
    ("REGR_INTERCEPT(f, g)", None, None),
    ("REGR_R2(f, g)", None, None),
    ("REGR_SLOPE(f, g)", None, None),
    ("MAX(s)", None, None),
    ("MIN(f)", None, None),
    ("MEDIAN(f)", None, None),
    ("MODE(m)", None, None),
    ("QUANTILE_CONT(f, 0.3)", None, "PERCENTILE(f, 0.3)"),
    ("QUANTILE(f, 0.3)", "QUANTILE_CONT(f, 0.3)", "PERCENTILE(f, 0.3)"),
    (
        "QUANTILE_DISC(f, 0.3)",
        "QUANTILE(f, 0.3)",
        "PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY f)",
    ),
    ("PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY f)", None, None),
    ("PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY f)", None, None),
    ("PERCENTILE(f, 0.3)", "QUANTILE_CONT(f, 0.3)", None),
    ("VAR_POP(f)", None, None),
    ("VAR_SAMP(f)", None, None),
    ("VARIANCE(f)", None, None),
    ("STDDEV(f)", None, None),
    ("STDDEV_POP(f)", None, None),
    ("STDDEV_SAMP(f)", None, None),
    ("STD(f)", "STDDEV(f)", None),
    # sample in DuckDB, population in Spark
    ("KURTOSIS(f)", None, ""),
    ("KURTOSIS_POP(f)", None, "KURTOSIS(f)"),
    ("SKEWNESS(f)", None, ""),
    ("SKEWNESS_POP(f)", "", "SKEWNESS(f)"),
    # nulls, orders and separators
    ("ARRAY_AGG(i)", "ARRAY_AGG(i ORDER BY u) FILTER (i IS NOT NULL)", ""),
    ("LIST(i)", "LIST(i ORDER BY u) FILTER (i IS NOT NULL)", ""),
    ("FIRST(i)", "ANY_VALUE(i ORDER BY u)", ""),
    ("LAST(i)", "LAST(i ORDER BY u) FILTER (i IS NOT NULL)", ""),
    ("STRING_AGG(s)", "STRING_AGG(s, '' ORDER BY u)", "LISTAGG(s) WITHIN GROUP (ORDER BY u)"),
    ("LISTAGG(s, '-')", "LISTAGG(s, '-' ORDER BY u)", "LISTAGG(s, '-') WITHIN GROUP (ORDER BY u)"),
    ("GROUP_CONCAT(s)", "GROUP_CONCAT(s ORDER BY u)", ""),
    ("TOP_K(f, 3)", "MAX(f, 3)", ""),
    ("BOTTOM_K(f, 3)", "MIN(f, 3)", ""),
]


def values(n: int = 300) -> pa.Table:
    """Rows in the order of `u`, which no two have alike; `m` has one commonest value."""
    rng = random.Random(11)

    def maybe(value: Any) -> Any:
        return value if rng.random() > 0.15 else None

    return pa.table(
        {
            "u": pa.array(range(n), pa.int64()),
            "i": pa.array([maybe(rng.randrange(1, 1000)) for _ in range(n)], pa.int64()),
            "f": pa.array([maybe(rng.gauss(0, 1)) for _ in range(n)], pa.float64()),
            "g": pa.array([maybe(rng.expovariate(1)) for _ in range(n)], pa.float64()),
            "s": pa.array([rng.choice("abcde") for _ in range(n)], pa.string()),
            "n": pa.array([rng.choice(["x", "y"]) for _ in range(n - 1)] + [None], pa.string()),
            "m": pa.array([min(rng.randrange(9), 6) for _ in range(n)], pa.int64()),
            "b": pa.array([maybe(rng.random() > 0.5) for _ in range(n)], pa.bool_()),
        }
    )


def answered(call: str, table: pa.Table) -> Any:
    """The aggregate of all rows, as a window has it."""
    return sql(f"SELECT {call} AS out FROM t [ORDER BY u ROWS UNBOUNDED]", t=table)["out"][
        -1
    ].as_py()


def in_duckdb(call: str, t: pa.Table) -> Any:
    """The aggregate of all rows, as DuckDB has it."""
    return duckdb.sql(f"SELECT {call} FROM t").fetchall()[0][0]


def agrees(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(agrees, ours, theirs))
    if isinstance(ours, float) or isinstance(theirs, float):
        return bool(float(ours) == pytest.approx(float(theirs), rel=1e-9))
    return bool(ours == theirs)


@pytest.mark.parametrize(("ours", "theirs"), [(o, t) for o, t, _ in CALLS if t != ""])
def test_duckdb_means_the_same(ours: str, theirs: str | None) -> None:
    t = values()
    found = in_duckdb(theirs or ours, t)
    made = answered(ours, t)
    assert agrees(made, found), (made, found)


def test_where_duckdb_differs() -> None:
    """As the document says: not the same without further words."""
    t = values()
    for call in ("QUANTILE(f, 0.3)", "STRING_AGG(s)", "ARG_MAX(n, u)"):
        assert not agrees(answered(call, t), in_duckdb(call, t)), call


@pytest.mark.parametrize("name", ["APPROX_QUANTILE", "APPROX_COUNT_DISTINCT"])
def test_estimates_are_near_those_of_duckdb(name: str) -> None:
    t = values()
    call = f"{name}(f, 0.3)" if name == "APPROX_QUANTILE" else f"{name}(f)"
    assert answered(call, t) == pytest.approx(in_duckdb(call, t), rel=0.1)


def test_every_aggregate_of_duckdb_is_known_or_refused() -> None:
    query = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    )
    found = {name.upper() for (name,) in duckdb.sql(query).fetchall()}
    assert found - {*FUNCTIONS, *FILTERED, *REFUSED} == set()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write(name: str) -> None:
    with pytest.raises(QuerySyntaxError) as told:
        sql(f"SELECT {name}(x) AS out FROM t [ROWS 3]")
    assert f"hint: {REFUSED[name]}" in str(told.value)
    for call in re.findall(r"write ([A-Z_]+\([^()]*(?:\([^()]*\))?[^()]*\))", REFUSED[name]):
        sql(f"SELECT {call} AS out FROM t [ROWS 3]")


def test_the_document_has_them_all() -> None:
    section = DOCUMENT.partition("## Functions")[2].partition("\n## Expressions")[0]
    named = set(re.findall(r"[A-Z][A-Z0-9_]+", section))
    assert {*FILTERED, *REFUSED} - named == set()
    written = {alias for name, alias in _aliases()}
    assert written - named == set()
    rows = dict(re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|$", section, flags=re.MULTILINE))
    told = {name: text for names, text in rows.items() for name in re.findall(r"`(\w+)`", names)}
    assert {name: told.get(name) for name in REFUSED} == {n: _shown(t) for n, t in REFUSED.items()}


def _shown(text: str) -> str:
    return re.sub(r"[A-Z_]+\((?:[^()]|\([^()]*\))*\)", lambda call: f"`{call[0]}`", text)


def _aliases() -> list[tuple[str, str]]:
    """Names of SQL that are no class's own."""
    own = {name.upper() for name in windrow.aggregations.__all__}
    return [(f.make.__name__, name) for name, f in FUNCTIONS.items() if name not in own]


def test_calls_that_are_other_aggregations_of_some_rows() -> None:
    def made(call: str) -> Any:
        query = sql(f"SELECT {call} AS out FROM t [ROWS 3]")
        assert sql(query.sql()) == query
        return query.parts["out"]

    assert repr(made("COUNT_IF(load > 3)")) == repr(Count().where("load > 3"))
    for call, same in {
        "COUNT_IF(load > 3)": "COUNT(*) FILTER (WHERE load > 3)",
        "REGR_COUNT(y, x)": "COUNT(y) FILTER (WHERE x IS NOT NULL)",
        "REGR_AVGX(y, x)": "AVG(x) FILTER (WHERE y IS NOT NULL)",
        "REGR_AVGY(y + 1, x * 2)": "AVG(y + 1) FILTER (WHERE (x * 2) IS NOT NULL)",
    }.items():
        assert made(call) == made(same)
    with pytest.raises(QuerySyntaxError, match=r"COUNT_IF takes \(condition\)"):
        made("COUNT_IF(a, b)")
