"""A plan of shared windows cuts where its windows begin and end, and answers each where it ends."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from windrow.errors import InvalidArgument
from windrow.windows.shared_plan import Due, SharedPlan
from windrow.windows.slicing import STRATEGIES

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
some_windows = st.lists(
    st.tuples(st.integers(1, 20), st.integers(1, 8), st.integers(-5, 25)), min_size=1, max_size=4
)


def ends_of(window: tuple[int, ...], begin: int, stop: int) -> list[int]:
    """Where answers of a window lie in (begin, stop]."""
    return [e for e in range(begin + 1, stop + 1) if (e - window[2]) % window[1] == 0]


def test_example_1_of_section_2_3() -> None:
    """Partials every 2 tuples; the first query over the last 3 of them, the second over 4."""
    plan = SharedPlan([(6, 2), (8, 4)])
    steps = list(plan.steps())
    assert [(edge.at, edge.length) for edge in steps] == [(2, 2), (4, 2)]
    assert [edge.due for edge in steps] == [(Due(0, 3),), (Due(1, 4), Due(0, 3))]


@every_strategy
@given(windows=some_windows, after=st.integers(-50, 50))
@examples(50)
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
@examples(50)
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
@examples(50)
def test_what_a_plan_counts_is_what_its_edges_are(
    windows: list[tuple[int, ...]], strategy: str
) -> None:
    plan = SharedPlan(windows, strategy)
    steps = list(plan.steps())
    assert plan.cuts.count(0, plan.composite) == sum(edge.cut for edge in steps)
    held = [max(edge.held, *(due.slices for due in edge.due), 0) for edge in steps if edge.due]
    assert max(held, default=0) <= plan.cuts.at_most(plan.longest)


@given(windows=some_windows, after=st.integers(-50, 50))
@examples(50)
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


def test_a_plan_explains_itself() -> None:
    text = SharedPlan([(6, 2), (7, 3)]).explain()
    assert "2 windows share 4 slices in each 6 positions, where alone they have 5" in text
    assert "range 7, slide 3: cutty" in text
    assert "pairs, as it was asked for" in SharedPlan([(7, 3)], "pairs").explain()


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ([], "windows: a shared plan needs at least one"),
        ([(1,)], r"windows: \(1,\) is not \(range, slide\)"),
        ([(1, 0)], "slide must be 1 or more, got 0"),
    ],
)
def test_what_is_no_plan_is_refused(windows: list[Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        SharedPlan(windows)
