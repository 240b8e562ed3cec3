"""What a window holds after each push, against brute force over everything that was pushed."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import Collect, Concat, Count, Max, Mean, Sum, aggregation, rolling
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import InvalidValue
from windrow.windows.push import window

every_algorithm = pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
every_closed = pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])

START = datetime(2026, 1, 1)


def probe(algorithm: str) -> tuple[Any, Callable[[list[int]], Any]]:
    """An aggregation that `algorithm` runs, and the same by hand; None for an empty window."""
    if algorithm == "auto" or algorithm_class(algorithm).supports(Collect()):
        return Collect(), lambda values: values or None
    if algorithm_class(algorithm).supports(Max()):
        return Max(), lambda values: max(values, default=None)
    return Count(), len


class Stream:
    """All values that were accepted, and what a window over them must hold."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, int]] = []  # (time, number), by time and then by arrival
        self.newest: Any = None

    def add(self, t: Any, value: int) -> None:
        self.newest = t if self.newest is None else max(self.newest, t)
        self.events.append((t, value))
        self.events.sort(key=lambda event: event[0])  # stable: ties stay as they came

    def within(self, size: Any, closed: str) -> list[int]:
        oldest, newest = self.newest - size, self.newest
        return [
            value
            for t, value in self.events
            if (oldest <= t if closed in ("both", "left") else oldest < t)
            and (t <= newest if closed in ("both", "right") else t < newest)
        ]

    def last(self, rows: int) -> list[int]:
        return [value for _, value in self.events[-rows:]]

    def is_late(self, t: Any) -> bool:
        return self.newest is not None and t < self.newest

    def is_dropped(self, t: Any, size: Any, closed: str) -> bool:
        """Whether a late value has no place in the window by time."""
        oldest = self.newest - size if self.is_late(t) else t - 1
        return bool(t < oldest if closed in ("both", "left") else t <= oldest)


# -- in order --------------------------------------------------------------------------------


@every_algorithm
@given(values=st.lists(st.integers(-50, 50), max_size=50), rows=st.integers(1, 12))
@examples(30)
def test_the_last_rows(algorithm: str, values: list[int], rows: int) -> None:
    agg, by_hand = probe(algorithm)
    w = window(agg, rows=rows, algorithm=algorithm)
    for i, value in enumerate(values):
        expected = values[max(0, i + 1 - rows) : i + 1]
        assert w.push(value) == by_hand(expected)
        assert len(w) == len(expected)
        assert w.query() == by_hand(expected)
        w._check()


@every_algorithm
@every_closed
@given(
    steps=st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 5, 30]), max_size=50),
    size=st.integers(1, 9),
    unit=st.sampled_from(["time", "int", "float"]),
)
@examples(20)
def test_a_range_in_order_with_ties(
    algorithm: str, closed: str, steps: list[int], size: int, unit: str
) -> None:
    agg, by_hand = probe(algorithm)
    written = {"time": f"{size} s", "int": size, "float": size / 4}[unit]
    w = window(agg, range=written, closed=closed, algorithm=algorithm)
    stream, t = Stream(), 0
    for i, step in enumerate(steps):
        t += step
        stream.add(t, i)
        at = {"time": START + timedelta(seconds=t), "int": t, "float": t / 4}[unit]
        expected = stream.within(size, closed)
        assert w.push(i, at=at) == by_hand(expected)
        assert len(w) == len(expected)
        assert w.query() == by_hand(expected)
        w._check()


@every_closed
@given(gaps=st.lists(st.integers(1, 2000), min_size=1, max_size=40), size=st.integers(1, 3000))
@examples(40)
def test_agrees_with_pandas(closed: Any, gaps: list[int], size: int) -> None:
    at = pd.Timestamp(START) + pd.to_timedelta(np.cumsum(gaps), unit="ms")
    values = pd.Series(np.arange(float(len(gaps))), index=at)
    expected = values.rolling(timedelta(milliseconds=size), closed=closed).sum()
    w = window(Sum(), range=timedelta(milliseconds=size), closed=closed)
    for t, value, answer in zip(at, values, expected, strict=True):
        got = w.push(value, at=t)
        assert np.isnan(answer) if got is None else got == answer


