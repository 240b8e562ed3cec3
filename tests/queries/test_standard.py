"""Standard SQL: what a statement consists of, and what is refused, with its place in the text."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from windrow import Aggregation, Count, First, Max, Nth, Query, Sum, sql
from windrow.errors import QuerySyntaxError
from windrow.queries.select import Select, Steps
from windrow.windows.kinds import window_of


class Columns:
    """Columns a to d of numbers, s of text, ts of times, l of lists."""

    names = ("a", "b", "c", "d", "s", "ts", "l")

    def family(self, text: str) -> str:
        known = {"s": "text", "(s || s)": "text", "ts": "time", "l": "list"}
        return known.get(text, "number")

    def check(self, part: Aggregation) -> None:
        """Take any."""


def steps(text: str) -> Steps:
    asked = sql(text)
    assert isinstance(asked, Select)
    return replace(asked, inside=0).steps(Columns())  # of the innermost statement


def only(over: str, call: str = "MAX(a)") -> Query:
    """The one query of a statement with one window."""
    (stage,) = steps(f"SELECT {call} OVER ({over}) AS r FROM t").stages
    (query,) = stage.queries
    return query


@pytest.mark.parametrize(
    ("over", "window"),
    [
        ("", {"rows": ("unbounded", "unbounded")}),
        ("ORDER BY b", {"range": ("unbounded", 0)}),
        ("ORDER BY b ROWS 2 PRECEDING", {"rows": (-2, 0)}),
        ("ORDER BY b ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING", {"rows": (-2, 3)}),
        ("ORDER BY b RANGE BETWEEN 1.5 PRECEDING AND 2 PRECEDING", {"range": (-1.5, -2)}),
        ("ORDER BY b RANGE BETWEEN CURRENT ROW AND CURRENT ROW", {"range": (0, 0)}),
        (
            "ORDER BY b RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW",
            {"range": "1 hour"},
        ),
        ("ORDER BY b RANGE INTERVAL 90 MINUTES PRECEDING", {"range": "90 minutes"}),
        (
            "ORDER BY b GROUPS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING",
            {"groups": (-1, "unbounded")},
        ),
        ("ORDER BY b DESC ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING", {"rows": (-3, 2)}),
        ("ORDER BY b DESC", {"range": (0, "unbounded")}),
        (
            "ORDER BY b GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES",
            {"groups": (-1, 1), "exclude": "ties"},
        ),
        ("ORDER BY b ROWS UNBOUNDED PRECEDING EXCLUDE NO OTHERS", {"rows": ("unbounded", 0)}),
    ],
)
def test_a_frame_is_one_of_windrow_s_windows(over: str, window: dict[str, Any]) -> None:
    if window.get("range") == (-1.5, -2):
        with pytest.raises(QuerySyntaxError, match="ends before it begins"):
            only(over)
        return
    query = only(over)
    assert query.window == window_of("test", **window)
    assert query.order_by == (("b",) if over else ())


def test_windows_of_one_order_are_one_stage_and_others_follow() -> None:
    made = steps(
        """
        SELECT MAX(a) OVER w AS m, SUM(b) OVER (w ROWS 2 PRECEDING) AS s,
               COUNT(*) OVER (PARTITION BY c), MIN(a) OVER (PARTITION BY d ORDER BY ts) AS low
        FROM t WINDOW w AS (PARTITION BY c ORDER BY ts)
        """
    )
    assert [[q.partition_by for q in stage.queries] for stage in made.stages] == [
        [("c",), ("c",), ("c",)],
        [("d",)],
    ]
    assert [name for name, _ in made.results] == ["m", "s", "count", "low"]


def test_the_same_result_is_asked_for_once() -> None:
    made = steps(
        "SELECT MAX(a) OVER w - MIN(a) OVER w AS s, MAX(a) OVER w AS m FROM t WINDOW w AS ()"
    )
    (stage,) = made.stages
    assert len(stage.results) == 2
    assert dict(made.results)["m"] in dict(made.results)["s"]


def test_an_order_that_goes_down_is_the_other_way_round() -> None:
    assert only("ORDER BY b DESC", "FIRST_VALUE(a IGNORE NULLS)").parts.popitem()[
        1
    ].turned() == First("a")
    assert Nth("a", n=2).turned() == Nth("a", n=-2)
    assert Count().turned() == Count()


@pytest.mark.parametrize(
    ("order", "last", "turned"),
    [
        ("a DESC, s", "s", "-a"),
        ("s DESC, ts", None, "CAST('1970-01-01' AS DATE) - ts"),
        ("s, ABS(a) DESC", None, "-(ABS(a))"),
    ],
)
def test_columns_that_go_different_ways_are_turned(
    order: str, last: str | None, turned: str
) -> None:
    (stage,) = steps(f"SELECT ROW_NUMBER() OVER (ORDER BY {order}) AS r FROM t").stages
    computed = {text: name for name, text in stage.computed}
    assert stage.queries[0].order_by[-1] == (last or computed[turned])
    assert turned in computed


def test_statements_in_from_and_with_come_first() -> None:
    asked = sql(
        """
        WITH one AS (SELECT a, COUNT(*) AS n FROM t WHERE b > 1 GROUP BY a)
        SELECT a FROM (SELECT a, RANK() OVER (ORDER BY n) AS r FROM one) AS two WHERE r = 1
        """
    )
    assert asked.source == "t"
    inner = asked.inner
    assert inner is not None
    assert inner.inner is not None
    assert inner.inner.inner is None
    assert [each.steps().where for each in (inner.inner, inner, asked)] == ["b > 1", None, "r = 1"]
    assert inner.inner.steps().distinct == ("a",)
    assert eval(repr(asked)) == asked
    assert asked.explain().count("over these results") == 2


def test_window_functions_are_expressions_over_counts() -> None:
    made = steps("SELECT RANK() OVER (ORDER BY a) AS r, LAG(a, 2, 0) OVER (ORDER BY a) AS l FROM t")
    parts = [part for stage in made.stages for q in stage.queries for part in q.parts.values()]
    assert parts == [Count(), First("a"), Count()]


def test_a_statement_is_a_value() -> None:
    text = "SELECT *, SUM(a) OVER (ORDER BY b) AS s FROM Plugs"
    asked = sql(text)
    assert asked == sql(text) == pickle.loads(pickle.dumps(asked)) == eval(repr(asked))
    assert asked.source == "Plugs"
    assert "stage 1 of 1" in asked.explain()
    assert Sum("a") in asked.steps().stages[0].queries[0].parts.values()
    assert isinstance(sql("SELECT MAX(a) AS m FROM t [ROWS 3]").parts["m"], Max)


REFUSED = {
    "SELECT MAX(a) OVER (ORDER BY b) + MIN(c) AS x FROM t": ("MIN has no OVER", "MIN(c"),
    "SELECT MAX(MIN(a) OVER ()) OVER () AS x FROM t": ("over another's result", "MIN(a"),
    "SELECT MAXX(a) OVER () AS x FROM t": ("did you mean MAX?", "MAXX(a"),
    "SELECT ROWNUMBER() OVER () AS x FROM t": ("did you mean ROW_NUMBER?", "ROWNUMBER"),
    "SELECT MAX(e) OVER () FROM t": ("the frame has no column 'e'", "e"),
    "SELECT MAX(a) OVER (ORDER BY e) FROM t": ("the frame has no column 'e'", "e"),
    "SELECT MAX(a) OVER v FROM t WINDOW w AS ()": ("no window 'v'", "v"),
    "SELECT a FROM t WHERE MAX(a) OVER () > 3": ("QUALIFY chooses", "MAX(a"),
    "SELECT a, COUNT(*) OVER () FROM t GROUP BY a": ("needs a name", "COUNT"),
    "SELECT a, COUNT(*) OVER () AS n FROM t GROUP BY 3": ("there are 2 columns", "3"),
    "SELECT a, b, COUNT(*) OVER () AS n FROM t GROUP BY a": ("neither in GROUP BY", "b"),
    "SELECT DISTINCT a, COUNT(*) OVER () AS n FROM t ORDER BY b": ("by its results", "b"),
    "SELECT DISTINCT ON (a) a, COUNT(*) OVER () AS n FROM t": ("hint: QUALIFY", "DISTINCT ON"),
    "SELECT ISTREAM(MAX(a) OVER ()) AS m FROM t": ("ISTREAM goes with", "SELECT"),
    "SELECT e FROM (SELECT a, COUNT(*) OVER () AS n FROM t)": ("has no column 'e'", "e"),
    "SELECT n FROM (SELECT e, COUNT(*) OVER () AS n FROM t)": ("has no column 'e'", "e"),
    "SELECT x.n FROM (SELECT COUNT(*) OVER () AS n FROM t) AS y": ("x is not the stream", "x.n"),
    "SELECT n, SUM(n) OVER () AS s FROM (SELECT a, b, SUM(c) AS n FROM t GROUP BY a)": (
        "b is neither in GROUP BY nor aggregated",
        "b",
    ),
    "SELECT n, RANK() OVER (ORDER BY n) AS r FROM (SELECT SUM(c) AS n FROM t)": (
        "SUM has no OVER",
        "SUM(c",
    ),
    "SELECT a, SUM(a) OVER () AS s FROM (SELECT a FROM t UNION SELECT a FROM t)": (
        "UNION is not supported",
        "a FROM t UNION",
    ),
    "SELECT a FROM (SELECT a, COUNT(*) OVER () AS n FROM t HAVING n > 1)": ("QUALIFY", "HAVING"),
    "SELECT a, n FROM (SELECT a, MAX(b) AS n FROM t GROUP BY a QUALIFY n > 1) "
    "QUALIFY RANK() OVER (ORDER BY a) = 1": ("HAVING chooses", "QUALIFY"),
    "SELECT a, COUNT(*) OVER () FROM t JOIN u ON a = b": ("JOIN is not supported", "JOIN"),
    "SELECT COUNT(*) OVER () FROM (SELECT 1)": ("FROM is missing", ")"),
    "SELECT RANK() OVER () AS r FROM t": ("needs an order", "RANK"),
    "SELECT SUM(DISTINCT a) OVER () AS r FROM t": ("DISTINCT is not supported in SUM", "a"),
    "SELECT LAG(a, b) OVER (ORDER BY a) AS r FROM t": ("a constant is expected", "b"),
    "SELECT LAG(a) FILTER (WHERE b > 1) OVER (ORDER BY a) AS r FROM t": (
        "FILTER goes with",
        "LAG(a",
    ),
    "SELECT MAX(a) IGNORE NULLS OVER () AS r FROM t": ("leave it out", "MAX(a"),
    "SELECT RANK() IGNORE NULLS OVER (ORDER BY a) AS r FROM t": ("looks at no values", "RANK"),
    "SELECT a + 1, COUNT(*) OVER () FROM t": ("needs a name", "a + 1"),
    "SELECT a, b AS a, COUNT(*) OVER () FROM t": ("given to 2 results", "b AS a"),
    "SELECT STRING_AGG(s, ',') OVER (ORDER BY s DESC) AS r FROM t": (
        "depends on the order",
        "STRING",
    ),
    "SELECT STRING_AGG(s, ',') OVER (ORDER BY a DESC RANGE 2 PRECEDING) AS r FROM t": (
        "depends on the order",
        "STRING",
    ),
    "SELECT FIRST(a ORDER BY b) OVER () AS r FROM t": ("goes into […] or OVER (…)", "a ORDER"),
    "SELECT COUNT(*) OVER () AS n FROM t LIMIT -1": ("of 0 or more", "LIMIT"),
    "SELECT RANK() OVER (ORDER BY s DESC, s || s) AS r FROM t": ("goes another way", "s"),
    "SELECT MAD(a) OVER () AS r FROM t": ("hint: write QUANTILE(x, (0.25, 0.75))", "MAD(a"),
    "SELECT MAX(a + INTERVAL '1 mont') OVER () AS r FROM t": ("INTERVAL", "a +"),
    "SELECT SUM(a) OVER (ORDER BY b, c RANGE 1 PRECEDING) AS r FROM t": ("one column", "SUM(a"),
    "SELECT SUM(a) OVER (ORDER BY b ROWS -1 PRECEDING) AS r FROM t": ("write 1 FOLLOWING", "1"),
    "SELECT SUM(a) OVER (ORDER BY b ROWS 1 PRECEDING EXCLUDE TIES) AS r FROM t": (
        "EXCLUDE TIES goes",
        "SUM",
    ),
    "SELECT SUM(a) OVER (PARTITION BY b GROUPS 1 PRECEDING) AS r FROM t": ("needs ORDER BY", "SUM"),
    "SELECT NTH_VALUE(l, 2) OVER (ORDER BY a) AS r FROM t": ("IGNORE NULLS OVER", "NTH_VALUE(l"),
    "SELECT NTILE(0) OVER (ORDER BY a) AS r FROM t": ("of 1 or more", "NTILE"),
    "SELECT COUNT(*) OVER () AS n FROM t ORDER BY 3": ("there are 1 columns", "3"),
    "SELECT COUNT(*) OVER () AS n FROM t LIMIT a": ("", "a"),
    "SELECT u.a, COUNT(*) OVER () AS n FROM t": ("u is not the stream", "u.a"),
    "SELECT * EXCEPT (e), COUNT(*) OVER () AS n FROM t": ("no column 'e'", "e"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_is_shown_in_the_text(text: str) -> None:
    says, at = REFUSED[text]
    with pytest.raises(QuerySyntaxError) as caught:
        steps(text)
    message = str(caught.value)
    assert says in message
    shown, carets = message.splitlines()[1:3]
    start = len(carets) - len(carets.lstrip())
    assert shown.startswith("    SELECT")
    assert shown[start:].startswith(at), message
