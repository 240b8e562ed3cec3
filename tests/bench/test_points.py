"""Points, the clock, calls in rounds and the lines of a figure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench import measure as measuring
from bench.experiment import Clock, Settings
from bench.measure import TYPICAL, calibrated, curve, latencies, measure, nanoseconds, turns
from bench.points import TIME_IS_UP, Figure, Point, Points
from bench.report import cell

F = Figure("f", "", "x", "ns")
TINY = Settings(True, 2, largest=16)


class Sleeping:
    """A trial whose events take a known time."""

    least, most, first = 1, 1 << 20, 0.5

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, 0

    def run(self, events: int) -> Any:
        self.calls += 1
        time.sleep(self.seconds * events)


def slowly(seconds: float) -> Callable[[], NDArray[np.float64]]:
    def call() -> NDArray[np.float64]:
        time.sleep(seconds)
        return np.ones(3)

    return call


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_a_point_lies_between_its_runs(runs: list[float]) -> None:
    point = F.point("a", 1, *runs)
    assert point.low <= point.median <= point.high
    assert point.measured and point.to_dict()["runs"] == runs


@given(
    st.lists(st.floats(1e-9, 1e9)),
    st.sampled_from(["ok", "disagrees", "not measured: why"]),
    st.none() | st.floats(0, 1),
    st.dictionaries(st.sampled_from(["events", "window"]), st.integers()),
)
def test_a_point_comes_back_as_it_was_kept(
    runs: list[float], status: str, first: float | None, more: dict[str, int]
) -> None:
    point = Point("f", "a", "place", "ns", tuple(runs), status, first, more)
    assert Point.from_dict(point.to_dict()) == point


def test_what_was_not_measured_says_why() -> None:
    point = F.missing("a", 1, "not installed")
    assert not point.measured and point.why == "not installed"
    assert point.to_dict() == {
        "figure": "f", "series": "a", "x": 1, "unit": "ns", "status": "not measured: not installed",
    }  # fmt: skip
    assert Points([point]).line(F, "a") == []
    assert Points([point]).value(F, "a", 1) is None


def test_seconds_are_turned_into_the_unit_of_the_figure() -> None:
    assert Figure("f", "", "x", "µs a row").timed("a", 1, [2e-6]).median == pytest.approx(2.0)
    rates = Figure("f", "", "x", "million values a second")
    assert rates.timed("a", 1, [2e-6]).median == pytest.approx(0.5)


def test_rates_become_costs() -> None:
    rates = Figure("f", "", "x", "million values a second")
    points = Points([rates.point("a", x, float(x)) for x in (4, 2)])
    assert points.line(rates, "a") == [(2, 2.0), (4, 4.0)]
    assert points.costs(rates, "a") == {2: 0.5, 4: 0.25}


def test_places_are_sorted_unless_they_are_words() -> None:
    numbers = Points([F.point("a", x, 1.0) for x in (8, 2, 4)])
    words = Points([F.point("a", x, 1.0) for x in ("p99", "mean")])
    assert numbers.places(F) == [2, 4, 8]
    assert words.places(F) == ["p99", "mean"]


def test_a_share_of_the_time_is_left_to_the_later_ones() -> None:
    clock = Clock(10.0)
    assert clock.share(1, of=4).left == pytest.approx(2.5, abs=0.1)
    assert [round(share.left) for share, _ in clock.shares("ab")] == [5, 10]
    assert Clock(0.0).over and not clock.over


# -- calls -------------------------------------------------------------------------------------


def test_every_round_has_everyone_in_another_order() -> None:
    names = [str(i) for i in range(6)]
    found = list(turns(names, 3))
    orders = [found[i : i + 6] for i in range(0, 18, 6)]
    assert all(sorted(order) == names for order in orders)
    assert len(set(map(tuple, orders))) == 3


def test_what_fails_or_disagrees_is_shown_and_does_not_win() -> None:
    def fails() -> None:
        raise ValueError("no window so long")

    def missing() -> None:
        raise ImportError

    calls = {
        "windrow": slowly(0.002),
        "wrong": lambda: np.zeros(3),
        "fails": fails,
        "missing": missing,
    }
    timings = measure(calls, repeats=2)
    wrong = timings["wrong"]
    assert wrong.status == "disagrees" and wrong.runs and wrong.median == math.inf
    assert timings["fails"].status == "failed: ValueError: no window so long"
    assert timings["missing"].status == "not installed"
    assert not timings["fails"].runs and not timings["missing"].ready
    assert cell(wrong.point(F, "wrong", 1)).endswith("disagrees")
    assert timings["fails"].point(F, "fails", 1).why == "failed: ValueError: no window so long"


def test_a_shorter_result_is_that_of_the_first_values() -> None:
    timings = measure({"all": lambda: np.arange(9), "few": lambda: np.arange(3)}, repeats=1)
    assert [timing.status for timing in timings.values()] == ["ok", "ok"]


def test_what_is_slow_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SLOW", 0.01)
    timings = measure({"fast": lambda: np.ones(3), "slow": slowly(0.02)}, repeats=3)
    assert len(timings["slow"].runs) == 1
    assert len(timings["fast"].runs) == 3


# -- windows and events ----------------------------------------------------------------------


@given(st.floats(1e-9, 1e-3))
def test_a_run_is_as_long_as_asked(an_event: float) -> None:
    """By a clock that is made up: an event takes what it says."""

    class Simulated(Sleeping):
        def run(self, events: int) -> float:
            return self.seconds * events

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "timed", lambda call: (call(), None))
        events, seconds = calibrated(Simulated(an_event), 0.02)
    assert seconds == pytest.approx(an_event * events)
    assert 0.02 / 3 <= seconds <= 0.02 or events == Sleeping.most


def test_a_line_has_the_time_an_event() -> None:
    figure = Figure("f", "", "x", "ms an event")
    contenders = {"fast": lambda x, seconds: Sleeping(1e-4 * x)}
    points = list(curve(figure, [1, 2], contenders, TINY, Clock(600.0)))
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
    points = Points(curve(F, [1, 2], contenders, TINY, Clock(600.0)))
    assert [p.measured for p in points.of(F, "a")] == [True, True]
    assert {p.status for p in points.of(F, "b")} == {
        "not measured: failed: ValueError: no such window"
    }
    assert {p.status for p in points.of(F, "c")} == {"not measured: the window was not full"}


def test_when_the_time_is_up_the_rest_is_told() -> None:
    contenders = {"a": lambda x, seconds: Sleeping(math.inf)}
    points = list(curve(F, [1, 2, 4], contenders, Settings(True), Clock(0.0)))
    assert [p.status for p in points] == [f"not measured: {TIME_IS_UP}"] * 3


def test_the_longest_event_is_that_of_the_medians_over_the_rounds() -> None:
    """What happens in one round only is in the raw maximum, and not in the typical one."""
    begun = 0

    def run(values: Sequence[int]) -> Any:
        nonlocal begun
        begun += 1
        first = begun == 1

        def step(value: int) -> None:
            time.sleep(0.02 if value == 5 else 0.05 if first and value == 2 else 0)

        return nanoseconds(step, values)

    settings = Settings(True, 3)
    points = Points(latencies(F, {"a": run}, range(8), settings, Clock(60.0)))
    typical, raw = points.at(F, "a", TYPICAL), points.at(F, "a", "max")
    assert typical is not None and 0.02e9 <= typical.median < 0.05e9
    assert raw is not None and raw.high >= 0.05e9 and len(raw.runs) == 3
