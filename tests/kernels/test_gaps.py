"""Windows of which something is left out, against their rows gone through one by one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import arrays_for, identified, rows_of
from tests.examples import examples
from tests.kernels.test_aggregate import NUMBERS, agree
from windrow import ArgMax, Count, Max, Mean, Median, Min, StdDev, Sum, Variance, aggregator
from windrow.aggregations.base import Aggregation
from windrow.kernels.columns import column
from windrow.kernels.gaps import aggregate_parts, few_in_parts, knows_gaps
from windrow.kernels.routes import NotCompiledWarning, Route, route_over, traced
from windrow.windows import arrays as threading
from windrow.windows.positions import Windows


def way_of(agg: Aggregation, arrays: list[Any], nulls: Any, by_rows: bool) -> Route:
    columns = [column(each, nulls if not i else None, "value") for i, each in enumerate(arrays)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiledWarning)
        return route_over(agg, columns, by_rows=by_rows)


def known(agg: Aggregation) -> bool:
    values = arrays_for(agg, np.arange(4.0))
    return knows_gaps(agg, way_of(agg, values, None, by_rows=True), 2)


GAPS = [agg for agg in NUMBERS if known(agg)]


def around(starts: Any, before: int, behind: int, first: int = 0, past: Any = None) -> Any:
    """The rows before and behind each row."""
    return [
        Windows(starts, before, first, ahead=-1, past=past),
        Windows(starts, behind, first, ahead=behind, past=past),
    ]


def expected(agg: Aggregation, arrays: list[Any], nulls: Any, parts: Any) -> list[Any]:
    rows, made = rows_of(agg, arrays, nulls), []
    bounds = [part.bounds() for part in parts]
    for i in range(len(parts[0])):
        swag = aggregator(agg, "recalculate")
        for lo, hi in bounds:
            swag.extend(rows[lo[i] : hi[i]])
        made.append(swag.query())
    return made


def check(agg: Aggregation, values: Any, nulls: Any, parts: Any, threads: int = 1) -> None:
    arrays = arrays_for(agg, values)
    way = way_of(agg, arrays, nulls, by_rows=parts[0].rows is not None)
    masks = [nulls, *[None] * (len(arrays) - 1)]
    made = aggregate_parts(agg, arrays, parts, nulls=masks, threads=threads, way=way)
    want = expected(agg, arrays, nulls, parts)
    assert agree(agg, made, want), (agg, made, want)


def test_most_aggregations_know_gaps() -> None:
    assert {type(a) for a in GAPS} >= {Max, Min, Sum, Mean, Count, ArgMax, StdDev, Variance, Median}


@pytest.mark.parametrize("agg", GAPS, ids=identified)
@pytest.mark.parametrize("nulls", [False, True])
def test_every_aggregation_that_knows_gaps(agg: Aggregation, nulls: bool) -> None:
    random = np.random.default_rng(4)
    starts = np.array([0, 60, 60, 61, 63, 150])
    values = random.integers(-9, 9, 150) + 0.25
    gone = random.random(150) < 0.4 if nulls else None
    check(agg, values, gone, around(starts, 3, 3))
    here = np.arange(150)
    lo, hi = np.maximum(here - here % 30, here - 9), np.minimum(here - here % 30 + 30, here + 5)
    ends = np.arange(0, 151, 30)
    gap = [(lo, here), (here + 1, hi)]
    check(agg, values, gone, [Windows(ends, lo=a, hi=b) for a, b in gap])


@pytest.mark.parametrize(
    "agg", [Max(), Min(), Sum(), Mean(), Count(), ArgMax(), StdDev(), Median()], ids=identified
)
@examples(25)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 30, 300, 700]), min_size=1, max_size=4),
    rows=st.tuples(*[st.sampled_from([1, 2, 5, 64, 65, 130])] * 2),
    alike=st.booleans(),
    seed=st.integers(0, 99),
    cut=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    threads=st.sampled_from([1, 3]),
)
def test_rows_around_the_current_one(
    agg: Aggregation, sizes: Any, rows: Any, alike: bool, seed: int, cut: Any, threads: int
) -> None:
    """By the windows of other rows, if few are near the ends of segments, or by bounds."""
    random = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    n = int(starts[-1])
    values = random.integers(-20, 20, n) + random.choice([0.0, 1e8])
    values[random.random(n) < 0.02] = random.choice([np.nan, np.inf, -np.inf, -0.0])
    before, behind = (rows[0], rows[0]) if alike else rows
    first = min(cut[0], n)
    past = None if seed % 2 else max(first, n - cut[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "PIECE", 64)
        check(agg, values, None, around(starts, before, behind, first, past), threads)


@pytest.mark.parametrize("rows", [(20, 20), (20, 7), (100, 100), (130, 70)])
@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
def test_deviations_are_exact_far_from_zero(rows: tuple[int, int], offset: float) -> None:
    random = np.random.default_rng(2)
    values = random.integers(-400, 400, 3000) / 8
    values[1000:] += 3e5  # a jump, after which nothing is left of what was before
    parts = around(np.array([0, 1200, 3000]), *rows)
    way = way_of(Variance(), [values], None, by_rows=True)
    with traced() as ran:
        made = aggregate_parts(Variance(), [values + offset], parts, way=way).values
    assert ran == [("Variance()", "variances")]
    bounds = [part.bounds() for part in parts]
    for i in range(3000):
        own = np.concatenate([values[lo[i] : hi[i]] for lo, hi in bounds])
        want = np.var(own - own[0], ddof=1)
        assert abs(made[i] - want) <= 1e-12 * want, i


def test_squares_that_no_float_holds() -> None:
    values = np.random.default_rng(2).normal(size=200)
    values[100] = 1e200
    parts = around(np.array([0, 200]), 5, 5)
    way = way_of(StdDev(), [values], None, by_rows=True)
    made = aggregate_parts(StdDev(), [values], parts, way=way).values
    assert np.isinf(made[[95, 99, 101, 105]]).all() and np.isfinite(made[100])


@pytest.mark.parametrize("agg", [Sum(), Mean()], ids=identified)
def test_whole_sums_that_are_too_large(agg: Aggregation) -> None:
    large = np.array([2**62, 2**62, 5, 1] + [0] * 40)
    way = way_of(agg, [large], None, by_rows=True)
    one = aggregate_parts(agg, [large], around(np.array([0, 44]), 1, 1), way=way)
    assert one.values[1] == (2**62 + 5) / (2 if isinstance(agg, Mean) else 1)
    with pytest.raises(OverflowError, match="the sum of window 2 exceeds int64"):
        aggregate_parts(agg, [large], around(np.array([0, 44]), 2, 2), way=way)


@examples(30)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 7, 40]), min_size=1, max_size=5),
    rows=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    least=st.integers(1, 12),
    seed=st.integers(0, 9),
)
def test_windows_of_few_values(sizes: Any, rows: Any, least: int, seed: int) -> None:
    starts = np.cumsum([0, *sizes])
    n = int(starts[-1])
    gone = np.random.default_rng(seed).random(n) < 0.3
    parts = around(starts, *rows, min(seed, n))
    for nulls in (None, gone.view(np.uint8)):
        there = np.ones(n, np.int64) if nulls is None else 1 - nulls.astype(np.int64)
        before = np.concatenate([[0], np.cumsum(there)])
        counts = sum(before[hi] - before[lo] for lo, hi in (part.bounds() for part in parts))
        made = few_in_parts(parts, nulls, least)
        assert np.array_equal(
            np.zeros(len(parts[0]), bool) if made is None else made, counts < least
        )
