"""Queries that run together: each is answered as if it ran alone."""

from __future__ import annotations

import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.tables.oracle import same
from windrow import (
    ArgMax,
    Collect,
    Concat,
    Count,
    CountDistinct,
    First,
    HyperLogLog,
    Last,
    Max,
    Mean,
    Min,
    Query,
    Range,
    Shared,
    StdDev,
    Sum,
    aggregation,
    shared,
    sliding,
)
from windrow.errors import InvalidArgument, Unsupported
from windrow.kernels.routes import traced

PARTS = {
    "n": Count(),
    "present": Count("v"),
    "total": Sum("v"),
    "mean": Mean("v"),
    "high": Max("v"),
    "low": Min("v"),
    "spread": Range("v"),
    "deviation": StdDev("v"),
    "where": ArgMax("v", "name"),
    "first": First("name"),
    "last": Last("v"),
    "names": CountDistinct("name"),
    "all": Collect("v"),
    "joined": Concat("name", separator="-"),
    "about": HyperLogLog("v"),
    "high_name": Max("name"),
    "real": Sum("x"),
    "real_mean": Mean("x"),
    "own": aggregation("v", lift=lambda v: v * v, combine=lambda a, b: a + b, lower=lambda s: s),
}


def three_at_least(total: Any, old: Any) -> bool:
    """What leaves three rows."""
    return bool(total.size - old.size >= 3)


PER_ROW: list[dict[str, Any]] = [
    {"rows": 1}, {"rows": 4}, {"rows": "unbounded"}, {"range": 5}, {"range": 5, "closed": "left"},
    {"range": "now"}, {"range": "unbounded"}, {"delta": 2.5},
]  # fmt: skip
SLIDING: list[dict[str, Any]] = [
    {"rows": 4, "slide": 2}, {"rows": 5, "slide": 3}, {"rows": "unbounded", "slide": 3},
    {"range": 6, "slide": 2}, {"range": 5, "slide": 3, "offset": 1}, {"range": 12, "slide": 12},
    {"on": "v = 3"},
]  # fmt: skip
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(0, 30),
        st.one_of(st.none(), st.integers(-9, 9)),
        st.sampled_from("xyz"),
        st.one_of(st.none(), st.sampled_from([0.5, -1.25, 3.0, 1e8, 0.1])),
    ),
    max_size=40,
)


NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}


def table_of(rows: list[Any]) -> pa.Table:
    """A table of (key, t, v, name, x) rows."""
    columns = list(zip(*rows, strict=True)) or [[]] * 5
    types = [pa.string(), pa.int64(), pa.int64(), pa.string(), pa.float64()]
    arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
    return pa.table(dict(zip(["key", "t", "v", "name", "x"], arrays, strict=True)))


def queries(windows: list[dict[str, Any]], least: int = 2) -> st.SearchStrategy[list[Query]]:
    """Several queries, over the same or other keys, that have some aggregations in common."""
    common = st.sets(st.sampled_from(sorted(PARTS)), min_size=1, max_size=5)

    def one(names: set[str]) -> st.SearchStrategy[Query]:
        return st.builds(
            lambda window, keys, some, where: sliding(
                {name: PARTS[name] for name in sorted(some | set(list(names)[:1]))},
                partition_by=keys, order_by="t", where=where, **window,
            ),
            st.sampled_from(windows),
            st.sampled_from([None, "key", "key", ["key", "name"]]),
            st.sets(st.sampled_from(sorted(names))),
            st.sampled_from([None, None, "v > 0"]),
        )  # fmt: skip

    return common.flatmap(lambda names: st.lists(one(names), min_size=least, max_size=5))


def is_exact(name: str) -> bool:
    """Whether its result does not depend on how the rows are put together."""
    part = PARTS[name]
    return part.exact or (part.exact_on_integers and part.columns[0] == "v")


def check(asked: list[Query], table: pa.Table) -> None:
    """Every query's answers are those that it gives alone."""
    together = shared(*asked)(table)
    assert len(together) == len(asked)
    for query, made in zip(asked, together, strict=True):
        alone = query(table)
        assert made.schema == alone.schema
        assert made.num_rows == alone.num_rows
        for name in alone.column_names:
            got, want = made[name].to_pylist(), alone[name].to_pylist()
            if name not in PARTS or is_exact(name):
                assert got == want, (query, name)
            else:
                assert all(map(same, got, want)), (query, name, got, want)


