"""Windows over many segments at once, against each window recalculated by itself."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.catalogue import CLASSES, arrays_for, closeness, identified, plain, rows_of, same
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
    FirstN,
    GeometricMean,
    HyperLogLog,
    Last,
    LastN,
    LongestRun,
    Max,
    Mean,
    Min,
    MomentSketch,
    Product,
    Range,
    StdDev,
    Sum,
    Variance,
    aggregation,
)
from windrow.aggregations.base import Aggregation
from windrow.aggregations.momentsketch import Moments
from windrow.errors import InvalidArgument, InvalidValue
from windrow.kernels.aggregate import aggregate
from windrow.kernels.end_positions import ends, placed
from windrow.kernels.results import ResultArray
from windrow.kernels.routes import NotCompiledWarning
from windrow.windows import arrays, positions
from windrow.windows.positions import Windows
from windrow.windows.span_bounds import measured_bounds

NAN = math.nan
SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
AFFINE = aggregation(  # neither commutative nor selective
    lift=lambda v: (int(v) % 7 + 1, int(v) % 5),
    combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
    lower=lambda f: f[0] * 1000 + f[1],
    exact=True,
)
SKETCHES = [
    Bloom(bits=128, hashes=3),
    HyperLogLog(precision=5),
    CountMin(epsilon=0.2, delta=0.1),
    MomentSketch(order=3),
]
EXAMPLES: list[Aggregation] = [example for cls in CLASSES for example in cls.examples()]
NUMBERS = [
    *(a for a in EXAMPLES if a.takes != "text" and not isinstance(a, tuple(map(type, SKETCHES)))),
    *(*SKETCHES, Count("x"), SPREAD, AFFINE),
]


# -- the oracle ----------------------------------------------------------------------------------


def expected(agg: Aggregation, arrays: list[Any], nulls: Any, lo: Any, hi: Any) -> list[Any]:
    """Each window recalculated by itself."""
    return of_windows(agg, rows_of(agg, arrays, nulls), (lo, hi))


def listed(answers: ResultArray) -> list[Any]:
    """Results as Python's own values, None for nulls."""
    values: list[Any] = plain(answers.values)
    if answers.missing is not None:
        values = [None if gone else v for v, gone in zip(values, answers.missing, strict=True)]
    return values


def parts(answer: Any) -> Any:
    """What makes up a result that is an object, power sums as an array, for they cancel."""
    if not isinstance(answer, Moments):
        return answer
    sums = np.array([*answer.finite[3:], *answer.sums])
    return answer.count, answer.minimum, answer.maximum, answer.mean, sums


def agree(agg: Aggregation, got: ResultArray, want: list[Any]) -> bool:
    close = closeness(agg, scale=1.0)
    if isinstance(agg, GeometricMean | Product):
        close = lambda x, y: math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6)  # noqa: E731
    return len(got.values) == len(want) and all(
        same(parts(x), parts(y), close) for x, y in zip(listed(got), want, strict=True)
    )


def row_bounds(windows: Windows) -> tuple[Any, Any]:
    """The slow way."""
    lo, hi = [], []
    for a, b in itertools.pairwise(windows.starts.tolist()):
        for i in range(max(a, windows.first), b):
            lo.append(max(a, i + 1 - windows.rows))
            hi.append(i + 1)
    return np.array(lo, np.int64), np.array(hi, np.int64)


# -- what is asked -------------------------------------------------------------------------------


