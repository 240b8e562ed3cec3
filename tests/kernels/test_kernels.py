"""The specialised kernels, against exact arithmetic on each window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow.compiled import compiled
from windrow.kernels.special import minmax, segmented, variance
from windrow.kernels.special.past_cache import MANY
from windrow.kernels.special.scans import BLOCK
from windrow.kernels.special.sums import FEW
from windrow.windows.arrays import roomy

Array = np.ndarray[Any, Any]

# 64 is the length of a block, 512 of a tile; 4096 is where block sums get compensated.
WINDOWS = [1, 2, 3, 7, 8, 31, 63, 64, 65, 100, 127, 128, 129, 191, 192, 193, 511, 513, 1000, 4095,
           4096, 4160, 10**6, 2**60]  # fmt: skip
LENGTHS = [0, 1, 2, 63, 64, 65, 511, 512, 513, 3000, 9001]

awkward = st.one_of(
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e16, -1e16, 5e-324, 0.1]),
)
small_windows = st.integers(1, 200)


@compiled
def extremes(bits: Any, w: Any, start: Any, stop: Any, order: Any, scratch: Any, out: Any) -> None:
    """One segment, however short, by the kernels of the long ones."""
    if w <= minmax.SHORT:
        minmax.short_extremes(bits, w, start, stop, order, scratch, out)
    else:
        minmax.long_extremes(bits, w, start, stop, order, scratch, out)


@compiled(error_model="numpy")
def variances(
    values: Any, w: Any, ddof: Any, start: Any, stop: Any, root: Any, scratch: Any, out: Any,
    means: Any,
) -> None:  # fmt: skip
    if w <= FEW:
        variance.few_variances(values, w, ddof, start, stop, root, scratch, out, means)
    elif w <= BLOCK:
        variance.short_variances(values, w, ddof, start, stop, root, scratch, out, means)
    elif start < stop:
        variance.long_variances(values, w, ddof, start, stop, root, out, means)


def extreme(flip: int) -> Callable[..., None]:
    def kernel(values: Array, w: int, start: int, stop: int, out: Array) -> None:
        bits, order = values.view(np.int64), (flip, values.dtype == np.float64)
        scratch = np.empty(minmax.SCRATCH, np.int64)
        extremes(bits, w, start, stop, order, scratch, out.view(np.int64))

    return kernel


def var_with(ddof: int, root: bool = False) -> Callable[..., None]:
    def kernel(values: Array, w: int, start: int, stop: int, out: Array) -> None:
        scratch = np.empty(variance.SCRATCH)
        variances(values, w, ddof, start, stop, root, scratch, out, np.empty(0))

    return kernel


def total(mean: bool) -> Callable[..., None]:
    def kernel(values: Array, w: int, start: int, stop: int, out: Array) -> None:
        segmented.segment_sums(values, np.array([0, values.size]), w, start, stop, mean, out)

    return kernel


rolling_sum, rolling_mean = total(mean=False), total(mean=True)
rolling_max, rolling_min, deviation = extreme(0), extreme(-1), var_with(1, root=True)


FLOAT_KERNELS = [
    pytest.param(rolling_max, id="max"),
    pytest.param(rolling_min, id="min"),
    pytest.param(rolling_sum, id="sum"),
    pytest.param(rolling_mean, id="mean"),
    pytest.param(var_with(1), id="var"),
    pytest.param(deviation, id="std"),
]
every_kernel = pytest.mark.parametrize("kernel", FLOAT_KERNELS)


def whole(kernel: Callable[..., None], values: Array, w: int) -> Array:
    out = np.full(values.size, 7, values.dtype)
    kernel(values, w, 0, values.size, out)
    return out


def windows(values: Array, w: int) -> list[Array]:
    return [values[max(0, i - w + 1) : i + 1] for i in range(values.size)]


def identical(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a.view(np.int64), b.view(np.int64)))


def exact_sum(window: Array) -> float:
    """IEEE's answer for the special values, the correctly rounded sum for the others."""
    if np.isfinite(window).all():
        return math.fsum(window)
    with np.errstate(invalid="ignore"):
        return float(window[~np.isfinite(window)].sum())


