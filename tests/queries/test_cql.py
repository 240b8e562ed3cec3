"""CQL: what a text asks, and its errors."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow.aggregations
from tests.catalogue import CLASSES
from windrow.aggregations import (
    KLL,
    ArgMax,
    ArgMin,
    Bloom,
    BottomK,
    Collect,
    CollectDistinct,
    Concat,
    Corr,
    Count,
    CountDistinct,
    CountMin,
    Covariance,
    First,
    FirstN,
    Histogram,
    HyperLogLog,
    Kurtosis,
    Last,
    Max,
    MaxCount,
    Mean,
    Median,
    Mode,
    MomentSketch,
    PercentRank,
    Quantile,
    Rank,
    Skewness,
    Slope,
    StdDev,
    Sum,
    TDigest,
    TopK,
    Variance,
    WeightedMean,
)
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, QuerySyntaxError
from windrow.queries.cql import sql
from windrow.queries.cql.functions import FUNCTIONS
from windrow.queries.query import Query, sliding
from windrow.windows.kinds import Hopping, window_of

# Figure 1 of paper 000, "Example query in CQL".
PHONE_CALLS = """\
Select IStream(Max(len)) as mxl,
       MaxCount(len) as num,
       ArgMax(len, caller) as who
From Calls [Range 24 Hours
            Slide 1 Minute]
"""


def span(**size: Any) -> Query:
    """A query over a range that leaves its order to be found in the frame."""
    return Query(window_of("span", **size), (("peak", Max("load")),))


def asked(bracket: str, rest: str = "") -> Query:
    query = sql(f"SELECT MAX(load) AS peak FROM s [{bracket}] {rest}")
    assert isinstance(query, Query)
    return query


def made(call: str) -> Aggregation:
    return dict(sql(f"SELECT {call} AS it FROM s [ROWS 3]").aggregations)["it"]


# -- what a text asks ------------------------------------------------------------------------


def test_the_phone_calls_of_the_paper() -> None:
    query = sql(PHONE_CALLS)
    assert query.source == "Calls"
    assert query.emit == "istream"
    assert query.window == Hopping(range="24 hours", slide="1 minute")
    assert query.parts == {
        "mxl": Max("len"),
        "num": MaxCount("len"),
        "who": ArgMax("len", "caller"),
    }
    assert query.order_by == query.partition_by == ()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ISTREAM(MAX(len) AS mxl, MAXCOUNT(len) num, ARGMAX(len, caller) AS who) FROM c {}",
        "ISTREAM(SELECT MAX(len) mxl, MAXCOUNT(len) num, ARGMAX(len, caller) who FROM c {});",
        "SELECT ISTREAM(MAX(len)) mxl,ISTREAM(MAXCOUNT(len) num, MAX_BY(caller,len) who) FROM c {}",
        "-- c\nselect istream(max(len))mxl,maxcount(len)num,/* ] */argmax(len,caller)who from c {}",
        "SELECT ISTREAM(MAX(c.len)) mxl, MAXCOUNT(x.len) num,ARGMAX(len,caller) who FROM x AS c {}",
    ],
)
def test_other_ways_to_write_it(text: str) -> None:
    assert sql(text.format("[RANGE 24 HOURS SLIDE 1 MINUTE]")) == sql(PHONE_CALLS)


@pytest.mark.parametrize(
    ("bracket", "query"),
    [
        ("ROWS 10", sliding(rows=10, peak=Max("load"))),
        ("rows 10 slide 5", sliding(rows=10, slide=5, peak=Max("load"))),
        ("ROWS UNBOUNDED SLIDE 5", sliding(rows="unbounded", slide=5, peak=Max("load"))),
        ("UNBOUNDED", sliding(rows="unbounded", peak=Max("load"))),
        ("ORDER BY ts UNBOUNDED", sliding(order_by="ts", range="unbounded", peak=Max("load"))),
        ("RANGE UNBOUNDED", span(range="unbounded")),
        ("NOW", span(range="now")),
        ("RANGE NOW ORDER BY ts", sliding(order_by="ts", range="now", peak=Max("load"))),
        ("RANGE 24 HOURS", span(range="24 hours")),
        ("RANGE 1 HOUR 30 MINUTES", span(range="1 hour 30 minutes")),
        ("RANGE '90' SECONDS", span(range="90 seconds")),
        ("RANGE INTERVAL '1' DAY", span(range="1 day")),
        ("RANGE '1h 30min'", span(range="1h 30min")),
        ("RANGE 24HOURS", span(range="24 hours")),
        ("RANGE 10", span(range=10)),
        ("RANGE 2.5 SLIDE .5", span(range=2.5, slide=0.5)),
        ("RANGE 1 HOUR CLOSED RIGHT", span(range="1 hour", closed="right")),
        (
            "RANGE 1 HOUR OFFSET -15 MINUTES SLIDE 1 HOUR",
            span(range="1 hour", slide="1 hour", offset="-15 minutes"),
        ),
        ("DELTA 2.5", span(delta=2.5)),
        ("DELTA 10 SLIDE 2", span(delta=10, slide=2)),
        (
            "PARTITION BY plug, house ORDER BY ts RANGE 1 HOUR LATENESS 10 MINUTES",
            sliding(
                partition_by=["plug", "house"],
                order_by="ts",
                range="1 hour",
                lateness="10 minutes",
                peak=Max("load"),
            ),
        ),
        (
            'ROWS 3 ORDER BY "my ts", order PARTITION BY "a ""b"""',
            sliding(partition_by='a "b"', order_by=["my ts", "order"], rows=3, peak=Max("load")),
        ),
        ("ON kind = 'end'", sliding(on="kind = 'end'", peak=Max("load"))),
        (
            "PARTITION BY plug ON kind = ']' -- end\n OR s.load > 3",
            sliding(partition_by="plug", on="kind = ']' OR load > 3", peak=Max("load")),
        ),
    ],
)
def test_brackets(bracket: str, query: Query) -> None:
    assert asked(bracket) == query