@st.composite
def segments(draw: Any) -> Any:
    """Many tiny segments, a few long ones, empty ones."""
    size = st.sampled_from([0, 1, 2, 3, 5, 9, 64, 65, 130])
    sizes = draw(st.lists(size, min_size=1, max_size=8))
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@st.composite
def asked(draw: Any, longest: int = 400) -> Windows:
    """Windows of rows, with and without a tail, or by bounds that may skip rows and be empty."""
    starts = draw(segments())
    n = int(starts[-1])
    assume(n <= longest)
    if draw(st.booleans()):
        rows = draw(st.sampled_from([1, 2, 3, 7, 64, 65, 100, 10**9, 2**62]))
        return Windows(starts, rows=rows, first=draw(st.integers(0, n)))
    lo, hi = [], []
    source = np.random.default_rng(draw(st.integers(0, 99)))
    density = draw(st.sampled_from([0.1, 0.7, 3.0]))
    reach = draw(st.sampled_from([0, 1, 4, 40, 200]))
    for a, b in itertools.pairwise(starts.tolist()):
        ends = np.sort(source.integers(a, b + 1, source.poisson((b - a) * density)))
        begins = np.maximum.accumulate(
            np.maximum(ends - source.integers(0, reach + 1, ends.size), a)
        )
        lo += np.minimum(begins, ends).tolist()
        hi += ends.tolist()
    return Windows(starts, lo=np.array(lo, np.int64), hi=np.array(hi, np.int64))


def values_of(dtype: str, n: int, seed: int) -> Any:
    source = np.random.default_rng(seed)
    values = source.integers(-4, 5, n)
    if dtype == "f8":
        kinds = [source.normal(size=n), values + 0.25, values * 1.0]
        special = source.choice([NAN, np.inf, -np.inf, -0.0, 0.0], n)
        return np.where(source.random(n) < 0.1 * (seed % 2), special, kinds[seed % 3])
    if dtype[0] in "u?":
        values = abs(values)
    made = values.astype(dtype)
    if dtype[0] in "mM" and n and seed % 2:
        made[source.integers(0, n)] = "NaT"
    return made


def nulls_of(n: int, seed: int) -> Any:
    share = (None, 0.3, 0.95, 0.0)[seed % 4]
    return None if share is None else np.random.default_rng(seed).random(n) < share


def by_pieces(threads: int, *arguments: Any, **options: Any) -> ResultArray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", 8)
        patch.setattr(positions, "_AT_ONCE", 16)
        return aggregate(*arguments, threads=threads, **options)


# -- the tests -----------------------------------------------------------------------------------


@given(asked())
@examples(100)
def test_bounds_of_rows(windows: Windows) -> None:
    assume(windows.rows is not None)
    for got, want in zip(windows.bounds(), row_bounds(windows), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("agg", NUMBERS, ids=identified)
@given(windows=asked(160), dtype=st.sampled_from(["f8", "i8"]), seed=st.integers(0, 11))
@examples(15)
def test_every_aggregation_of_numbers(
    agg: Aggregation, windows: Windows, dtype: str, seed: int
) -> None:
    n = windows.n
    values, nulls = values_of(dtype, n, seed), nulls_of(n, seed)
    if isinstance(agg, type(AFFINE)):
        values = np.nan_to_num(values, posinf=3, neginf=-3)
    arrays = arrays_for(agg, values)
    want = expected(agg, arrays, nulls, *windows.bounds())
    for threads in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCompiledWarning)
            masks = [nulls, *[None] * (len(arrays) - 1)]
            got = by_pieces(threads, agg, arrays, windows, nulls=masks)
        assert agree(agg, got, want), (listed(got), want)


EVERYWHERE = [Max(), Min(), Range(), ArgMax(), ArgMin(), Sum(), Mean(), Count("x"), CountDistinct(),
              First(), Last(), StdDev(), LongestRun(), SPREAD]  # fmt: skip


TYPES = ["f8", "f4", "i8", "i2", "u4", "?"]


@pytest.mark.parametrize("agg", EVERYWHERE, ids=identified)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_of_numbers(agg: Aggregation, dtype: str) -> None:
    starts = np.array([0, 0, 3, 200, 201, 340, 340])
    values = values_of(dtype, 340, 2)
    lo, hi = Windows(starts, rows=30).bounds()
    some = nulls_of(340, 1)
    one, other = (some, None) if (EVERYWHERE.index(agg) + TYPES.index(dtype)) % 2 else (None, some)
    for windows, nulls in (
        (Windows(starts, rows=5), None),
        (Windows(starts, rows=5), some),
        (Windows(starts, rows=90), one),
        (Windows(starts, lo=lo, hi=hi), other),
    ):
        got = by_pieces(2, agg, [values], windows, nulls=[nulls])
        assert agree(agg, got, expected(agg, [values], nulls, *windows.bounds()))
        if isinstance(agg, Max | First) and not isinstance(agg, ArgMax):
            assert got.values.dtype == values.dtype


