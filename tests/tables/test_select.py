"""Standard SQL over tables: held against DuckDB, on random statements over random tables."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.queries.random_statements import Statements, table
from windrow import sql
from windrow.errors import InvalidArgument, QuerySyntaxError
from windrow.kernels.routes import traced


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    """DuckDB with nulls where Spark and windrow have them."""
    made = duckdb.connect()
    made.execute("SET default_null_order = 'NULLS_FIRST_ON_ASC_LAST_ON_DESC'")
    made.execute("SET threads = 1")
    return made


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float | int) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)
    return bool(a == b)


def check(text: str, ordered: bool, data: pa.Table, duck: duckdb.DuckDBPyConnection) -> None:
    """Both answer alike, row by row; rows come as they are in the table unless ORDER BY says so."""
    expected = duck.execute(text).fetchall()
    found = [tuple(row.values()) for row in sql(text, data=data).to_pylist()]
    if not ordered:
        place = {u: n for n, u in enumerate(data.column("u").to_pylist())}
        expected.sort(key=lambda row: place[row[0]])
    assert len(found) == len(expected), text
    for mine, theirs in zip(found, expected, strict=True):
        assert all(map(same, mine, theirs)), f"{text}\nwindrow {mine}\nDuckDB  {theirs}"


@pytest.mark.parametrize("seed", range(2))
def test_random_statements_have_the_answers_of_duckdb(
    seed: int, duck: duckdb.DuckDBPyConnection
) -> None:
    random_statements(seed, 40, duck)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_random_statements(seed: int, duck: duckdb.DuckDBPyConnection) -> None:
    random_statements(seed, 200, duck)


def random_statements(seed: int, count: int, duck: duckdb.DuckDBPyConnection) -> None:
    statements = Statements(seed)
    asked = 0
    for n in range(count):
        data = table(seed * 1000 + n, rows=[40, 40, 1, 3, 0, 90][n % 6])
        duck.register("data", data)
        text, ordered = statements.next()
        try:
            check(text, ordered, data, duck)
            asked += 1
        except QuerySyntaxError as error:
            if not any(words in str(error) for words in REFUSED):
                raise
    assert asked > count * 0.8


# What a statement of ours may be refused for, though DuckDB takes it.
REFUSED = ("goes the other way than", "leave NULLS out")


@pytest.mark.parametrize(
    "call",
    [
        "COUNT_IF(load > 1)", "REGR_COUNT(load, t)", "REGR_AVGX(load, t)", "REGR_AVGY(load, t)",
        "COUNT(*) FILTER (WHERE plug NOT LIKE 'a%')",
        "LAG(ABS(load) IGNORE NULLS)", "LAST_VALUE(COALESCE(load, NULL) IGNORE NULLS)",
    ],
)  # fmt: skip
def test_calls_over_windows_are_duckdb_s(call: str, duck: duckdb.DuckDBPyConnection) -> None:
    n = [3, 0, 4, 1, 2]
    data = PLUGS.append_column("t", pa.array(n)).append_column("u", pa.array(n))
    duck.register("data", data)
    for order in ("u", "u DESC"):
        check(f"SELECT u, {call} OVER (ORDER BY {order}) AS r FROM data", False, data, duck)


@pytest.mark.parametrize(
    "kind", ["TINYINT", "SMALLINT", "INT", "UTINYINT", "FLOAT", "DECIMAL(9,2)"]
)
def test_values_of_other_rows_keep_their_type(kind: str, duck: duckdb.DuckDBPyConnection) -> None:
    values = "(VALUES (0, NULL), (1, 5), (2, NULL), (3, 7), (4, 9)) AS v(u, raw)"
    data = duck.sql(f"SELECT u, CAST(raw AS {kind}) AS x FROM {values}").to_arrow_table()
    duck.register("data", data)
    for call in ("NTH_VALUE(x, 2)", "LAG(x, 1, 3)", "LEAD(x, 2)", "LAST_VALUE(x)", "MAX(x)"):
        text = f"SELECT u, {call} OVER (ORDER BY u) AS r FROM data ORDER BY u"
        found, wanted = sql(text, data=data), duck.sql(text).to_arrow_table()
        assert found.column("r").equals(wanted.column("r")), call


# Results whose type is another one than DuckDB's, with ours: as docs/tables.md and docs/cql.md say.
OTHER_TYPES = {
    **dict.fromkeys(("SUM(i8)", "SUM(i)", "SUM(u)", "SUM(b)"), "int64"),
    "SUM(c)": "decimal128(19, 2)",
    "AVG(c)": "decimal128(13, 6)",
    "MEDIAN(f)": "double",
    "MEDIAN(c)": "double",
    "MEDIAN(b)": "double",
    "REGR_COUNT(x, i)": "int64",
    "i + 1": "int64",
    "CASE WHEN b THEN 1 END": "int64",
    "d - MIN(d) OVER ()": "duration[us]",
}


@pytest.mark.parametrize("call", [
    *("MAX", "MIN", "SUM", "AVG", "COUNT", "FIRST_VALUE", "LAG", "NTH_VALUE", "MEDIAN", "MODE"),
    *("STDDEV", "VAR_POP", "ANY_VALUE", "COUNT(DISTINCT", "PRODUCT", "others"),
])  # fmt: skip
def test_results_have_the_types_of_duckdb(call: str, duck: duckdb.DuckDBPyConnection) -> None:
    columns = [("i8", "TINYINT"), ("i", "INT"), ("u", "UINTEGER"), ("f", "FLOAT"), ("x", "DOUBLE")]
    columns += [("c", "DECIMAL(9, 2)"), ("b", "BOOLEAN"), ("s", "TEXT"), ("d", "TIMESTAMP")]
    values = {"TEXT": "'a'", "BOOLEAN": "TRUE", "TIMESTAMP": "'2026-01-01'"}
    row = ", ".join(f"CAST({values.get(kind, '3')} AS {kind}) AS {name}" for name, kind in columns)
    data = duck.sql(f"SELECT {row}").to_arrow_table()
    duck.register("data", data)
    most = {"AVG": 6, "STDDEV": 6, "VAR_POP": 6, "PRODUCT": 6, "SUM": 7, "MEDIAN": 7}
    taken = columns[: most.get(call, len(columns))]
    if call == "others":
        numbers = ("ROW_NUMBER()", "RANK()", "NTILE(2)", "PERCENT_RANK()", "CUME_DIST()")
        over = [*numbers, "COUNT(*)", "BOOL_OR(b)", "BIT_AND(i8)", "CORR(x, i)", "REGR_COUNT(x, i)"]
        over += ["ARG_MAX(s, x)", "QUANTILE_CONT(x, 0.5)", "QUANTILE_DISC(i8, 0.5)"]
        asked = {each: f"{each} OVER (ORDER BY i)" for each in over}
        alone = (
            "i + 1",
            "CASE WHEN b THEN 1 END",
            "d - MIN(d) OVER ()",
            "x > 1",
            "i / 2",
            "s || s",
        )
        asked |= {each: each for each in alone}
    else:
        more, end = (", 2" if call == "NTH_VALUE" else ""), call.count("(")
        calls = [f"{call}{' ' if end else '('}{name}{more})" for name, _ in taken]
        asked = {each: f"{each} OVER (ORDER BY i)" for each in calls}
    items = ", ".join(f"{text} AS r{n}" for n, text in enumerate(asked.values()))
    text = f"SELECT {items}, COUNT(*) OVER () AS n FROM data"
    found, wanted = sql(text, data=data).schema.types, duck.sql(text).to_arrow_table().schema.types
    for each, mine, theirs in zip(asked, found, wanted, strict=False):
        assert str(mine) == OTHER_TYPES.get(each, str(theirs)), each
        assert each not in OTHER_TYPES or mine != theirs, each


# `f` has both zeros, and `d` is of times; `u` comes first and tells the rows apart.
STATEMENTS = [
    "SELECT u, sum(i) over (order by u rows between 2 preceding and 1 following) AS s FROM data",
    "SELECT u, Sum(i) Over (Order By i Range Between 1 Preceding And 2 Following) AS s FROM data",
    "SELECT u, count(*) over (order by t groups between 1 preceding and current row) n FROM data",
    "SELECT u, ROW_NUMBER() OVER (PARTITION BY h ORDER BY s DESC, d, u) AS n FROM data",
    "SELECT u, RANK() OVER (ORDER BY d DESC NULLS LAST, s, i DESC) AS n FROM data",
    "SELECT u, RANK() OVER (ORDER BY s, ABS(i) DESC, d - TIMESTAMP '1970-01-01' DESC) n FROM data",
    "SELECT u, DENSE_RANK() OVER (ORDER BY CAST(d AS DATE) DESC, s) AS n FROM data",
    "SELECT u, NTH_VALUE(d, 2) OVER (PARTITION BY g ORDER BY u) AS second FROM data",
    "SELECT u, NTH_VALUE(CAST(i AS DECIMAL(9, 2)), 2) OVER (PARTITION BY g ORDER BY u) n FROM data",
    "SELECT u, COUNT_IF(i > 0) FILTER (WHERE b OR x > 1) OVER (ORDER BY u) AS n FROM data",
    """
    SELECT *
    FROM (SELECT u, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x DESC, u) AS n FROM data)
    WHERE n <= 2
    """,
    """
    WITH steps AS (SELECT *, CASE WHEN t - LAG(t) OVER (PARTITION BY g ORDER BY t, u) <= 2 THEN 0
                   ELSE 1 END AS begins FROM data),
         sessions AS (SELECT *, SUM(begins) OVER w AS session FROM steps
                      WINDOW w AS (PARTITION BY g ORDER BY t, u))
    SELECT MIN(s.u) AS least, g, s.session, COUNT(*) AS n, MAX(x) - MIN(x) AS spread
    FROM sessions AS s GROUP BY g, s.session HAVING n > 1
    """,
    """
    SELECT day, total, AVG(total) OVER (ORDER BY day ROWS 6 PRECEDING) AS mean
    FROM (SELECT t / 5 AS day, SUM(i) + 1 AS total FROM data WHERE t > 0 GROUP BY 1)
    """,
    """
    WITH each AS (SELECT h, g, COUNT(*) FILTER (WHERE x > 0) AS n, MAX(u) u FROM data GROUP BY ALL)
    SELECT u, h, g, n, n / SUM(n) OVER (PARTITION BY h) AS share FROM each ORDER BY u DESC LIMIT 4
    """,
    "SELECT g, SUM(SUM(i)) OVER (ORDER BY g) AS total FROM data GROUP BY g",
    """
    SELECT d.g AS name, AVG(x) AS mean, RANK() OVER (ORDER BY AVG(x) DESC, SUM(u)) AS place,
           COUNT(*) / SUM(COUNT(*)) OVER () AS share,
           SUM(MAX(i)) FILTER (WHERE g <> 'a') OVER w AS sums
    FROM data AS d WHERE u > 3 GROUP BY d.g HAVING COUNT(*) > 1
    WINDOW w AS (ORDER BY MIN(u)) QUALIFY place <= 3 ORDER BY MAX(u)
    """,
    """
    SELECT RANK() OVER (ORDER BY MAX(u)) AS place, t % 3 AS third, 1 AS one,
           LAG(SUM(i), 1) OVER (ORDER BY MAX(u)) AS before
    FROM (SELECT * FROM data) GROUP BY 2
    """,
    """
    SELECT t % 3 AS third, SUM(i) - LAG(SUM(i)) OVER (ORDER BY t % 3) AS step FROM data GROUP BY 1
    """,
    "SELECT h, COUNT(*) AS n, MAX(x) - MIN(x) AS spread FROM data WHERE u > 3 GROUP BY h",
    "SELECT MIN(u) u, g, COUNT(DISTINCT s) n FROM data GROUP BY g HAVING MAX(i) > 0 ORDER BY u",
    "SELECT t % 3 AS third, AVG(x) FILTER (WHERE b) AS m, ARG_MAX(u, i) AS w FROM data GROUP BY 1",
    "SELECT n, COUNT(*) AS m FROM (SELECT g, COUNT(*) AS n FROM data GROUP BY g) GROUP BY n",
    "SELECT DISTINCT h FROM data WHERE u > 3",
    "SELECT * EXCLUDE (g, x) REPLACE (i + 1 AS i), COUNT(*) OVER () AS n FROM data ORDER BY u",
    "SELECT u, s IS DISTINCT FROM LAG(s) OVER (ORDER BY u) AS c FROM data",
    "SELECT u, SUM(i) OVER (PARTITION BY DATE_TRUNC('hour', d) ORDER BY u) AS n FROM data",
    "SELECT u, EXTRACT(EPOCH FROM d - LAG(d) OVER (ORDER BY d, u)) AS waited FROM data",
    "SELECT u, COUNT(*) OVER (PARTITION BY DATE(d), SUBSTRING(s, 1, 1)) AS n FROM data",
    "SELECT u, STRING_AGG(s, '-') OVER (PARTITION BY g ORDER BY d DESC, u DESC) AS n FROM data",
    "SELECT u, ARG_MAX(u, i) OVER (ORDER BY x DESC NULLS FIRST, u ROWS 3 PRECEDING) n FROM data",
    "SELECT u, COUNT(*) OVER (w PARTITION BY g) AS n FROM data WINDOW w AS (ORDER BY u)",
    "SELECT DISTINCT h, COUNT(*) OVER (PARTITION BY h) AS n FROM data ORDER BY n DESC, h",
    "SELECT DISTINCT f, MAX(h) OVER () AS n FROM data WHERE f IS NOT NULL",
    "SELECT data.u, ROW_NUMBER() OVER (ORDER BY f, u DESC) AS n FROM data ORDER BY f, data.u DESC",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_have_the_answers_of_duckdb(text: str, duck: duckdb.DuckDBPyConnection) -> None:
    data = table(7, rows=60)
    zeros = pa.array([[0.0, -0.0, 1.5, None][n % 4] for n in range(60)])
    data = data.append_column("f", zeros)
    duck.register("data", data)
    if "ORDER BY" in text.rpartition(")")[2]:
        check(text, True, data, duck)
        return
    expected = {row[0]: row for row in duck.execute(text).fetchall()}
    rows = (tuple(row.values()) for row in sql(text, data=data).to_pylist())
    found = {row[0]: row for row in rows}
    assert found.keys() == expected.keys()
    for first, row in found.items():
        assert all(map(same, row, expected[first])), (row, expected[first])


def test_all_columns_of_the_frame_may_be_told_by_its_name() -> None:
    made = sql("SELECT p.*, COUNT(*) OVER () AS n FROM plugs AS p", plugs=PLUGS)
    assert made.column_names == [*PLUGS.column_names, "n"]


# -- statements as people write them -----------------------------------------------------------

PLUGS = pa.table(
    {
        "plug": ["a", "b", "a", "a", "b"],
        "ts": pa.array([0, 60, 1800, 5400, 3600], pa.timestamp("s")),
        "load": [3.0, 1.0, 5.0, None, 2.0],
    }
)


def test_several_frames_of_one_order_sort_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.tables import run

    sorts = []
    original = run.sort_rows
    monkeypatch.setattr(run, "sort_rows", lambda *a, **k: sorts.append(1) or original(*a, **k))
    made = sql(
        """
        SELECT *, MAX(load) OVER (w RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) peak,
               LAG(load) OVER w AS before, AVG(load) OVER (PARTITION BY plug) AS mean,
               MAX(load) OVER (w ROWS 1 PRECEDING) - MIN(load) OVER (w ROWS 1 PRECEDING) AS spread,
               RANK() OVER (PARTITION BY plug ORDER BY ts DESC) AS newest
        FROM plugs WINDOW w AS (PARTITION BY plug ORDER BY ts)
        """,
        plugs=PLUGS,
    )
    assert len(sorts) == 1
    assert made.column_names == [*PLUGS.column_names, "peak", "before", "mean", "spread", "newest"]
    assert made["peak"].to_pylist() == [3.0, 1.0, 5.0, 5.0, 2.0]
    assert made["before"].to_pylist() == [None, None, 3.0, 5.0, 1.0]
    assert made["mean"].to_pylist() == [4.0, 1.5, 4.0, 4.0, 1.5]
    assert made["spread"].to_pylist() == [0.0, 0.0, 2.0, 0.0, 1.0]
    assert made["newest"].to_pylist() == [3, 2, 2, 1, 1]


TEXT = "SELECT plug AS p, load, SUM(load) OVER (PARTITION BY plug ORDER BY ts) AS s FROM t"


def test_a_frame_of_each_kind_comes_back_as_one() -> None:
    expected = {"p": ["a", "b", "a", "a", "b"], "s": [3.0, 1.0, 8.0, 8.0, 3.0]}
    pandas = PLUGS.to_pandas().set_index(pd.Index(list("vwxyz")))
    pandas["plug"] = pandas["plug"].astype("category")
    made = sql(TEXT, t=pandas)
    assert list(made.index) == list("vwxyz")
    assert made.dtypes["p"] == "category"
    assert made["s"].tolist() == expected["s"]
    eager = sql(TEXT, t=pl.from_arrow(PLUGS))
    assert isinstance(eager, pl.DataFrame)
    assert eager.select("p", "s").to_dict(as_series=False) == expected
    lazy = sql(TEXT, t=pl.from_arrow(PLUGS).lazy())
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(eager)
    batch = sql(TEXT, t=PLUGS.to_batches()[0])
    assert isinstance(batch, pa.RecordBatch)
    assert batch.select(["p", "s"]).to_pydict() == expected


def test_names_of_columns_may_be_written_in_any_case_and_need_quotes_where_sql_does() -> None:
    data = pa.table({"My Load": [1, 2, 3], "from": [3, 2, 1], "Kind": ["a", "b", "a"]})
    text = 'SELECT *, SUM("my load") OVER (PARTITION BY kind ORDER BY "from") AS s FROM data'
    assert sql(text, data=data)["s"].to_pylist() == [4, 2, 3]


def test_a_name_of_a_result_is_known_to_those_behind_it() -> None:
    text = "SELECT MAX(load) OVER (PARTITION BY plug) AS top, top - load AS below FROM t "
    assert sql(f"{text} QUALIFY below > 0", t=PLUGS).to_pydict() == {
        "top": [5.0, 2.0],
        "below": [2.0, 1.0],
    }


def test_a_column_of_the_frame_comes_before_the_name_of_a_result() -> None:
    text = (
        "SELECT MAX(load) OVER () AS load, SUM(load) OVER (ORDER BY load) AS s FROM t ORDER BY load"
    )
    made = sql(text, t=PLUGS)
    assert made["load"].to_pylist() == [5.0] * 5
    assert made["s"].to_pylist() == [6.0, 1.0, 11.0, None, 3.0]


def test_what_ran_is_what_explain_says() -> None:
    asked = sql(
        "SELECT MAX(load) OVER (ORDER BY ts ROWS 2 PRECEDING) AS m, COUNT(*) OVER () n FROM t"
    )
    with traced() as ran:
        asked(PLUGS)
    said = asked.explain(PLUGS)
    assert "stage 1 of 1: 2 frames" in said
    assert all(way in said for part, way in ran if part.startswith("Max")), said


def test_mistakes_show_the_place_before_anything_runs() -> None:
    with pytest.raises(
        QuerySyntaxError, match=r"no column 'lod'\n.*\n +\^\^\^\nhint: did you mean"
    ):
        sql("SELECT MAX(lod) OVER (ORDER BY ts) FROM t", t=PLUGS)
    with pytest.raises(InvalidArgument, match="FROM names 'u'"):
        sql("SELECT MAX(load) OVER (ORDER BY ts) FROM u", t=PLUGS)
    for call, words in (
        ("SUM(plug)", r"Sum\('plug'\) takes a column of numbers, and 'plug' is of type string"),
        ("MAX(load) FILTER (WHERE load)", "a condition is true or false; this one is of type dou"),
    ):
        with pytest.raises(QuerySyntaxError, match=rf"{words}.*\n.*\n +\^\^\^"):
            sql(f"SELECT {call} OVER (ORDER BY ts) FROM t", t=PLUGS)
    with pytest.raises(TypeError, match="takes numbers, not string"):
        sql("SELECT plug + 1 AS x, MAX(load) OVER () AS m FROM t", t=PLUGS)
