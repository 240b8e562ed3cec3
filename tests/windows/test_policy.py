"""Programmable slide policies (paper 001): its examples, against recalculation by brute force."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import ArgMax, Collect, Count, Last, LongestRun, Max, Mean, Sum, aggregator
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.push import window
from windrow.windows.until import PolicyWindow

SEARCHING = ["flatfat", "log_mta", "amta"]
every_searching = pytest.mark.parametrize("algorithm", SEARCHING)

Fields = Callable[[list[Any]], SimpleNamespace]
Policy = Callable[[Any, Any], bool]


def slide(kept: list[Any], fields: Fields, policy: Policy) -> list[Any]:
    """What a monotone policy leaves of the values: every oldest part is looked at."""
    total = fields(kept)
    goes = [policy(total, fields(kept[:k])) for k in range(1, len(kept) + 1)]
    assert goes == sorted(goes, reverse=True), "the policy is not monotone"
    return kept[sum(goes) :]


def agree(w: Any, values: list[Any], fields: Fields, policy: Policy) -> None:
    """A window under a policy holds what brute force leaves, push by push."""
    kept: list[Any] = []
    for value in values:
        answer = w.push(value)
        kept = slide([*kept, value], fields, policy)
        w._check()
        assert len(w) == len(kept)
        assert (answer.all or []) == kept
        assert answer == w.query()


# -- keep while the sum is at most 10 (section 3.2) ------------------------------------------


def above_ten(total: Any, old: Any) -> bool:
    """The last value of `old` and all that follows it add up to more than 10."""
    return bool(total.sum - old.sum + old.last > 10)


def test_the_running_example_of_the_paper() -> None:
    w = window({"max": Max(), "sum": Sum(), "last": Last()}, until=above_ten)
    answers = [w.push(value) for value in (2, 2, 3, 3, 4)]
    assert [answer.max for answer in answers] == [2, 2, 3, 3, 4]
    assert [answer.sum for answer in answers] == [2, 4, 7, 10, 10]
    assert len(w) == 3


@every_searching
@given(values=st.lists(st.integers(0, 12), max_size=60))
def test_keep_while_the_sum_is_at_most_ten(algorithm: str, values: list[int]) -> None:
    w = window(
        {"sum": Sum(), "last": Last(), "all": Collect()}, until=above_ten, algorithm=algorithm
    )
    agree(w, values, lambda v: SimpleNamespace(sum=sum(v), last=v[-1]), above_ten)
    assert sum(w.query().all or []) <= 10


def test_the_newest_value_can_go_and_leave_an_empty_window() -> None:
    w = window({"sum": Sum(), "last": Last(), "n": Count()}, until=above_ten)
    w.push(3)
    assert w.push(11) == {"sum": None, "last": None, "n": 0}
    assert len(w) == 0
    assert w.push(4) == {"sum": 4, "last": 4, "n": 1}


# -- by time and by size (listings 1 and 3) --------------------------------------------------


@every_searching
@given(
    steps=st.lists(st.one_of(st.integers(0, 5), st.integers(0, 5000)), max_size=80),
)
def test_the_last_hour(algorithm: str, steps: list[int]) -> None:
    """Times come in bursts and after gaps, so that none or many leave at once."""

    def an_hour_old(total: Any, old: Any) -> bool:
        return bool(total.at - old.at >= 3600)

    rows: list[dict[str, int]] = []
    for i, step in enumerate(steps):
        rows.append({"at": (rows[-1]["at"] if rows else 0) + step, "load": i})
    w = window({"at": Max("at"), "all": Collect()}, until=an_hour_old, algorithm=algorithm)
    agree(w, rows, lambda v: SimpleNamespace(at=v[-1]["at"]), an_hour_old)


@every_searching
@given(sizes=st.lists(st.integers(1, 12), max_size=60))
def test_a_size_that_the_stream_itself_sets(algorithm: str, sizes: list[int]) -> None:
    def too_many(total: Any, old: Any) -> bool:
        return bool(total.count - old.count >= total.most)

    w = window(
        {"count": Count(), "most": Last(), "all": Collect()}, until=too_many, algorithm=algorithm
    )
    agree(w, sizes, lambda v: SimpleNamespace(count=len(v), most=v[-1]), too_many)


# -- nothing older than the result (experiment 3) --------------------------------------------


@every_searching
@given(values=st.lists(st.integers(-5, 5), max_size=60))
def test_evict_what_is_older_than_the_maximum(algorithm: str, values: list[int]) -> None:
    def before_the_peak(total: Any, old: Any) -> bool:
        return bool(old.last < total.peak)

    def fields(rows: list[Any]) -> SimpleNamespace:
        peak = max(rows, key=lambda row: (row["v"], -row["i"]))
        return SimpleNamespace(last=rows[-1]["i"], peak=peak["i"])

    w = window(
        {"peak": ArgMax("v", "i"), "last": Last("i"), "all": Collect(), "max": Max("v")},
        until=before_the_peak,
        algorithm=algorithm,
    )
    rows = [{"i": i, "v": value} for i, value in enumerate(values)]
    agree(w, rows, fields, before_the_peak)
    assert w.query().max == max(values, default=None)


def longest_run(rows: list[Any]) -> int:
    """Where the first of the longest strictly rising runs starts."""
    best, start = (0, 0), 0
    for i, row in enumerate(rows):
        if i and row["v"] <= rows[i - 1]["v"]:
            start = i
        best = max(best, (i + 1 - start, -start))
    return int(rows[-best[1]]["i"])


@every_searching
@given(values=st.lists(st.integers(0, 8), max_size=60))
def test_evict_what_is_older_than_the_longest_run(algorithm: str, values: list[int]) -> None:
    def before_the_run(total: Any, old: Any) -> bool:
        return bool(old.last < total.run.start)

    def fields(rows: list[Any]) -> SimpleNamespace:
        return SimpleNamespace(last=rows[-1]["i"], run=SimpleNamespace(start=longest_run(rows)))

    w = window(
        {"run": LongestRun("v", "i"), "last": Last("i"), "all": Collect()},
        until=before_the_run,
        algorithm=algorithm,
    )
    agree(w, [{"i": i, "v": value} for i, value in enumerate(values)], fields, before_the_run)


# -- a change of the mean (ADWIN) ------------------------------------------------------------


def drifted(total: Any, old: Any) -> bool:
    """The means of the oldest part and of the rest, five values or more, are 3 or more apart."""
    rest = total.count - old.count
    if rest < 5:
        return False
    mean = (total.mean * total.count - old.mean * old.count) / rest
    return bool(abs(old.mean - mean) >= 3)


def means(values: list[int]) -> SimpleNamespace:
    return SimpleNamespace(count=len(values), mean=sum(values) / len(values))


@every_searching
@given(
    levels=st.lists(st.tuples(st.integers(-10, 10), st.integers(1, 25)), max_size=5),
    noise=st.lists(st.integers(-1, 1), min_size=1, max_size=7),
)
@examples(60)
def test_a_policy_on_the_difference_of_means(
    algorithm: str, levels: list[tuple[int, int]], noise: list[int]
) -> None:
    """It is not monotone on every window: where it is, all of it goes; else up to a boundary."""
    values = [level + noise[i % len(noise)] for level, n in levels for i in range(n)]
    w = window({"count": Count(), "mean": Mean()}, until=drifted, algorithm=algorithm)
    kept: list[int] = []
    for value in values:
        kept.append(value)
        goes = [drifted(means(kept), means(kept[:k])) for k in range(1, len(kept) + 1)]
        answer = w.push(value)
        gone = len(kept) - len(w)
        assert gone == 0 or goes[gone - 1]
        assert not goes[gone:][:1] or not goes[gone]
        if goes == sorted(goes, reverse=True):
            assert gone == sum(goes)
        del kept[:gone]
        assert answer == {"count": len(kept), "mean": sum(kept) / len(kept)}


@every_searching
def test_a_change_of_level_is_forgotten(algorithm: str) -> None:
    w = window({"count": Count(), "mean": Mean()}, until=drifted, algorithm=algorithm)
    for i in range(100):
        assert w.push(i % 2).count == i + 1
    for i in range(60):
        w.push(20 + i % 2)
    assert w.query().mean == pytest.approx(20.5, abs=0.1)
    assert len(w) < 60


# -- what a policy gets, and what becomes of its mistakes ------------------------------------


def test_one_aggregation_gives_plain_answers() -> None:
    seen = []

    def policy(total: int, old: int) -> bool:
        seen.append((total, old))
        return total - old >= 6

    w = window(Sum(), until=policy)
    assert [w.push(v) for v in (4, 3, 2)] == [4, 7, 9]
    assert w.push(5) == 7
    assert all(isinstance(part, int) for pair in seen for part in pair)
    assert seen[-3:] == [(14, 4), (14, 7), (14, 9)], "the oldest first, then more"


def test_nulls_alone_answer_none() -> None:
    seen = []
    w = window(Max(), until=lambda total, old: seen.append((total, old)))
    w.push(None)
    w.push(2)
    assert seen == [(None, None), (2, None)]


@every_searching
def test_leaving_only_looks(algorithm: str) -> None:
    swag = aggregator(Sum(), algorithm)
    swag.extend([1, 2, 3])
    assert PolicyWindow(lambda total, old: total - old >= 5).leaving(swag, 4) == 2
    assert PolicyWindow(lambda total, old: True).leaving(swag, 4) == 4
    assert (swag.query(), len(swag)) == (6, 3)


@every_searching
def test_a_policy_that_raises_leaves_the_window_as_it_was(algorithm: str) -> None:
    def policy(total: Any, old: Any) -> bool:
        if total > 10:
            raise ZeroDivisionError
        return False

    w = window(Sum(), until=policy, algorithm=algorithm)
    w.push(4)
    w.push(5)
    with pytest.raises(ZeroDivisionError):
        w.push(6)
    w._check()
    assert (w.query(), len(w)) == (9, 2)
    with pytest.raises(InvalidValue, match="takes numbers, not str 'x'"):
        w.push("x")
    assert w.push(1) == 10


def test_a_field_that_is_not_computed_is_named() -> None:
    w = window({"total": Sum(), "n": Count()}, until=lambda total, old: total.totl > 3)
    with pytest.raises(
        InvalidArgument,
        match=r"asks for \.totl, .* did you mean 'total'\? Known: total, n",
    ):
        w.push(1)
    assert len(w) == 0
    w = window(Sum(), until=lambda total, old: total.sum > 3)
    with pytest.raises(AttributeError, match="has no attribute 'sum'"):
        w.push(1)
