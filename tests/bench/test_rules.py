"""When a shape agrees: on made-up lines."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.bench.points import Point, Points
from windrow.bench.rules import ahead, crossing, exponent, grows, widens

XS = [1 << e for e in range(2, 16)]


def lines(**series: Callable[[float], float]) -> Points:
    return Points(Point("f", name, x, "ns", (y(x),)) for name, y in series.items() for x in XS)


@given(st.floats(-2, 2), st.floats(1e-3, 1e3))
def test_the_exponent_of_a_power_law_is_found(b: float, a: float) -> None:
    found = exponent([(x, a * x**b) for x in XS])
    assert found == pytest.approx(b, abs=1e-9)


def test_two_points_have_no_shape() -> None:
    assert exponent([(1, 1.0), (2, 2.0)]) is None
    few = Points([Point("f", "a", 1, "ns", (1.0,))])
    assert grows("f", "a", "flat").check(few).agrees is None
    assert ahead("f", "a", "b").check(few).agrees is None
    assert widens("f", "a", "b").check(few).agrees is None


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
    verdict = grows("f", "a", rule, since=64).check(lines(a=SHAPES[shape]))
    assert verdict.agrees is (shape == rule), verdict.found


def test_ahead_allows_for_a_disturbance_but_not_for_two_in_five() -> None:
    def points(slow: int) -> Points:
        made = [Point("f", "b", x, "ns", (2.0,)) for x in range(1, 11)]
        return Points(
            made + [Point("f", "a", x, "ns", (3.0 if x <= slow else 1.0,)) for x in range(1, 11)]
        )

    assert ahead("f", "a", "b").check(points(2)).agrees
    assert not ahead("f", "a", "b").check(points(4)).agrees
    assert ahead("f", "a", "b", since=5).check(points(4)).agrees
    assert not ahead("f", "a", "b", by=3).check(points(0)).agrees


def test_more_a_second_is_ahead() -> None:
    unit = "million values a second"
    points = Points(
        Point("f", name, x, unit, (rate,)) for name, rate in (("a", 9.0), ("b", 3.0)) for x in XS
    )
    assert ahead("f", "a", "b", by=2.9).check(points).agrees
    assert not ahead("f", "b", "a").check(points).agrees


def test_a_gap_widens_or_does_not() -> None:
    assert widens("f", "a", "b").check(lines(a=lambda x: 1.0, b=lambda x: x)).agrees
    assert not widens("f", "a", "b").check(lines(a=lambda x: x, b=lambda x: x)).agrees


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
