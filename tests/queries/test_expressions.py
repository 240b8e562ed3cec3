"""Scalar expressions: canonical text, what they read, and errors that show the place."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.queries.random_expressions import EXPRESSIONS, tables
from windrow.errors import InvalidArgument, QuerySyntaxError
from windrow.queries import expressions
from windrow.queries.expressions import columns_of, is_expression, normal
from windrow.tables import arithmetic
from windrow.tables.arithmetic import evaluate


@examples(80)
@given(EXPRESSIONS, tables)
def test_the_canonical_text_is_its_own_and_means_the_same(text: str, table: pa.Table) -> None:
    once = normal(text, "where")
    assert normal(once, "where") == once
    assert set(columns_of(once)) == set(columns_of(text))
    assert repr(evaluate(once, table).to_pylist()) == repr(evaluate(text, table).to_pylist())


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("load", "load"),
        (" load ", "load"),
        ("order", "order"),  # a name alone is a column, whatever SQL means by it
        ("load>3 and not(kind='x')", "load > 3 AND NOT (kind = 'x')"),
        ("load is not null", "NOT load IS NULL"),
        ("a != b", "a <> b"),
        ("kind not like 'a%' and a > b", "NOT kind LIKE 'a%' AND a > b"),
        ("kind not like 'a%' < (a > b)", "(NOT kind LIKE 'a%') < (a > b)"),
        ("if(a, b, c)", "CASE WHEN a THEN b ELSE c END"),
        ("pow(a, 2)", "POWER(a, 2)"),
        ("a::double", "CAST(a AS DOUBLE)"),
        ("ts > timestamp '2026-01-01'", "ts > CAST('2026-01-01' AS TIMESTAMP)"),
        ("ts + interval '90 minutes'", "ts + INTERVAL '90' MINUTES"),
        ("load > 3 -- watts", "load > 3"),
        ("true", "TRUE"),
    ],
)
def test_canonical_texts(text: str, canonical: str) -> None:
    assert normal(text, "where") == canonical


def test_what_is_an_expression() -> None:
    assert not any(map(is_expression, ["load", "größe", "_x1", "order"]))
    assert all(map(is_expression, ["load + 1", "my load", '"load"', "1", "TRUE", "null", ""]))


def test_columns_come_in_the_order_of_the_text() -> None:
    assert columns_of('CASE WHEN b > 0 THEN a ELSE "my c" END + B') == ("b", "a", "my c", "B")
    assert columns_of("load") == ("load",)
    assert columns_of("1 + 2") == ()


def test_every_function_that_parses_is_computed() -> None:
    """The list of what is known and the kernels cannot drift apart."""
    own = {name.removeprefix("_") for name in vars(arithmetic._Rows) if name.startswith("_")}
    parts = {"identifier", "datatype", "datatypeparam", "var"}
    assert set(expressions._NODES) - parts <= own | set(arithmetic.OPERATORS)


def told(text: object) -> str:
    with pytest.raises(InvalidArgument) as caught:
        normal(text, "where")
    return str(caught.value)


ERRORS = [
    (
        "load >",
        """
where: something is missing here
    load >
         ^""",
    ),
    (
        "load lik 'a%'",
        """
where: 'lik' is not expected here
    load lik 'a%'
         ^^^
hint: did you mean LIKE for lik?""",
    ),
    (
        "load > 3 AND\nkind = 'a",
        """
where: this quote has no end
    kind = 'a
           ^^""",
    ),
    (
        "load > 3 /* watts",
        """