OF_TIMES = [Max(), Min(), Range(), ArgMax(), Count("x"), CountDistinct(), First(), Last(),
            LongestRun(), Collect()]  # fmt: skip


@pytest.mark.parametrize("agg", OF_TIMES, ids=identified)
@pytest.mark.parametrize("dtype", ["M8[ns]", "M8[D]", "m8[s]"])
@given(windows=asked(200), seed=st.integers(0, 7))
@examples(10)
def test_times(agg: Aggregation, dtype: str, windows: Windows, seed: int) -> None:
    values = values_of(dtype, windows.n, seed)
    nulls = nulls_of(windows.n, seed)
    gone = np.isnat(values) if nulls is None else nulls | np.isnat(values)
    got = by_pieces(2, agg, [values], windows, nulls=[nulls])
    assert agree(agg, got, expected(agg, [values], gone, *windows.bounds()))


def test_spans_of_time_are_summed_and_times_are_not() -> None:
    steps, windows = np.array([1, 2, 6], "m8[s]"), Windows(np.array([0, 3]), rows=2)
    np.testing.assert_array_equal(
        aggregate(Sum(), [steps], windows).values, np.array([1, 3, 8], "m8[s]")
    )
    np.testing.assert_array_equal(
        aggregate(Mean(), [steps], windows).values, np.array([1, 2, 4], "m8[s]")
    )
    with pytest.raises(InvalidValue, match=r"Sum\('load'\) takes numbers, not datetime64"):
        aggregate(Sum("load"), [steps.astype("M8[s]")], windows)


OF_STRINGS = [Concat(), Max(), ArgMin(), First(), LastN(n=2), FirstN(n=3), Count(), Count("x"),
              Bloom(bits=128, hashes=3), CountDistinct(), LongestRun()]  # fmt: skip


@pytest.mark.parametrize("agg", OF_STRINGS, ids=identified)
@given(windows=asked(80), seed=st.integers(0, 7), as_objects=st.booleans())
@examples(10)
def test_strings(agg: Aggregation, windows: Windows, seed: int, as_objects: bool) -> None:
    source = np.random.default_rng(seed)
    values, nulls = source.choice(np.array(["a", "b", "cd"]), windows.n), nulls_of(windows.n, seed)
    given_nulls = nulls
    if as_objects:
        values = values.astype(object)
        if nulls is not None:
            values[nulls], given_nulls = None, None
    got = by_pieces(2, agg, [values], windows, nulls=[given_nulls])
    assert agree(agg, got, expected(agg, [values], nulls, *windows.bounds()))


EXACT = [Max(), Sum(), Mean(), StdDev(), Variance(ddof=0), ArgMax(), GeometricMean(), SPREAD,
         LongestRun(), Last()]  # fmt: skip


def bits(answers: ResultArray) -> Any:
    return answers.values.tobytes(), None if answers.missing is None else answers.missing.tolist()


@pytest.mark.parametrize("agg", EXACT, ids=identified)
@given(windows=asked(), seed=st.integers(0, 7), piece=st.sampled_from([1, 4, 30]))
@examples(15)
def test_neither_threads_nor_other_segments_change_a_bit(
    agg: Aggregation, windows: Windows, seed: int, piece: int
) -> None:
    values = np.random.default_rng(seed).lognormal(size=windows.n) * 10.0 ** (seed % 5)
    nulls = nulls_of(windows.n, seed)
    whole = aggregate(agg, [values], windows, nulls=[nulls])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", piece)
        patch.setattr(positions, "_AT_ONCE", 16)
        for threads in (1, 2, 5):
            got = aggregate(agg, [values], windows, nulls=[nulls], threads=threads)
            assert bits(got) == bits(whole)
    lo, hi = windows.bounds()
    pieces = []
    for a, b in itertools.pairwise(windows.starts.tolist()):
        if windows.rows is not None:
            alone = Windows(
                np.array([0, b - a]), rows=windows.rows, first=min(max(windows.first - a, 0), b - a)
            )
        else:
            mine = slice(*np.searchsorted(lo, [a, b]))
            assume(not (lo == hi).any())
            alone = Windows(np.array([0, b - a]), lo=lo[mine] - a, hi=hi[mine] - a)
        some = None if nulls is None else [nulls[a:b]]
        if agg.selective or isinstance(agg, LongestRun):
            continue  # positions
        pieces.append(aggregate(agg, [values[a:b]], alone, nulls=some).values)
    if pieces and whole.missing is None:
        assert np.concatenate(pieces).tobytes() == whole.values.tobytes()


