"""Variances are those of exact fractions, wherever they are merged, and whatever has left."""

from __future__ import annotations

import copy
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, identified, same
from tests.examples import examples
from windrow import Product, StdDev, Variance, aggregator, rolling, sliding
from windrow.aggregations.base import Aggregation
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.kernels.rolling import COMPILED

LARGEST = Fraction(1.7976931348623157e308)
OFFSETS = [0.0, 1e9, -1e9, 1e12]


def exact(values: list[float], ddof: int = 1) -> float:
    """The variance by fractions; infinite where it exceeds the largest float."""
    known = [Fraction(v) for v in values]
    if len(known) <= ddof:
        return math.nan
    mean = sum(known) / len(known)
    found = sum((v - mean) ** 2 for v in known) / (len(known) - ddof)
    return math.inf if found > LARGEST else float(found)


def close(got: float, expected: float) -> bool:
    if got is None or got != got or expected != expected:
        return (got is None or got != got) and expected != expected
    return got == expected or math.isclose(got, expected, rel_tol=1e-12)


def check(got: Any, windows: list[list[float]], ddof: int = 1) -> None:
    for i, (each, window) in enumerate(zip(got, windows, strict=True)):
        assert close(each, exact(window, ddof)), (i, each, exact(window, ddof))


def exact_of_last(values: list[float], w: int) -> list[float]:
    """The variances of the last w values, by fractions that are summed once."""
    sums = [(Fraction(0), Fraction(0))]
    for value in map(Fraction, values):
        sums.append((sums[-1][0] + value, sums[-1][1] + value * value))
    found = [math.nan]
    for past in range(2, len(sums)):
        first = max(0, past - w)
        total, squares = (new - old for new, old in zip(sums[past], sums[first], strict=True))
        n = past - first
        found.append(float((squares - total * total / n) / (n - 1)))
    return found


def last(values: Any, w: int) -> list[list[float]]:
    listed = list(map(float, values))
    return [listed[max(0, i + 1 - w) : i + 1] for i in range(len(listed))]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("algorithm", ["auto", "two_stacks", "daba"])
@pytest.mark.parametrize("w", [3, 300])
def test_arrays(offset: float, algorithm: str, w: int) -> None:
    values = offset + np.random.default_rng(1).normal(size=400)
    expected = exact_of_last(values.tolist(), w)
    by_rows = rolling(values, Variance(), rows=w, algorithm=algorithm)
    by_time = rolling(values, Variance(), range=w - 1, at=np.arange(400), algorithm=algorithm)
    for got in by_rows, by_time:
        wrong = [i for i, each in enumerate(got) if not close(each, expected[i])]
        assert not wrong, (wrong[0], got[wrong[0]], expected[wrong[0]])


@pytest.mark.parametrize("algorithm", ["two_stacks", "daba", "sba"])
def test_one_event_at_a_time(algorithm: str) -> None:
    values = 1e9 + np.random.default_rng(2).normal(size=100)
    swag, got = aggregator(Variance(), algorithm), []
    for value in values.tolist():
        if len(swag) == 20:
            swag.evict()
        swag.insert(value)
        got.append(swag.query())
    check(got, last(values, 20))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(
    "window",
    [{"range": 30}, {"delta": 30}, {"range": 30, "slide": 10}, {"rows": 20, "slide": 5}],
    ids=str,
)
def test_tables(offset: float, window: dict[str, int]) -> None:
    t = np.arange(200)
    values = (offset + np.random.default_rng(3).normal(size=200)).tolist()
    table = pa.table({"t": t, "x": values})
    made = sliding(order_by="t", **window, v=Variance("x"))(table)
    if "range" in window and "slide" in window:
        starts = made["window_start"].to_pylist()
        windows = [values[max(0, s) : max(0, s + 30)] for s in starts]
    elif "slide" in window:
        windows = [values[max(0, i - 19) : i + 1] for i in made["t"].to_pylist()]
    else:
        windows = [values[max(0, i - 30) : i + 1] for i in t]
    check(made["v"].to_pylist(), windows)


def test_states_of_slices_are_merged_without_loss() -> None:
    from windrow.kernels.states import merge, states_of
    from windrow.windows.positions import Windows

    values = 1e9 + np.random.default_rng(4).normal(size=64)
    edges = np.arange(0, 64, 8)
    slices = Windows(np.array([0, 64]), lo=edges, hi=edges + 8)
    parts = states_of(Variance(), [values], slices)
    got = merge(Variance(), ["float64"], parts, Windows(np.array([0, 8]), rows=8)).values
    check(got, [values[: 8 * (i + 1)].tolist() for i in range(8)])