@every_closed
@given(
    gaps=st.lists(st.floats(0.01, 3.0), min_size=1, max_size=40),
    size=st.sampled_from([0.1, 0.3, 1.1, 3.3]),
)
@examples(40)
def test_agrees_with_rolling_on_floats_however_they_round(
    closed: str, gaps: list[float], size: float
) -> None:
    at = np.cumsum(gaps)
    expected = rolling(np.ones(len(at)), Count(), range=size, at=at, closed=closed)
    w = window(Count(), delta=size, closed=closed)
    assert [w.push(1, at=t) for t in at] == list(expected)


def test_a_range_with_fractions_over_whole_times() -> None:
    w = window(Count(), range=2.5, closed="right")
    assert [w.push(0, at=t) for t in (0, 1, 2, 3)] == [1, 2, 3, 3]
    huge = 1 << 62
    w = window(Count(), range=2.0)
    assert [w.push(0, at=huge + t) for t in (0, 1, 2, 3)] == [1, 2, 3, 3], "no rounding to floats"


@pytest.mark.parametrize("closed", ["both", "left"])
@pytest.mark.parametrize("algorithm", ["amta", "log_mta"])
def test_what_leaves_a_range_is_searched_for(algorithm: str, closed: Any) -> None:
    """One value or thousands: a logarithm of them is looked at, in the tree itself."""
    n = 5000
    for gap in (1, 7, 900, n - 2, n - 1, n, 10 * n):
        w = window(Count(), range=n, closed=closed, algorithm=algorithm)
        for t in range(n):
            w.push(1, at=t)
        looks, is_before = 0, w._is_before  # type: ignore[attr-defined]

        def counted(t: Any, newest: Any, is_before: Any = is_before) -> bool:
            nonlocal looks
            looks += 1
            return bool(is_before(t, newest))

        w._is_before = counted  # type: ignore[attr-defined]
        newest = n - 1 + gap
        expected = sum(newest - n <= t < newest + (closed == "both") for t in [*range(n), newest])
        assert w.push(1, at=newest) == expected
        assert looks <= 2 * math.log2(n) + 4
        assert not w._times, "no queue of times beside the tree"  # type: ignore[attr-defined]
        w._check()


