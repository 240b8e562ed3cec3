"""`rolling`: types, nulls, times, batches, threads, and what it refuses."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import (
    Aggregation,
    ArgMax,
    ArgMin,
    Collect,
    Concat,
    Count,
    CountDistinct,
    GeometricMean,
    LongestRun,
    Max,
    Mean,
    Min,
    Mode,
    Nth,
    Quantile,
    Range,
    RollingState,
    StdDev,
    Sum,
    Together,
    Variance,
    aggregation,
    rolling,
    window,
)
from windrow.errors import InvalidArgument, InvalidValue, Unsupported
from windrow.kernels.routes import NotCompiledWarning

NAN = np.nan
SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)


def pandas_rows(values: Any, w: int, name: str) -> Any:
    return getattr(pd.Series(values).rolling(w, min_periods=1), name)().to_numpy()


QUESTIONS = [(Max(), "max"), (Min(), "min"), (Sum(), "sum"), (Mean(), "mean"), (StdDev(), "std")]


@pytest.mark.parametrize(("agg", "name"), QUESTIONS, ids=[name for _, name in QUESTIONS])
@pytest.mark.parametrize("w", [1, 2, 5, 63, 64, 65, 129, 1000, 5000])
@pytest.mark.parametrize("n", [0, 1, 64, 3000])
def test_against_pandas_by_rows(agg: Any, name: str, w: int, n: int) -> None:
    values = np.random.default_rng(n + w).normal(size=n)
    got, expected = rolling(values, agg, rows=w), pandas_rows(values, w, name)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
@given(
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=40),
    size=st.integers(1, 8),
)
@examples(40)
def test_against_pandas_by_time(closed: str, gaps: list[int], size: int) -> None:
    """pandas' windows end at the row, ours at its time: rows of equal time get the last one's."""
    at = np.datetime64("2026-03-01", "s") + np.cumsum(gaps)
    values = np.arange(1.0, len(gaps) + 1)
    frame = pd.Series(values, index=pd.DatetimeIndex(at))
    expected = frame.rolling(f"{size}s", closed=closed, min_periods=1).sum()
    expected = expected.groupby(level=0).transform(
        "last" if closed in ("both", "right") else "first"
    )
    got = rolling(values, Sum(), range=f"{size} s", at=at, closed=closed)
    np.testing.assert_array_equal(got, expected.to_numpy())
    counts = rolling(values, Count(), range=f"{size} s", at=at, closed=closed)
    times = at.astype("M8[s]").astype(int)
    for i, t in enumerate(times):
        from_start = times >= t - size if closed in ("both", "left") else times > t - size
        to_end = times <= t if closed in ("both", "right") else times < t
        assert counts[i] == (from_start & to_end).sum()


# -- types -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2", "u8", "f4", "f8", "?"])
def test_extremes_keep_their_type(dtype: str) -> None:
    values = np.array([3, 1, 2, 5, 0], dtype)
    for agg in (Max(), Min()):
        for algorithm in ("auto", "daba"):
            assert rolling(values, agg, rows=2, algorithm=algorithm).dtype == values.dtype
    assert rolling(values, Mean(), rows=2).dtype == np.float64
    assert rolling(values, Sum(), rows=2).dtype == (np.float64 if dtype[0] == "f" else np.int64)


def test_times_stay_times() -> None:
    values = np.array(["2026-01-03", "NaT", "2026-01-01", "2026-01-07"], "M8[D]")
    np.testing.assert_array_equal(rolling(values, Max(), rows=2), values[[0, 0, 2, 3]])
    assert rolling(values, Range(), rows=3)[3] == np.timedelta64(6, "D")
    steps = np.array([1, 2, 6], "m8[s]")
    np.testing.assert_array_equal(rolling(steps, Sum(), rows=2), np.array([1, 3, 8], "m8[s]"))
    np.testing.assert_array_equal(rolling(steps, Mean(), rows=2), np.array([1, 2, 4], "m8[s]"))
    with pytest.raises(InvalidValue, match=r"Sum\(\) takes numbers, not datetime64"):
        rolling(values, Sum(), rows=2)
    only = rolling(np.array(["NaT", "2026-01-01"], "M8[D]"), Max(), rows=1)
    assert np.isnat(only[0])


@pytest.mark.parametrize("agg", [Nth(n=2), Mode(), Quantile(q=0.3, interpolation="higher")])
def test_nanoseconds_stay_times_in_the_interpreter(agg: Aggregation) -> None:
    values = np.array(["2026-01-03", "NaT", "2026-01-01", "2026-01-07"], "M8[ns]")
    made = rolling(values, agg, rows=3, algorithm="daba")
    np.testing.assert_array_equal(made.astype("M8[ns]"), rolling(values, agg, rows=3))
    pushed = window(agg, rows=3).push_many(values)
    np.testing.assert_array_equal(pushed.astype("M8[ns]"), rolling(values, agg, rows=3))
    assert {type(v) for v in (*made, *pushed)} <= {np.datetime64, type(None)}


@pytest.mark.parametrize("agg", [Nth(n=2), Mode(), Quantile(q=0.3, interpolation="higher")])
def test_booleans_stay_booleans_in_the_interpreter(agg: Aggregation) -> None:
    values, nulls = np.array([True, False, True, True]), np.array([True, False, False, False])
    made = rolling(values, agg, rows=3, nulls=nulls, algorithm="daba")
    assert made.dtype == np.bool_
    assert made.tolist() == rolling(values, agg, rows=3, nulls=nulls).tolist()


def test_integer_sums_are_exact_or_refused() -> None:
    big = np.array([2**62, 2**61, -(2**62), 2**62, 2**61])
    assert rolling(big, Sum(), rows=2).tolist() == [
        2**62,
        2**62 + 2**61,
        -(2**61),
        0,
        2**62 + 2**61,
    ]
    with pytest.raises(OverflowError, match="the sum of window 4 exceeds int64; convert"):
        rolling(np.array([0, 1, 2, 2**62, 2**62]), Sum(), rows=2)
    for algorithm in ("auto", "daba"):
        with pytest.raises(OverflowError, match="a difference exceeds int64"):
            rolling(np.array([2**62, -(2**62) - 1]), Range(), rows=2, algorithm=algorithm)
    by_time = rolling(big, Sum(), range=1, at=np.arange(5))
    assert by_time.tolist() == rolling(big, Sum(), rows=2).tolist()
    with pytest.raises(OverflowError, match="may exceed int64"):
        rolling(big, Sum(), rows=2, algorithm="daba")


def test_nan_is_a_value_unless_it_is_null() -> None:
    values = np.array([1.0, NAN, 3.0, 2.0])
    np.testing.assert_array_equal(rolling(values, Max(), rows=2), [1, NAN, NAN, 3])
    np.testing.assert_array_equal(rolling(values, Min(), rows=2), [1, 1, 3, 2])
    np.testing.assert_array_equal(rolling(values, Sum(), rows=2), [1, NAN, NAN, 5])
    for agg in (Max(), Min(), Sum(), Mean(), StdDev()):
        for algorithm in ("auto", "daba"):
            got = rolling(values, agg, rows=2, nan="null", algorithm=algorithm)
            name = {"Max": "max", "Min": "min", "Sum": "sum", "Mean": "mean"}.get(
                type(agg).__name__, "std"
            )
            np.testing.assert_allclose(got, pandas_rows(values, 2, name))


def test_nulls_in_integers_make_a_masked_array() -> None:
    nulls = np.array([True, True, False, False])
    got = rolling(np.array([9, 9, 3, 4]), Max(), rows=2, nulls=nulls)
    assert got.mask.tolist() == [True, True, False, False]
    assert got[2:].tolist() == [3, 4]
    same = rolling(np.ma.MaskedArray([9, 9, 3, 4], nulls), Max(), rows=2)
    assert same.mask.tolist() == got.mask.tolist()
    assert rolling(np.array([1, 2]), Count(), rows=2, nulls=nulls[:2]).tolist() == [1, 2]
    assert rolling(np.array([1, 2]), Count("x"), rows=2, nulls=nulls[:2]).tolist() == [0, 0]


def test_distinct_counts() -> None:
    values = np.array([1.0, NAN, 1.0, NAN, 2.0, 2.0])
    assert rolling(values, CountDistinct(), rows=3).tolist() == [1, 2, 2, 2, 3, 2]
    nulls = np.array([0, 0, 1, 0, 0, 0], bool)
    assert rolling(values, CountDistinct(), rows=2, nulls=nulls).tolist() == [1, 2, 1, 1, 2, 1]


def test_arguments_ride_along() -> None:
    load = np.array([2.0, 9.0, 9.0, 1.0])
    who = np.array(["Ada", "Bob", "Cyd", "Dan"])
    assert rolling((load, who), ArgMax(), rows=2).tolist() == ["Ada", "Bob", "Bob", "Cyd"]
    assert rolling(load, ArgMax(), rows=2).tolist() == [0, 1, 1, 2]
    run = rolling((load, np.array([10, 20, 30, 40])), LongestRun(), rows=3)
    assert run[1].tolist() == (10, 20, 2, 10)


def test_several_at_once() -> None:
    values = np.array([1, 5, 3])
    got = rolling(values, {"peak": Max(), "who": ArgMax()}, rows=2)
    assert {k: v.tolist() for k, v in got.items()} == {"peak": [1, 5, 5], "who": [0, 1, 1]}
    same = rolling(values, Together(peak=Max(), who=ArgMax()), rows=2)
    assert same["peak"].tolist() == [1, 5, 5]


def test_arrays_that_cannot_be_written_or_are_not_contiguous() -> None:
    values = np.arange(12.0)
    values.flags.writeable = False
    at = np.arange(12)
    at.flags.writeable = False
    assert rolling(values, Sum(), rows=2)[-1] == 21
    assert rolling(values[::2], Max(), rows=2).tolist() == [0, 2, 4, 6, 8, 10]
    assert rolling(values, Sum(), range=1, at=at, algorithm="daba")[-1] == 21


# -- one's own -------------------------------------------------------------------------------


def test_ones_own_functions_are_compiled() -> None:
    values = np.random.default_rng(2).normal(size=500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = rolling(values, SPREAD, rows=20)
    np.testing.assert_allclose(got, pandas_rows(values, 20, "max") - pandas_rows(values, 20, "min"))
    assert rolling(values, SPREAD, rows=20, algorithm="amta").tolist() == got.tolist()


def test_ones_own_with_several_answers_and_columns() -> None:
    pair = aggregation(
        "x", "w",
        lift=lambda x, w: (x * w, w),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: (s[0] / s[1], s[1]),
    )  # fmt: skip
    got = rolling((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 2])), pair, rows=2)
    assert got["f0"].tolist() == [1.0, 1.5, 10 / 3]
    assert got["f1"].tolist() == [1, 2, 3]


def test_what_does_not_compile_says_so_and_still_runs() -> None:
    table = {1: 10, 2: 20}
    looked_up = aggregation(lift=lambda v: table[v], combine=max, lower=lambda s: s)
    with pytest.warns(
        NotCompiledWarning, match=r"runs in the interpreter.*'table', a dict"
    ) as all_:
        assert rolling(np.array([1, 2, 1]), looked_up, rows=1).tolist() == [10, 20, 10]
    assert len(all_) == 1
    texts = aggregation(lift=lambda v: str(v), combine=lambda a, b: a + b, lower=lambda s: s)
    with pytest.warns(NotCompiledWarning, match="it calls str, which means something else"):
        assert rolling(np.array([1, 2, 1]), texts, rows=2).tolist() == ["1", "12", "21"]
    nested = aggregation(lift=lambda v: ((v, v), v), combine=max, lower=lambda s: s[1])
    with pytest.warns(NotCompiledWarning, match="only numbers and flat tuples of them compile"):
        assert rolling(np.array([1, 2, 1]), nested, rows=2).tolist() == [1, 2, 2]


def test_strings_and_lists_run_as_they_are() -> None:
    letters = np.array(["a", "b", "c"])
    assert rolling(letters, Concat(), rows=2).tolist() == ["a", "ab", "bc"]
    assert rolling(letters, Max(), rows=2).tolist() == ["a", "b", "c"]
    assert rolling(np.array([1, 2, 3]), Collect(), rows=2).tolist() == [[1], [1, 2], [2, 3]]
    got = rolling(np.array([1, 2, 3]), Collect(), range=1, at=np.array([0, 0, 5]))
    assert got.tolist() == [[1, 2], [1, 2], [3]]


# -- batches ---------------------------------------------------------------------------------

AGGREGATIONS = {
    "max": Max(), "sum": Sum(), "mean": Mean(), "std": StdDev(), "var": Variance(ddof=0),
    "arg": ArgMin(), "geo": GeometricMean(), "own": SPREAD, "distinct": CountDistinct(),
    "count": Count(), "list": Collect(),
}  # fmt: skip


def in_batches(values: Any, cuts: list[int], **options: Any) -> list[Any]:
    state, pieces = RollingState(), []
    edges = [0, *sorted(cuts), len(values)]
    at = options.pop("at", None)
    for a, b in itertools.pairwise(edges):
        given = {} if at is None else {"at": at[a:b]}
        pieces.append(rolling(values[a:b], state=state, **given, **options))
    pieces.append(state.finish())
    return [x for piece in pieces for x in np.asarray(piece).tolist()]


def bits(answers: list[Any]) -> list[Any]:
    return [repr(x) for x in answers]


@pytest.mark.parametrize("name", AGGREGATIONS)
@pytest.mark.parametrize("w", [1, 3, 40, 100, 300])
@given(cuts=st.lists(st.integers(0, 700), max_size=6), seed=st.integers(0, 3))
@examples(12)
def test_batches_cut_anywhere_give_the_same_bits(
    name: str, w: int, cuts: list[int], seed: int
) -> None:
    values = np.random.default_rng(seed).lognormal(size=700) * 1e3
    if name == "distinct":
        values = values.round(-3)
    agg = AGGREGATIONS[name]
    whole = rolling(values, agg, rows=w).tolist()
    assert bits(in_batches(values, cuts, aggregation=agg, rows=w)) == bits(whole)


@pytest.mark.parametrize(
    "algorithm", ["two_stacks", "daba", "flatfit", "sba", "pba", "amta", "flatfat"]
)
@given(cuts=st.lists(st.integers(0, 300), max_size=6))
@examples(15)
def test_named_algorithms_go_on_too(algorithm: str, cuts: list[int]) -> None:
    values = np.random.default_rng(9).normal(size=300)
    whole = rolling(values, Mean(), rows=17, algorithm=algorithm).tolist()
    got = in_batches(values, cuts, aggregation=Mean(), rows=17, algorithm=algorithm)
    assert bits(got) == bits(whole)


@pytest.mark.parametrize("closed", ["both", "left"])
@pytest.mark.parametrize("name", ["sum", "arg", "own", "list"])
@given(cuts=st.lists(st.integers(0, 200), max_size=6), size=st.integers(1, 60))
@examples(15)
def test_batches_by_time_wait_for_rows_of_equal_time(
    closed: str, name: str, cuts: list[int], size: int
) -> None:
    source = np.random.default_rng(4)
    values = source.lognormal(size=200)
    at = np.cumsum(source.integers(0, 3, 200))
    options = {"aggregation": AGGREGATIONS[name], "range": size, "closed": closed}
    whole = np.asarray(rolling(values, at=at, **options)).tolist()
    assert bits(in_batches(values, cuts, at=at, **options)) == bits(whole)


@pytest.mark.parametrize("closed", ["both", "left"])
@pytest.mark.parametrize("algorithm", ["auto", "pba"])
def test_a_batch_may_be_filled_anew(algorithm: str, closed: str) -> None:
    """What a state keeps of a batch is its own, whatever becomes of the caller's array."""
    values = np.random.default_rng(3).normal(size=60)
    by_time = {"range": 7, "at": np.repeat(np.arange(30), 2), "closed": closed}
    options: list[dict[str, Any]] = [{"rows": 9}, by_time if algorithm == "auto" else {"rows": 30}]
    for option in options:
        at = option.pop("at", None)
        given = {} if at is None else {"at": at}
        whole = rolling(values, ArgMax(), algorithm=algorithm, **option, **given).tolist()
        state, got, buffer = RollingState(), [], np.empty(5)
        for a in range(0, 60, 5):
            buffer[:] = values[a : a + 5]
            given = {} if at is None else {"at": at[a : a + 5]}
            got += rolling(
                buffer, ArgMax(), algorithm=algorithm, state=state, **option, **given
            ).tolist()
        assert got + state.finish().tolist() == whole


