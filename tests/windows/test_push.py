"""Windows one event at a time, against brute force over everything that was pushed."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow import Collect, Concat, Count, Max, Mean, Sum, Together, aggregation, rolling
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.push import window

every_algorithm = pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
every_closed = pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])

START = datetime(2026, 1, 1)
EXACT_SUM = aggregation(
    lift=int, combine=lambda a, b: a + b, lower=int, inverse=lambda total, old: total - old
)


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


# -- in order --------------------------------------------------------------------------------


@every_algorithm
@given(values=st.lists(st.integers(-50, 50), max_size=50), rows=st.integers(1, 12))
@settings(max_examples=30)
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
@settings(max_examples=20)
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
@settings(max_examples=40)
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
@settings(max_examples=40)
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


def test_all_so_far_and_now() -> None:
    w = window(Collect(), range="unbounded")
    assert [w.push(i, at=i) for i in (1, 2, 1000)] == [[1], [1, 2], [1, 2, 1000]]
    w = window(Collect(), range="now")
    assert [w.push(i, at=i // 2) for i in (1, 2, 3, 4)] == [[1], [2], [2, 3], [4]]


# -- out of order ----------------------------------------------------------------------------

disorder = st.lists(st.tuples(st.sampled_from([0, 0, 1, 2, 7]), st.integers(0, 12)), max_size=50)


@every_closed
@given(events=disorder, size=st.integers(1, 9), lateness=st.integers(1, 9))
@settings(max_examples=150)
def test_late_values_go_to_their_place_and_later_ones_are_counted(
    closed: str, events: list[tuple[int, int]], size: int, lateness: int
) -> None:
    w = window(Collect(), range=f"{size} s", closed=closed, lateness=timedelta(seconds=lateness))
    assert "flatfat" in repr(w)
    stream, front, dropped = Stream(), 0, 0
    for i, (step, back) in enumerate(events):
        front += step
        t = front - back if back < 8 else front  # mostly in order
        if stream.newest is not None and stream.newest - t > lateness:
            dropped += 1
        else:
            stream.add(t, i)
        expected = stream.within(size, closed)
        assert w.push(i, at=START + timedelta(seconds=t)) == (expected or None)
        assert (len(w), w.late) == (len(expected), dropped)
        w._check()


@every_closed
@given(events=disorder, size=st.integers(1, 9))
@settings(max_examples=60)
def test_flatfat_by_name_takes_any_lateness(
    closed: str, events: list[tuple[int, int]], size: int
) -> None:
    w = window(Concat(), delta=size, closed=closed, algorithm="flatfat")
    stream, front = Stream(), 0
    for i, (step, back) in enumerate(events):
        front += step
        stream.add(front - back, i)
        expected = "".join(f"{n}," for n in stream.within(size, closed))
        assert w.push(f"{i},", at=front - back) == (expected or None)
        w._check()
    assert w.late == 0


@given(events=disorder, rows=st.integers(1, 9), lateness=st.one_of(st.none(), st.integers(1, 9)))
@settings(max_examples=150)
def test_the_last_rows_by_time(
    events: list[tuple[int, int]], rows: int, lateness: int | None
) -> None:
    algorithm = "flatfat" if lateness is None else "auto"
    w = window(Collect(), rows=rows, lateness=lateness, algorithm=algorithm)
    stream, front, dropped = Stream(), 0, 0
    for i, (step, back) in enumerate(events):
        front += step
        t = front - back
        if lateness is not None and stream.newest is not None and stream.newest - t > lateness:
            dropped += 1
        else:
            stream.add(t, i)
        assert w.push(i, at=t) == stream.last(rows)
        assert w.late == dropped
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
@settings(max_examples=20)
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


# -- times -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "times",
    [
        [START, START + timedelta(seconds=1), START + timedelta(seconds=1, microseconds=1)],
        [
            datetime(2026, 1, 1, 12, tzinfo=UTC),
            datetime(2026, 1, 1, 14, 0, 1, tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 1, 1, 11, 0, 1, 1, tzinfo=timezone(timedelta(hours=-1))),
        ],
        [
            np.datetime64("2026-01-01"),
            np.datetime64("2026-01-01T00:00:01"),
            np.datetime64("2026-01-01T00:00:01.000000001"),
        ],
        [
            np.datetime64("3000", "Y"),
            np.datetime64("3000-01-01T00:00:01", "10ms"),
            datetime(3000, 1, 1, 0, 0, 1, 1),
        ],
        [
            pd.Timestamp("2026-01-01", tz="Europe/Vienna"),
            pd.Timestamp("2026-01-01 00:00:01", tz="Europe/Vienna"),
            pd.Timestamp("2025-12-31 23:00:01.000000001", tz="UTC"),
        ],
        [START, pd.Timestamp("2026-01-01 00:00:01"), np.datetime64("2026-01-01T00:00:02")],
        [0, np.int32(1000), np.float32(1000.5)],
    ],
    ids=["naive", "zones", "numpy", "far", "pandas", "mixed", "numbers"],
)
def test_times_of_many_types(times: list[Any]) -> None:
    """The second is just within the range of the first, the third is not."""
    size = 1000 if times[0] == 0 else "1 s"
    w = window(Collect(), range=size)
    assert [w.push(i, at=t) for i, t in enumerate(times)] == [[0], [0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("extent", "first", "wrong", "message"),
    [
        ({"range": "1 h"}, START, 5, "range='1 h', so at must be a time, got 5"),
        ({"range": 5}, 1, START, "range=5, so at must be a number, got datetime"),
        ({"delta": 5}, 1, START, "delta=5, so at must be a number, got datetime"),
        ({"rows": 5, "lateness": "1 h"}, START, 5, "lateness='1 h', so at must be a time"),
        (
            {"range": "1 h"},
            START,
            START.replace(tzinfo=UTC),
            "does not go with the values so far, which came with times without a zone",
        ),
        ({"rows": 5}, START, 5, "which came with times without a zone"),
        ({"rows": 5}, 5, None, "at=None does not go with .* came with numbers"),
        ({"rows": 5}, None, 5, "at=5 does not go with .* came with no times"),
        ({"range": "1 h"}, START, "2026-01-01", "at='2026-01-01' is no time"),
        ({"range": "1 h"}, START, pd.NaT, "is no time"),
        ({"range": "1 h"}, START, np.datetime64("NaT"), "is no time"),
        ({"range": "1 h"}, START, np.datetime64(5, "ps"), "finer than a nanosecond"),
        ({"range": 5}, 1, float("nan"), "at=nan is no time"),
        ({"range": 5}, 1, float("inf"), "at=inf is no time"),
        ({"range": 5}, 1, True, "at=True is no time"),
        ({"range": 5}, 1, Fraction(7, 2), "is no time"),
    ],
)
@every_closed
def test_times_that_do_not_fit(
    closed: str, extent: dict[str, Any], first: Any, wrong: Any, message: str
) -> None:
    if "rows" not in extent:
        extent = {**extent, "closed": closed}
    w = window(Collect(), **extent)
    w.push("a", at=first)
    before = (w.query(), len(w))
    with pytest.raises(InvalidValue, match=message):
        w.push("b", at=wrong)
    assert (w.query(), len(w)) == before
    w._check()
    w.push("c", at=first)


@pytest.mark.parametrize(
    "extent", [{"range": "1 h"}, {"range": "now"}, {"delta": 1}, {"rows": 1, "lateness": 2}]
)
def test_times_are_needed(extent: dict[str, Any]) -> None:
    name = [*extent][-1]
    with pytest.raises(InvalidArgument, match=f"{name}= needs each value's time"):
        window(Max(), **extent).push(3)


@pytest.mark.parametrize("extent", [{"until": lambda total, old: False}, {"on": bool}])
def test_times_are_not_taken_where_they_mean_nothing(extent: dict[str, Any]) -> None:
    w = window(Max(), **extent)
    with pytest.raises(
        InvalidArgument, match=r"at=5 goes with rows=, range= or delta=; \w+= takes"
    ):
        w.push(3, at=5)
    assert len(w) == 0


# -- whatever is refused changes nothing -----------------------------------------------------


@pytest.mark.parametrize(
    "extent",
    [
        {"rows": 2},
        {"rows": 2, "lateness": 5},
        {"range": 2},
        {"range": 2, "lateness": 5},
        {"range": 2, "closed": "left"},
        {"range": 2, "closed": "neither", "lateness": 5},
        {"until": lambda total, old: total.n - old.n >= 2},
        {"on": lambda value: value == 99},
    ],
    ids=lambda kind: "-".join(kind) if isinstance(kind, dict) else str(kind),
)
def test_a_wrong_value_leaves_the_window_as_it_was(extent: dict[str, Any]) -> None:
    timed = "until" not in extent and "on" not in extent
    w = window({"max": Max(), "all": Collect(), "n": Count()}, **extent)
    twin = window({"max": Max(), "all": Collect(), "n": Count()}, **extent)

    def at(t: int) -> dict[str, int]:
        return {"at": t} if timed else {}

    times = [1, 1, 2, 4, 4, 5]
    if "lateness" in extent:
        times = [2, 1, 2, 4, 3, 5]
    for i, t in enumerate(times):
        if i:  # a window that is empty has no values that another must go with
            for wrong_at in (t, t + 1, t + 10):
                before = w.query(), len(w)
                with pytest.raises(InvalidValue, match="the window holds number values, so 'x'"):
                    w.push("x", **at(wrong_at))
                assert (w.query(), len(w)) == before
        assert w.push(i, **at(t)) == twin.push(i, **at(t))
        w._check()


@pytest.mark.parametrize("wrong", ["tie", "newer", "late"])
def test_values_that_wait_must_go_together_as_well(wrong: str) -> None:
    w = window(Max(), range=5, closed="left", lateness=3)
    w.push("a", at=10)
    with pytest.raises(InvalidValue, match="holds str values, so 3"):
        w.push(3, at={"tie": 10, "newer": 11, "late": 9}[wrong])
    assert w.push("b", at=12) == "a"


@pytest.mark.parametrize("at", [1, 2])
def test_a_null_that_waits_lets_nothing_else_in(at: int) -> None:
    w = window(Max(), range=5, closed="left")
    w.push(3, at=0)
    w.push(None, at=1)
    with pytest.raises(InvalidValue, match="holds number values, so 'x'"):
        w.push("x", at=at)
    assert [w.push(4, at=1), w.push(5, at=2)] == [3, 4]


def test_a_combine_that_raises_while_old_values_leave_is_made_up_for() -> None:
    fuse = -1

    def plus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        nonlocal fuse
        fuse -= 1
        if fuse == 0:
            raise ZeroDivisionError
        return a + b

    tuples = aggregation(lift=lambda v: (v,), combine=plus, lower=list)
    for extent in ({"rows": 4}, {"range": 3}, {"range": 3, "closed": "neither"}):
        for algorithm in ("amta", "flatfat", "daba", "two_stacks"):
            made = functools.partial(window, tuples, algorithm=algorithm, **extent)
            twins = made(), made()
            for t in range(9):
                twins[0].push(t, at=t)
                if t != 7:
                    twins[1].push(t, at=t)
            with_it, without = (twin.query() for twin in twins)
            for burns in range(1, 7):
                w = made()
                for t in range(7):
                    w.push(t, at=t)
                fuse, raised = burns, False
                try:
                    w.push(7, at=7)
                except ZeroDivisionError:
                    raised = True
                fuse = -1
                answer = w.push(8, at=8)
                assert answer == with_it or (raised and answer == without), (extent, algorithm)
                w._check()


# -- what a window says of itself ------------------------------------------------------------


def test_empty_windows_follow_the_aggregation() -> None:
    w = window({"n": Count(), "max": Max()}, range=1, closed="left")
    assert w.query() == {"n": 0, "max": None}
    assert w.push(3, at=0) == {"n": 0, "max": None}
    assert w.push(4, at=1) == {"n": 1, "max": 3}
    assert window(Count(), rows=3).query() == 0
    assert window(Max(), rows=3).push(None) is None


def test_several_aggregations_share_the_window() -> None:
    w = window(Together(peak=Max("load"), mean=Mean("load")), rows=2)
    for load in (2, 4, 5):
        answer = w.push({"load": load})
    assert (answer.peak, answer.mean) == (5, 4.5)


def test_auto_says_what_runs_and_why() -> None:
    def chosen(agg: Any, **extent: Any) -> str:
        text = window(agg, **extent).explain()
        return text.splitlines()[1].partition(":")[0]

    assert chosen(Max(), rows=3) == "slick_deque"
    assert chosen(Mean(), range=3) == "daba"
    assert chosen(Mean(), range=3, lateness=1) == "flatfat"
    assert chosen(Mean(), until=lambda total, old: True) == "amta"
    assert chosen(Mean(), on=bool) == "two_stacks"
    assert chosen(Collect(), on=bool) == "recalculate"
    assert chosen(EXACT_SUM, rows=3, algorithm="subtract_on_evict") == "subtract_on_evict"

    def too_many(total: Any, old: Any) -> bool:
        return False

    w = window(Max(), range="1 hour", closed="right", lateness="5 min")
    assert repr(w) == (
        "<window of Max(), range='1 hour', closed='right', lateness='5 min', by flatfat: "
        "0 value(s)>"
    )
    assert w.explain().splitlines() == [
        "(t − 1 hour, t], an answer a row; late values go to their place, up to 5 min",
        "flatfat: Reactive Aggregator on FlatFAT, the flat fixed-size aggregator",
        "of Max(): commutative, selective, exact",
        "because values may come and go in any order of time",
    ]
    assert "late values go to their place\n" in window(Max(), rows=3, algorithm="flatfat").explain()
    assert "too_many, by amta: 0 value(s)>" in repr(window(Max(), until=too_many))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give one of rows=, range=, delta=, until=, on=; got none"),
        ({"rows": 3, "range": 5}, "got rows= and range="),
        ({"rows": 0}, "rows must be 1 or more, got 0"),
        ({"rows": 2.5}, "rows must be a whole number, got 2.5"),
        ({"range": 0}, "range=0 must be larger than 0"),
        ({"range": float("nan")}, "range=nan must be larger than 0"),
        ({"range": "1 month"}, "months and years differ in length"),
        ({"range": "soon"}, "range='soon' is not a duration"),
        ({"delta": "1 hour"}, "delta='1 hour' must be a number; for a duration give range="),
        ({"range": 3, "closed": "open"}, "closed='open' is unknown"),
        ({"rows": 3, "closed": "left"}, "closed='left' goes with range= or delta=, not with rows="),
        ({"until": 3}, r"until=3 must be a function of \(total, old\)"),
        ({"on": "end"}, "on='end' must be a function of a value"),
        ({"on": bool, "lateness": 3}, "lateness=3 goes with times, and on= has none"),
        ({"until": max, "lateness": 3}, "lateness=3 goes with times, and until= has none"),
        ({"range": "1 h", "lateness": 3}, "lateness=3 must be a duration, as range='1 h' is"),
        ({"delta": 1, "lateness": "3 s"}, "lateness='3 s' must be a number, as delta=1 is"),
        ({"rows": 1, "lateness": 0}, "lateness=0 must be larger than 0"),
        ({"rows": 1, "lateness": "never"}, "lateness='never' is not a duration"),
        ({"rows": 3, "algorithm": "dabba"}, "did you mean 'daba'"),
        (
            {"rows": 3, "lateness": 3, "algorithm": "daba"},
            "algorithm='daba' does not go with lateness=; take flatfat or auto",
        ),
        (
            {"until": max, "algorithm": "daba"},
            "algorithm='daba' does not go with until=; take flatfat, log_mta, amta or auto",
        ),
    ],
    ids=lambda kind: "-".join(kind) if isinstance(kind, dict) else str(kind),
)
def test_mistakes_are_found_before_anything_runs(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        window(Max(), **arguments)


def test_it_takes_aggregations() -> None:
    with pytest.raises(InvalidArgument, match=r"window: .* write Max\(\), not Max"):
        window(Max, rows=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="Together needs at least one"):
        window({}, rows=3)


def test_it_needs_no_numpy() -> None:
    code = (
        "import sys, datetime; from windrow import Max; from windrow.windows.push import window;"
        "w = window(Max(), range='1 hour'); w.push(3, at=datetime.datetime(2026, 1, 1));"
        "w = window(Max(), until=lambda total, old: False); w.push(3);"
        "print([m for m in ('numpy', 'numba', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
