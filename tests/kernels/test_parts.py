"""Windows of which something is left out, against their rows gone through one by one."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.catalogue import arrays_for, identified, rows_of
from tests.examples import examples
from tests.kernels.test_aggregate import NUMBERS, agree
from tests.tables.oracle import of_windows
from windrow import (
    ArgMax,
    ArgMin,
    Count,
    First,
    Last,
    Max,
    Mean,
    Median,
    Min,
    StdDev,
    Sum,
    Variance,
)
from windrow.aggregations.base import Aggregation
from windrow.kernels import current_row, variances
from windrow.kernels import parts as of_parts
from windrow.kernels.aggregate import aggregate, few_rows, few_values, takes_parts
from windrow.kernels.columns import column
from windrow.kernels.routes import NotCompiledWarning, Route, route_over, traced
from windrow.windows import arrays as threading
from windrow.windows.bounds import frame_edges
from windrow.windows.exclude import parts_without
from windrow.windows.positions import Windows
from windrow.windows.sorted_rows import SortedRows


def way_of(agg: Aggregation, arrays: list[Any], nulls: Any) -> Route:
    columns = [column(each, nulls if not i else None, "value") for i, each in enumerate(arrays)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiledWarning)
        return route_over(agg, columns)


def known(agg: Aggregation) -> bool:
    values = arrays_for(agg, np.arange(4.0))
    return takes_parts(agg, way_of(agg, values, None), 2)


def around(starts: Any, before: int, behind: int, first: int = 0, past: Any = None) -> Any:
    """The rows before and behind each row."""
    return [
        Windows(starts, before, first, ahead=-1, past=past),
        Windows(starts, behind, first, ahead=behind, past=past),
    ]


def check(agg: Aggregation, values: Any, nulls: Any, parts: Any, threads: int = 1) -> None:
    arrays = arrays_for(agg, values)
    way = way_of(agg, arrays, nulls)
    masks = [nulls, *[None] * (len(arrays) - 1)]
    made = aggregate(agg, arrays, parts, nulls=masks, threads=threads, way=way)
    want = of_windows(agg, rows_of(agg, arrays, nulls), *(part.bounds() for part in parts))
    assert agree(agg, made, want), (agg, made, want)


def test_most_aggregations_take_parts() -> None:
    gaps = {type(agg) for agg in NUMBERS if known(agg)}
    assert gaps >= {Max, Min, Sum, Mean, Count, ArgMax, StdDev, Variance, Median}


@pytest.mark.parametrize("agg", NUMBERS, ids=identified)
@pytest.mark.parametrize("nulls", [False, True])
def test_every_aggregation_that_takes_parts(agg: Aggregation, nulls: bool) -> None:
    if not known(agg):  # asked here and not by the parameters: it may compile
        return
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
    "agg",
    [Max(), Min(), Sum(), Mean(), Count(), ArgMax(), StdDev(), Median(), First(), Last()],
    ids=identified,
)
@examples(25)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 30, 300, 700]), min_size=1, max_size=4),
    rows=st.tuples(*[st.sampled_from([1, 2, 5, 64, 65, 130])] * 2),
    alike=st.booleans(),
    null=st.sampled_from([0.0, 0.0, 0.3, 0.9]),
    seed=st.integers(0, 99),
    cut=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    threads=st.sampled_from([1, 3]),
)
def test_rows_around_the_current_one(
    agg: Aggregation,
    sizes: Any,
    rows: Any,
    alike: bool,
    null: float,
    seed: int,
    cut: Any,
    threads: int,
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
    nulls = random.random(n) < null if null else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "PIECE", 64)
        patch.setattr(variances, "TILE", 100)
        patch.setattr(variances, "TIMES", 1)
        patch.setattr(of_parts, "LOOKED", 3 * seed % 11)
        check(agg, values, nulls, around(starts, before, behind, first, past), threads)


@pytest.mark.parametrize("rows", [(20, 20), (20, 7), (100, 100), (130, 70)])
@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
def test_deviations_are_exact_far_from_zero(rows: tuple[int, int], offset: float) -> None:
    random = np.random.default_rng(2)
    values = random.integers(-400, 400, 3000) / 8
    values[1000:] += 3e5  # a jump, after which nothing is left of what was before
    parts = around(np.array([0, 1200, 3000]), *rows)
    way = way_of(Variance(), [values], None)
    with traced() as ran:
        made = aggregate(Variance(), [values + offset], parts, way=way).values
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
    way = way_of(StdDev(), [values], None)
    made = aggregate(StdDev(), [values], parts, way=way).values
    assert np.isinf(made[[95, 99, 101, 105]]).all() and np.isfinite(made[100])


@pytest.mark.parametrize("agg", [Sum(), Mean()], ids=identified)
def test_whole_sums_that_are_too_large(agg: Aggregation) -> None:
    large = np.array([2**62, 2**62, 5, 1] + [0] * 40)
    way = way_of(agg, [large], None)
    one = aggregate(agg, [large], around(np.array([0, 44]), 1, 1), way=way)
    assert one.values[1] == (2**62 + 5) / (2 if isinstance(agg, Mean) else 1)
    check_too_large(agg, large, around(np.array([0, 44]), 2, 2))


def check_too_large(agg: Aggregation, large: NDArray[np.int64], parts: Any) -> None:
    """The rows around the third one are 2⁶² twice, 1 and 0: no sum, but a mean."""
    way = way_of(agg, [large], None)
    if isinstance(agg, Mean):
        assert aggregate(agg, [large], parts, way=way).values[2] == 2**61
        return
    with pytest.raises(OverflowError, match="the sum of window 2 exceeds int64"):
        aggregate(agg, [large], parts, way=way)


# -- along the order -----------------------------------------------------------------------------


def along(at: Any, starts: Any, before: int, behind: int, fresh: slice = slice(None)) -> Any:
    """The parts of windows from so far before each row to so far behind it, without the row."""
    rows = SortedRows(starts, starts, at)
    lo, hi = frame_edges(at, starts, -before, True), frame_edges(at, starts, behind, False)
    return parts_without(rows, rows.windows(lo[fresh], hi[fresh], fresh), "current row")


@pytest.mark.parametrize(
    "agg",
    [Max(), Min(), Sum(), Mean(), Count(), StdDev(), First(), Last(), Median(), ArgMax(), ArgMin()],
    ids=identified,
)
@examples(40)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 3, 60, 400]), min_size=1, max_size=3),
    spread=st.sampled_from([1, 9, 100, 5000]),
    ends=st.tuples(*[st.sampled_from([0, 1, 7, 50, 300, 9000])] * 2),
    kind=st.sampled_from(["floats", "whole", "rising", "zigzag", "alike"]),
    nulls=st.booleans(),
    first=st.integers(0, 30),
    seed=st.integers(0, 99),
)
def test_windows_along_the_order(
    agg: Aggregation,
    sizes: Any,
    spread: int,
    ends: Any,
    kind: str,
    nulls: bool,
    first: int,
    seed: int,
) -> None:
    """Ties, nulls, NaN, empty windows, rows that most values lie before, and any cut of them."""
    random = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    n = int(starts[-1])
    at = random.integers(0, spread, n)
    at = np.concatenate([at[:0], *(np.sort(at[a:b]) for a, b in itertools.pairwise(starts))])
    values: Any = random.integers(-20, 20, n) + random.choice([0.25, 1e8])
    if kind == "floats":
        values[random.random(n) < 0.03] = random.choice([np.nan, np.inf, -np.inf, -0.0])
    elif kind in ("rising", "zigzag"):  # of half of the windows the row has the maximum alone
        values = np.arange(n) * 1.0 - (5 * (np.arange(n) % 2) if kind == "zigzag" else 0)
    elif kind == "alike":
        values = np.ones(n)
    else:
        values = values.astype(np.int64)
    gone = random.random(n) < 0.3 if nulls else None
    parts = along(at, starts, *ends, slice(min(first, n), None))
    if len(parts) < 2:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "PIECE", 64)
        for module in (current_row, of_parts):
            patch.setattr(module, "LOOKED", 3 * seed % 11)  # and so it is too much, or is not
        check(agg, values, gone, parts)
        arrays, masks = arrays_for(agg, values), [gone]
        way = way_of(agg, arrays, gone)
        one, three = (
            aggregate(agg, arrays, parts, nulls=masks, threads=threads, way=way)
            for threads in (1, 3)
        )
    assert np.array_equal(one.mask, three.mask)
    assert one.values[~one.mask].tobytes() == three.values[~one.mask].tobytes()


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("agg", [ArgMax(), ArgMin()], ids=identified)
@pytest.mark.parametrize("ends", [(300, 300), (60, 200), (200, 60)], ids=str)
def test_places_of_the_other_rows(agg: Aggregation, ends: Any, nulls: bool) -> None:
    """Where the row itself is the place, the first of the others that are equal is found."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        at, starts = np.sort(random.integers(0, 5000, 400)), np.array([0, 150, 400])
        at[:150] -= 9000
        values = random.integers(-20, 20, 400) + 0.25
        gone = random.random(400) < 0.3 if nulls else None
        check(agg, values, gone, along(at, starts, *ends))