def test_a_long_segment_among_short_ones() -> None:
    """Long enough for the tiles of the kernels, and for pieces within one segment."""
    source = np.random.default_rng(3)
    sizes = [5, 9000, 0, 70, 3, 4000, 64]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n = int(starts[-1])
    values = source.normal(size=n) * 100
    at = np.concatenate([np.sort(source.integers(0, 2000, s)) for s in sizes])
    lo, hi, _ = measured_bounds(at, starts, (-300, True), (0, False))
    for windows in (
        Windows(starts, rows=700),
        Windows(starts, rows=5000),
        Windows(starts, lo=lo, hi=hi),
    ):
        some = np.unique(np.concatenate([source.integers(0, n, 400), starts[:-1], starts[1:] - 1]))
        first, past = (bound[some] for bound in windows.bounds())
        for agg, oracle in ORACLES:
            whole = aggregate(agg, [values], windows)
            want = [oracle(values[a:b]) for a, b in zip(first, past, strict=True)]
            np.testing.assert_allclose(whole.values[some], want, rtol=1e-9, atol=1e-9)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(arrays, "PIECE", 500)
                assert bits(aggregate(agg, [values], windows, threads=4)) == bits(whole)


ORACLES: list[tuple[Aggregation, Callable[[Any], Any]]] = [
    (Max(), np.max), (Min(), np.min), (Sum(), math.fsum), (Mean(), lambda x: math.fsum(x) / x.size),
    (Variance(ddof=0), np.var), (Count(), np.size), (Last(), lambda x: x[-1]), (SPREAD, np.ptp),
]  # fmt: skip


# -- whole numbers -------------------------------------------------------------------------------


def test_integer_sums_are_exact_or_refused_by_what_windows_really_hold() -> None:
    big = np.array([2**62, 2**61, -(2**62), 2**62, 2**61])
    starts = np.array([0, 2, 5])
    for windows in (
        Windows(starts, rows=10),
        Windows(starts, lo=np.array([0, 0, 2, 2, 2]), hi=np.array([1, 2, 3, 4, 5])),
    ):
        got = aggregate(Sum(), [big], windows).values.tolist()
        assert got == [2**62, 2**62 + 2**61, -(2**62), 0, 2**61]
        assert aggregate(Mean(), [big], windows).values[3] == 0
        assert aggregate(Sum(), [np.abs(big)[:0]], Windows(np.array([0]), rows=1)).values.size == 0
    with pytest.raises(OverflowError, match=r"Sum\(\): the sum of window 3 exceeds int64; convert"):
        aggregate(Sum(), [np.abs(big)], Windows(starts, rows=10))
    # one segment's largest value and another's length do not make an overflow
    values, starts = np.array([2**62, *[1] * 50]), np.array([0, 1, 51])
    assert aggregate(Sum(), [values], Windows(starts, rows=50)).values[-1] == 50
    with pytest.raises(OverflowError, match="a difference exceeds int64"):
        aggregate(Range(), [np.array([2**62, -(2**62) - 1])], Windows(np.array([0, 2]), rows=2))


# -- the ends ------------------------------------------------------------------------------------


@given(windows=asked(), seed=st.integers(0, 7))
@examples(60)
def test_positions_of_ends(windows: Windows, seed: int) -> None:
    nulls = nulls_of(windows.n, seed)
    for last in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(positions, "_AT_ONCE", 16)
            got = listed(placed(ends(windows, nulls, last=last)))
        want = []
        for a, b in zip(*windows.bounds(), strict=True):
            there = [p for p in range(a, b) if nulls is None or not nulls[p]]
            want.append(there[-1 if last else 0] if there else None)
        assert got == want


