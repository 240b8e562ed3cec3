"""Points, the clock and the lines of a figure."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.bench import trials
from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.points import Point, Points, missing
from windrow.bench.settings import Settings
from windrow.bench.trials import calibrated, curve


class Sleeping:
    """A trial whose events take a known time."""

    least, most, first = 1, 1 << 20, 0.5

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, 0

    def run(self, events: int) -> Any:
        self.calls += 1
        time.sleep(self.seconds * events)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_a_point_lies_between_its_runs(runs: list[float]) -> None:
    point = Point("f", "a", 1, "ns", tuple(runs))
    assert point.low <= point.median <= point.high
    assert point.measured and point.to_dict()["runs"] == runs


def test_what_was_not_measured_says_why() -> None:
    point = missing("f", "a", 1, "ns", "not installed")
    assert not point.measured
    assert point.to_dict() == {
        "figure": "f", "series": "a", "x": 1, "unit": "ns", "status": "not measured: not installed",
    }  # fmt: skip
    assert Points([point]).line("f", "a") == []
    assert Points([point]).value("f", "a", 1) is None


def test_rates_become_costs() -> None:
    points = Points([Point("f", "a", x, "million values a second", (float(x),)) for x in (4, 2)])
    assert points.line("f", "a") == [(2, 2.0), (4, 4.0)]
    assert points.costs("f", "a") == [(2, 0.5), (4, 0.25)]


def test_places_are_sorted_unless_they_are_words() -> None:
    numbers = Points([Point("f", "a", x, "ns", (1.0,)) for x in (8, 2, 4)])
    words = Points([Point("f", "a", x, "ns", (1.0,)) for x in ("p99", "mean")])
    assert numbers.places("f") == [2, 4, 8]
    assert words.places("f") == ["p99", "mean"]


def test_a_share_of_the_time_is_left_to_the_later_ones() -> None:
    clock = Clock(10.0)
    assert clock.share(1, of=4).left == pytest.approx(2.5, abs=0.1)
    assert Clock(0.0).over and not clock.over


@given(st.floats(1e-9, 1e-3))
def test_a_run_is_as_long_as_asked(an_event: float) -> None:
    """By a clock that is made up: an event takes what it says."""

    class Simulated(Sleeping):
        def run(self, events: int) -> float:
            return self.seconds * events

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "timed", lambda call: (call(), None))
        events, seconds = calibrated(Simulated(an_event), 0.02)
    assert seconds == pytest.approx(an_event * events)
    assert 0.02 / 3 <= seconds <= 0.02 or events == Sleeping.most


def test_a_line_has_the_time_an_event() -> None:
    settings = Settings(True, 2, a_run=0.005)
    made = {"fast": lambda x, seconds: Sleeping(1e-4 * x)}
    points = list(curve("f", [1, 2], made, Clock(600.0), settings, unit="ms", scale=1e3))
    assert [p.x for p in points] == [1, 2]
    for p in points:
        assert p.measured and len(p.runs) == 2 and p.first == 0.5
        assert p.low >= 0.1 * float(p.x)


def test_who_fails_or_is_too_slow_is_told_and_the_others_go_on() -> None:
    def broken(x: int, seconds: float) -> Sleeping:
        raise ValueError("no such window")

    def never_full(x: int, seconds: float) -> Sleeping:
        raise TimeoutError("the window was not full")

    contenders = {"a": lambda x, seconds: Sleeping(1e-5), "b": broken, "c": never_full}
    points = Points(curve("f", [1, 2], contenders, Clock(600.0), Settings(True, 1, a_run=1e-3)))
    assert [p.measured for p in points.of("f", "a")] == [True, True]
    assert {p.status for p in points.of("f", "b")} == {
        "not measured: failed: ValueError: no such window"
    }
    assert {p.status for p in points.of("f", "c")} == {"not measured: the window was not full"}


def test_when_the_time_is_up_the_rest_is_told() -> None:
    contenders = {"a": lambda x, seconds: Sleeping(math.inf)}
    points = list(curve("f", [1, 2, 4], contenders, Clock(0.0), Settings(True)))
    assert [p.status for p in points] == [f"not measured: {TIME_IS_UP}"] * 3