HUGE = st.one_of(
    st.floats(-1.7e308, 1.7e308),
    st.sampled_from([1e300, -1e300, 1.7e308, -1.7e308, 1e150, 1e160, 0.0, 1.0]),
)


@given(st.lists(HUGE, min_size=1, max_size=80), st.integers(1, 70))
@examples(60)
@pytest.mark.parametrize("algorithm", ["auto", "two_stacks", "subtract_on_evict"])
def test_an_overflow_is_infinite_and_never_nan(algorithm: str, values: list[float], w: int) -> None:
    for ddof in (0, 1):
        agg = Variance(ddof=ddof)
        got = rolling(np.array(values), agg, rows=w, algorithm=algorithm)
        if algorithm == "subtract_on_evict":  # it drifts, but not to NaN
            many = [len(window) > ddof for window in last(values, w)]
            assert not np.isnan(got[many]).any()
            continue
        for each, window in zip(got, last(values, w), strict=True):
            expected = exact(window, ddof)
            # squares may exceed the largest float before they are divided by n
            near = len(window) * expected > float(LARGEST) and each == math.inf
            assert near or close(each, expected), (window, each, expected)


# -- what has left the window leaves no trace ----------------------------------------------------

NUMERIC = [a for a in AGGREGATIONS if a.takes in ("number", "summable") and a.parts is None]
ODD = [3.0, 1.0, math.inf, 2.0, 5.0, math.nan, 4.0, -math.inf, 1.0, 2.0, 1e308, 1e308, 1e308, 2.0,
       -1.7e308, 1.7e308, 1.0, 4.0, 2.0, 3.0, 7.0]  # fmt: skip
HERE = [
    (algorithm, agg)
    for algorithm in ALGORITHMS
    for agg in NUMERIC
    if algorithm_class(algorithm).supports(agg) and agg.algebra("float64") is not None
]


def expected_of(agg: Aggregation, w: int) -> list[Any]:
    """The results by going through every window anew, in the interpreter."""
    return [agg.lower(agg.fold(map(agg.lift, window))) for window in last(ODD, w)]


def agree(got: Any, expected: Any) -> bool:
    """Whether results are equal; a small one may have lost digits to a large one that has left."""
    if expected is None:
        return got is None or got != got
    return same(got, expected, lambda x, y: math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6))


@pytest.mark.parametrize(("algorithm", "agg"), HERE, ids=lambda each: identified(each)[:30])
def test_what_left_the_window_leaves_no_trace(algorithm: str, agg: Aggregation) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swag, got = aggregator(agg, algorithm), []
        for value in ODD:
            if len(swag) == 3:
                swag.evict()
            swag.insert(value)
            got.append(swag.query())
    for i, (each, right) in enumerate(zip(got, expected_of(agg, 3), strict=True)):
        assert agree(each, right), (i, each, right)


SUBTRACTING = [
    (algorithm, agg)
    for algorithm, agg in HERE
    if algorithm in COMPILED and not algorithm_class(algorithm).supports(Product())
]


@pytest.mark.parametrize(("algorithm", "agg"), SUBTRACTING, ids=lambda each: identified(each)[:30])
def test_so_it_does_compiled(algorithm: str, agg: Aggregation) -> None:
    got = rolling(np.array(ODD), agg, rows=3, algorithm=algorithm).tolist()
    for i, (each, right) in enumerate(zip(got, expected_of(agg, 3), strict=True)):
        assert agree(each, right), (i, each, right)


@pytest.mark.parametrize("agg", NUMERIC, ids=identified)
def test_nothing_warns_of_numbers(agg: Aggregation) -> None:
    values = np.array([*ODD, np.inf, -np.inf, np.nan])
    table = pa.table({"t": range(len(values)), "x": values})
    bound = copy.copy(agg)
    bound.columns = ("x",)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        rolling(values, agg, rows=3)
        rolling(values, agg, range=3, at=np.arange(len(values)))
        if agg.result != "moments":  # which are no column
            for window in ({"rows": 3}, {"range": 3}, {"range": 4, "slide": 2}):
                sliding(order_by="t", **window, y=bound)(table)


def test_a_deviation_is_the_root() -> None:
    values = 1e9 + np.arange(50.0)
    np.testing.assert_allclose(
        rolling(values, StdDev(), rows=9) ** 2, rolling(values, Variance(), rows=9), rtol=1e-14
    )