@pytest.mark.parametrize("algorithm", ["auto", "pba", "daba"])
@pytest.mark.parametrize("where", [1, 150, 299])
def test_a_function_that_fails_ends_the_call(algorithm: str, where: int) -> None:
    """With two threads, neither waits for the one that failed."""
    ratio = aggregation(lift=lambda v: v, combine=lambda a, b: a + 0 * (a // b), lower=lambda s: s)
    values = np.ones(300, np.int64)
    values[where] = 0
    with pytest.raises(ZeroDivisionError):
        rolling(values, ratio, rows=20, algorithm=algorithm)


def test_a_state_belongs_to_one_question() -> None:
    state = RollingState()
    rolling(np.arange(3), Sum(), rows=2, state=state)
    with pytest.raises(InvalidArgument, match="state was made for"):
        rolling(np.arange(3), Sum(), rows=3, state=state)
    with pytest.raises(InvalidArgument, match="nothing has been rolled"):
        RollingState().finish()


# -- memory ----------------------------------------------------------------------------------


def test_a_large_result_keeps_its_memory() -> None:
    """Memory of a pool is used again only once nobody has the result."""
    pytest.importorskip("pyarrow")
    values = np.arange(300_000.0)
    results = [rolling(values + i, Sum(), rows=2) for i in range(3)]
    rolling(values, Sum(), rows=3)
    for i, result in enumerate(results):
        assert result.flags.writeable
        np.testing.assert_array_equal(result[1:], (2 * values + 2 * i - 1)[1:])


# -- threads ---------------------------------------------------------------------------------


@pytest.mark.parametrize("agg", [Max(), Sum(), StdDev(), ArgMax(), SPREAD], ids=repr)
def test_threads_change_nothing(agg: Any) -> None:
    values = np.random.default_rng(6).lognormal(size=400_000)
    at = np.sort(np.random.default_rng(7).integers(0, 10**5, values.size))
    for w in (5, 700, 50_000, 300_000):
        np.testing.assert_array_equal(
            rolling(values, agg, rows=w, threads=3), rolling(values, agg, rows=w)
        )
    for size in (1, 200, 30_000):
        np.testing.assert_array_equal(
            rolling(values, agg, range=size, at=at, threads=3),
            rolling(values, agg, range=size, at=at),
        )


# -- refusals --------------------------------------------------------------------------------

X = np.arange(4.0)
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({}, InvalidArgument, "give one of rows=, range=, until= and on=; got none"),
    (
        {"rows": 2, "range": 3},
        InvalidArgument,
        "give one of rows=, range=, until= and on=; got rows=2 and",
    ),
    ({"rows": 0}, InvalidArgument, "rows must be 1 or more, got 0"),
    ({"rows": 2.5}, InvalidArgument, "rows must be a whole number, got 2.5"),
    ({"rows": 2, "at": X}, InvalidArgument, "at= goes with range="),
    ({"range": 2}, InvalidArgument, "range= needs at="),
    ({"range": 0, "at": X}, InvalidArgument, "range=0 must be larger than 0"),
    ({"range": "1 hour", "at": X}, InvalidArgument, "must be a number of the same unit"),
    ({"range": 2, "at": X[:2]}, InvalidArgument, "at has 2 times for 4 values"),
    ({"range": 2, "at": X[::-1]}, InvalidValue, r"at\[1\] is before at\[0\]"),
    ({"range": "1.5 months", "at": X.astype("M8[s]")}, InvalidArgument, "a part of a month"),
    ({"range": "1 huor", "at": X.astype("M8[s]")}, InvalidArgument, "did you mean 'hour'"),
    ({"range": "soon", "at": X.astype("M8[s]")}, InvalidArgument, "is not a duration"),
    ({"rows": 2, "closed": "rigth"}, InvalidArgument, "did you mean 'right'"),
    ({"rows": 2, "algorithm": "dabba"}, InvalidArgument, "did you mean 'daba'"),
    ({"rows": 2, "algorithm": "foa"}, Unsupported, "only the interpreter has"),
    ({"rows": 2, "algorithm": "subtract_on_evict"}, Unsupported, "has no inverse"),
    ({"rows": 2, "nan": "skip"}, InvalidArgument, "nan='skip' is unknown"),
    ({"rows": 2, "threads": 0}, InvalidArgument, "threads must be 1 or more"),
    ({"rows": 2, "nulls": [True]}, InvalidArgument, "nulls must be a boolean array as long as"),
]


@pytest.mark.parametrize(("options", "error", "words"), WRONG)
def test_wrong_use_is_refused_in_words(options: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        rolling(X, Max(), **options)


def test_other_wrong_values() -> None:
    with pytest.raises(InvalidArgument, match="one-dimensional"):
        rolling(X.reshape(2, 2), Max(), rows=2)
    with pytest.raises(InvalidArgument, match=r"write Max\(\), not Max"):
        rolling(X, Max, rows=2)
    with pytest.raises(InvalidArgument, match="differ in length"):
        rolling((X, X[:2]), ArgMax(), rows=2)
    with pytest.raises(InvalidArgument, match="takes one array of values, got 2"):
        rolling((X, X), Max(), rows=2)
    with pytest.raises(InvalidValue, match=r"at\[1\] is NaN"):
        rolling(X, Max(), range=1, at=np.array([0, NAN, 1, 2]))


@pytest.mark.parametrize(
    ("closed", "counts"),
    [("both", [1, 2, 3, 3]), ("right", [1, 2, 3, 3]), ("neither", [0, 1, 2, 2])],
)
def test_a_fractional_range_over_whole_times(closed: str, counts: list[int]) -> None:
    got = rolling(np.ones(4), Count(), range=2.5, at=np.arange(4), closed=closed)
    assert got.tolist() == counts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 4, "slide": 0}, "slide"),
        ({"rows": 4, "slide": 5}, "slide=5 is larger than rows=4"),
        ({"range": 4, "at": np.arange(3), "slide": 2}, "slide=2 goes with rows= only"),
    ],
)
def test_slides_that_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        rolling(np.arange(3), Max(), **options)