# -- one's own, and refusals ---------------------------------------------------------------------


def test_ones_own_with_several_columns_and_nulls() -> None:
    pair = aggregation(
        "x", "w",
        lift=lambda x, w: (x * w, w),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: (s[0] / s[1], s[1]),
    )  # fmt: skip
    x, w = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1, 1, 2, 2])
    nulls = [np.array([False, True, False, False]), None]
    got = aggregate(pair, [x, w], Windows(np.array([0, 3, 4]), rows=2), nulls=nulls)
    assert got.values["f0"].tolist() == [1.0, 1.0, 4.0, 8.0]
    assert got.values["f1"].tolist() == [1, 1, 2, 2] and got.missing is None
    flag = aggregation(lift=lambda v: v > 2, combine=lambda a, b: a or b, lower=lambda s: s)
    got = aggregate(flag, [x], Windows(np.array([0, 4]), rows=2))
    assert got.values.tolist() == [False, False, True, True]


def test_what_does_not_compile_says_so_and_still_runs() -> None:
    table = {1: 10, 2: 20}
    looked_up = aggregation("v", lift=lambda v: table[v], combine=max, lower=lambda s: s)
    with pytest.warns(NotCompiledWarning, match="runs in the interpreter") as all_:
        got = aggregate(looked_up, [np.array([1, 2, 1])], Windows(np.array([0, 2, 3]), rows=2))
    assert got.values.tolist() == [10, 20, 10] and len(all_) == 1


def test_a_failing_function_ends_the_call() -> None:
    ratio = aggregation(lift=lambda v: v, combine=lambda a, b: a + 0 * (a // b), lower=lambda s: s)
    values = np.ones(300, np.int64)
    values[200] = 0
    with pytest.raises(ZeroDivisionError):
        by_pieces(3, ratio, [values], Windows(np.array([0, 100, 300]), rows=20))


def test_columns_that_cannot_be_written_or_are_not_contiguous() -> None:
    values = np.arange(12.0)
    values.flags.writeable = False
    starts = np.array([0, 6])
    starts.flags.writeable = False
    for agg in (Sum(), Max(), ArgMax(), First(), Collect(), StdDev(ddof=0)):
        want = aggregate(agg, [np.arange(0, 12.0, 2)], Windows(starts, rows=2)).values.tolist()
        assert aggregate(agg, [values[::2]], Windows(starts, rows=2)).values.tolist() == want


def test_count_needs_no_column() -> None:
    assert aggregate(Count(), [], Windows(np.array([0, 2, 3]), rows=2)).values.tolist() == [1, 2, 1]


X = np.arange(4.0)
OK = Windows(np.array([0, 4]), rows=2)
WRONG: list[tuple[Any, Any, dict[str, Any], str]] = [
    (Max(), [X, X], {}, r"Max\(\) takes 1 array\(s\), got 2"),
    (ArgMax("a", "b"), [X, X], {}, "takes 1 array"),
    (Max(), [X[:3]], {}, r"columns\[0\] has shape \(3,\); the windows are over 4 rows"),
    (Max(), [X], {"nulls": [X[:2] > 0]}, r"nulls\[0\] has shape \(2,\)"),
    (Max(), [X], {"nulls": []}, "nulls has 0 entries for 1 columns"),
    (Max(), [X], {"threads": 0}, "threads must be 1 or more"),
    (Max, [X], {}, r"write Max\(\), not Max"),
]


@pytest.mark.parametrize(("agg", "columns", "options", "words"), WRONG)
def test_wrong_use_is_refused_in_words(agg: Any, columns: Any, options: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        aggregate(agg, columns, OK, **options)


@pytest.mark.parametrize("options", [{}, {"rows": 2, "lo": X, "hi": X}, {"lo": X}])
def test_windows_are_of_one_kind(options: Any) -> None:
    with pytest.raises(InvalidArgument, match="give rows=, or lo= and hi="):
        Windows(np.array([0, 4]), **options)