def exact_variance(window: Array, ddof: int) -> float:
    n = len(window)
    if n <= ddof or not np.isfinite(window).all():
        return math.nan
    numbers = [Fraction(float(x)) for x in window]
    mean = sum(numbers, Fraction()) / n
    return float(sum(((x - mean) ** 2 for x in numbers), Fraction()) / (n - ddof))


def spark_max(window: Array) -> Any:
    return window.max()  # NumPy's maximum is NaN as soon as one value is


def spark_min(window: Array) -> Any:
    return np.fmin.reduce(window)  # NaN only if all values are


# --- maxima and minima ---------------------------------------------------------------------


@given(st.lists(awkward, max_size=300), small_windows)
@examples(60)
def test_extrema_order_nan_above_all_numbers(data: list[float], w: int) -> None:
    values = np.array(data, float)
    for kernel, oracle in (
        (rolling_max, spark_max),
        (rolling_min, spark_min),
    ):
        expected = np.array([oracle(window) for window in windows(values, w)], float)
        np.testing.assert_array_equal(whole(kernel, values, w), expected)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300), small_windows)
@examples(60)
def test_integer_extrema(data: list[int], w: int) -> None:
    values = np.array(data, np.int64)
    for kernel, oracle in ((rolling_max, np.max), (rolling_min, np.min)):
        expected = np.array([oracle(window) for window in windows(values, w)], np.int64)
        np.testing.assert_array_equal(whole(kernel, values, w), expected)


