"""MomentSketch: ranks near those asked for, and sound answers on anything."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow.aggregations.momentsketch import Moments, MomentSketch
from windrow.errors import InvalidArgument, InvalidValue, Unsupported

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SHARES = np.linspace(0.01, 0.99, 99)


def moments_of(values, **options) -> Moments:
    sketch = MomentSketch(**options)
    return sketch.lower(sketch.fold(map(sketch.lift, values)))


def rank_error(values, moments: Moments) -> float:
    """The largest distance of a share from the ranks that its quantile has among the values."""
    ordered = np.sort(values)
    found = [moments.quantile(q) for q in SHARES]
    least = np.searchsorted(ordered, found, "left") / len(ordered)
    most = np.searchsorted(ordered, found, "right") / len(ordered)
    return float(np.maximum(least - SHARES, SHARES - most).max())


def mixture(rng, n, left, right):
    return np.where(rng.random(n) < 0.4, rng.normal(*left, n), rng.normal(*right, n))


DATA = {
    "uniform": lambda rng, n: rng.random(n),
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n),
    "wide lognormal": lambda rng, n: rng.lognormal(3, 3, n),
    "Pareto": lambda rng, n: rng.pareto(1.5, n) + 1,
    "two humps": lambda rng, n: mixture(rng, n, (0, 1), (8, 1)),
    "two humps, positive": lambda rng, n: mixture(rng, n, (10, 1), (30, 2)),
    "two narrow humps": lambda rng, n: mixture(rng, n, (0, 0.1), (10, 0.1)),
    "integers": lambda rng, n: rng.integers(0, 101, n),
    "large": lambda rng, n: rng.exponential(1e20, n),
    "small": lambda rng, n: rng.exponential(1e-20, n),
}
HARD = {  # few moments are left of these
    "far from 0": lambda rng, n: rng.normal(20, 0.1, n),
    "very far from 0": lambda rng, n: rng.normal(1.7e9, 1, n),
    "very far from 0 and flat": lambda rng, n: 1e9 + rng.random(n),
    "very far below 0": lambda rng, n: rng.normal(-1e6, 1, n),
    "huge": lambda rng, n: rng.normal(0, 1e150, n),
    "huge and positive": lambda rng, n: rng.exponential(1e200, n),
    "tiny and positive": lambda rng, n: rng.exponential(1e-200, n),
}


@pytest.mark.parametrize("n", [1000, 10_000])
@pytest.mark.parametrize("name", DATA)
def test_rank_errors_are_small(name, n):
    values = DATA[name](np.random.default_rng(n), n)
    moments = moments_of(values)
    assert rank_error(values, moments) <= 0.02
    assert moments.count == n
    assert (moments.minimum, moments.maximum) == (values.min(), values.max())
    assert moments.mean == pytest.approx(values.mean(), rel=1e-9)


@pytest.mark.parametrize("name", HARD)
def test_rank_errors_are_tolerable_where_precision_is_lost(name):
    values = HARD[name](np.random.default_rng(1), 10_000)
    moments = moments_of(values)
    assert rank_error(values, moments) <= 0.04
    assert moments.mean == pytest.approx(values.mean(), rel=1e-9)


@pytest.mark.parametrize("offset", [10, 30, 100, 1000, 1e4, 1e6])
def test_moments_that_cancelled_do_no_harm(offset):
    rng = np.random.default_rng(3)
    for values in (rng.normal(size=10_000), rng.exponential(size=10_000), rng.random(10_000)):
        assert rank_error(offset + values, moments_of(offset + values)) <= 0.015


def test_the_density_has_the_moments_of_the_values():
    """Of all orders, also where Newton's full steps overshoot: a small hump far away."""
    rng = np.random.default_rng(3)
    near = rng.random(10_000) < 0.95
    values = np.where(near, rng.normal(0, 1, 10_000), rng.normal(100, 1, 10_000))
    below, edges = moments_of(values)._distribution
    middles, size = (edges[1:] + edges[:-1]) / 2, np.abs(values).max()
    for order in range(1, 11):
        expected = np.mean((values / size) ** order)
        assert np.diff(below) @ (middles / size) ** order == pytest.approx(expected, rel=0.002)


@examples(150)
@given(st.lists(FINITE, min_size=1, max_size=20), st.lists(st.floats(0, 1), max_size=10))
def test_quantiles_rise_with_the_share_and_stay_within_the_values(values, shares):
    moments = moments_of(values)
    found = [moments.quantile(q) for q in sorted([0.0, *shares, 1.0])]
    assert found == sorted(found)
    assert found[0] == min(values) and found[-1] == max(values)


@given(st.floats(allow_nan=False), st.integers(1, 5), st.floats(0, 1))
def test_equal_values_are_exact(value, n, q):
    assert moments_of([value] * n).quantile(q) == value


