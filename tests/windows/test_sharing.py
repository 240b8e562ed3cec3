"""Shared windows answer what each window alone would, and make no more ⊕ than the paper says."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algorithms.counting import Q1, Q2, STREAM, Counting
from tests.catalogue import AGGREGATIONS, closeness, same, values_for
from tests.examples import examples
from tests.windows.test_shared_plan import ends_of, every_strategy, some_windows
from windrow import (
    ArgMax,
    Collect,
    Count,
    Max,
    Mean,
    Min,
    StdDev,
    Sum,
    Together,
    Variance,
    aggregation,
    aggregator,
)  # fmt: skip
from windrow.aggregations.base import Aggregation
from windrow.aggregations.shared_states import SharedStates
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.shared_plan import SharedPlan
from windrow.windows.sharing import Answer, SharedWindows


def alone(agg: Aggregation, values: list[Any]) -> Any:
    """The result of recalculation."""
    swag = aggregator(agg, "recalculate")
    swag.extend(values)
    return swag.query()


# -- answers ---------------------------------------------------------------------------------


@every_strategy
@given(data=st.data(), windows=some_windows)
@examples(60)
def test_by_rows_each_query_is_as_alone(
    strategy: str, data: st.DataObject, windows: list[tuple[int, ...]]
) -> None:
    values = data.draw(st.lists(st.integers(0, 9), max_size=60))
    shared = SharedWindows(windows, Collect(), strategy)
    got = [answer for value in values for answer in shared.push(value)]
    shared._check()
    expected = [
        Answer(i, end, values[max(0, end - window[0]) : end])
        for i, window in enumerate(windows)
        for end in ends_of(window, 0, len(values))
    ]
    assert sorted(got) == expected
    assert [a.end for a in got] == sorted(a.end for a in got)


@every_strategy
@given(
    windows=some_windows,
    start=st.integers(-100, 100),
    gaps=st.lists(st.sampled_from([0, 0, 1, 2, 5, 30, 100]), max_size=30),
    rest=st.integers(0, 60),
)
@examples(60)
def test_by_time_each_query_is_as_alone(
    strategy: str, windows: list[tuple[int, ...]], start: int, gaps: list[int], rest: int
) -> None:
    """Windows [end − range, end) that hold a value, in gaps and in ties."""
    times = list(itertools.accumulate(gaps, initial=start))
    shared = SharedWindows(windows, Collect(), strategy)
    got = [answer for i, at in enumerate(times) for answer in shared.push(i, at=at)]
    stop = times[-1] + rest
    got += shared.advance(stop)
    shared._check()
    expected = []
    for i, window in enumerate(windows):
        for end in ends_of(window, times[0], stop):
            inside = [k for k, at in enumerate(times) if end - window[0] <= at < end]
            if inside:
                expected.append(Answer(i, end, inside))
    assert sorted(got) == expected


@given(data=st.data(), windows=some_windows)
@examples(60)
def test_every_aggregation_is_as_alone(data: st.DataObject, windows: list[tuple[int, ...]]) -> None:
    agg = data.draw(st.sampled_from(AGGREGATIONS))
    kind = data.draw(st.sampled_from([values_for(agg)]))
    values = data.draw(st.lists(kind, max_size=40))
    shared = SharedWindows(windows, agg)
    try:
        got = [answer for value in values for answer in shared.push(value)]
    except InvalidValue:  # values of several families, which a window alone refuses as well
        return
    for query, end, value in got:
        inside = values[max(0, end - windows[query][0]) : end]
        assert same(value, alone(agg, inside), closeness(agg)), (agg, inside)


def test_each_window_may_ask_something_else() -> None:
    rows = [{"load": load, "plug": plug} for plug, load in enumerate([3, 1, None, 2])]
    shared = SharedWindows(
        [(2, 2), (4, 4), (4, 4)],
        [Mean("load"), {"peak": Max("load"), "n": Count()}, Together(who=ArgMax("load", "plug"))],
    )
    (group,) = shared.groups
    assert list(group.partials.parts.values()) == [
        Mean("load"),
        Count(),
        ArgMax("load", "plug"),
    ]
    got = [answer for row in rows for answer in shared.push(row)]
    assert got == [
        (0, 2, 2.0),
        (1, 4, {"peak": 3, "n": 4}),
        (2, 4, {"who": 0}),
        (0, 4, 2.0),
    ]
    assert got[1].value.peak == 3
    assert "Mean('load'), Count(), ArgMax('load', 'plug')" in shared.explain()


# -- ⊕ ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("windows", "expected", "total"),
    [([(5, 1)], [Q1], 21), ([(5, 1), (2, 1)], [Q1, Q2], 21 + 6)],
    ids=["example 2", "example 3"],
)
def test_examples_2_and_3_of_section_3_2(
    windows: list[tuple[int, ...]], expected: list[list[int]], total: int
) -> None:
    """Algorithm 1 as printed: a window full of −∞, and for each partial the queries of the plan."""
    counting = Counting()
    fit = aggregator(counting.max, "flatfit")
    fit.extend([-math.inf] * 5)
    got: list[list[float]] = [[] for _ in windows]
    for value, edge in zip(STREAM, SharedPlan(windows).edges(), strict=False):
        fit.evict()
        fit.insert(value)
        for query, count in edge.due:
            got[query].append(fit.query(count))
    assert got == expected
    assert counting.n == total


@every_strategy
@pytest.mark.parametrize("n", [2, 3, 5, 16, 60])
def test_one_window_costs_3_n_minus_1_in_n_plus_1_slides(strategy: str, n: int) -> None:
    counting, source = Counting(), random.Random(n)
    shared = SharedWindows([(n, 1)], counting.max, strategy)
    for _ in range(n):
        shared.push(source.random())
    for _ in range(4):
        before = counting.n
        for _ in range(n + 1):
            shared.push(source.random())
        assert counting.n - before == 3 * (n - 1)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30])
def test_all_ranges_cost_n_minus_1_a_slide(n: int) -> None:
    counting, source = Counting(), random.Random(n)
    shared = SharedWindows([(r, 1) for r in range(1, n + 1)], counting.max)
    for _ in range(n):
        shared.push(source.random())
    for _ in range(3 * n):
        before = counting.n
        assert len(shared.push(source.random())) == n
        assert counting.n - before == n - 1


def spent(windows: list[tuple[int, ...]], strategy: str = "auto") -> int:
    """The ⊕ of 5000 values, once the windows are full."""
    counting, source = Counting(), random.Random(0)
    shared = SharedWindows(windows, counting.max, strategy)
    for _ in range(1000):
        shared.push(source.random())
    before = counting.n
    for _ in range(5000):
        shared.push(source.random())
    return counting.n - before


@every_strategy
@pytest.mark.parametrize(
    "windows",
    [
        [(6, 2), (8, 4)],
        [(60, 5), (30, 10), (120, 10)],
        [(50, 7), (60, 11)],
        [(10, 1), (20, 1), (40, 1), (80, 1), (160, 1)],
    ],
    ids=str,
)
def test_sharing_makes_fewer_combines_than_each_alone(
    windows: list[tuple[int, ...]], strategy: str
) -> None:
    assert spent(windows, strategy) < sum(spent([window], strategy) for window in windows)


def test_beginnings_that_are_extended_save_more_than_a_third() -> None:
    """FlatFIT as printed against the shared windows' own, on ranges that double."""
    ranges = [160, 80, 40, 20, 10]
    counting, source = Counting(), random.Random(0)
    fit = aggregator(counting.max, "flatfit")
    fit.extend(source.random() for _ in range(160))
    for _ in range(1000):
        fit.evict()
        fit.insert(source.random())
        fit.queries(ranges)
    before = counting.n
    for _ in range(5000):
        fit.evict()
        fit.insert(source.random())
        fit.queries(ranges)
    printed = counting.n - before
    assert spent([(r, 1) for r in ranges]) < printed * 2 / 3