where: this comment has no end
    load > 3 /* watts
             ^^^^^^^^""",
    ),
    (
        "(load > 3",
        """
where: ) is expected here
    (load > 3
            ^""",
    ),
    (
        "load > 3; DROP",
        """
where: one statement is expected, and here it ends
    load > 3; DROP
            ^""",
    ),
    (
        "MAX(load) > 3",
        """
where: MAX is an aggregation, not a function of one row
    MAX(load) > 3
    ^^^^^^^^
hint: it goes into the list of results, and its name into HAVING""",
    ),
    (
        "load IN (SELECT 1)",
        """
where: a query is not an expression
    load IN (SELECT 1)
    ^^^^^^^^^^^^^^^^^
hint: run it first, and give its results as a column""",
    ),
    (
        "plug.load > 3",
        """
where: plug.load names a table
    plug.load > 3
    ^^^^^^^^^
hint: a column with a dot is written "plug.load\"""",
    ),
    (
        "`load` > 3",
        """
where: 'load' is not expected here
    `load` > 3
     ^^^^
hint: names in quotes are written "so\"""",
    ),
    (
        "kind LIKE pattern",
        """
where: LIKE takes a pattern in quotes
    kind LIKE pattern
    ^^^^^^^^^^^^^^^^^
hint: write kind LIKE 'a%'""",
    ),
    (
        "ts > ts - INTERVAL '1' MONTH",
        """
where: INTERVAL='1 month': months and years differ in length; give days, as in '30 days'
    ts > ts - INTERVAL '1' MONTH
                       ^^^
hint: write INTERVAL '90' MINUTE or INTERVAL '1 hour 30 minutes'""",
    ),
    (
        "CAST(kind AS VARCHAR(3))",
        """
where: CAST: VARCHAR takes no length here
    CAST(kind AS VARCHAR(3))
                         ^
hint: write VARCHAR alone""",
    ),
    (
        "99999999999999999999 > load",
        """
where: 99999999999999999999 does not fit into 64 bits
    99999999999999999999 > load
    ^^^^^^^^^^^^^^^^^^^^
hint: a float is written 1e20""",
    ),
    (
        "ROUND(load, digits)",
        """
where: ROUND takes a whole number of digits
    ROUND(load, digits)
    ^^^^^^^^^^^^^^^^^^
hint: write ROUND(load, 2)""",
    ),
    (
        "kind ILIKE pattern",
        """
where: ILIKE takes a pattern in quotes
    kind ILIKE pattern
    ^^^^^^^^^^^^^^^^^^
hint: write kind ILIKE 'a%'""",
    ),
    (
        "SUBSTRING(kind, 0, 2) = 'a'",
        """
where: SUBSTRING takes whole numbers, from 1 on
    SUBSTRING(kind, 0, 2) = 'a'
              ^^^^^^^^^^
hint: write SUBSTRING(kind, 1, 3)""",
    ),
    (
        "REPLACE(kind, '', 'b') = 'a'",
        """
where: REPLACE takes two strings in quotes
    REPLACE(kind, '', 'b') = 'a'
    ^^^^^^^^^^^^^^^^^^^^^
hint: write REPLACE(kind, 'a', 'b')""",
    ),
    (
        "DATE_TRUNC('decade', ts) > ts",
        """
where: DATE_TRUNC: Known: YEAR, QUARTER, MONTH, DAY, HOUR, MINUTE, SECOND, WEEK
    DATE_TRUNC('decade', ts) > ts
    ^^^^^^^^^^^^^^^^^^^^^^^""",
    ),
    (
        "DATEDIFF(a, b) > 3",
        """
where: DATEDIFF is not known
    DATEDIFF(a, b) > 3
    ^^^^^^^^^^^^^
hint: EXTRACT(EPOCH FROM b - a) gives the seconds between times, CAST(b AS DATE) - CAST(a AS DATE) \
the days""",
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[text for text, _ in ERRORS])
def test_errors_show_the_place(text: str, message: str) -> None:
    lines = told(text).removeprefix("line 2: ").removeprefix("line 1: ")
    assert lines == message.lstrip("\n")


def test_a_place_on_a_later_line_is_told_by_its_line() -> None:
    assert told("load > 3 AND\nkind = 'a").startswith("line 2: where: this quote")


def test_an_unknown_function_is_told_with_all_that_are_known() -> None:
    message = told("lenght(kind) > 3")
    assert message.startswith("where: lenght is no known function\n")
    assert "hint: did you mean 'LENGTH'? Known: ABS, CASE, CAST, " in message


@pytest.mark.parametrize("text", ["", "  ", 3, None])
def test_what_is_no_text_is_refused(text: object) -> None:
    assert told(text) == f"where={text!r} must be text of SQL, as in 'load > 3'"


def test_errors_are_values_of_python() -> None:
    error = QuerySyntaxError.at("load >> 3", 5, 7, "wrong", "hint")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, ValueError)


def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['sqlglot'] = None\n"
        "from windrow.queries.expressions import columns_of, normal\n"
        "assert columns_of('load') == ('load',) and normal('load', 'where') == 'load'\n"
        "normal('load > 3', 'where')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(
        'ImportError: expressions and CQL need sqlglot: pip install "windrow[sql]"'
    )
