"""Shared windows answer what each window alone would, and make no more ⊕ than the paper says."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, closeness, same, values_for
from windrow import (
    ArgMax,
    ArgMin,
    Collect,
    CollectDistinct,
    Concat,
    Count,
    CountDistinct,
    GeometricMean,
    Max,
    MaxCount,
    Mean,
    Min,
    MinCount,
    MomentSketch,
    Product,
    Range,
    StdDev,
    Sum,
    Together,
    Variance,
    aggregation,
    aggregator,
)
from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.aggregations.shared_states import SharedStates, derivation
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.edges import Due, SharedPlan
from windrow.windows.sharing import Answer, SharedWindows
from windrow.windows.slicing import STRATEGIES

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
some_windows = st.lists(
    st.tuples(st.integers(1, 20), st.integers(1, 8), st.integers(-5, 25)), min_size=1, max_size=4
)


class Counting:
    """A maximum that counts its combines."""

    def __init__(self) -> None:
        self.n = 0

    def combine(self, a: float, b: float) -> float:
        self.n += 1
        return a if a >= b else b

    @property
    def max(self) -> Custom:
        return aggregation(lift=float, combine=self.combine, lower=float, exact=True)


def alone(agg: Aggregation, values: list[Any]) -> Any:
    """The answer of recalculation."""
    swag = aggregator(agg, "recalculate")
    swag.extend(values)
    return swag.query()


def ends_of(window: tuple[int, ...], begin: int, stop: int) -> list[int]:
    """Where answers of a window lie in (begin, stop]."""
    return [e for e in range(begin + 1, stop + 1) if (e - window[2]) % window[1] == 0]


# -- the plan --------------------------------------------------------------------------------


def test_example_1_of_section_2_3() -> None:
    """Partials every 2 tuples; the first query over the last 3 of them, the second over 4."""
    plan = SharedPlan([(6, 2), (8, 4)])
    steps = list(plan.steps())
    assert [(edge.at, edge.length) for edge in steps] == [(2, 2), (4, 2)]
    assert [edge.due for edge in steps] == [(Due(0, 3),), (Due(1, 4), Due(0, 3))]


@every_strategy
@given(windows=some_windows, after=st.integers(-50, 50))
@settings(max_examples=50)
def test_edges_of_a_plan(strategy: str, windows: list[tuple[int, ...]], after: int) -> None:
    plan = SharedPlan(windows, strategy)
    longest = max(window[0] for window in windows)
    cuts = {p for q in plan.queries for p in range(after - longest, after + 80) if cut(q, p)}
    edges = list(itertools.takewhile(lambda edge: edge.at < after + 80, plan.edges(after)))
    dues = {e for window in windows for e in ends_of(window, after, after + 79)}
    assert [e.at for e in edges] == sorted({p for p in cuts if p > after} | dues)
    for edge in edges:
        assert edge.cut == (edge.at in cuts)
        lengths = [windows[due.query][0] for due in edge.due]
        assert lengths == sorted(lengths, reverse=True), "the longest is answered first"
        assert {due.query for due in edge.due} == {
            i for i, window in enumerate(windows) if (edge.at - window[2]) % window[1] == 0
        }
        for query, count in edge.due:
            assert count == sum(edge.at - windows[query][0] < p <= edge.at for p in cuts)


def cut(query: Any, position: int) -> bool:
    return bool(query.next_cut(position - 1) == position)


@given(windows=some_windows)
@example(windows=[(1, 4, 2)])  # gaps between the windows: the last edge lies beyond the range
@settings(max_examples=50)
def test_steps_are_the_shared_edges_and_repeat(windows: list[tuple[int, ...]]) -> None:
    plan = SharedPlan(windows, "pairs")
    steps = list(plan.steps())
    cuts = {p for q in plan.queries for p in range(1, plan.composite + 1) if cut(q, p)}
    assert [edge.at for edge in steps] == sorted(cuts)
    twice = itertools.islice(plan.edges(), 2 * len(steps))
    assert [edge._replace(at=edge.at % plan.composite) for edge in twice] == [
        edge._replace(at=edge.at % plan.composite) for edge in steps
    ] * 2


def test_a_plan_of_an_endless_composite_slide_is_made_as_it_goes() -> None:
    plan = SharedPlan([(3600 * 10**9, 10**9 + 7), (60 * 10**9, 998244353)])
    assert plan.composite > 10**17
    assert next(plan.edges(17 * 10**17)).at > 17 * 10**17


def test_no_plan_walks_over_its_composite_slide() -> None:
    plan = SharedPlan([(97_000, 97), (89_000, 89), (83_001, 83), (79_000, 79)])
    assert plan.composite == 97 * 89 * 83 * 79
    shared = plan.composite - 96 * 88 * 82 * 78  # what no slide divides is no edge
    assert f"share {shared} slices in each {plan.composite} positions" in plan.explain()
    days = SharedPlan([(1000 * 86_400 * 10**9, 10**6), (7 * 10**9, 10**9 + 7)])
    assert "at most 86486399914 slices are held" in days.explain()  # 864e8, and 864e5 of the other


@given(windows=some_windows, strategy=st.sampled_from(STRATEGIES))
@settings(max_examples=50)
def test_what_a_plan_counts_is_what_its_edges_are(
    windows: list[tuple[int, ...]], strategy: str
) -> None:
    plan = SharedPlan(windows, strategy)
    steps = list(plan.steps())
    assert plan.cuts.count(0, plan.composite) == sum(edge.cut for edge in steps)
    held = [max(edge.held, *(due.slices for due in edge.due), 0) for edge in steps if edge.due]
    assert max(held, default=0) <= plan.cuts.at_most(plan.longest)


@given(windows=some_windows, after=st.integers(-50, 50))
@settings(max_examples=50)
def test_a_stream_that_begins_has_no_slices_before(
    windows: list[tuple[int, ...]], after: int
) -> None:
    plan = SharedPlan(windows)
    always = itertools.islice(plan.edges(after), 60)
    cuts = 0
    for edge, begun in zip(always, plan.edges(after, begun=True), strict=False):
        assert (begun.at, begun.cut) == (edge.at, edge.cut)
        cuts += edge.cut
        assert [due.query for due in begun.due] == [due.query for due in edge.due]
        for one, other in zip(begun.due, edge.due, strict=True):
            reaches_back = edge.at - windows[one.query][0] <= after
            assert one.slices == (cuts if reaches_back else other.slices)


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


def test_a_plan_explains_itself() -> None:
    text = SharedPlan([(6, 2), (7, 3)]).explain()
    assert "2 windows share 4 slices in each 6 positions, where alone they have 5" in text
    assert "range 7, slide 3: cutty" in text
    assert "pairs, as it was asked for" in SharedPlan([(7, 3)], "pairs").explain()


# -- answers ---------------------------------------------------------------------------------


@every_strategy
@given(data=st.data(), windows=some_windows)
@settings(max_examples=60)
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
@settings(max_examples=60)
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
@settings(max_examples=60)
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

STREAM = (2, 4, 0, 3, 7, 6, 1, 8, 9, 5)
Q1 = [2, 4, 4, 4, 7, 7, 7, 8, 9, 9]
Q2 = [2, 4, 4, 3, 7, 7, 6, 8, 9, 9]


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


# -- partials --------------------------------------------------------------------------------

ON_X = [
    *(Sum("x"), Mean("x"), GeometricMean("x"), Product("x"), Count("x"), Count()),
    *(Variance("x"), Variance("x", ddof=0), StdDev("x"), StdDev("x", ddof=0)),
    *(Max("x"), Min("x"), Range("x"), MaxCount("x"), MinCount("x")),
    *(ArgMax("x", "y"), ArgMin("x", "y"), Max("y"), ArgMax("y", "x")),
    *(CollectDistinct("x"), CountDistinct("x"), Collect("x")),
    *(MomentSketch("x", order=3), MomentSketch("x", order=3, quantiles=0.5), MomentSketch("x")),
]
numbers = st.one_of(st.none(), st.integers(-3, 3), st.floats(-100, 100), st.just(math.nan))
some_rows = st.lists(st.fixed_dictionaries({"x": numbers, "y": st.integers(0, 5)}), max_size=8)


def folded(agg: Aggregation, rows: list[dict[str, Any]]) -> Any:
    return agg.fold([agg.identity, *map(agg.lift, rows)])


@given(rows=some_rows)
@settings(max_examples=60)
def test_what_a_state_tells_is_what_the_other_would_keep(rows: list[dict[str, Any]]) -> None:
    for teller, asked in itertools.product(ON_X, ON_X):
        tell = derivation(teller, asked)
        if tell is not None:
            assert same(tell(folded(teller, rows)), folded(asked, rows)), (teller, asked)


@given(asked=st.lists(st.sampled_from(ON_X), min_size=1, max_size=6), rows=some_rows)
@settings(max_examples=100)
def test_partials_answer_as_each_alone(
    asked: list[Aggregation], rows: list[dict[str, Any]]
) -> None:
    shared = SharedStates(*asked)
    answers = shared.lower(folded(shared, rows))
    for agg, answer in zip(asked, answers, strict=True):
        assert same(answer, agg.lower(folded(agg, rows))), agg
    kept = list(shared.parts.values())
    assert all(derivation(a, b) is None for a, b in itertools.permutations(kept, 2)), (
        "none is spare"
    )


def test_derivations_are_found() -> None:
    found = {
        (type(a), type(b))
        for a, b in itertools.permutations([*ON_X, *TEXTS], 2)
        if derivation(a, b)
    }
    assert found >= {
        *((Sum, Mean), (Mean, Sum), (Sum, Count), (Mean, Count), (GeometricMean, Count)),
        *((Variance, Variance), (Variance, StdDev), (StdDev, Variance), (Variance, Count)),
        *((Range, Min), (Range, Max), (MaxCount, Max), (MinCount, Min), (ArgMax, Max)),
        *((CollectDistinct, CountDistinct), (CountDistinct, CollectDistinct), (Concat, Collect)),
        (MomentSketch, MomentSketch),
    }
    for a, b, c in itertools.permutations(ON_X, 3):
        if derivation(a, b) and derivation(b, c):
            assert derivation(a, c), (a, b, c)


TEXTS = [Concat("x"), Concat("x", separator="-"), Collect("x")]


def test_texts_are_kept_once() -> None:
    shared = SharedStates(*TEXTS)
    assert list(shared.parts.values()) == [Concat("x")]
    state = folded(shared, [{"x": "a"}, {"x": None}, {"x": "b"}])
    assert shared.lower(state) == ("ab", "a-b", ["a", "b"])


def test_what_is_not_shared() -> None:
    class Doubled(Sum):
        def unit(self, value: Any) -> Any:
            return super().unit(2 * value)

    for teller, asked in [
        (Sum(), Count()),  # Count() counts nulls
        (Sum("x"), Count()),
        (Sum("x"), Mean("y")),
        (Sum("x"), Mean()),
        (ArgMax(), Max()),  # ArgMax() takes pairs
        (ArgMax("y", "x"), Max("x")),
        (Variance("x"), Mean("x")),  # a mean of integers is exact, this one is not
        (MomentSketch("x", order=3), MomentSketch("x")),
        (Doubled("x"), Mean("x")),  # a subclass may keep anything
        (Collect("x"), Concat("x")),  # Concat refuses what is no text
    ]:
        assert derivation(teller, asked) is None, (teller, asked)


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SharedPlan([]), "windows: a shared plan needs at least one"),
        (lambda: SharedPlan([(1,)]), r"windows: \(1,\) is not \(range, slide\)"),
        (lambda: SharedPlan([(1, 0)]), "slide must be 1 or more, got 0"),
        (lambda: SharedWindows([(1, 1)], [Max(), Min()]), "2 for 1 windows; give one for each"),
        (lambda: SharedWindows([(1, 1)], [Max]), "is not an aggregation; write Max"),
        (lambda: SharedStates(), "SharedStates needs at least one"),
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
@settings(max_examples=30)
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