@pytest.mark.parametrize("windows", [[(50, 7)], [(500, 7)], [(50, 7), (60, 11), (100, 13)]])
def test_cutty_makes_no_more_combines_than_pairs(windows: list[tuple[int, ...]]) -> None:
    assert spent(windows, "cutty") <= 1.01 * spent(windows, "pairs")


def test_a_slice_of_compatible_aggregations_is_combined_once() -> None:
    """Mean, Sum and Count keep one sum: as many ⊕ as a Sum alone."""
    calls = []

    class Watched(SharedStates):
        def combine(self, a: Any, b: Any) -> Any:
            calls.append(len(a))
            return super().combine(a, b)

    watched = Watched(Mean("x"), Sum("x"), Count("x"), StdDev("x"), Variance("x", ddof=0))
    assert len(watched.parts) == 2
    swag = aggregator(watched, "flatfit")
    swag.extend([{"x": v} for v in (1, 2, 6)])
    assert swag.query() == (3.0, 9, 3, pytest.approx(math.sqrt(7)), pytest.approx(14 / 3))
    assert calls == [2, 2]


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SharedWindows([(1, 1)], [Max(), Min()]), "2 for 1 windows; give one for each"),
        (lambda: SharedWindows([(1, 1)], [Max]), "is not an aggregation; write Max"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()


def test_a_value_that_does_not_fit_changes_nothing() -> None:
    shared = SharedWindows([(3, 2)], {"n": Count(), "peak": Max()})
    shared.push(1)
    for refused in ("one", object()):
        with pytest.raises(InvalidValue):
            shared.push(refused)
    assert shared.push(2) == [(0, 2, {"n": 2, "peak": 2})]


def test_time_does_not_go_back_and_is_given_always_or_never() -> None:
    timed = SharedWindows([(10, 5)], Max())
    assert timed.push(1, at=12) == []
    assert timed.push(2, at=12) == []
    with pytest.raises(InvalidArgument, match="at=11 lies before 12"):
        timed.push(3, at=11)
    with pytest.raises(InvalidArgument, match="give at= with every value or with none"):
        timed.push(3)
    with pytest.raises(InvalidArgument, match=r"at must be a whole number, got 12\.5"):
        timed.push(3, at=12.5)  # type: ignore[arg-type]
    assert timed.advance(20) == [(0, 15, 2), (0, 20, 2)]
    with pytest.raises(InvalidArgument, match="at=19 lies before 20"):
        timed.advance(19)
    counted = SharedWindows([(2, 1)], Max())
    counted.push(1)
    with pytest.raises(InvalidArgument, match="count values, so only push moves them"):
        counted.advance(3)


def test_a_combine_that_raises_is_not_passed_over() -> None:
    def refuse(a: int, b: int) -> int:
        raise ZeroDivisionError

    shared = SharedWindows([(2, 2)], aggregation(lift=int, combine=refuse, lower=int))
    shared.push(1)
    with pytest.raises(ZeroDivisionError):
        shared.push(2)
    with pytest.raises(InvalidArgument, match="failed half-way"):
        shared.push(3)


# -- long windows and short slides ---------------------------------------------------------------


def test_a_stream_of_long_windows_and_short_slides_begins_at_once() -> None:
    """Alone the slices of one window would be 8.6e10."""
    shared = SharedWindows([(1000 * 86_400 * 10**9, 10**6)], Sum())
    begin = 17 * 10**17
    assert shared.push(1, at=begin) == []
    assert [answer.value for answer in shared.push(2, at=begin + 3 * 10**6)] == [1, 1, 1]
    shared._check()


def test_more_results_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.windows.room.free_memory", lambda: 10**9)
    shared = SharedWindows([(10**15, 1)], Sum())
    shared.push(1, at=0)
    with pytest.raises(InvalidArgument, match=r"moving from 0 to \d+ would make 10,000,000,000"):
        shared.push(2, at=10**10)
    assert [answer.end for answer in shared.push(2, at=3)] == [1, 2, 3], "it goes on"


# -- windows that are planned apart ------------------------------------------------------------

DAY = 86_400_000
long_and_short = st.lists(
    st.sampled_from(
        [(5, 1), (7, 2), (40, 10), (90, 30), (10_000, 2_000), (30_000, 10_000), (9_999, 3_333)]
    ),
    min_size=2,
    max_size=5,
)


def test_windows_that_do_not_profit_are_planned_apart() -> None:
    shared = SharedWindows([(1000, 1), (1000 * DAY, DAY), (500, 5), (7 * DAY, DAY)], Max())
    assert [group.members for group in shared.groups] == [(0, 2), (1, 3)]
    text = shared.explain()
    assert "4 windows in 2 plans" in text
    assert "plan of 0, 2: together: they save 1 of 2 passes over the rows, and 17 %" in text
    assert "plan of 1, 3: together: they save 1 of 2 passes over the rows, and 50 %" in text
    assert "at most 1000 slices are held" in text
    (one,) = SharedWindows([(6, 2), (8, 4), (97, 97)], Max()).groups
    assert one.members == (0, 1, 2)


def test_the_reason_to_plan_apart_is_told() -> None:
    text = SharedWindows([(1000, 1), (1000 * DAY, DAY)], Max()).explain()
    assert "apart from 0: together they would hold 86400000000 slices" in text
    assert "and apart they hold 2000" in text


@given(windows=long_and_short, gaps=st.lists(st.integers(0, 400), min_size=1, max_size=40))
@examples(30)
def test_windows_in_several_plans_are_each_as_alone(
    windows: list[tuple[int, ...]], gaps: list[int]
) -> None:
    times = list(itertools.accumulate(gaps))

    def run(some: list[tuple[int, ...]]) -> tuple[int, list[Answer]]:
        shared = SharedWindows(some, Collect())
        got = [answer for i, at in enumerate(times) for answer in shared.push(i, at=at)]
        got += shared.advance(times[-1] + 20_000)
        shared._check()
        return len(shared.groups), got

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windrow.windows.weaving._FEW", 16)
        _, together = run(windows)
    assert [answer.end for answer in together] == sorted(answer.end for answer in together)
    for i, window in enumerate(windows):
        _, alone = run([window])
        assert [a._replace(query=0) for a in together if a.query == i] == alone
