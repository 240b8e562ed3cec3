"""What a plan says is what runs: every kind of window, every aggregation, on every column."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.catalogue import AGGREGATIONS, identified
from tests.streams.feeding import Stream, plan_of, readings
from tests.tables.oracle import same
from windrow import (
    ArgMax,
    Bloom,
    Count,
    Last,
    Max,
    Mean,
    Min,
    Product,
    Query,
    Range,
    StdDev,
    Sum,
    Variance,
    shared,
    sliding,
)  # fmt: skip
from windrow.aggregations.base import Aggregation
from windrow.identity import named
from windrow.kernels import named as kernels
from windrow.kernels.routes import NotCompiledWarning, traced
from windrow.queries.plan import Plan, share
from windrow.tables.bind import bind
from windrow.tables.states import states_of

WINDOWS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 5},
    "rows, a slide": {"rows": 6, "slide": 2},
    "unbounded": {"rows": "unbounded"},
    "range": {"range": "9 s"},
    "range so far": {"range": "unbounded"},
    "hopping": {"range": "9 s", "slide": "3 s"},
    "hopping, uneven": {"range": "9 s", "slide": "4 s"},
    "policy": {"until": lambda total, old: False},
    "policy, a slide": {"until": lambda window: window.result0 is None, "slide": 3},
    "punctuation": {"on": "id % 4 = 0"},
    "sessions": {"gap": "2 s"},
}
# a sketch of moments without quantiles is no column
ALONE = [each for each in AGGREGATIONS if each.parts is None and each.result != "moments"]
ROWS = readings(40, keys=3, seed=5)
FRAME = ROWS.append_column("text", pa.array([f"w{i % 7}" for i in range(40)])).append_column(
    "money", ROWS.column("y").cast(pa.decimal128(12, 2))
)
FRAME = FRAME.append_column("flag", pc.greater(ROWS.column("x"), 3))


def of(aggregation: Aggregation, column: str) -> Aggregation:
    """The same aggregation of a column; of pairs, with the time, or another number, beside it."""
    beside = "y" if aggregation.takes == "number pair" else "ts"
    bound = copy.copy(aggregation)
    bound.columns = (column, beside) if aggregation.arity == 2 else (column,)
    return bound


def query_of(window: str, *aggregations: Aggregation) -> Query:
    asked = {f"result{i}": each for i, each in enumerate(aggregations)}
    return sliding(asked, partition_by="key", order_by="ts", **WINDOWS[window])


def routes(plan: Plan, frame: pa.Table) -> set[tuple[str, str]]:
    """What the plan says of each result over a frame."""
    found = set()
    for result in plan.results:
        nulls = any(frame.column(name).null_count for name in result.aggregation.columns[:1])
        found.add((repr(result.aggregation), result.route(nulls).name))
    return found | policy_routes(plan)


def policy_routes(plan: Plan) -> set[tuple[str, str]]:
    """What the plan says of the policy, if it has one."""
    if plan.policy is None:
        return set()
    way = "interpreted" if plan.policy.why_not else "compiled"
    return {(repr(named(plan.query.window.policy)), way)}


@pytest.mark.parametrize("column", ["x", "y"])  # whole numbers with nulls, floats without
@pytest.mark.parametrize("window", WINDOWS)
def test_a_table_runs_its_plan(window: str, column: str) -> None:
    others = {"text": "text", "integer": "x", "boolean": "flag"}
    every = [of(agg, others.get(agg.takes, column)) for agg in ALONE]
    query = query_of(window, *every)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiledWarning)
        with traced() as ran:
            query(FRAME)
        assert set(ran) == routes(bind(query, FRAME.schema).plan, FRAME)


@pytest.mark.parametrize("column", ["text", "ts", "money"])
def test_values_that_are_no_numbers_run_as_the_plan_says(column: str) -> None:
    fitting = [of(a, column) for a in ALONE if a.takes in ("any", "ordered", "hashable")]
    query = query_of("range", *[a for a in fitting if a.functions is None])
    with traced() as ran:
        query(FRAME)
    assert set(ran) == routes(bind(query, FRAME.schema).plan, FRAME)


@pytest.mark.parametrize("rows", [(-3, 3), (-5, -2), (1, 4)])
@pytest.mark.parametrize("length", [2, 500])
def test_frames_over_short_keys_run_as_the_plan_says(rows: tuple[int, int], length: int) -> None:
    """Where most windows are cut off by the ends of keys, none is that of another row."""
    n = 1000
    frame = pa.table({"k": np.arange(n) // length, "i": np.arange(n), "y": np.arange(n) / 3})
    parts = {"a": StdDev("y"), "b": Max("y"), "c": Count(), "d": Product("y")}
    query = sliding(parts, partition_by="k", order_by="i", rows=rows)
    with traced() as ran:
        query(frame)
    results = bind(query, frame.schema).plan.results
    assert [way for _, way in ran] == [result.route().name for result in results]
    assert [result.name for result in results if result.by_bounds_at_ends] == ["a", "b"]
    assert query.explain(frame).count("cuts off: by the bounds of each window") == 2


def test_queries_that_share_slices_say_so() -> None:
    hop = {"partition_by": "key", "order_by": "ts", "range": "9 s"}
    queries = [
        sliding(**hop, slide="3 s", a=Max("y"), total=Sum("y")),
        sliding(**hop, slide="1 s", b=Max("y")),
        sliding(**hop, c=Max("y")),
    ]
    with traced() as ran:
        shared(*queries)(FRAME)
    assert sorted(ran) == [("Max('y')", "flatfit"), ("Max('y')", "maxima"), ("Sum('y')", "sums")]
    plans = share([bind(query, FRAME.schema).plan for query in queries])
    assert {pair for plan in plans for pair in routes(plan, FRAME)} == set(ran)
    assert "flatfit" in shared(*queries).explain()


def test_a_sketch_over_slices_holds_one_for_each_slice() -> None:
    query = sliding(order_by="ts", range="9 s", slide="3 s", seen=Bloom("y"))
    assert "flatfit, compiled: each slice is aggregated once" in query.explain(FRAME)
    assert "1 sketch for each slice of the window" in query.explain(FRAME)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("agg", [Max(), Sum(), Bloom()], ids=identified)
def test_a_stream_keeps_what_its_plan_says(agg: Aggregation, window: str) -> None:
    query = query_of(window, of(agg, "y"))
    bound = bind(query, ROWS.schema)
    with traced() as ran:
        stream = Stream(plan_of(query, schema=ROWS.schema))
        for begin in range(0, ROWS.num_rows, 8):
            stream.push(ROWS.slice(begin, 8))
        stream.finish()
    kept = {way for what, way in ran if what == repr(query.window)}
    assert kept == {bound.plan.stream}
    made = {pair for pair in ran if pair[0] == repr(of(agg, "y"))}
    assert made <= routes(bound.plan, ROWS)


def test_a_plan_is_a_value() -> None:
    query = query_of("hopping", of(Max(), "y"))
    plan = bind(query, FRAME.schema).plan
    assert plan == bind(query, FRAME.schema).plan
    assert plan != bind(query_of("hopping", of(Max(), "x")), FRAME.schema).plan


def test_the_frame_decides() -> None:
    query = query_of("rows", of(Max(), "text"))
    assert query.explain(FRAME).splitlines()[-3].strip().startswith("maxima")
    table = pa.table({"key": ["a"], "ts": np.array([1], "M8[us]"), "v": [[1]]})
    listed = sliding(order_by="ts", rows=2, last=Last("v"))
    assert "windows" in listed.explain(table)


# -- one state for several results ---------------------------------------------------------------

SUMS = {"total": Sum("x"), "mean": Mean("x"), "n": Count("x"), "peak": Max("x"), "low": Min("x")}
passes = pytest.mark.parametrize("window", ["rows", "rows, a slide", "range", "hopping"])


@passes
@pytest.mark.parametrize("column", ["x", "y"])  # with nulls and without
def test_sum_mean_and_count_are_one_pass(
    window: str, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    for name in ("_found_sum", "_found_extreme"):
        own = getattr(kernels, name)

        def watched(*given: Any, own: Any = own, name: str = name) -> Any:
            found.append(name)
            return own(*given)

        monkeypatch.setattr(kernels, name, watched)
    asked = {name: of(part, column) for name, part in SUMS.items()}
    asked["spread"] = Range(column)
    keyed: dict[str, Any] = {"partition_by": "key", "order_by": "ts", **WINDOWS[window]}
    query = sliding(asked, **keyed)
    made = query(FRAME)
    assert sorted(found) == ["_found_extreme", "_found_extreme", "_found_sum"]
    for name, part in asked.items():
        alone = sliding({name: part}, **keyed)(FRAME)
        assert made.column(name).equals(alone.column(name)), "to the last bit"
    plan = bind(query, FRAME.schema).plan
    assert {result.name: result.beside for result in plan.results} == {
        "total": ("mean", "n"), "mean": ("total", "n"), "n": ("total", "mean"),
        "peak": ("spread",), "low": ("spread",), "spread": ("peak", "low"),
    }  # fmt: skip
    assert "found once with mean, n: how many values are not null, the sum" in query.explain(FRAME)


def test_what_goes_another_way_shares_nothing() -> None:
    """Those that share slices with another query are made there."""
    hop = {"partition_by": "key", "order_by": "ts", "range": "9 s"}
    queries = [
        sliding(**hop, slide="3 s", total=Sum("y"), mean=Mean("y"), n=Count("y")),
        sliding(**hop, slide="1 s", total=Sum("y")),
    ]
    first, _ = share([bind(query, FRAME.schema).plan for query in queries])
    assert [result.beside for result in first.results] == [(), (), ()]
    assert [result.shared for result in first.results] == [True, True, False]
    several = sliding(rows=3, total=Sum("x"), other=Sum("y"), n=Count())
    assert all(not result.beside for result in bind(several, FRAME.schema).plan.results)


def test_slices_keep_one_state_of_sum_mean_and_count() -> None:
    """What a stream keeps, and what Spark's shuffle moves: a sum, what it rounds off, a count."""
    asked = {"total": Sum("y"), "mean": Mean("y"), "n": Count("y")}
    hop = {"partition_by": "key", "order_by": "ts", "range": "9 s", "slide": "3 s"}
    together = [sliding(asked, **hop)]
    apart = [sliding({name: part}, **hop) for name, part in asked.items()]
    for queries in (together, apart):
        states = states_of([bind(query, FRAME.schema) for query in queries])
        assert [field.name for field in states.fields] == [
            *("partial:sum:y", "partial:rest:y", "partial:count:y")
        ]