@given(st.lists(st.integers(-20, 20), max_size=15), st.lists(st.integers(-20, 20), max_size=15))
def test_merging_equals_inserting_everything(left, right):
    sketch = MomentSketch()
    a, b, both = (sketch.fold(map(sketch.lift, part)) for part in (left, right, left + right))
    for merged in (sketch.combine(a, b), sketch.combine(b, a)):
        if both is None:
            assert merged is None
        else:
            assert merged[0][:3] == both[0][:3]
            assert merged[0] == pytest.approx(both[0])
            np.testing.assert_allclose(merged[1], both[1], rtol=1e-12, atol=1e-9)


def test_a_merge_changes_neither_part():
    sketch = MomentSketch()
    a, b = sketch.lift(2), sketch.lift(3)
    before = pickle.dumps((a, b))
    sketch.combine(a, b)
    assert pickle.dumps((a, b)) == before


def test_more_moments_follow_the_data_more_closely():
    values = DATA["two humps"](np.random.default_rng(1), 5000)
    errors = [rank_error(values, moments_of(values, order=order)) for order in (2, 6, 10)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < errors[0] / 3


def test_quantiles_is_a_share_or_several():
    values = range(1001)
    assert moments_of(values, quantiles=0.5) == pytest.approx(500, abs=5)
    several = moments_of(values, quantiles=[0, np.float64(0.25), 1])
    assert isinstance(several, tuple) and several == pytest.approx((0, 250, 1000), abs=5)
    assert all(type(quantile) is float for quantile in several)


def test_nulls_and_empty_windows_give_null():
    for quantiles in (None, 0.5, (0.1, 0.9)):
        assert moments_of([], quantiles=quantiles) is None
        assert moments_of([None], quantiles=quantiles) is None
    assert moments_of([None, 3, None]).count == 1


def test_a_nan_makes_the_quantiles_nan():
    moments = moments_of([1.0, math.nan, 3.0])
    assert math.isnan(moments.quantile(0)) and math.isnan(moments.quantile(0.5))
    assert math.isnan(moments.mean) and math.isnan(moments.maximum)
    assert (moments.count, moments.minimum) == (3, 1.0)
    assert math.isnan(moments_of([math.nan]).minimum)


def test_infinities_stand_at_the_ends():
    moments = moments_of([-math.inf] + [5.0] * 8 + [math.inf])
    assert (moments.minimum, moments.maximum) == (-math.inf, math.inf)
    assert math.isnan(moments.mean)
    shares = (0, 0.05, 0.2, 0.5, 0.8, 0.95, 1)
    expected = [-math.inf, -math.inf, 5.0, 5.0, 5.0, math.inf, math.inf]
    assert [moments.quantile(q) for q in shares] == expected
    assert moments_of([1.0, math.inf]).mean == math.inf
    assert moments_of([-math.inf]).quantile(0.5) == moments_of([-math.inf]).mean == -math.inf


def test_all_kinds_of_numbers_mix():
    moments = moments_of([True, 2, 3.0, Decimal(4), Fraction(5), np.int8(6), np.float32(7)])
    assert (moments.count, moments.minimum, moments.maximum) == (7, 1.0, 7.0)
    assert moments.mean == 4.0
    assert moments_of([10**400, -(10**400)]).maximum == math.inf


def test_only_numbers_are_taken():
    with pytest.raises(InvalidValue, match=r"MomentSketch\(\) takes numbers, not str 'a'"):
        MomentSketch().lift("a")


def test_it_cannot_subtract_and_says_so():
    with pytest.raises(Unsupported, match="not invertible"):
        MomentSketch().inverse(None, None)


@pytest.mark.parametrize("order", [1, 17, 0, -1, 10.0, "10", True, None])
def test_wrong_order_is_refused(order):
    with pytest.raises(InvalidArgument, match="order must be a whole number, 2 to 16, got"):
        MomentSketch(order=order)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, "0.5", True, [0.5, 2]])
def test_wrong_shares_are_refused(share):
    with pytest.raises(InvalidArgument, match="quantiles must be from 0 to 1, got"):
        MomentSketch(quantiles=share)


def test_a_wrong_share_is_refused_by_quantile():
    with pytest.raises(InvalidArgument, match=r"Moments.quantile: q must be from 0 to 1, got 2"):
        moments_of([1]).quantile(2)


def test_values_of_python():
    sketch = MomentSketch("length", order=8, quantiles=[0.5, 1])
    assert repr(sketch) == "MomentSketch('length', order=8, quantiles=(0.5, 1.0))"
    assert repr(MomentSketch(order=10)) == "MomentSketch()"
    assert pickle.loads(pickle.dumps(sketch)) == sketch != MomentSketch("length")
    assert sketch.lower(sketch.lift({"length": 3})) == (3.0, 3.0)
    moments = moments_of([1, 2, 4])
    again = pickle.loads(pickle.dumps(moments))
    assert again == moments and again.quantile(0.3) == moments.quantile(0.3)
    assert pickle.loads(pickle.dumps(moments)) == moments  # with its density
    assert repr(moments_of([1, 3])) == "Moments(count=2, minimum=1.0, maximum=3.0, mean=2.0)"
