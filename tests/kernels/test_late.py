"""`rolling` with `lateness=`: what a window answers when the values are pushed through it."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from tests.kernels.test_loops import AFFINE
from windrow import ArgMax, Concat, Max, Mean, RollingState, aggregation, rolling, window
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument
from windrow.kernels.rolling import LateWarning


def pushed(agg: Aggregation, values: Any, at: Any, **arguments: Any) -> tuple[list[Any], int]:
    w = window(agg, **arguments)
    pairs = zip(values.tolist(), at.tolist(), strict=True)
    return [w.push(value, at=t) for value, t in pairs], w.late


def arrivals(source: np.random.Generator, n: int, spread: int, share: float) -> Any:
    """Times of which a share is late, by up to `spread`."""
    return np.arange(n) - source.integers(0, spread + 1, n) * (source.random(n) < share)


@pytest.mark.parametrize("agg", [AFFINE, Max()], ids=["affine", "max"])
@pytest.mark.parametrize("closed", ["both", "right"])
@pytest.mark.parametrize(
    ("size", "spread", "share"),
    [(2, 3, 0.5), (20, 5, 0.9), (300, 40, 0.1), (300, 400, 0.9), (5000, 3000, 0.6)],
)
def test_results_are_those_of_pushes(
    agg: Aggregation, closed: str, size: int, spread: int, share: float
) -> None:
    source = np.random.default_rng(size)
    values, at = source.integers(0, 50, 2500), arrivals(source, 2500, spread, share)
    arguments = {"range": size, "lateness": max(1, spread // 2), "closed": closed}
    expected, late = pushed(agg, values, at, **arguments)
    state = RollingState()
    cuts = [0, 1, 700, 700, 2500]
    got = [
        rolling(values[a:b], agg, at=at[a:b], state=state, **arguments)
        for a, b in itertools.pairwise(cuts)
    ]
    assert np.concatenate(got).tolist() == expected
    assert state.late == late > 0


@pytest.mark.parametrize("agg", [AFFINE, Max()], ids=["affine", "max"])
def test_a_tree_of_several_levels(agg: Aggregation) -> None:
    source = np.random.default_rng(7)
    values, at = source.integers(0, 50, 18_000), arrivals(source, 18_000, 9000, 0.5)
    expected, _ = pushed(agg, values, at, range=12_000, lateness=9000)
    assert rolling(values, agg, at=at, range=12_000, lateness=9000).tolist() == expected


def test_times_of_every_kind() -> None:
    source = np.random.default_rng(3)
    values = source.normal(size=400)
    at = arrivals(source, 400, 30, 0.5) - 200
    for times, sizes in (
        (at, (10, 5)),
        (at * 0.5, (5.0, 2.5)),
        (at.astype("M8[m]"), ("10 minutes", "5 min")),
        (at.astype("M8[s]"), ("10 s", "5 s")),
    ):
        with pytest.warns(LateWarning, match="of 400 values came too late and were dropped"):
            got = rolling(values, Mean(), range=sizes[0], at=times, lateness=sizes[1])
        expected, _ = pushed(Mean(), values, at, range=10, lateness=5)
        assert got == pytest.approx(expected)


def test_arguments_nulls_and_functions_that_do_not_compile() -> None:
    at = np.array([1, 4, 2, 3, 6])
    values = np.array([3.0, np.nan, 9.0, 1.0, 2.0])
    arguments: Any = {"range": 3, "at": at, "lateness": 9}
    got = rolling(values, Max(), nan="null", **arguments)
    assert got.tolist() == [3.0, 3.0, 9.0, 9.0, 2.0]
    names = np.array(list("abcde"))
    got = rolling((np.nan_to_num(values), names), ArgMax(), **arguments)
    assert got.tolist() == ["a", "a", "c", "c", "e"]
    assert rolling(names, Concat(), **arguments).tolist() == ["a", "ab", "acb", "acdb", "dbe"]
    own = aggregation(lift=lambda v: (v, 1), combine=lambda a, b: b, lower=lambda s: s[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rolling(at, own, **arguments).tolist() == [1, 4, 4, 4, 6]


@pytest.mark.parametrize("closed", ["both", "right"])
@pytest.mark.parametrize("size", [2, 2.5])
def test_sizes_between_whole_times(closed: str, size: float) -> None:
    values, at = np.arange(8), np.array([5, 9, 6, 7, 8, 12, 10, 9])
    arguments = {"range": size, "closed": closed, "lateness": 2.5}
    expected, late = pushed(Max(), -values, at, **arguments)
    state = RollingState()
    assert rolling(-values, Max(), at=at, state=state, **arguments).tolist() == expected
    assert state.late == late


def test_mistakes() -> None:
    at = np.array([1, 2])
    for arguments, message in (
        ({"rows": 3}, "goes with range="),
        ({"range": 3, "closed": "left", "at": at}, "closed='both' or 'right'"),
        ({"range": 3, "at": at, "algorithm": "daba"}, "does not go with lateness="),
    ):
        with pytest.raises(InvalidArgument, match=message):
            rolling(at, Max(), lateness=1, **arguments)
    for lateness, message in ((0, "larger than 0"), ("1 s", "must be a number, as range=3 is")):
        with pytest.raises(InvalidArgument, match=message):
            rolling(at, Max(), range=3, at=at, lateness=lateness)