def test_queries_share_the_slices_of_what_tells_their_results() -> None:
    """A Sum by the slices of a Mean, an extreme by those of a Range or a pair."""
    frame = FRAME.append_column("z", ROWS.column("x").cast(pa.float64()))
    hop = {"partition_by": "key", "order_by": "ts"}
    queries = [
        sliding(**hop, range="9 s", slide="3 s", mean=Mean("z"), low=Min("y"), top=Max("text")),
        sliding(**hop, range="8 s", slide="2 s", total=Sum("z"), n=Count("z"), spread=Range("y")),
        sliding(**hop, range="5 s", slide="5 s", high=ArgMax("id", "ts"), dev=StdDev("y")),
        sliding(**hop, range="7 s", slide="1 s", high=Max("id"), var=Variance("y", ddof=0)),
    ]
    with traced() as ran:
        made = shared(*queries)(frame)
    plans = share([bind(query, frame.schema).plan for query in queries])
    assert {pair for plan in plans for pair in routes(plan, frame)} == set(ran)
    told = {
        result.name: repr(result.source)
        for plan in plans
        for result in plan.results
        if result.source not in (None, result.aggregation)
    }
    assert told == {
        "low": "Range('y')", "total": "Mean('z')", "high": "ArgMax('id', 'ts')",
        "var": "StdDev('y')",
    }  # fmt: skip
    assert (
        "from the slices of Mean('z'), which another query asks for" in shared(*queries).explain()
    )
    for query, together in zip(queries, made, strict=True):
        alone = query(frame)
        for name in query.parts:
            got, wanted = together.column(name).to_pylist(), alone.column(name).to_pylist()
            assert all(map(same, got, wanted)), name
