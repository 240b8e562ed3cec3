"""Deviations of windows by their bounds, against exact arithmetic on each window."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import RollingState, StdDev, Variance, rolling
from windrow.kernels.aggregate import aggregate
from windrow.kernels.routes import route, traced
from windrow.windows import arrays as threading
from windrow.windows.exclude import parts_without
from windrow.windows.positions import Windows
from windrow.windows.sorted_rows import SortedRows

Array = np.ndarray[Any, Any]


def exact(window: Array, ddof: int) -> float | None:
    """The variance; None for too few values."""
    n = len(window)
    if n <= ddof:
        return None
    if not np.isfinite(window).all():
        return math.nan
    numbers = [Fraction(float(x)) for x in window]
    mean = sum(numbers, Fraction()) / n
    return float(sum(((x - mean) ** 2 for x in numbers), Fraction()) / (n - ddof))


def ascending(random: Any, n: int, count: int, longest: int) -> tuple[Array, Array]:
    """Bounds that never fall, of windows of very different lengths, some of them empty."""
    lo = np.sort(random.integers(0, n + 1, count))
    hi = np.maximum.accumulate(np.minimum(lo + random.integers(0, longest + 1, count), n))
    return lo, hi


def kinds(random: Any, n: int, kind: str) -> Array:
    values = random.normal(size=n)
    if kind == "far":
        return np.asarray(1e8 + values)
    if kind == "walk":
        return np.cumsum(values)
    if kind == "steps":
        return np.asarray(values + 1e9 * (np.arange(n) // 50))
    if kind == "heavy":
        return np.asarray(random.standard_cauchy(n))
    if kind == "constant":
        return np.repeat(random.normal(size=n // 40 + 1), 40)[:n]
    if kind == "odd":
        values[random.random(n) < 0.02] = random.choice([np.nan, np.inf, -np.inf])
    return np.asarray(values)


every_kind = st.sampled_from(["plain", "far", "walk", "steps", "heavy", "constant", "odd"])


def check(made: Any, windows: list[Array], ddof: int) -> None:
    for i, window in enumerate(windows):
        wanted = exact(window, ddof)
        missing = made.missing is not None and made.missing[i]
        assert missing == (wanted is None), i
        if wanted is not None:
            np.testing.assert_allclose(made.values[i], wanted, rtol=3e-13, atol=1e-300)


@examples(60)
@given(
    kind=every_kind,
    longest=st.sampled_from([0, 1, 5, 9, 20, 72, 73, 200]),
    ddof=st.integers(0, 1),
    seed=st.integers(0, 99),
)
def test_windows_of_any_bounds(kind: str, longest: int, ddof: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = kinds(random, 300, kind)
    lo, hi = ascending(random, 300, 120, longest)
    with traced() as ran:
        made = aggregate(Variance(ddof=ddof), [values], Windows(np.array([0, 300]), lo=lo, hi=hi))
    assert [way for _, way in ran] == ["variances"]
    check(made, [values[a:b] for a, b in zip(lo, hi, strict=True)], ddof)


@examples(60)
@given(
    kind=every_kind,
    ends=st.tuples(*[st.sampled_from([0, 1, 4, 30, 300])] * 2),
    rows=st.booleans(),
    ddof=st.integers(0, 1),
    seed=st.integers(0, 99),
)
def test_windows_without_the_current_row(
    kind: str, ends: tuple[int, int], rows: bool, ddof: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    values, starts, n = kinds(random, 400, kind), np.array([0, 130, 400]), 400
    at = np.arange(n)
    begin, end = np.repeat([0, 130], [130, 270]), np.repeat([130, 400], [130, 270])
    lo, hi = np.maximum(at - ends[0], begin), np.minimum(at + ends[1] + 1, end)
    agg = Variance(ddof=ddof)
    if rows:
        if not min(ends):
            return
        parts: Any = [
            Windows(starts, rows=ends[0], ahead=-1), Windows(starts, rows=ends[1], ahead=ends[1])
        ]  # fmt: skip
    else:
        bounds = SortedRows(starts, starts, at)
        parts = parts_without(bounds, bounds.windows(lo, hi, slice(None)), "current row")
        if len(parts) < 2:
            return
    made = aggregate(agg, [values], parts, way=route(agg, ["float64"]))
    check(
        made,
        [np.concatenate([values[lo[i] : i], values[i + 1 : hi[i]]]) for i in range(n)],
        ddof,
    )


def test_one_row_far_from_all_others_is_in_no_result_of_its_own() -> None:
    values = np.random.default_rng(3).normal(size=3000)
    values[1500] = 1e15
    bounds = SortedRows(np.array([0, 3000]), np.array([0, 3000]), np.arange(3000))
    lo, hi = np.maximum(np.arange(3000) - 500, 0), np.minimum(np.arange(3000) + 501, 3000)
    parts = parts_without(bounds, bounds.windows(lo, hi, slice(None)), "current row")
    made = aggregate(Variance(), [values], parts, way=route(Variance(), ["float64"]))
    others = np.concatenate([values[1000:1500], values[1501:2001]])
    np.testing.assert_allclose(made.values[1500], exact(others, 1), rtol=1e-14)


@pytest.mark.parametrize("longest", [3, 30, 300, 3000])
def test_threads_have_the_same_bits(longest: int, monkeypatch: Any) -> None:
    random = np.random.default_rng(longest)
    values = 1e8 + random.normal(size=20_000)
    lo, hi = ascending(random, 20_000, 20_000, longest)
    windows = Windows(np.array([0, 20_000]), lo=lo, hi=hi)
    monkeypatch.setattr(threading, "PIECE", 64)
    one, three = (aggregate(StdDev(), [values], windows, threads=t) for t in (1, 3))
    assert one.values[~one.mask].tobytes() == three.values[~one.mask].tobytes()


@pytest.mark.parametrize("over", [3, 40, 400])
def test_batches_have_the_same_bits(over: int) -> None:
    """Windows by time, cut anywhere."""
    random = np.random.default_rng(over)
    n = 3000
    values, at = 1e8 + random.normal(size=n), np.cumsum(random.integers(1, 3, n))
    wanted = rolling(values, StdDev(), range=over, at=at)
    for seed in range(4):
        cuts = sorted({0, n, *np.random.default_rng(seed).integers(0, n, 6).tolist()})
        state = RollingState()
        found = [
            rolling(values[a:b], StdDev(), range=over, at=at[a:b], state=state)
            for a, b in itertools.pairwise(cuts)
        ]
        made = np.concatenate(found)  # the last row waits for others of the same time
        assert made.size >= n - 1
        assert made.tobytes() == wanted[: made.size].tobytes()
