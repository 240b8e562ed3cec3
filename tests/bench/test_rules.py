"""When a shape agrees: on made-up lines."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.points import Figure, Points
from bench.rules import ahead, at_most, crossing, exponent, grows, scales, spread, widens

F = Figure("f", "", "x", "ns")
XS = [1 << e for e in range(2, 16)]


def lines(**series: Callable[[float], float]) -> Points:
    return Points(F.point(name, x, y(x)) for name, y in series.items() for x in XS)


@given(st.floats(-2, 2), st.floats(1e-3, 1e3))
def test_the_exponent_of_a_power_law_is_found(b: float, a: float) -> None:
    found = exponent([(x, a * x**b) for x in XS])
    assert found == pytest.approx(b, abs=1e-9)


def test_two_points_have_no_shape() -> None:
    assert exponent([(1, 1.0), (2, 2.0)]) is None
    few = Points([F.point("a", 1, 1.0)])
    assert grows(F, "a", "flat").check(few).agrees is None
    assert ahead(F, "a", "b").check(few).agrees is None
    assert widens(F, "a", "b").check(few).agrees is None


SHAPES: dict[str, Callable[[float], float]] = {
    "flat": lambda x: 7.0,
    "logarithmic": lambda x: 3 + 2 * math.log2(x),
    "linear": lambda x: 5 + 0.5 * x,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rule", SHAPES)
def test_a_shape_is_told_from_the_others(shape: str, rule: str) -> None:
    if (shape, rule) == ("flat", "logarithmic"):
        pytest.skip("a logarithm may be as flat as it likes")
    verdict = grows(F, "a", rule, since=64).check(lines(a=SHAPES[shape]))
    assert verdict.agrees is (shape == rule), verdict.found


def test_ahead_allows_for_a_disturbance_but_not_for_two_in_five() -> None:
    def points(slow: int) -> Points:
        theirs = [F.point("b", x, 2.0) for x in range(1, 11)]
        ours = [F.point("a", x, 3.0 if x <= slow else 1.0) for x in range(1, 11)]
        return Points(theirs + ours)

    assert ahead(F, "a", "b").check(points(2)).agrees
    assert not ahead(F, "a", "b").check(points(4)).agrees
    assert ahead(F, "a", "b", since=5).check(points(4)).agrees
    assert not ahead(F, "a", "b", by=3).check(points(0)).agrees


def test_more_a_second_is_ahead() -> None:
    rates = Figure("f", "", "x", "million values a second")
    points = Points(
        rates.point(name, x, rate) for name, rate in (("a", 9.0), ("b", 3.0)) for x in XS
    )
    assert ahead(rates, "a", "b", by=2.9).check(points).agrees
    assert not ahead(rates, "b", "a").check(points).agrees


def test_a_gap_widens_or_does_not() -> None:
    assert widens(F, "a", "b").check(lines(a=lambda x: 1.0, b=lambda x: x)).agrees
    assert not widens(F, "a", "b").check(lines(a=lambda x: x, b=lambda x: x)).agrees


@given(st.floats(5, 30_000))
def test_the_crossing_of_two_lines_is_found(at: float) -> None:
    flat, rising = [(x, at) for x in XS], [(x, float(x)) for x in XS]
    found = crossing(flat, rising)
    assert found is not None and found == pytest.approx(at, rel=1e-6)


def test_who_never_overtakes_has_no_crossing() -> None:
    assert crossing([(x, 2.0) for x in XS], [(x, 1.0) for x in XS]) is None
    assert crossing([], [(1, 1.0)]) is None
    assert crossing([(x, 1.0) for x in XS], [(x, 5.0) for x in XS], by=10) is None
    assert crossing([(x, 1.0) for x in XS], [(x, 2.0) for x in XS]) == XS[0]


def test_ahead_at_one_place_looks_at_no_other() -> None:
    words = Points([F.point("a", "max", 1.0), F.point("b", "max", 9.0), F.point("a", "mean", 2.0),
                    F.point("b", "mean", 1.0)])  # fmt: skip
    assert ahead(F, "a", "b", at="max", by=9).check(words).agrees
    assert not ahead(F, "a", "b", at="mean").check(words).agrees
    assert ahead(F, "a", "b", at="p99").check(words).agrees is None


def test_bounds_hold_for_a_line_or_for_the_whole_figure() -> None:
    points = lines(a=lambda x: 2.0, b=lambda x: float(x))
    assert at_most(F, 2.0, "a").check(points).agrees
    verdict = at_most(F, 2.0).check(points)
    assert not verdict.agrees and "(b)" in verdict.found
    assert spread(F, 1.0, "a").check(points).agrees and not spread(F, 2.0).check(points).agrees
    assert at_most(F, 1.0, "c").check(points).agrees is None
    assert spread(F, 1.0, "c").check(points).agrees is None


def test_a_line_scales_by_its_cost() -> None:
    assert scales(F, "a", 1.5).check(lines(a=lambda x: 1 / x)).agrees
    assert not scales(F, "a", 1.5).check(lines(a=lambda x: 1.0)).agrees
    assert scales(F, "a", 1.5).check(Points([F.point("a", 1, 1.0)])).agrees is None