@pytest.mark.parametrize("ends", [(400, 400), (900, 90), (40, 700), (300, 0)], ids=str)
def test_what_is_left_out_leaves_no_trace(ends: tuple[int, int]) -> None:
    """Not in the last digit: an outlier is in no sum but those of windows that have it."""
    random = np.random.default_rng(5)
    at, starts = np.sort(random.integers(0, 20_000, 4000)), np.array([0, 4000])
    values = random.normal(size=4000)
    values[2000] = 1e20
    parts = along(at, starts, *ends)
    way = way_of(Sum(), [values], None)
    made = aggregate(Sum(), [values], parts, way=way).values
    bounds = [part.bounds() for part in parts]
    for i in [*range(1500, 2500), 0, 3999]:
        own = [float(v) for lo, hi in bounds for v in values[lo[i] : hi[i]]]
        exact = math.fsum(own)
        assert abs(made[i] - exact) <= 1e-15 * math.fsum(map(abs, own)), i


# -- values that a sum without the row must not lose, or keep a trace of ---------------------------


def hard(kind: str, random: Any, n: int) -> Any:
    """Values of which a row may outweigh all others, or of which sums are next to nothing."""
    values = random.normal(size=n)
    some = random.random(n) < 0.01
    if kind == "outliers":
        values[some] = random.choice([1e20, -1e20, 1e300], some.sum())
    elif kind == "no numbers":
        values[some] = random.choice([np.nan, np.inf, -np.inf], some.sum())
    elif kind == "many infinite":
        values[random.random(n) < 0.3] = np.inf
    elif kind == "alike":
        values[:] = 0.1
    elif kind == "alternating":
        values[:] = np.where(np.arange(n) % 2, 1e16, -1e16) + random.integers(0, 9, n)
    elif kind == "nothing but some":
        values[~some] = 0.0
    elif kind == "growing":
        values[:] = 40.0 ** (np.arange(n) % 180)
    elif kind == "overflowing":
        values[:] = np.where(np.arange(n) % 499 == 250, 1.797e308, 1e305)
    else:
        assert kind == "around zero"
    return values