@pytest.mark.parametrize(
    "windows", [PER_ROW, SLIDING, PER_ROW + SLIDING], ids=["a row", "a slide", "mixed"]
)
@examples(12)
@given(data=st.data(), rows=ROWS)
def test_each_is_answered_as_if_it_ran_alone(
    windows: list[dict[str, Any]], data: st.DataObject, rows: Any
) -> None:
    asked, table = data.draw(queries(windows)), table_of(rows)
    check(asked, table)


@examples(12)
@given(asked=queries(PER_ROW + SLIDING), rows=ROWS)
def test_pandas_and_polars_answer_as_arrow_does(asked: list[Query], rows: Any) -> None:
    table = table_of(rows)
    arrow = shared(*asked)(table)
    for polars, made in zip(shared(*asked)(pl.from_arrow(table)), arrow, strict=True):
        assert isinstance(polars, pl.DataFrame)
        assert polars.to_dicts() == made.to_pylist()
    frame = table.to_pandas(types_mapper=NULLABLE.get)
    for query, pandas in zip(asked, shared(*asked)(frame), strict=True):
        assert isinstance(pandas, pd.DataFrame)
        pd.testing.assert_frame_equal(pandas, query(frame))


@given(rows=ROWS, limits=st.lists(st.sampled_from([2, 3, 5]), min_size=2, max_size=3))
@examples(15)
def test_policies_run_beside_other_windows(rows: Any, limits: list[int]) -> None:
    asked = [sliding(order_by="t", rows=w, high=Max("v"), n=Count()) for w in limits]
    asked.append(sliding(order_by="t", until=three_at_least, size=Count()))
    check(asked, table_of(rows))


def test_the_same_query_twice_is_answered_twice() -> None:
    query = sliding(order_by="t", range=4, slide=2, total=Sum("v"))
    first, second = shared(query, query)(pa.table({"t": [1, 2, 5], "v": [3, 4, 5]}))
    assert first.equals(second) and first.num_rows


def test_one_query_is_enough() -> None:
    query = sliding(rows=2, high=Max("v"))
    table = pa.table({"v": [2, 1, 0]})
    (made,) = shared(query)(table)
    assert made.equals(query(table))


def test_it_is_a_value() -> None:
    one, two = sliding(rows=2, high=Max("v")), sliding(rows=4, slide=2, low=Min("v"))
    both = shared(one, two)
    assert both == shared(one, two) != shared(two, one)
    assert pickle.loads(pickle.dumps(both)) == both
    assert hash(both) == hash(shared(one, two))
    assert list(both) == [one, two] and len(both) == 2
    assert repr(both) == f"shared({one!r}, {two!r})"
    assert isinstance(both, Shared)


def test_mistakes_are_errors_before_any_work() -> None:
    with pytest.raises(InvalidArgument, match="at least one query"):
        shared()
    with pytest.raises(InvalidArgument, match=r"Max\(\) is not a query"):
        shared(Max())  # type: ignore[arg-type]
    good, bad = sliding(rows=2, high=Max("v")), sliding(rows=2, high=Max("vv"))
    with pytest.raises(InvalidArgument, match="did you mean 'v'"):
        shared(good, bad)(pa.table({"v": [1]}))


def test_a_stream_of_events_has_no_keys() -> None:
    with pytest.raises(Unsupported, match="neither keys"):
        shared(sliding(partition_by="k", rows=2, high=Max("v"))).stream()
    with pytest.raises(Unsupported, match="no slices of a fixed length"):
        shared(sliding(order_by="t", range=2, high=Max("v"))).stream()


@given(
    values=st.lists(st.integers(-9, 9), max_size=30),
    windows=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=4),
)
def test_a_stream_gives_the_answers_of_the_table(
    values: list[int], windows: list[tuple[int, int]]
) -> None:
    asked = [sliding(rows=max(w), slide=min(w), a=Sum("v"), b=Max("v")) for w in windows]
    together = shared(*asked)
    got: list[list[Any]] = [[] for _ in asked]
    stream = together.stream()
    for value in values:
        for answer in stream.push({"v": value}):
            got[answer.query].append(answer.value)
    tables = together(pa.table({"v": pa.array(values, pa.int64())}))
    for streamed, table in zip(got, tables, strict=True):
        assert [dict(answer) for answer in streamed] == table.select(["a", "b"]).to_pylist()


