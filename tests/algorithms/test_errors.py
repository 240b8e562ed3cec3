"""Wrong use is refused in words, and whatever fails leaves the window as it was."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from windrow import ArgMax, Collect, Count, Max, Mean, Min, Sum, aggregation, aggregator
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import EmptyWindow, InvalidArgument, InvalidValue, Unsupported, WindrowError

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
without_inverse = pytest.mark.parametrize(
    "algorithm", [a for a in ALGORITHMS if a != "subtract_on_evict"]
)


@every_algorithm
def test_an_empty_window(algorithm: str) -> None:
    swag = aggregator(Collect(), algorithm)
    assert swag.query() is None
    for k in (1, 2):
        with pytest.raises(EmptyWindow, match=rf"holds 0 value\(s\), so {k} cannot be evicted"):
            swag.evict(k)
    swag.evict(0)
    swag.insert("a")
    with pytest.raises(IndexError, match=r"holds 1 value\(s\), so 2"):
        swag.evict(2)
    assert swag.query() == ["a"]
    swag.evict()
    assert swag.query() is None
    assert len(swag) == 0
    swag._check()


def test_count_of_nothing_is_zero() -> None:
    assert aggregator(Count()).query() == 0


@every_algorithm
@pytest.mark.parametrize("k", [-1, 1.5, "1", None])
def test_evict_takes_a_whole_number(algorithm: str, k: Any) -> None:
    swag = aggregator(Collect(), algorithm)
    swag.insert(1)
    with pytest.raises(InvalidArgument, match="evict: k must be"):
        swag.evict(k)
    assert swag.query() == [1]


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if algorithm_class(a).out_of_order])
@pytest.mark.parametrize("at", [math.nan, np.float32("nan"), np.datetime64("NaT"), Decimal("NaN")])
def test_a_time_that_has_no_place_among_others(algorithm: str, at: Any) -> None:
    swag: Any = aggregator(Collect(), algorithm)
    for times in ([], [1, 3]):
        for t in times:
            swag.insert(t, at=t)
        with pytest.raises(InvalidValue, match=r"insert: at=.* is no time"):
            swag.insert(2, at=at)
        assert (swag.query() or []) == times
        swag._check()
    with pytest.raises(InvalidValue, match=r"evict: at=.* is no time"):
        swag.evict(at=at)
    swag.insert(2, at=2)
    assert swag.query() == [1, 2, 3]


@without_inverse
def test_values_that_cannot_be_compared_are_refused_at_once(algorithm: str) -> None:
    swag = aggregator(Max(), algorithm)
    swag.extend([3, 5.5, None])
    with pytest.raises(InvalidValue, match=r"Max\(\): the window holds number values, so 'five'"):
        swag.insert("five")
    swag._check()
    assert (swag.query(), len(swag)) == (5.5, 3)
    swag.evict(3)
    swag.insert("five")  # another window may hold strings
    assert swag.query() == "five"


def test_decimals_and_floats_do_not_mix() -> None:
    swag = aggregator(Sum())
    swag.insert(1)
    swag.insert(Decimal("0.5"))
    for wrong in (0.5, np.float32(0.5)):
        with pytest.raises(InvalidValue, match="holds Decimal values"):
            swag.insert(wrong)
    assert swag.query() == Decimal("1.5")


@every_algorithm
def test_a_wrong_value_leaves_the_window_alone(algorithm: str) -> None:
    swag = aggregator(Sum(), algorithm)
    swag.extend([1, 2])
    with pytest.raises(InvalidValue, match="takes numbers, not str 'x'"):
        swag.insert("x")
    assert (swag.query(), len(swag)) == (3, 2)


def test_names_are_suggested() -> None:
    with pytest.raises(InvalidArgument, match="algorithm='dabba' is unknown; did you mean 'daba'"):
        aggregator(Max(), "dabba")
    with pytest.raises(InvalidArgument, match=r"is not an aggregation; write Max\(\), not Max"):
        aggregator(Max)
    with pytest.raises(InvalidArgument, match="daba has no option 'chunk'"):
        aggregator(Max(), "daba", chunk=3)
    with pytest.raises(InvalidArgument, match="chunk must be a whole number"):
        aggregator(Max(), "sba", chunk=0)
    with pytest.raises(InvalidArgument, match="combine must be a function"):
        aggregation(lift=float, combine=3, lower=float)


@every_algorithm
def test_capabilities_are_refused_by_name(algorithm: str) -> None:
    cls = algorithm_class(algorithm)
    swag = aggregator(Collect() if algorithm != "slick_deque" else Max(), algorithm)
    swag.insert(1)
    if not cls.keeps_times:
        with pytest.raises(Unsupported, match="take fiba or flatfat to insert by time"):
            swag.insert(2, at=1)
        with pytest.raises(Unsupported, match=f"{algorithm} keeps no times; take amta"):
            swag.count_older(bool)
    else:
        with pytest.raises(InvalidValue, match="values have no times, so at=1 has no place"):
            swag.insert(2, at=1)
    if not cls.out_of_order:
        with pytest.raises(InvalidArgument, match=f"{algorithm} of .* has no out_of_order; take"):
            aggregator(Count() if cls.needs_inverse else Max(), algorithm, out_of_order=True)
    if cls.several_ranges:
        assert swag.queries([1, 1]) == [swag.query()] * 2
        for last in (0, 2, 1.5):
            with pytest.raises(InvalidArgument, match="query: last must be"):
                swag.query(last)
    else:
        with pytest.raises(Unsupported, match="gives the whole window only; take flatfit"):
            swag.query(1)
    assert len(swag) == 1


def test_slick_deque_has_several_ranges_only_where_it_selects() -> None:
    assert aggregator(Max(), "slick_deque", several_ranges=True).several_ranges
    with pytest.raises(InvalidArgument, match="has no several_ranges; take one of"):
        aggregator(Count(), "slick_deque", several_ranges=True)


def test_auto_says_why() -> None:
    chosen = {
        "subtract_on_evict": (Count(), {}),
        "slick_deque": (Max(), {}),
        "recalculate": (Collect(), {}),
        "daba": (Mean(), {}),
        "fiba": (Mean(), {"out_of_order": True}),
        "flatfit": (Mean(), {"several_ranges": True}),
    }
    for algorithm, (agg, wishes) in chosen.items():
        swag = aggregator(agg, **wishes)
        assert swag.algorithm == algorithm
        assert len(swag.why) > 20
        assert swag.why in swag.explain()
        assert algorithm in swag.explain()
    assert aggregator(Max(), "foa").why == "it was asked for by name"
    assert aggregator(Sum()).algorithm == "daba", "a float sum drifts when it is subtracted"


def test_a_selective_aggregation_that_is_not() -> None:
    swag = aggregator(
        aggregation(lift=float, combine=lambda a, b: (a + b) / 2, lower=float, selective=True)
    )
    swag.insert(1)
    with pytest.raises(InvalidValue, match=r"declared selective, but combining 1.0 with 3.0 gave"):
        swag.insert(3)
    assert (swag.query(), len(swag)) == (1.0, 1)


def test_one_root_for_all_errors() -> None:
    for error in (EmptyWindow, InvalidArgument, InvalidValue, Unsupported):
        assert issubclass(error, WindrowError)
    assert issubclass(EmptyWindow, IndexError)
    assert issubclass(InvalidArgument, ValueError)
    assert issubclass(InvalidValue, TypeError)


def test_any_object_may_be_a_value() -> None:
    swag = aggregator(ArgMax())
    marker = object()
    swag.insert((3, marker))
    swag.insert((2, [1, 2]))
    assert swag.query() is marker
    swag = aggregator(Min())
    swag.extend([(1, "b"), (1, "a")])
    assert swag.query() == (1, "a")


@pytest.mark.parametrize("algorithm", ["amta", "log_mta"])
def test_times_of_trees_come_in_order_all_or_none(algorithm: str) -> None:
    swag = aggregator(Collect(), algorithm)
    swag.extend("abc", at=[1, 2, 2])
    for times, message in (([3, 1], "at=1 is before the newest time, 3"), ([3], "1 times for 2")):
        with pytest.raises((InvalidValue, InvalidArgument), match=message):
            swag.extend("de", at=times)
        assert swag.query() == list("abc")
    swag.extend("de", at=[2, 5])
    assert swag.query() == list("abcde")
    assert swag.oldest_time == 1 and swag.count_older(lambda t: t < 5) == 4
