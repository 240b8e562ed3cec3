"""Slices against the definition: a window begins and ends where the strategy says it is cut."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import InvalidArgument
from windrow.windows.shared_plan import SharedPlan
from windrow.windows.slicing import STRATEGIES, Slicing, choose_slicing, slices

sizes = st.integers(1, 30)
offsets = st.integers(-40, 40)
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def boundaries(query: Slicing, begin: int, end: int) -> tuple[set[int], set[int]]:
    """Where windows begin and where they end, within [begin, end]."""
    ends = {p for p in range(begin, end + query.range + 1) if (p - query.offset) % query.slide == 0}
    inside = range(begin, end + 1)
    return {p - query.range for p in ends} & {*inside}, ends & {*inside}


def cuts(query: Slicing, begin: int, end: int) -> list[int]:
    """The cuts within (begin, end], found one after the other."""
    found = []
    at = query.next_cut(begin)
    while at <= end:
        found.append(at)
        at = query.next_cut(at)
    return found


def expected_cuts(query: Slicing, begin: int, end: int) -> set[int]:
    """The cuts within (begin, end] by what each strategy promises."""
    starts, ends = boundaries(query, begin + 1, end)
    if query.strategy == "cutty":
        return starts
    if query.strategy == "pairs":
        return starts | ends
    step = math.gcd(query.range, query.slide)
    return {p for p in range(begin + 1, end + 1) if (p - query.offset) % step == 0}


@every_strategy
@given(range_=sizes, slide=sizes, offset=offsets, begin=offsets)
def test_cuts_are_where_windows_begin_and_end(
    strategy: str, range_: int, slide: int, offset: int, begin: int
) -> None:
    query = slices(range_, slide, strategy, offset)
    found = cuts(query, begin, begin + 100)
    assert found == sorted(expected_cuts(query, begin, begin + 100))


@every_strategy
@given(range_=sizes, slide=sizes, offset=offsets)
def test_a_window_is_made_of_its_slices(
    strategy: str, range_: int, slide: int, offset: int
) -> None:
    query = slices(range_, slide, strategy, offset)
    end = 0
    for _ in range(3):
        end = query.next_answer(end)
        inside = cuts(query, end - range_, end)
        assert query.next_cut(end - range_ - 1) == end - range_, "a window begins at a cut"
        growing = end not in (*inside, end - range_)
        assert not (growing and strategy != "cutty"), "and ends at one, unless it may grow"
        assert len(inside) + growing == query.slices_per_window


@every_strategy
@given(range_=sizes, slide=sizes)
def test_edges_are_the_cuts_of_one_slide(strategy: str, range_: int, slide: int) -> None:
    query = slices(range_, slide, strategy)
    assert list(query.edges) == cuts(query, 0, slide)
    assert query.slices_per_slide == len(query.edges)


@given(range_=sizes, slide=sizes, offset=offsets, position=offsets)
def test_answers_come_every_slide(range_: int, slide: int, offset: int, position: int) -> None:
    due = slices(range_, slide, "auto", offset).next_answer(position)
    assert position < due <= position + slide
    assert (due - offset) % slide == 0


@given(range_=sizes, slide=sizes)
def test_counts_as_section_2_1_prints_them(range_: int, slide: int) -> None:
    panes, pairs, cutty = (slices(range_, slide, name) for name in STRATEGIES)
    f1 = range_ % slide
    if f1 == 0:
        assert {q.slices_per_window for q in (panes, pairs, cutty)} == {range_ // slide}
        assert [list(q.edges) for q in (panes, pairs, cutty)] == [[slide]] * 3
        return
    assert panes.slices_per_window == range_ // math.gcd(range_, slide)
    assert sorted(b - a for a, b in pairwise((0, *pairs.edges))) == sorted((f1, slide - f1))
    assert cutty.slices_per_window == range_ // slide + 1
    assert cutty.slices_per_slide == 1
    assert pairs.slices_per_window == 2 * cutty.slices_per_window - 1
    assert panes.slices_per_window >= pairs.slices_per_window


def test_figure_1_uses_a_pane_in_as_many_windows_as_it_has_panes() -> None:
    """Figure 1 is not in the text; F1 … F4 use P5, F1 is of P2 … P5: range 4, slide 1."""
    panes = slices(4, 1, "panes")
    assert panes.slices_per_window == 4
    using = [end for end in range(5, 20) if end - 4 < 5 <= end]
    assert len(using) == 4


def test_billions_of_panes_take_no_memory() -> None:
    hour, minute = 3600 * 10**9, 60 * 10**9
    panes = slices(hour + 1, minute, "panes")
    assert panes.slices_per_slide == minute
    assert panes.next_cut(10**15) == 10**15 + 1
    assert slices(hour + 1, minute).slices_per_window == 61


# -- several queries -------------------------------------------------------------------------


def test_example_1_of_section_2_3() -> None:
    plan = SharedPlan([(6, 2), (8, 4)])
    assert plan.composite == 4
    assert [edge.at for edge in plan.steps()] == [2, 4]
    assert [query.slices_per_window for query in plan.queries] == [3, 2]


@every_strategy
@given(queries=st.lists(st.tuples(sizes, st.integers(1, 8), offsets), min_size=1, max_size=4))
def test_shared_cuts_are_those_of_all_queries(
    strategy: str, queries: list[tuple[int, int, int]]
) -> None:
    plan = SharedPlan(queries, strategy)
    assert plan.composite == math.lcm(*(slide for _, slide, _ in queries))
    union = {edge for query in plan.queries for edge in expected_cuts(query, 0, plan.composite)}
    assert [edge.at for edge in plan.steps() if edge.cut] == sorted(union)


# -- choice and refusal ----------------------------------------------------------------------


def test_auto_says_why() -> None:
    assert choose_slicing(60, 10) == (
        "panes",
        "the range is a multiple of the slide: one slice a slide",
    )
    name, why = choose_slicing(60, 7)
    assert name == "cutty" and "no multiple" in why
    assert slices(60, 7) == slices(60, 7, "cutty")
    assert slices(60, 10) == slices(60, 10, "panes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "range must be 1 or more, got 0"),
        ((1, 0), "slide must be 1 or more, got 0"),
        ((1.5, 1), r"range must be a whole number, got 1\.5"),
        ((3, 1, "pane"), "strategy='pane' is unknown; did you mean 'panes'"),
    ],
)
def test_what_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        slices(*arguments)  # type: ignore[arg-type]
