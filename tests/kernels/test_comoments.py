"""The kernel of pairs against sums that are written out, whatever the windows and the cuts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from windrow import R2, Corr, Covariance, Intercept, RollingState, Slope, rolling
from windrow.aggregations.base import Aggregation
from windrow.kernels.aggregate import aggregate
from windrow.windows.positions import Windows

EVERY: list[Aggregation] = [Corr(), Covariance(), Covariance(ddof=0), Slope(), Intercept(), R2()]


def is_constant(values: Any) -> bool:
    return bool(np.isfinite(values).all() and (values == values[0]).all())


def written_out(agg: Any, y: Any, x: Any) -> float | None:
    """The result of the pairs of a window; None for none."""
    n = len(y)
    if n < 2 and not (isinstance(agg, Covariance) and n > agg.ddof):
        return None
    pair = isinstance(agg, Corr)
    if not isinstance(agg, Covariance) and (is_constant(x) or (pair and is_constant(y))):
        return None
    if not np.isfinite([y, x]).all():
        return math.nan
    my, mx = math.fsum(y) / n, math.fsum(x) / n
    yy, xx = math.fsum((y - my) ** 2), math.fsum((x - mx) ** 2)
    xy = math.fsum((y - my) * (x - mx))
    if isinstance(agg, Covariance):
        return xy / (n - agg.ddof)
    if pair:
        return xy / math.sqrt(xx * yy)
    if isinstance(agg, R2):
        return 1.0 if is_constant(y) else xy * xy / (xx * yy)
    return xy / xx if isinstance(agg, Slope) else my - xy / xx * mx


def pairs(n: int, odd: bool, seed: int = 5) -> tuple[Any, Any, Any]:
    """Both columns, with equal values in a row, and which pairs are null."""
    rng = np.random.default_rng(seed)
    y, x = rng.integers(-3, 4, (2, n)).astype(float)
    x[n // 2 : n // 2 + 9] = 2.0
    if odd:
        y[rng.integers(0, n, 5)], x[rng.integers(0, n, 5)] = np.nan, np.inf
        y[n // 3] = 1e9  # leaves nothing behind in later windows
    return y, x, rng.random(n) < 0.3


@pytest.mark.parametrize("odd", [False, True], ids=["finite", "odd"])
@pytest.mark.parametrize("agg", EVERY, ids=repr)
def test_windows_of_rows_and_by_bounds(agg: Aggregation, odd: bool) -> None:
    y, x, nulls = pairs(130, odd)
    starts = np.array([0, 1, 1, 40, 130])
    rng = np.random.default_rng(1)
    lo, hi = np.sort(rng.integers(0, 131, (2, 90)), axis=1)
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
    for gone in (None, nulls):
        given = [gone, None] if gone is not None else None
        for windows in (
            *(Windows(starts, rows=w) for w in (1, 2, 3, 7, 64, 200)),
            Windows(starts, rows=5, first=33),
            Windows(np.array([0, 130]), lo=lo, hi=hi),
        ):
            made = aggregate(agg, [y, x], windows, nulls=given)
            for i, (a, b) in enumerate(zip(*windows.bounds(), strict=True)):
                there = np.ones(b - a, bool) if gone is None else ~gone[a:b]
                wanted = written_out(agg, y[a:b][there], x[a:b][there])
                missing = made.missing is not None and made.missing[i]
                assert missing == (wanted is None), (windows, i)
                if wanted is not None:
                    near = pytest.approx(wanted, rel=1e-7, abs=1e-9, nan_ok=True)
                    assert made.values[i] == near, (windows, i)


@pytest.mark.parametrize("rows", [2, 63, 64, 65, 1000])
def test_batches_and_threads_have_the_same_bits(rows: int) -> None:
    rng = np.random.default_rng(rows)
    y, x = 1e8 + rng.normal(size=(2, 300_000))
    wanted = rolling((y, x), Corr(), rows=rows)
    assert np.array_equal(rolling((y, x), Corr(), rows=rows, threads=2), wanted, equal_nan=True)
    state, made, n = RollingState(), [], 5000
    cuts = sorted({0, 1, rows - 1, rows, 2 * rows + 1, n})
    for a, b in itertools.pairwise(cuts):
        made.append(rolling((y[a:b], x[a:b]), Corr(), rows=rows, state=state))
    assert np.array_equal(np.concatenate(made), wanted[:n], equal_nan=True)


def test_correlations_stay_between_minus_one_and_one() -> None:
    x = 1e8 + np.random.default_rng(2).normal(size=5000)
    for factor in (3.7, -0.3):
        made = rolling((factor * x, x), Corr(), rows=20)[1:]
        assert (np.abs(made) <= 1.0).all()
        assert np.allclose(made, np.sign(factor))
