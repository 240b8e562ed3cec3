"""The times that a window takes, what it refuses, and what it says of itself."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from windrow import Adwin, Collect, Count, Max, Mean, MemoryStore, Together, aggregation
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.push import window

every_closed = pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])

START = datetime(2026, 1, 1)
EXACT_SUM = aggregation(
    lift=int, combine=lambda a, b: a + b, lower=int, inverse=lambda total, old: total - old
)


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
    assert chosen(Mean(), range=3, lateness=1) == "fiba"
    assert chosen(Mean(), until=lambda total, old: True) == "amta"
    assert chosen(Mean(), on=bool) == "two_stacks"
    assert chosen(Collect(), on=bool) == "recalculate"
    assert chosen(EXACT_SUM, rows=3, algorithm="subtract_on_evict") == "subtract_on_evict"

    def too_many(total: Any, old: Any) -> bool:
        return False

    w = window(Max(), range="1 hour", closed="right", lateness="5 min")
    assert repr(w) == (
        "<window of Max(), range='1 hour', closed='right', lateness='5 min', by fiba: 0 value(s)>"
    )
    assert w.explain().splitlines() == [
        "(t − 1 hour, t], a result for each row; late values go to their place, up to 5 min",
        "fiba: FiBA, the finger B-tree aggregator",
        "of Max(): commutative, selective, exact",
        "because values may come late: O(log d) ⊕ for one that d newer ones came before",
        "in the interpreter",
    ]
    for algorithm in ("fiba", "flatfat"):
        w = window(Max(), rows=3, algorithm=algorithm)
        assert "late values go to their place\n" in w.explain()
    assert "too_many, by amta: 0 value(s)>" in repr(window(Max(), until=too_many))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give one of rows=, range=, delta=, until=, on= and gap=; got none"),
        ({"rows": 3, "range": 5}, "got rows=3 and range=5"),
        ({"rows": 0}, "rows must be 1 or more, got 0"),
        ({"rows": 2.5}, "rows must be a whole number, got 2.5"),
        ({"range": 0}, "range=0 must be larger than 0"),
        ({"range": float("nan")}, "range=nan must be larger than 0"),
        ({"range": "1.5 months"}, "a part of a month is of no length"),
        ({"range": "soon"}, "range='soon' is not a duration"),
        ({"delta": "1 hour"}, "delta='1 hour' must be a number; for a duration give range="),
        ({"range": 3, "closed": "open"}, "closed='open' is unknown"),
        (
            {"rows": 3, "closed": "left"},
            "closed='left' means nothing with rows=, only with range= or delta=",
        ),
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
            "algorithm='daba' does not go with lateness=; take flatfat, fiba or auto",
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


def test_what_adwin_knows_does_not_lie_in_a_store() -> None:
    with pytest.raises(InvalidArgument, match="does not go with store="):
        window(Max(), until=Adwin(), store=MemoryStore())


@pytest.mark.parametrize("size", [{"range": 4}, {"until": lambda total, old: False}])
def test_a_slide_goes_with_rows(size: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="slide=2"):
        window(Max(), slide=2, **size)
    with pytest.raises(InvalidArgument, match="slide=5 is larger than rows=4"):
        window(Max(), rows=4, slide=5)
    every = window(Max(), rows=3, slide=2)
    assert every.explain().startswith("the last 3 rows, a result after every 2 rows")
    assert repr(every).startswith("<window of Max(), rows=3, slide=2, by ")


def test_a_dropped_value_is_none_of_a_slide() -> None:
    pushed = window(Max(), rows=3, slide=2, lateness=5)
    values = [(1, 10), (9, 0), (2, 11), (3, 12), (0, 13)]
    assert [pushed.push(v, at=t) for v, t in values] == [None, None, 2, None, 3]
    assert (pushed.late, pushed.query()) == (1, 3)