@pytest.mark.parametrize("n", LENGTHS)
def test_extrema_at_all_lengths(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    integers = np.random.default_rng(n).integers(-(2**63), 2**63 - 1, n)
    for w in WINDOWS:
        rolling = pd.Series(values).rolling(w, min_periods=1)
        np.testing.assert_array_equal(whole(rolling_max, values, w), rolling.max())
        np.testing.assert_array_equal(whole(rolling_min, values, w), rolling.min())
        # Ranks order as the values do and, unlike 64 bits, fit into a float.
        ranks = np.argsort(np.argsort(integers))
        ordered = np.sort(integers)
        rolling = pd.Series(ranks).rolling(w, min_periods=1)
        for kernel, expected in (
            (rolling_max, rolling.max()),
            (rolling_min, rolling.min()),
        ):
            np.testing.assert_array_equal(
                whole(kernel, integers, w), ordered[expected.to_numpy().astype(np.int64)]
            )


def test_extrema_of_runs() -> None:
    for values in (np.arange(5000.0), np.arange(5000.0)[::-1].copy(), np.zeros(5000)):
        for w in (8, 64, 700):
            expected = pd.Series(values).rolling(w, min_periods=1).max()
            np.testing.assert_array_equal(whole(rolling_max, values, w), expected)


def test_nans_of_any_sign_and_payload_are_nan() -> None:
    bits = np.array([0x7FF8000000000001, 0x7FF0000000000001, -1, -(2**51)], np.int64)
    values = np.concatenate([bits.view(np.float64), np.zeros(4)])
    assert np.isnan(values[:4]).all()
    assert np.isnan(whole(rolling_max, values, 2)).tolist() == [True] * 5 + [False] * 3
    assert np.isnan(whole(rolling_min, values, 2)).tolist() == [True] * 4 + [False] * 4


def test_zeros_of_both_signs_are_ordered() -> None:
    for values in (np.array([0.0, -0.0]), np.array([-0.0, 0.0])):
        assert math.copysign(1, whole(rolling_max, values, 2)[1]) == 1
        assert math.copysign(1, whole(rolling_min, values, 2)[1]) == -1


# --- what all rolling kernels share --------------------------------------------------------


@every_kernel
@given(data=st.data(), w=st.one_of(small_windows, st.sampled_from(WINDOWS)))
@examples(40)
def test_pieces_are_bit_identical_to_the_whole(
    kernel: Callable[..., None], data: Any, w: int
) -> None:
    n = data.draw(st.integers(0, 6000))
    cuts = data.draw(st.lists(st.integers(0, n), max_size=6))
    seed = data.draw(st.integers(0, 100))
    values = np.random.default_rng(seed).normal(size=n)
    expected = whole(kernel, values, w)
    out = np.full(n, 7.0)
    for start, stop in itertools.pairwise([0, *sorted(cuts), n]):
        untouched = out.copy()
        kernel(values, w, start, stop, out)
        assert identical(out[:start], untouched[:start])
        assert identical(out[stop:], untouched[stop:])
    assert identical(out, expected)


@every_kernel
@pytest.mark.parametrize("w", [5, 64, 65, 300, 4200])
def test_rows_do_not_depend_on_what_follows(kernel: Callable[..., None], w: int) -> None:
    values = np.random.default_rng(w).normal(size=5000)
    expected = whole(kernel, values, w)
    for n in (1, 63, 64, 65, 301, 4201, 4999):
        assert identical(whole(kernel, values[:n].copy(), w), expected[:n])


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("w", [1, 2, 8, 63, 64, 65, 130, 1000, 4200])
def test_special_values_stay_in_their_windows(special: float, w: int) -> None:
    values = np.random.default_rng(w).normal(size=6000)
    finite_sum = whole(rolling_sum, values, w)
    finite_var = whole(var_with(0), values, w)
    for at in (0, 63, 64, 100, 511, 512, 1500):
        spoiled = values.copy()
        spoiled[at] = special
        inside = np.zeros(values.size, bool)
        inside[at : at + w] = True
        summed = whole(rolling_sum, spoiled, w)
        assert identical(summed[~inside], finite_sum[~inside])
        np.testing.assert_array_equal(summed[inside], special)
        varied = whole(var_with(0), spoiled, w)
        assert identical(varied[~inside], finite_var[~inside])
        assert np.isnan(varied[inside]).all()


# --- sums ----------------------------------------------------------------------------------


@given(st.lists(awkward, max_size=300), small_windows)
@examples(60)
def test_sums_follow_ieee(data: list[float], w: int) -> None:
    values = np.array(data, float)
    got = whole(rolling_sum, values, w)
    for answer, window in zip(got, windows(values, w), strict=True):
        expected = exact_sum(window)
        bound = 12 * 2.0**-52 * np.abs(window).sum() if math.isfinite(expected) else 0.0
        np.testing.assert_allclose(answer, expected, rtol=0, atol=bound)


def test_infinities_of_both_signs_are_nan_together() -> None:
    values = np.zeros(400)
    values[100] = math.inf
    values[150] = -math.inf
    for w in (60, 80, 200):
        expected = [exact_sum(window) for window in windows(values, w)]
        np.testing.assert_array_equal(whole(rolling_sum, values, w), expected)


@pytest.mark.parametrize("n", LENGTHS)
def test_sums_at_all_lengths(n: int) -> None:
    values = np.random.default_rng(n).integers(-1000, 1000, n).astype(float)  # sums are exact
    ends = np.concatenate([[0.0], np.cumsum(values)])
    for w in WINDOWS:
        at = np.arange(n)
        expected = ends[at + 1] - ends[np.maximum(at - w + 1, 0)]
        np.testing.assert_array_equal(whole(rolling_sum, values, w), expected)


@pytest.mark.parametrize("w", [1, 5, 64, 65, 200, 5000])
@pytest.mark.parametrize("n", LENGTHS)
def test_means_and_deviations_follow_from_sums_and_variances(n: int, w: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    sizes = np.minimum(np.arange(n) + 1, w)
    assert identical(whole(rolling_mean, values, w), whole(rolling_sum, values, w) / sizes)
    roots = np.sqrt(whole(var_with(1), values, w))
    np.testing.assert_allclose(whole(deviation, values, w), roots, rtol=2.0**-52)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("w", [100, 1024, (1 << 21) - 5])
def test_results_past_the_cache_are_those_in_it(w: int, mean: bool) -> None:
    values = np.random.default_rng(w).normal(size=MANY + 77)
    ends, aligned = np.array([0, values.size]), roomy(values.size, np.float64)
    elsewhere = np.empty(values.size + 2)
    elsewhere = elsewhere[1 + (elsewhere.ctypes.data % 32 == 24) :][: values.size]
    assert aligned.ctypes.data % 32 == 0 != elsewhere.ctypes.data % 32
    for out in (aligned, elsewhere):
        segmented.segment_sums(values, ends, w, 0, values.size, mean, out)
    assert identical(aligned, elsewhere)
    some = np.arange(w - 1, values.size, 200_003)
    sums = [math.fsum(values[i - w + 1 : i + 1]) / (w if mean else 1) for i in some]
    np.testing.assert_allclose(aligned[some], sums, rtol=0, atol=1e-12 if mean else 1e-12 * w)


def test_sums_forget_what_has_left() -> None:
    values = np.random.default_rng(0).normal(size=3000)
    spoiled = values.copy()
    spoiled[500] = 1e300
    for w in (3, 64, 100, 700):
        clean = whole(rolling_sum, values, w)
        assert identical(whole(rolling_sum, spoiled, w)[500 + w :], clean[500 + w :])


@pytest.mark.parametrize("w", [8, 64, 1000, 20_000])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_sums_are_as_exact_as_compensated_ones(w: int, offset: float) -> None:
    values = offset + np.random.default_rng(w).normal(size=500_000)
    rows = np.random.default_rng(0).integers(0, values.size, 300)
    expected = np.array([math.fsum(values[max(0, i - w + 1) : i + 1]) for i in rows])
    ours = whole(rolling_sum, values, w)[rows] - expected
    theirs = pd.Series(values).rolling(w, min_periods=1).sum().to_numpy()[rows] - expected
    assert np.abs(ours).max() <= np.abs(theirs).max()
    # A window of 64 values far from 0 is a plain tree of sums: all but the last digit.
    assert np.sqrt((ours**2).mean()) <= 1.25 * np.sqrt((theirs**2).mean())


# --- variances -----------------------------------------------------------------------------


@given(
    st.lists(st.one_of(st.integers(-50, 50).map(float), awkward), max_size=200),
    small_windows,
    st.integers(0, 3),
)
@examples(60)
def test_variances_are_close_to_exact_ones(data: list[float], w: int, ddof: int) -> None:
    values = np.array(data, float)
    got = whole(var_with(ddof), values, w)
    for answer, window in zip(got, windows(values, w), strict=True):
        np.testing.assert_allclose(answer, exact_variance(window, ddof), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("n", LENGTHS)
def test_variances_at_all_lengths(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    for w in WINDOWS:
        for ddof in (0, 1, 3):
            expected = pd.Series(values).rolling(w, min_periods=1).var(ddof=ddof).to_numpy()
            counts = np.minimum(np.arange(n) + 1, w)
            expected = np.where(counts > ddof, expected, np.nan)
            np.testing.assert_allclose(
                whole(var_with(ddof), values, w), expected, rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("w", [1, 2, 7, 63, 64, 65, 128, 1000])
def test_equal_values_have_no_variance(w: int) -> None:
    for constant in (0.1, -1e300, 1e-300, 3e8 + 0.1):
        values = np.full(2500, constant)
        assert not whole(var_with(0), values, w).any()
    steps = np.repeat([0.1, 1e9, 0.3, -7.7], 2000)
    for start in range(0, 8000, 2000):
        assert not whole(var_with(0), steps, w)[start + w - 1 : start + 2000].any()


def test_variances_forget_what_has_left() -> None:
    values = np.random.default_rng(0).normal(size=3000)
    spoiled = values.copy()
    spoiled[500] = 1e150
    for w in (3, 64, 65, 100, 700):
        clean = whole(var_with(1), values, w)
        assert identical(whole(var_with(1), spoiled, w)[500 + w :], clean[500 + w :])


@pytest.mark.parametrize("w", [3, 64, 100, 1000])
@pytest.mark.parametrize("case", ["plain", "far", "jump", "outlier"])
def test_variances_of_hard_data(w: int, case: str) -> None:
    values = np.random.default_rng(w).normal(size=6000)
    if case == "far":
        values += 1e8
    elif case == "jump":
        values[3000:] += 1e9
    elif case == "outlier":
        values[3000] = 1e12
    got = whole(var_with(1), values, w)
    for i in [*range(0, 6000, 83), *range(2990, 3010), 2999 + w, 3000 + w, 3001 + w]:
        expected = exact_variance(values[max(0, i - w + 1) : i + 1], 1)
        np.testing.assert_allclose(got[i], expected, rtol=2e-13)
