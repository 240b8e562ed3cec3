"""Quantiles of windows of a few rows, against those by ranks, which have the same bits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import Quantile
from windrow.aggregations.quantiles import INTERPOLATIONS
from windrow.kernels.aggregate import aggregate
from windrow.kernels.special import short_quantiles
from windrow.kernels.special.short_quantiles import LONGEST, TILE, network
from windrow.windows.positions import Windows

AWKWARD = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1.5, -2.0]


@pytest.mark.parametrize("n", range(1, 11))
def test_a_network_sorts_whatever_comes(n: int) -> None:
    """What sorts zeros and ones sorts all numbers."""
    every = np.array(list(itertools.product((0, 1), repeat=n)), np.int64).reshape(-1, n).T
    ordered = np.sort(every, axis=0)
    for wanted in range(n):
        places, marked = every.copy(), every.copy()
        for low, high, mark in network(n, frozenset([wanted])):
            for rows in (places, marked) if mark else (places,):
                a, b = rows[low], rows[high]
                rows[low], rows[high] = np.minimum(a, b), np.maximum(a, b)
        assert (places == ordered).all()
        assert (marked[wanted] == ordered[wanted]).all()


@given(
    seed=st.integers(0, 10**6),
    interpolation=st.sampled_from(INTERPOLATIONS),
    q=st.one_of(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=3)),
    longest=st.integers(1, LONGEST),
    kind=st.sampled_from(["rows", "bounds"]),
    floating=st.booleans(),
    nulls=st.booleans(),
    threads=st.integers(1, 2),
)
@examples(100)
def test_results_are_those_by_ranks(
    seed: int, interpolation: str, q: float | list[float], longest: int, kind: str,
    floating: bool, nulls: bool, threads: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 3 * TILE))
    values = rng.choice([*AWKWARD, *rng.normal(size=20)], n) if floating else rng.integers(-3, 3, n)
    missing = rng.random(n) < 0.3 if nulls else np.zeros(n, np.bool_)
    starts = np.array([0, *np.sort(rng.integers(0, n + 1, rng.integers(0, 4))), n])
    windows = Windows(starts, rows=longest)
    if kind == "bounds":
        hi = np.sort(rng.integers(0, n + 1, n))
        windows = Windows(starts, lo=np.maximum.accumulate(np.maximum(0, hi - longest)), hi=hi)
    asked = Quantile(q=q, interpolation=interpolation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short_quantiles, "LONGEST", 0)
        expected = aggregate(asked, [values], windows, nulls=[missing])
    got = aggregate(asked, [values], windows, nulls=[missing], threads=threads)
    assert np.array_equal(got.mask, expected.mask)
    assert repr(got.values[~got.mask].tolist()) == repr(expected.values[~got.mask].tolist())