def sum_exactly(values: Any) -> float:
    if np.isfinite(values).all():
        try:
            return math.fsum(values)
        except OverflowError:
            return math.inf
    with np.errstate(invalid="ignore"):
        return float(values[~np.isfinite(values)].sum())


HARD = [
    "outliers", "no numbers", "many infinite", "alike", "alternating", "nothing but some",
    "growing", "overflowing", "around zero",
]  # fmt: skip
SIDES: list[Any] = [
    ("rows", 3, 3), ("rows", 30, 30), ("rows", 200, 200), ("rows", 240, 40), ("rows", 1, 130),
    ("along", 600, 600), ("along", 900, 90), ("along", 0, 700), ("along", 700, 0), ("along", 9, 9),
]  # fmt: skip


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_hard_values(sides: tuple[str, int, int], kind: str) -> None:
    """Errors are those of the others' sum, whatever the row is: some units in the last place.

    Also of keys of one to three rows.
    """
    random = np.random.default_rng(7)
    starts = np.cumsum([0, 1, 2, 3, 900, 1, 1094])
    n = int(starts[-1])
    values = hard(kind, random, n)
    if sides[0] == "rows":
        parts = around(starts, *sides[1:])
    else:
        at = [
            np.sort(random.integers(0, 4 * (b - a), b - a)) for a, b in itertools.pairwise(starts)
        ]
        parts = along(np.concatenate(at), starts, *sides[1:])
    made = {
        agg: aggregate(agg, [values], parts, way=way_of(agg, [values], None))
        for agg in (Sum(), Mean(), Max(), Min())
    }
    total, mean, highest, lowest = made.values()
    bounds = [part.bounds() for part in parts]
    for i in range(HARD.index(kind) % 3, n, 3):  # each row with three of the kinds
        own = np.concatenate([values[lo[i] : hi[i]] for lo, hi in bounds])
        assert total.mask[i] == mean.mask[i] == highest.mask[i] == (own.size == 0)
        if not own.size:
            continue
        exact, size = sum_exactly(own), sum_exactly(np.abs(own))
        if math.isfinite(exact) and math.isfinite(size):
            assert abs(total.values[i] - exact) <= 4e-15 * size, i
            assert abs(mean.values[i] - exact / own.size) <= 4e-15 * size / own.size, i
        else:
            assert np.array_equal(total.values[i], exact, equal_nan=True), i
            assert np.array_equal(mean.values[i], exact, equal_nan=True), i
        assert np.array_equal(highest.values[i], own.max(), equal_nan=True), i
        least = np.nanmin(own) if not np.isnan(own).all() else np.nan
        assert np.array_equal(lowest.values[i], least, equal_nan=True), i


def test_many_rows_of_equal_order() -> None:
    at = np.repeat(np.arange(40), 50)  # more than are gone through one by one
    parts = along(at, np.array([0, 2000]), 3, 0)
    values = np.random.default_rng(1).integers(-99, 99, 2000) + 0.5
    for agg in (Sum(), Mean(), Max(), Min(), StdDev()):
        check(agg, values, None, parts)


@pytest.mark.parametrize("agg", [Sum(), Mean()], ids=identified)
def test_whole_sums_along_the_order_that_are_too_large(agg: Aggregation) -> None:
    large = np.array([2**62, 2**62, 5, 1, 0, 0])
    way = way_of(agg, [large], None)
    parts = along(np.arange(6), np.array([0, 6]), 1, 1)
    one = aggregate(agg, [large], parts, way=way)
    assert one.values[1] == (2**62 + 5) / (2 if isinstance(agg, Mean) else 1)
    check_too_large(agg, large, along(np.arange(6), np.array([0, 6]), 2, 2))


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
        made = few_values(parts, nulls, least)
        assert np.array_equal(
            np.zeros(len(parts[0]), bool) if made is None else made, counts < least
        )
        few = few_rows(parts, least)
        if nulls is None and few is not None:
            assert sorted(few) == np.flatnonzero(counts < least).tolist()