MINUTE = 60 * 10**9


@given(minutes=st.lists(st.integers(0, 60), min_size=1, max_size=30), lateness=st.integers(1, 20))
def test_late_values_enter_in_their_turn_or_are_counted(minutes: list[int], lateness: int) -> None:
    sizes = [("20 minutes", "5 minutes"), ("9 minutes", "3 minutes")]
    asked = [
        sliding(
            order_by="t", range=range, slide=slide, lateness=f"{lateness} minutes",
            total=Sum("v"), order=Collect("v"),
        )
        for range, slide in sizes
    ]  # fmt: skip
    stream = shared(*asked).stream()
    got: list[list[Any]] = [[] for _ in asked]
    entered: list[tuple[int, int]] = []
    answers = []
    for i, minute in enumerate(minutes):
        late = minute < max(minutes[: i + 1]) - lateness
        entered += [] if late else [(minute, i)]
        answers += stream.push({"v": i}, at=minute * MINUTE)
    assert stream.late == len(minutes) - len(entered)
    for answer in [*answers, *stream.advance(200 * MINUTE)]:
        got[answer.query].append((answer.end, dict(answer.value)))
    entered.sort()
    at = pa.array([minute * MINUTE for minute, _ in entered]).cast(pa.timestamp("ns"))
    rows = pa.table({"t": at, "v": [i for _, i in entered]})
    for query, streamed in zip(asked, got, strict=True):
        table = query(rows)
        ends = table["window_end"].cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist()
        wanted = table.select(["total", "order"]).to_pylist()
        assert streamed == list(zip(ends, wanted, strict=True))


def test_a_lateness_that_a_stream_of_events_cannot_keep_is_refused() -> None:
    hourly = sliding(order_by="t", range="1 hour", slide="1 hour", n=Sum("v"), lateness="1 minute")
    with pytest.raises(Unsupported, match="need the same lateness"):
        shared(hourly, hourly.replace(lateness="2 minutes")).stream()
    with pytest.raises(Unsupported, match="is a time, and the last 2 rows"):
        shared(sliding(rows=2, n=Sum("v"), lateness="1 minute")).stream()
    with pytest.raises(InvalidArgument, match="give at= with every value"):
        shared(hourly).stream().push({"v": 1})


def test_queries_that_do_not_profit_are_planned_apart() -> None:
    sizes = [("1 s", "1 ms"), ("1000 days", "1 day"), ("30 days", "1 day")]
    keyed = [
        sliding(partition_by="k", order_by="t", range=r, slide=s, **{f"total_{i}": Sum("v")})
        for i, (r, s) in enumerate(sizes)
    ]
    for asked in (keyed, [query.replace(partition_by=()) for query in keyed]):
        text = shared(*asked).explain()
        assert "plan of 0: apart from 1, 2: together they would hold 86400000000 slices" in text
        assert "plan of 1, 2: together: they save 1 of 2 passes over the rows" in text
    seconds = [0, 1, 3600, 86_400 * 40, 86_400 * 900]
    at = pa.array(np.array(seconds, "M8[s]").astype("M8[us]"))
    rows = pa.table({"t": at, "k": ["a", "b", "a", "b", "a"], "v": [1, 2, 3, 4, 5]})
    with traced() as ran:
        made = shared(*keyed)(rows)
    assert sorted(way for _, way in ran) == ["flatfit", "sums"], "one pass for both by days"
    assert [each.equals(query(rows)) for each, query in zip(made, keyed, strict=True)] == [True] * 3


def test_one_query_is_a_stream_with_its_lateness() -> None:
    query = sliding(
        order_by="t", range="2 minutes", slide="1 minute", lateness="1 minute", v=Collect("v")
    )
    alone, together = query.stream(), shared(query).stream()
    for i, minute in enumerate([3, 2, 4, 1, 9, 8, 6, 12]):
        pushed = [each.push({"v": i}, at=minute * MINUTE) for each in (alone, together)]
        assert pushed[0] == pushed[1]
    assert alone.late == together.late == 2
    with pytest.raises(Unsupported, match="neither keys"):
        query.replace(partition_by=("k",)).stream()
