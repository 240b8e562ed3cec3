"""Many queries at once against each window by itself, recalculated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.tables.oracle import of_windows
from windrow import (
    ArgMax,
    ArgMin,
    Bloom,
    Collect,
    Concat,
    Count,
    CountDistinct,
    CountMin,
    First,
    HyperLogLog,
    Last,
    LongestRun,
    Max,
    Mean,
    Min,
    MomentSketch,
    Product,
    Range,
    StdDev,
    Sum,
    aggregation,
)
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import OrderedPairs
from windrow.errors import InvalidArgument, InvalidValue
from windrow.kernels import shared, window_loop
from windrow.kernels.aggregate import Windows, aggregate
from windrow.kernels.results import ResultArray, merged
from windrow.kernels.routes import NotCompiledWarning
from windrow.kernels.shared import aggregate_shared

N = 30
Bounds = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

AFFINE = aggregation(  # maps that are put one behind the other: no other order gives the same
    lift=lambda v: (v % 7 + 1, v % 5),
    combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
    lower=lambda f: f[0] * 1000 + f[1],
)
DIGITS = aggregation(  # numbers written behind each other, as Concat does with strings
    lift=lambda v: (v % 10, 10),
    combine=lambda a, b: ((a[0] * b[1] + b[0]) % 1_000_003, a[1] * b[1] % 1_000_003),
    lower=lambda s: s[0],
)
WEIGHTED = aggregation(
    "load",
    "weight",
    lift=lambda v, w: (v * w, w),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda s: s[0] / s[1],
)


def bounds(draw: Any, n: int) -> Bounds:
    """Windows whose bounds never fall: empty ones, equal ones, and gaps among them."""
    places = st.lists(st.integers(0, n), max_size=12)
    a = sorted(draw(places))
    b = sorted(draw(st.lists(st.integers(0, n), min_size=len(a), max_size=len(a))))
    return np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)


@st.composite
def some_queries(draw: Any, n: int = N) -> list[Bounds]:
    queries = [bounds(draw, n) for _ in range(draw(st.integers(0, 4)))]
    if draw(st.booleans()):  # the last rows, a window a row
        hi = np.arange(1, n + 1)
        queries.append((np.maximum(0, hi - draw(st.integers(1, n))), hi))
    return queries


def agree(got: ResultArray, expected: list[Any], exact: bool) -> None:
    missing = np.zeros(len(expected), bool) if got.missing is None else got.missing
    assert missing.tolist() == [want is None for want in expected]
    assert len(got.values) == len(expected)
    for have, want in zip(got.values, expected, strict=True):
        if want is None:
            continue
        if isinstance(want, tuple):
            assert tuple(have) == want
        elif exact or not isinstance(want, float):
            assert np.array_equal(have, want, equal_nan=isinstance(want, float)), (have, want)
        else:
            assert have == pytest.approx(want, rel=1e-9, abs=1e-9)


FLOATS = np.random.default_rng(1).normal(size=N).round(1)
WHOLE = np.random.default_rng(2).integers(0, 50, N)
NULLS = np.random.default_rng(3).random(N) < 0.4
SOME = np.where(NULLS, None, FLOATS).tolist()

COMPILED = [
    *((agg, FLOATS, None) for agg in (Max(), Mean(), First(), ArgMax(), Product())),
    *((agg, WHOLE, None) for agg in (Sum(), Range(), Last(), Count(), CountDistinct())),
    *((agg, WHOLE, None) for agg in (AFFINE, DIGITS)),
    *((agg, FLOATS, NULLS) for agg in (Min(), Sum(), StdDev(), Last(), ArgMin(), LongestRun())),
    (Count("x"), FLOATS, NULLS),
    (AFFINE, WHOLE, NULLS),
]


def plain(agg: Aggregation) -> Aggregation:
    """`Count("x")` of plain values: a Sum has counted them, too."""
    if not agg.columns:
        return agg
    return aggregation(lift=lambda v: 1, combine=lambda a, b: a + b, lower=int, identity=0)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 15])
@pytest.mark.parametrize("sparse", [1, 1 << 30], ids=["sorted", "marked"])
@pytest.mark.parametrize(
    ("agg", "values", "nulls"),
    COMPILED,
    ids=lambda x: repr(x)[:20] if isinstance(x, Aggregation) else getattr(x, "dtype", ""),
)
def test_each_query_is_as_alone(
    monkeypatch: pytest.MonkeyPatch,
    agg: Aggregation,
    values: Any,
    nulls: Any,
    sparse: int,
    at_once: int,
) -> None:
    monkeypatch.setattr(shared, "_AT_ONCE", at_once)
    monkeypatch.setattr(shared, "_SPARSE", sparse)
    objects = values.tolist() if nulls is None else np.where(nulls, None, values).tolist()
    if isinstance(agg, OrderedPairs):
        objects = list(zip(objects, range(N), strict=True))

    @given(queries=some_queries())
    @examples(15)
    def check(queries: list[Bounds]) -> None:
        got = aggregate_shared(agg, [values], queries, nulls=[nulls])
        assert len(got) == len(queries)
        for answers, (lo, hi) in zip(got, queries, strict=True):
            agree(answers, of_windows(plain(agg), objects, (lo, hi)), agg.exact)

    check()


@pytest.mark.parametrize(
    "agg",
    [
        HyperLogLog(precision=6),
        Bloom(bits=128),
        CountMin(epsilon=0.2, delta=0.2),
        MomentSketch(order=4, quantiles=0.5),
    ],
    ids=repr,
)
@given(queries=some_queries(), with_nulls=st.booleans(), at_once=st.sampled_from([1, 1 << 22]))
@examples(15)
def test_sketches(agg: Aggregation, queries: list[Bounds], with_nulls: bool, at_once: int) -> None:
    nulls = NULLS if with_nulls else None
    values = np.where(NULLS, None, WHOLE).tolist() if with_nulls else WHOLE.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_loop, "_BYTES", at_once)
        got = aggregate_shared(agg, [WHOLE], queries, nulls=[nulls])
    for answers, (lo, hi) in zip(got, queries, strict=True):
        expected = of_windows(agg, values, (lo, hi))
        missing = np.zeros(lo.size, bool) if answers.missing is None else answers.missing
        for have, gone, want in zip(answers.values, missing, expected, strict=True):
            assert gone == (want is None)
            if want is not None:
                assert np.allclose(have, want) if isinstance(want, float) else have == want


@pytest.mark.parametrize(
    "agg",
    [Max(), First(), Last(), Concat(separator="-"), Collect(), ArgMax(), CountDistinct()],
    ids=repr,
)
@given(queries=some_queries())
@examples(20)
def test_strings_in_the_interpreter(agg: Aggregation, queries: list[Bounds]) -> None:
    values = np.array(
        [None if null else chr(97 + v % 26) for v, null in zip(WHOLE, NULLS, strict=True)]
    )
    pairs = list(zip(values.tolist(), range(N), strict=True))
    got = aggregate_shared(agg, [values], queries)
    for answers, (lo, hi) in zip(got, queries, strict=True):
        objects = pairs if isinstance(agg, ArgMax) else values.tolist()
        agree(answers, of_windows(agg, objects, (lo, hi)), exact=True)


@given(queries=some_queries())
@examples(20)
def test_functions_of_several_columns(queries: list[Bounds]) -> None:
    weights = WHOLE + 1.0
    got = aggregate_shared(WEIGHTED, [FLOATS, weights], queries, nulls=[NULLS, None])
    for answers, (lo, hi) in zip(got, queries, strict=True):
        expected = []
        for first, past in zip(lo, hi, strict=True):
            inside = np.arange(first, past)[~NULLS[first:past]]
            total = float(weights[inside].sum())
            expected.append(float(FLOATS[inside] @ weights[inside]) / total if total else None)
        agree(answers, expected, exact=False)


@pytest.mark.parametrize("dtype", ["i4", "f4", "?", "M8[s]", "m8[ms]"])
def test_types_are_those_of_each_alone(dtype: str) -> None:
    values = WHOLE.astype("i8").astype(dtype)
    hi = np.arange(1, N + 1)
    queries = [(np.maximum(0, hi - w), hi) for w in (1, 5, N)]
    for agg in (Max(), Range()) if dtype[0] in "mM" else (Max(), Sum(), StdDev()):
        for got, (lo, hi) in zip(aggregate_shared(agg, [values], queries), queries, strict=True):
            alone = merged(aggregate(agg, [values], Windows(np.array([0, N]), lo=lo, hi=hi)))
            assert got.values.dtype == alone.dtype
            if alone.dtype.kind == "f":
                np.testing.assert_allclose(merged(got), alone, rtol=1e-12)
            else:
                np.testing.assert_array_equal(merged(got), alone)


def test_hopping_and_row_windows_over_many_rows() -> None:
    """Enough of them for several calls of the loop, and for slices of hundreds of rows."""
    n = 50_000
    values = np.random.default_rng(0).integers(-1000, 1000, n)
    starts = np.arange(0, n - 999, 250)
    hi = np.arange(1, n + 1)
    queries = [
        (starts, starts + 1000),
        (np.maximum(0, hi - 300), hi),
        (starts[::3].copy(), starts[::3] + 9),
    ]
    for agg in (Sum(), Max()):
        for got, (lo, past) in zip(aggregate_shared(agg, [values], queries), queries, strict=True):
            expected = aggregate(agg, [values], Windows(np.array([0, n]), lo=lo, hi=past))
            np.testing.assert_array_equal(got.values, expected.values)


def test_rows_that_no_window_holds_are_not_looked_at() -> None:
    inverse = aggregation(lift=lambda v: 1.0 / v, combine=lambda a, b: a + b, lower=lambda s: s)
    values = np.ones(N)
    values[[0, 10, 11, 29]] = 0.0  # each would raise
    queries = [(np.array([1, 12]), np.array([9, 20])), (np.array([2, 21]), np.array([10, 28]))]
    got = aggregate_shared(inverse, [values], queries)
    assert [each.values.tolist() for each in got] == [[8.0, 8.0], [8.0, 7.0]]


def test_values_of_two_kinds_that_share_no_window() -> None:
    values = np.array([1, 2, "a", "b"], object)
    apart = np.array([0, 2]), np.array([2, 4])
    got = aggregate_shared(Max(), [values], [apart, (np.array([1]), np.array([2]))])
    assert [each.values.tolist() for each in got] == [[2, "b"], [2]]
    with pytest.raises(InvalidValue, match="'a'"):
        aggregate_shared(Max(), [values], [apart, (np.array([1]), np.array([3]))])


def test_nothing_to_do() -> None:
    nothing = np.empty(0, np.int64)
    assert aggregate_shared(Max(), [FLOATS], []) == []
    (answers,) = aggregate_shared(Max(), [FLOATS], [(nothing, nothing)])
    assert answers.values.size == 0 and answers.missing is None
    (answers,) = aggregate_shared(Max(), [np.empty(0)], [(np.zeros(2, int), np.zeros(2, int))])
    assert answers.missing is not None and answers.missing.all()


def test_an_integer_sum_is_exact_or_refused() -> None:
    big = np.array([2**62, 2**61, -(2**62), 2**62, 2**62])
    fits = (np.array([0, 1]), np.array([2, 4]))
    (got,) = aggregate_shared(Sum(), [big], [fits])
    assert got.values.tolist() == [2**62 + 2**61, 2**61]
    with pytest.raises(OverflowError, match="window 1 of query 1 exceeds int64"):
        aggregate_shared(Sum(), [big], [fits, (np.array([0, 3]), np.array([2, 5]))])
    hidden = np.array([False, False, False, False, True])
    (got,) = aggregate_shared(Sum(), [big], [(np.array([3]), np.array([5]))], nulls=[hidden])
    assert got.values.tolist() == [2**62]


def test_what_does_not_compile_is_said() -> None:
    texts = aggregation(lift=str, combine=lambda a, b: a + b, lower=lambda s: s)
    with pytest.warns(NotCompiledWarning, match="runs in the interpreter"):
        (got,) = aggregate_shared(texts, [WHOLE], [(np.array([0]), np.array([3]))])
    assert got.values.tolist() == ["".join(map(str, WHOLE[:3]))]


ONE = np.array([1])


@pytest.mark.parametrize(
    ("agg", "columns", "windows", "message"),
    [
        (Max, [FLOATS], [], "is not an aggregation; write Max"),
        (Max(), [FLOATS, FLOATS], [], r"Max\(\) takes 1 array\(s\), got 2"),
        (WEIGHTED, [FLOATS, FLOATS[1:]], [], r"columns\[1\] has shape"),
        (Max(), [FLOATS], [(ONE, ONE.astype("i4"))], r"windows\[0\]: lo and hi must be arrays of"),
        (Max(), [FLOATS], [(ONE, np.array([1, 2]))], "as long as each other"),
        (Max(), [FLOATS], [(np.array([2, 1]), np.array([3, 3]))], "neither lo nor hi may fall"),
        (Max(), [FLOATS], [(ONE + 1, ONE)], "0 ≤ lo ≤ hi ≤ 30"),
        (Max(), [FLOATS], [(ONE, ONE + 30)], "0 ≤ lo ≤ hi ≤ 30"),
    ],
)
def test_what_is_refused(agg: Any, columns: Any, windows: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        aggregate_shared(agg, columns, windows)