def test_group_by_is_partition_by_where_a_window_is_a_range() -> None:
    assert asked("RANGE 1 HOUR", "GROUP BY plug") == asked("PARTITION BY plug RANGE 1 HOUR")
    assert asked("UNBOUNDED", "GROUP BY a, b") == asked("PARTITION BY a, b UNBOUNDED")
    assert asked("PARTITION BY a, b ROWS 3", "GROUP BY b, a") == asked("PARTITION BY a, b ROWS 3")


def test_keys_and_window_bounds_may_be_listed() -> None:
    listed = "SELECT plug, window_start, MAX(load) FROM s [PARTITION BY plug RANGE 9 SLIDE 3]"
    assert sql(listed) == sql(listed.replace("plug, window_start, ", ""))


def test_conditions() -> None:
    query = sql(
        "SELECT AVG(load) AS \"from\", COUNT(*) FROM s [ROWS 3] WHERE s.load>0 AND kind<>'x' "
        "HAVING MEAN(load) > 2 AND count BETWEEN 1 AND COUNT(*) + 1"
    )
    assert query.where == "load > 0 AND kind <> 'x'"
    assert query.having == '"from" > 2 AND count BETWEEN 1 AND count + 1'


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("AVG(load)", Mean("load")),
        ("Mean(load)", Mean("load")),
        ("ARITHMETICMEAN(load)", Mean("load")),
        ("COUNT(*)", Count()),
        ("COUNT(1)", Count()),
        ("COUNT(load)", Count("load")),
        ("COUNT(DISTINCT load)", CountDistinct("load")),
        ("STDDEV(load)", StdDev("load")),
        ("STDDEV_SAMP(load)", StdDev("load")),
        ("STDDEV_POP(load)", StdDev("load", ddof=0)),
        ("POPULATIONSTDDEV(load)", StdDev("load", ddof=0)),
        ("VARIANCE(load)", Variance("load")),
        ("VAR_SAMP(load)", Variance("load")),
        ("VAR_POP(load)", Variance("load", ddof=0)),
        ("VARIANCE(load, ddof => 0)", Variance("load", ddof=0)),
        ("CORR(load, ts)", Corr("load", "ts")),
        ("COVAR_POP(load, ts)", Covariance("load", "ts", ddof=0)),
        ("REGR_SLOPE(load, ts)", Slope("load", "ts")),
        ("WEIGHTED_AVG(load, volt)", WeightedMean("load", "volt")),
        ("KURTOSIS_POP(load)", Kurtosis("load", bias=True)),
        ("SKEWNESS(load, bias => TRUE)", Skewness("load", bias=True)),
        ("ARGMAX(load, ts)", ArgMax("load", "ts")),
        ("ARG_MAX(ts, load)", ArgMax("load", "ts")),
        ("MAX_BY(ts, load)", ArgMax("load", "ts")),
        ("MIN_BY(ts, load)", ArgMin("load", "ts")),
        ("APPROX_COUNT_DISTINCT(load)", HyperLogLog("load")),
        ("HYPERLOGLOG(load, 14)", HyperLogLog("load", precision=14)),
        ("COLLECT_LIST(load)", Collect("load")),
        ("ARRAY_AGG(load)", Collect("load")),
        ("COLLECT_SET(load)", CollectDistinct("load")),
        ("FIRST_VALUE(load)", First("load")),
        ("LAST(load)", Last("load")),
        ("STRING_AGG(kind, ', ')", Concat("kind", separator=", ")),
        ("LISTAGG(kind)", Concat("kind")),
        ("CONCAT(CONCAT(a, b), 'it''s')", Concat("CONCAT(a, b)", separator="it's")),
        ("FIRSTN(load, 3)", FirstN("load", n=3)),
        ("FIRSTN(load, n => 3)", FirstN("load", n=3)),
        ("PERCENTILE(load, 0.5)", Quantile("load", q=0.5)),
        ("PERCENTILE_CONT(load, 0.5)", Quantile("load", q=0.5)),
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY load)", Quantile("load", q=0.9)),
        (
            "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY load * 2)",
            Quantile("load * 2", q=0.9, interpolation="inverted_cdf"),
        ),
        ("QUANTILE_DISC(load, 0.9)", Quantile("load", q=0.9, interpolation="inverted_cdf")),
        ("QUANTILE(load, 0.9, 'lower')", Quantile("load", q=0.9, interpolation="lower")),
        ("MODE() WITHIN GROUP (ORDER BY load)", Mode("load")),
        ("MODE(load)", Mode("load")),
        ("TOPK(load, 3)", TopK("load", k=3)),
        ("BOTTOM_K(load, k => 3)", BottomK("load", k=3)),
        ("RANK(load)", Rank("load")),
        ("PERCENT_RANK(load)", PercentRank("load")),
        ("HISTOGRAM(load, (0, 10, 20))", Histogram("load", edges=(0, 10, 20))),
        (
            "HISTOGRAM(load, bins => 2, low => 0, high => 20)",
            Histogram("load", bins=2, low=0, high=20),
        ),
        ("APPROX_PERCENTILE(load, ARRAY(0.5, 1))", KLL("load", q=(0.5, 1))),
        ("QUANTILE_CONT(load, (0.5, 0.9))", Quantile("load", q=(0.5, 0.9))),
        ("QUANTILE_CONT(load, [0.5, 0.9])", Quantile("load", q=(0.5, 0.9))),
        ("APPROX_QUANTILE(load, (0.5, 0.9))", TDigest("load", q=(0.5, 0.9))),
        ("MEDIAN(load)", Median("load")),
        ("APPROX_MEDIAN(load)", KLL("load", q=0.5)),
        ("MOMENTSKETCH(load, order => 8)", MomentSketch("load", order=8)),
        ("BLOOM(load, 1024, 3)", Bloom("load", bits=1024, hashes=3)),
        ("COUNTMIN(load, delta => 0.1)", CountMin("load", delta=0.1)),
        ("SUM(price*quantity)", Sum("price * quantity")),
        ("SUM(-load)", Sum("-load")),
        ('MAX("my load")', Max("my load")),
        ('MAX("order")', Max("order")),
        ('MAX("a - b")', Max('"a - b"')),  # the column, and not the difference
        ("MAX(s.load)", Max("load")),
        ("RANGE(CASE WHEN kind = 'a' THEN load END)", None),
    ],
)
def test_calls(call: str, part: Aggregation | None) -> None:
    if part is None:
        part = windrow.aggregations.Range("CASE WHEN kind = 'a' THEN load END")
    assert made(call) == part