def test_all_so_far_and_now() -> None:
    w = window(Collect(), range="unbounded")
    assert [w.push(i, at=i) for i in (1, 2, 1000)] == [[1], [1, 2], [1, 2, 1000]]
    w = window(Collect(), range="now")
    assert [w.push(i, at=i // 2) for i in (1, 2, 3, 4)] == [[1], [2], [2, 3], [4]]


# -- out of order ----------------------------------------------------------------------------

disorder = st.lists(st.tuples(st.sampled_from([0, 0, 1, 2, 7]), st.integers(0, 12)), max_size=50)


@every_closed
@given(events=disorder, size=st.integers(1, 9), lateness=st.integers(1, 9))
@examples(150)
def test_late_values_go_to_their_place_and_later_ones_are_counted(
    closed: str, events: list[tuple[int, int]], size: int, lateness: int
) -> None:
    w = window(Collect(), range=f"{size} s", closed=closed, lateness=timedelta(seconds=lateness))
    assert "fiba" in repr(w)
    stream, front, dropped = Stream(), 0, 0
    for i, (step, back) in enumerate(events):
        front += step
        t = front - back if back < 8 else front  # mostly in order
        if stream.is_late(t) and stream.newest - t > lateness:
            dropped += 1
        else:
            dropped += stream.is_dropped(t, size, closed)
            stream.add(t, i)
        expected = stream.within(size, closed)
        assert w.push(i, at=START + timedelta(seconds=t)) == (expected or None)
        assert (len(w), w.late) == (len(expected), dropped)
        w._check()


@every_closed
@pytest.mark.parametrize("algorithm", ["flatfat", "fiba"])
@given(events=disorder, size=st.integers(1, 9))
@examples(40)
def test_those_that_keep_times_take_any_lateness_by_name(
    algorithm: str, closed: str, events: list[tuple[int, int]], size: int
) -> None:
    w = window(Concat(), delta=size, closed=closed, algorithm=algorithm)
    stream, front, dropped = Stream(), 0, 0
    for i, (step, back) in enumerate(events):
        front += step
        dropped += stream.is_dropped(front - back, size, closed)
        stream.add(front - back, i)
        expected = "".join(f"{n}," for n in stream.within(size, closed))
        assert w.push(f"{i},", at=front - back) == (expected or None)
        assert w.late == dropped
        w._check()


@given(events=disorder, rows=st.integers(1, 9), lateness=st.one_of(st.none(), st.integers(1, 9)))
@examples(150)
def test_the_last_rows_by_time(
    events: list[tuple[int, int]], rows: int, lateness: int | None
) -> None:
    algorithm = "flatfat" if lateness is None else "auto"
    w = window(Collect(), rows=rows, lateness=lateness, algorithm=algorithm)
    stream, front, dropped = Stream(), 0, 0
    for i, (step, back) in enumerate(events):
        front += step
        t = front - back
        if lateness is not None and stream.is_late(t) and stream.newest - t > lateness:
            dropped += 1
        else:
            stream.add(t, i)
            dropped += i not in stream.last(rows)
        assert w.push(i, at=t) == stream.last(rows)
        assert w.late == dropped
        w._check()


@pytest.mark.parametrize("extent", [{"range": 5}, {"rows": 2}, {"range": 5, "closed": "left"}])
def test_a_value_for_which_the_window_has_no_place_is_counted(extent: dict[str, Any]) -> None:
    w = window(Collect(), lateness=10, **extent)
    for t in (19, 20, 21):
        w.push(t, at=t)
    before = w.query()
    assert (w.push(12, at=12), w.late) == (before, 1)
    w._check()


@pytest.mark.parametrize("algorithm", ["auto", "daba", "amta", "recalculate"])
@pytest.mark.parametrize("extent", [{"range": 5}, {"rows": 5}, {"delta": 5, "closed": "left"}])
def test_without_lateness_a_late_value_is_an_error(algorithm: str, extent: dict[str, Any]) -> None:
    w = window(Mean(), algorithm=algorithm, **extent)
    w.push(1, at=3)
    w.push(2, at=4)
    w.push(2, at=4)  # an equal time is not late
    before = (w.query(), len(w))
    with pytest.raises(
        InvalidValue, match=r"at=3\.5 is before the newest time, 4, .*lateness=.* or algorithm="
    ):
        w.push(5, at=3.5)
    assert (w.query(), len(w), w.late) == (*before, 0)
    w._check()
    w.push(3, at=5)


# -- punctuation -----------------------------------------------------------------------------


@every_algorithm
@given(values=st.lists(st.integers(0, 9), max_size=40))
@examples(20)
def test_a_window_closes_at_each_punctuation(algorithm: str, values: list[int]) -> None:
    agg, by_hand = probe(algorithm)
    w = window(agg, on=lambda value: value == 0, algorithm=algorithm)
    kept: list[int] = []
    for value in values:
        kept.append(value)
        answer = w.push(value)
        if value == 0:
            assert answer == by_hand(kept)
            kept = []
        else:
            assert answer is None
        assert (w.query(), len(w)) == (by_hand(kept), len(kept))
        w._check()


def test_what_fails_at_a_punctuation_leaves_the_window_open() -> None:
    broken = aggregation(lift=int, combine=lambda a, b: a + b, lower=lambda total: 10 // total)
    w = window(broken, on=lambda value: value < 1)
    w.push(2)
    with pytest.raises(ZeroDivisionError):
        w.push(-2)
    with pytest.raises(TypeError):
        w.push("x")
    assert len(w) == 1
    assert w.push(0) == 5


def test_a_number_of_numpy_is_one_of_rows() -> None:
    assert "rows=3," in repr(window(Max(), rows=np.int64(3)))
