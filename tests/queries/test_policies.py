"""Policies as text: in Python, in CQL, and what is wrong with them."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow import Collect, Count, Last, Max, Mean, Sum, sliding, sql
from windrow.aggregations.together import Record
from windrow.errors import QuerySyntaxError, Unsupported
from windrow.kernels.routes import traced
from windrow.queries.policies import TextPolicy

NAN = float("nan")
TABLE = pa.table({"i": range(6), "k": [1] * 6, "v": [2, 2, 3, 3, 4, 11]})


@pytest.mark.parametrize(
    ("text", "seen", "answer"),
    [
        ("s > 10", {"s": 11}, True),
        ("s > 10", {"s": None}, False),
        ("NOT s > 10", {"s": None}, False),
        ("NOT (s > 10 AND n > 3)", {"s": None, "n": 2}, True),
        ("s > 10 OR n > 3", {"s": None, "n": 4}, True),
        ("s IS NULL", {"s": None}, True),
        ("s IS NOT NULL AND s <> 3", {"s": 4}, True),
        ("s > 10", {"s": NAN}, True),
        ("s <= 10", {"s": NAN}, False),
        ("s = n", {"s": NAN, "n": NAN}, True),
        ("s / n >= 2", {"s": 4, "n": 0}, False),
        ("s / n >= 2", {"s": 5, "n": 2}, True),
        ("ABS(s - n * 2) + -1 < 1.5", {"s": 1, "n": 1}, True),
        ("s BETWEEN 1 AND 3", {"s": 3}, True),
        ("s NOT BETWEEN 1 AND 3", {"s": None}, False),
        ("last = 'x'", {"last": "x"}, True),
        ("TRUE", {}, True),
        ('"my sum" >= 3', {"my sum": 3}, True),
    ],
)
def test_a_text_means_what_sql_means(text: str, seen: dict[str, Any], answer: bool) -> None:
    assert TextPolicy(text)(Record(seen)) is answer


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.integers(-4, 8), min_size=1, max_size=40))
def test_the_oldest_rows_go_while_the_condition_holds(values: list[int]) -> None:
    wanted, held = [], []
    for i in range(len(values)):
        held.append(i)
        while held and (sum(values[j] for j in held) > 10 or max(values[j] for j in held) > 7):
            held.pop(0)
        wanted.append(list(held) or None)
    text = "SELECT SUM(v) AS s, MAX(v) AS m, COLLECT(i) AS all FROM t [UNTIL SUM(v) > 10 OR m > 7]"
    with traced() as ran:
        made = sql(text, t=pa.table({"i": range(len(values)), "v": values}))
    assert made["all"].to_pylist() == wanted
    assert ran[0] == ("'s > 10 OR m > 7'", "compiled")


def test_total_and_old_are_the_policy_of_the_paper() -> None:
    query = sliding(
        until="total.s - old.s + old.last > 10", s=Sum("v"), last=Last("v"), all=Collect("i")
    )
    function = query.replace(
        window=sliding(until=lambda total, old: total.s - old.s + old.last > 10, n=Count()).window
    )
    assert query(TABLE).equals(function(TABLE))
    assert query(TABLE)["s"].to_pylist() == [2, 4, 7, 10, 10, None]


@pytest.mark.parametrize(
    ("bracket", "query"),
    [
        ("UNTIL SUM(v) > 10", sliding(until="s > 10", s=Sum("v"), n=Count())),
        ("UNTIL s > 10 AND COUNT(*) > 1", sliding(until="s > 10 AND n > 1", s=Sum("v"), n=Count())),
        ("PARTITION BY k SLIDE 2 UNTIL n >= 3",
         sliding(partition_by="k", slide=2, until="n >= 3", s=Sum("v"), n=Count())),
        ("UNTIL total.n - old.n > 3", sliding(until="total.n - old.n > 3", s=Sum("v"), n=Count())),
        ("SLIDE 3 ON kind = 'end'", sliding(slide=3, on="kind = 'end'", s=Sum("v"), n=Count())),
    ],
)  # fmt: skip
def test_words_of_cql_and_the_way_back(bracket: str, query: Any) -> None:
    made = sql(f"SELECT SUM(v) AS s, COUNT(*) AS n FROM t [{bracket}]")
    assert made == query
    assert sql(made.sql()) == made
    assert eval(repr(made)) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.fingerprint == query.fingerprint


@pytest.mark.parametrize(
    ("bracket", "marked", "problem"),
    [
        ("UNTIL MEAN(v) > 10", "MEAN(v)", "MEAN(v) is not among the results"),
        ("UNTIL t > 10", "t", "t is not among the results"),
        ("UNTIL total.s > n", "n", "total and old do not go with the window itself"),
        ("UNTIL other.s > 3", "other.s", "other is neither total nor old"),
        ("UNTIL s LIKE 'a'", "s LIKE 'a'", "LIKE is no condition of a policy"),
        ("UNTIL UPPER(s) > 3", "UPPER(s)", "UPPER is not known in a policy"),
        ("UNTIL s", "s", "COLUMN is no condition of a policy"),
        ("UNTIL s >", ">", "something is missing here"),
        ("UNTIL s > 3 ROWS 3", "ROWS", "not expected here"),
        ("ROWS 3 UNTIL s > 3", "UNTIL s > 3", "a window has one size, and this is a second"),
        ("CLOSED LEFT UNTIL s > 3", "CLOSED LEFT", "CLOSED means nothing in such a window"),
        ("SLIDE 1 MINUTE UNTIL s > 3", "[", "slide must be a whole number"),
        ("UNTL s > 3", "UNTL", "did you mean 'UNTIL'"),
    ],
)
def test_errors_point_at_the_place(bracket: str, marked: str, problem: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        sql(f"SELECT SUM(v) AS s, COUNT(*) AS n FROM t [{bracket}]")
    said = str(caught.value)
    assert problem in said
    line, marks = said.splitlines()[-2:] if "^" in said.splitlines()[-1] else said.splitlines()[1:3]
    assert line[marks.index("^") :].startswith(marked.split()[0][0])


def test_group_by_does_not_go_with_a_policy() -> None:
    with pytest.raises(QuerySyntaxError, match="GROUP BY goes with RANGE windows only"):
        sql("SELECT SUM(v) AS s FROM t [UNTIL s > 3] GROUP BY k")


def test_python_tells_mistakes_as_well() -> None:
    with pytest.raises(QuerySyntaxError, match="x is not among the results"):
        sliding(until="x > 3", s=Sum("v"))
    with pytest.raises(QuerySyntaxError, match="until: something is missing here"):
        sliding(until="s >", s=Sum("v"))


def test_a_function_has_no_words() -> None:
    query = sliding(until=lambda window: window > 3, slide=2, high=Max("v"), mean=Mean("v"))
    with pytest.raises(Unsupported, match="is a function, which CQL has no words for"):
        query.sql()