def test_every_aggregation_has_its_name() -> None:
    assert {cls.__name__.upper() for cls in CLASSES} <= set(FUNCTIONS)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("MAX(len)", "max_len"),
        ("Avg(Load)", "avg_load"),
        ("COUNT(*)", "count"),
        ("COUNT(DISTINCT x)", "count_x"),
        ("MAX_BY(ts, load)", "max_by_ts_load"),
        ("FIRSTN(load, 3)", "firstn_load"),
        ("SUM(price * quantity)", "sum_price_quantity"),
        ("MAX(load) AS Peak", "Peak"),
        ('MAX(load) AS "the peak"', "the peak"),
    ],
)
def test_names_of_results(call: str, name: str) -> None:
    assert [own for own, _ in sql(f"SELECT {call} FROM s [ROWS 3]").aggregations] == [name]


# -- frames ----------------------------------------------------------------------------------


def test_a_frame_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "__call__", lambda query, frame: (query, frame))
    text = "SELECT MAX(len) FROM Calls [ROWS 3]"
    assert sql(text, calls="a frame") == (sql(text), "a frame")
    assert sql("SELECT MAX(len) FROM text [ROWS 3]", text="a frame")[1] == "a frame"


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (
            {"cals": 1},
            "FROM names 'calls', and no frame has that name; did you mean 'cals'? Known: cals",
        ),
        ({"calls": 1, "people": 2}, "the frame 'people' is not used: the query reads 'calls' only"),
        ({"calls": 1, "CALLS": 2}, "the frame 'CALLS' is not used: the query reads 'calls' only"),
    ],
)
def test_frames_that_do_not_fit(frames: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        sql("SELECT MAX(len) FROM calls [ROWS 3]", **frames)
    assert str(caught.value) == message


# -- errors ----------------------------------------------------------------------------------

_SNAPSHOTS = (Path(__file__).parent / "snapshots" / "cql_errors.txt").read_text("utf-8")
_REFUSED = re.findall(r"((?:^> .*\n)+)((?:^[^>\n].*\n)+)", _SNAPSHOTS, flags=re.MULTILINE)


@pytest.mark.parametrize(("written", "message"), _REFUSED, ids=[text for text, _ in _REFUSED])
def test_errors_show_the_place(written: str, message: str) -> None:
    text = re.sub(r"^> ", "", written, flags=re.MULTILINE).removesuffix("\n")
    with pytest.raises(QuerySyntaxError) as caught:
        sql(text)
    assert re.sub(r"([Kk]nown: ).*", r"\1…", str(caught.value)) == message.removesuffix("\n")


@pytest.mark.parametrize("text", ["", "  ", "-- nothing", 3])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"must be a query, as in SELECT … FROM …"):
        sql(text)


@given(st.text("SELECT MAX(x),[ROWS 3]'\"; -/*\n", max_size=40))
def test_no_text_fails_otherwise(text: str) -> None:
    for whole in (text, f"SELECT MAX(x) FROM s {text}", f"SELECT MAX(x) FROM s [{text}]"):
        with contextlib.suppress(InvalidArgument):
            sql(whole)


@pytest.mark.parametrize("package", ["sqlglot", "lark"])
def test_without_the_extra_the_error_names_it(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from windrow.queries.cql import sql\n"
        "sql('SELECT MAX(x) FROM s [ROWS 3]')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(f'need {package}: pip install "windrow[sql]"')
