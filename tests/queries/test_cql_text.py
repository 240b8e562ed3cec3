"""CQL: the way back from a query to its text."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import CLASSES
from tests.examples import examples
from tests.queries.random_expressions import EXPRESSIONS
from windrow.aggregations import Concat, Count, FirstN, Max, MomentSketch, Sum, aggregation
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, Unsupported
from windrow.queries.cql import sql, to_sql
from windrow.queries.expressions import normal
from windrow.queries.query import Query, sliding
from windrow.windows.kinds import Hopping, On, Rows, Span, Window

NAMES = st.sampled_from(
    [
        *("load", "ts", "Plug", "_x", "größe", "my load", 'a "b"', "a - b]", "x.y", "order"),
        *("from", "by", "rows", "on", "select", "interval", "if", "count", "istream", "null"),
        *("end", "as", "max", "group", "date"),
    ]
)
DURATIONS = st.sampled_from(
    ["90 seconds", "1 hour", "1h 30min", "1.5 hours", "90s", "5 µs", "2 Days"]
)
NUMBERS = st.integers(1, 10**6) | st.sampled_from([0.5, 2.0, 1e-9, 1e22])
CANONICAL = EXPRESSIONS.map(lambda text: normal(text, "expression"))


def _columns() -> st.SearchStrategy[str]:
    """Columns as `sql` gives them: a name that could be an expression keeps its quotes."""
    return (NAMES | CANONICAL).map(_read_back)


def _read_back(text: str) -> str:
    query = sql(f"SELECT MAX({_written(text)}) AS it FROM s [ROWS 3]")
    return dict(query.aggregations)["it"].columns[0]


def _written(text: str) -> str:
    quoted = '"' + text.replace('"', '""') + '"'
    try:
        return normal(text, "column") if " " in text else quoted
    except InvalidArgument:
        return quoted


@st.composite
def parts(draw: st.DrawFn) -> Aggregation:
    example = draw(st.sampled_from([e for cls in CLASSES for e in cls.examples()]))
    columns = draw(st.lists(_columns(), min_size=example.arity, max_size=example.arity))
    if isinstance(example, Count) and draw(st.booleans()):
        columns = []
    more: dict[str, Any] = {}
    if isinstance(example, MomentSketch):
        more = {"order": 8, "quantiles": draw(st.sampled_from([None, 0.5, (0.1,), (0.1, 0.9)]))}
    if isinstance(example, Concat):
        more = {"separator": draw(st.sampled_from(["", ", ", "'", "]"]))}
    return type(example)(*columns, **{**example.parameters(), **more})


@st.composite
def windows(draw: st.DrawFn) -> Window:
    kind = draw(st.sampled_from(["rows", "range", "delta", "on", "special"]))
    if kind == "rows":
        size = draw(st.none() | st.integers(1, 1000))
        if draw(st.booleans()):
            return Rows(size, draw(st.integers(1, 10**6)), gaps=True)
        return Rows(size, draw(st.none() | st.integers(1, size or 1000)))
    if kind == "on":
        return On(draw(CANONICAL | st.sampled_from(["closes", "kind = ']'"])))
    if kind == "special":
        return Span(range=draw(st.sampled_from(["unbounded", "now"])))
    size = draw(NUMBERS if kind == "delta" else NUMBERS | DURATIONS)
    if draw(st.booleans()):
        closed = draw(st.sampled_from(["both", "left", "right", "neither"]))
        return Span(**{kind: size}, closed=closed)
    offsets = st.sampled_from(
        ["1 second", "-3 minutes", "-2s"] if isinstance(size, str) else [1, -2.5]
    )
    gaps = draw(st.booleans())
    slide = "3 weeks" if gaps and isinstance(size, str) else size
    return Hopping(**{kind: size}, slide=slide, offset=draw(st.none() | offsets), gaps=gaps)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    window = draw(windows())
    names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=6))
    cut = draw(st.integers(1, len(names)))
    results = tuple((name, draw(parts())) for name in names[:cut])
    order = draw(st.lists(NAMES, unique=True, max_size=1 if window.measured else 2))
    return Query(
        window,
        results,
        tuple(names[cut:]),
        tuple(order),
        draw(st.none() | CANONICAL),
        draw(st.none() | CANONICAL),
        draw(st.sampled_from(["rstream", "istream"])),
        draw(st.none() | DURATIONS),
        draw(NAMES),
    )


@examples(150)
@given(queries())
def test_a_text_is_read_back_as_the_query_that_it_was(query: Query) -> None:
    text = to_sql(query)
    back = sql(text)
    assert back == query, text
    assert back.source == query.source
    assert to_sql(back) == text


CANONICAL_TEXT = """\
SELECT ISTREAM(FIRSTN(load, 2) AS "from",
               MAX(load) AS peak,
               MOMENTSKETCH(load, quantiles => ARRAY(0.5, 0.99)) AS shares,
               CONCAT(kind, separator => ', ') AS words,
               SUM(price * quantity) AS total,
               COUNT(*) AS n)
FROM stream [PARTITION BY plug ORDER BY ts LATENESS '90s' RANGE 1 HOUR SLIDE 1 MINUTE]
WHERE load > 0
HAVING peak > 3"""


def test_the_canonical_text() -> None:
    query = sliding(
        {"from": FirstN("load", n=2)},
        partition_by="plug",
        order_by="ts",
        range="1 hour",
        slide="1 minute",
        lateness="90s",
        where="load>0",
        having="peak>3",
        emit="istream",
        peak=Max("load"),
        shares=MomentSketch("load", quantiles=(0.5, 0.99)),
        words=Concat("kind", separator=", "),
        total=Sum("price*quantity"),
        n=Count(),
    )
    assert query.sql() == to_sql(query) == CANONICAL_TEXT


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (dt.timedelta(hours=1), "1 HOUR"),
        (dt.timedelta(days=14), "2 WEEKS"),
        (dt.timedelta(minutes=90), "90 MINUTES"),
        (dt.timedelta(microseconds=1500), "1500 MICROSECONDS"),
    ],
)
def test_timedeltas_are_written_in_words(size: dt.timedelta, text: str) -> None:
    query = sliding(order_by="ts", range=size, peak=Max("load"))
    assert f"RANGE {text}]" in to_sql(query)
    assert sql(to_sql(query)).window.measure() == query.window.measure()


def _too_heavy(total: Any, old: Any) -> bool:
    return bool(total.weight > 3)


def _heavy(row: Any) -> bool:
    return bool(row["load"] > 3)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            sliding(until=_too_heavy, weight=Sum("load")),
            "until=_too_heavy is a function, which CQL has no words for",
        ),
        (
            sliding(on=_heavy, weight=Sum("load")),
            "on=_heavy is a function, which CQL has no words for",
        ),
        (
            sliding(
                rows=3,
                weight=aggregation("load", lift=abs, combine=max, lower=abs),
            ),
            "is an aggregation of your own, which CQL has no name for",
        ),
    ],
)
def test_what_cql_has_no_words_for(query: Query, message: str) -> None:
    with pytest.raises(Unsupported) as caught:
        to_sql(query)
    assert message in str(caught.value)
