"""Partial aggregates: a window cut anywhere, merged from its parts, answers as its rows do."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import closeness, identified, same
from tests.examples import examples
from windrow import (
    ArgMax,
    ArgMin,
    Bloom,
    Collect,
    Count,
    CountMin,
    First,
    GeometricMean,
    HyperLogLog,
    Last,
    LongestRun,
    Max,
    MaxCount,
    Mean,
    Min,
    MinCount,
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
from windrow.errors import Unsupported
from windrow.kernels.aggregate import Windows
from windrow.kernels.states import (
    States,
    merge,
    merged_states,
    states_of,
)
from windrow.windows import arrays

Array = np.ndarray[Any, Any]


def lifted(agg: Aggregation, columns: list[Array], nulls: Any = None) -> States:
    """Every row as a state of its own."""
    rows = np.arange(len(columns[0]) + 1)
    windows = Windows(rows[[0, -1]], lo=rows[:-1], hi=rows[1:])
    return states_of(agg, columns, windows, nulls=nulls)


def concatenate(pieces: list[States]) -> States:
    """The states of all pieces, one piece after the other."""
    fields = tuple(np.concatenate(each) for each in zip(*(p.fields for p in pieces), strict=True))
    gone = [np.zeros(len(p), np.bool_) if p.missing is None else p.missing for p in pieces]
    return States(fields, np.concatenate(gone) if np.concatenate(gone).any() else None)


AFFINE = aggregation(  # x ↦ ax + b, one map after the other: order matters
    lift=lambda v: (v % 7 + 1, v % 5),
    combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
    lower=lambda f: f,
    exact=True,
)
RISEN = aggregation(  # a state with a flag
    lift=lambda v: (v > 1, v),
    combine=lambda a, b: (a[0] or b[0], b[1]),
    lower=lambda s: s[1] if s[0] else -s[1],
    exact=True,
)

# Compiling is what takes the time: each aggregation on the one type that is hardest for it, and
# the twins of another one only when there is time.
FLOATS: list[Aggregation] = [
    *(Range(), MaxCount(), ArgMin(), Last(), Sum(), Mean(), GeometricMean(), Variance()),
    *(Product(), LongestRun(), MomentSketch(order=3), HyperLogLog(precision=5)),
]
TWINS: list[Aggregation] = [Max(), Min(), MinCount(), ArgMax(), First(), StdDev(ddof=0)]
INTEGERS: list[Aggregation] = [
    *(Count("x"), Sum(), Mean(), AFFINE, RISEN),
    *(Bloom(bits=128, hashes=3), CountMin(epsilon=0.2, delta=0.1)),
]
every_case = pytest.mark.parametrize(
    ("agg", "dtype"),
    [
        *(pytest.param(a, "float64", id=f"{identified(a)}-float64") for a in FLOATS),
        *(pytest.param(a, "float64", id=identified(a), marks=pytest.mark.slow) for a in TWINS),
        *(pytest.param(a, "int64", id=f"{identified(a)}-int64") for a in INTEGERS),
    ],
)

_integers = st.integers(-3, 4)
_floats = st.one_of(_integers.map(float), st.floats(-1e3, 1e3), st.sampled_from([math.nan]))


@st.composite
def rows(draw: st.DrawFn, dtype: str) -> tuple[Array, Array]:
    """Values and which of them are null."""
    values = draw(st.lists(_floats if dtype == "float64" else _integers, max_size=30))
    nulls = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    return np.array(values, dtype), np.array(nulls, np.bool_)


@st.composite
def rising(draw: st.DrawFn, n: int) -> Windows:
    """Windows of positions 0 … n, which begin and end no earlier than those before."""
    size = draw(st.integers(0, 12))
    a, b = (np.sort(draw(st.lists(st.integers(0, n), min_size=size, max_size=size))) for _ in "ab")
    lo, hi = (np.asarray(e, np.int64) for e in (np.minimum(a, b), np.maximum(a, b)))
    return Windows(np.array([0, n]), lo=lo, hi=hi)


def slices(draw: Any, n: int) -> Array:
    """The edges of adjacent slices of n rows, some of them empty."""
    return np.sort(np.array([0, *draw(st.lists(st.integers(0, n), max_size=8)), n], np.int64))


def oracle(agg: Aggregation, values: Array, nulls: Array, windows: Windows) -> list[Any]:
    """Every window's rows, folded in the interpreter."""
    bare = type(agg)() if isinstance(agg, Count) else agg
    plain = [None if null else v for v, null in zip(values.tolist(), nulls, strict=True)]
    if agg.arity == 2:
        plain = [None if v is None else (v, i) for i, v in enumerate(plain)]
    made = []
    for a, b in zip(*windows.bounds(), strict=True):
        here = plain[a:b]
        if isinstance(agg, Count):
            here = [v for v in here if v is not None]
        made.append(bare.lower(bare.fold(map(bare.lift, here))))
    return made


def assert_answers(agg: Aggregation, made: Any, expected: list[Any]) -> None:
    gone = made.missing if made.missing is not None else np.zeros(len(expected), np.bool_)
    got = [None if null else v for v, null in zip(made.values.tolist(), gone, strict=True)]
    assert len(got) == len(expected)
    close = closeness(agg, 1e3) or (lambda x, y: x == y)
    for a, b in zip(got, expected, strict=True):
        if isinstance(a, Moments) and isinstance(b, Moments):
            assert same((a.count, a.minimum, a.maximum), (b.count, b.minimum, b.maximum))
            assert np.allclose(a.sums, b.sums, rtol=1e-9, atol=1e-6, equal_nan=True)
        elif b is None and isinstance(agg, Variance):
            assert a is None or a != a  # a sample of one: compiled, it has no null to give
        else:
            assert same(a, tuple(b) if isinstance(b, list) else b, close), (a, b)


@every_case
@examples(25)
@given(data=st.data())
def test_merged_slices_answer_as_rows(agg: Aggregation, dtype: str, data: st.DataObject) -> None:
    values, nulls = data.draw(rows(dtype))
    edges = slices(data.draw, values.size)
    cut = Windows(edges[[0, -1]], lo=edges[:-1], hi=edges[1:])
    parts = states_of(agg, [values], cut, nulls=[nulls])
    over = data.draw(rising(edges.size - 1))
    lo, hi = over.bounds()
    of_rows = Windows(cut.starts, lo=edges[lo], hi=edges[hi])
    expected = oracle(agg, values, nulls, of_rows)
    assert_answers(agg, merge(agg, [dtype], parts, over), expected)

    # merged once more before: any grouping of neighbours is as good
    again = slices(data.draw, len(parts))
    grouped = Windows(again[[0, -1]], lo=again[:-1], hi=again[1:])
    twice = merged_states(agg, [dtype], parts, grouped)
    over = data.draw(rising(again.size - 1))
    lo, hi = over.bounds()
    of_rows = Windows(cut.starts, lo=edges[again[lo]], hi=edges[again[hi]])
    expected = oracle(agg, values, nulls, of_rows)
    assert_answers(agg, merge(agg, [dtype], twice, over), expected)


@pytest.mark.parametrize("agg", [Mean(), AFFINE, Bloom(bits=128, hashes=3)], ids=identified)
@given(data=st.data())
@examples(20)
def test_rows_and_slices_go_together(agg: Aggregation, data: st.DataObject) -> None:
    """Suffix rows, whole slices, prefix rows: the boundaries of a window without a key."""
    values, nulls = data.draw(rows("int64"))
    n = values.size
    a, b = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    middle = Windows(np.array([0, n]), lo=np.array([a]), hi=np.array([b]))
    alone = lifted(agg, [values], [nulls])
    pieces = [part(alone, 0, a), states_of(agg, [values], middle, nulls=[nulls]), part(alone, b, n)]
    parts = concatenate(pieces)
    everything = Windows(np.array([0, len(parts)]), lo=np.array([0]), hi=np.array([len(parts)]))
    whole = Windows(np.array([0, n]), lo=np.array([0]), hi=np.array([n]))
    expected = oracle(agg, values, nulls, whole)
    assert_answers(agg, merge(agg, ["int64"], parts, everything), expected)


def part(parts: States, a: int, b: int) -> States:
    missing = None if parts.missing is None else parts.missing[a:b]
    return States(tuple(f[a:b] for f in parts.fields), missing)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "PIECE", 8)
    values = np.random.default_rng(3).normal(size=500)
    edges = np.array([0, *range(0, 500, 7), 500])
    cut = Windows(np.array([0, 500]), lo=edges[:-1], hi=edges[1:])
    keys = np.arange(0, edges.size, 9)  # windows of the last 4 slices of their own key
    starts = np.append(keys, edges.size - 1)
    over = Windows(starts, rows=4)
    one = states_of(Mean(), [values], cut, threads=1)
    two = states_of(Mean(), [values], cut, threads=3)
    for a, b in zip(one.fields, two.fields, strict=True):
        assert a.tobytes() == b.tobytes()
    merged = [merge(Mean(), ["float64"], one, over, threads=t).values for t in (1, 3)]
    assert merged[0].tobytes() == merged[1].tobytes()


def test_rows_that_no_window_holds_are_left_out() -> None:
    values = np.arange(10)
    apart = Windows(np.array([0, 10]), lo=np.array([1, 6, 6]), hi=np.array([3, 6, 9]))
    parts = states_of(Mean(), [values], apart)
    assert parts.missing is not None and parts.missing.tolist() == [False, True, False]
    assert [f.tolist() for f in parts.fields] == [[0, 0, 0], [3, 0, 21], [2, 0, 3]]


def test_count_counts_nulls_unless_it_names_a_column() -> None:
    windows = Windows(np.array([0, 3]), lo=np.array([0]), hi=np.array([3]))
    nulls = [np.array([True, False, True])]
    counts = [
        states_of(agg, [np.zeros(3, np.int64)], windows, nulls=nulls).fields[0].tolist()
        for agg in (Count(), Count("x"))
    ]
    assert counts == [[3], [1]]


def test_a_sum_past_int64_is_refused_and_one_that_fits_is_not() -> None:
    agg, big = Sum(), 2**62
    values = np.array([big, big - 1, -big, big, big])
    edges = np.array([0, 2, 3, 5])
    fits = states_of(agg, [values], Windows(np.array([0, 5]), lo=edges[:2], hi=edges[1:3]))
    assert fits.fields[0].tolist() == [2 * big - 1, -big]
    both = Windows(np.array([0, 2]), rows=2)
    assert merged_states(agg, ["int64"], fits, both).fields[0].tolist() == [2 * big - 1, big - 1]
    with pytest.raises(OverflowError, match=r"the sum of window 2 exceeds int64"):
        states_of(agg, [values], Windows(np.array([0, 5]), lo=edges[:3], hi=edges[1:]))
    twice = concatenate([fits, fits])
    with pytest.raises(OverflowError, match=r"exceeds int64; convert the values to float64"):
        merge(agg, ["int64"], twice, Windows(np.array([0, 4]), rows=3))


def test_sums_keep_what_cancels() -> None:
    values = np.array([1e16, 1.0, -1e16, 1.0])
    parts = lifted(Sum(), [values])
    pairs = Windows(np.array([0, 4]), lo=np.array([0, 2]), hi=np.array([2, 4]))
    halves = merged_states(Sum(), ["float64"], parts, pairs)
    whole = Windows(np.array([0, 2]), lo=np.array([0]), hi=np.array([2]))
    assert merge(Sum(), ["float64"], halves, whole).values.tolist() == [2.0]


def test_hashes_stand_for_values_that_are_no_numbers() -> None:
    from windrow.aggregations.hashing import hash64

    bloom = Bloom(bits=128)
    words = ["Ada", "Bob", "Ada", "Eve"]
    hashes = np.array([hash64(word, bloom) for word in words], np.uint64).view(np.int64)
    whole = Windows(np.array([0, 4]), lo=np.array([0]), hi=np.array([4]))
    parts = states_of(bloom, [hashes], whole, hashed=True)
    one = Windows(np.array([0, 1]), rows=1)
    assert merge(bloom, ["int64"], parts, one).values[0] == bloom.lower(
        bloom.fold(map(bloom.lift, words))
    )


def test_what_has_no_state_of_numbers_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"Collect\(\) has no state of numbers"):
        lifted(Collect(), [np.arange(3)])
    with pytest.raises(Unsupported, match=r"columns\[0\] is of type object"):
        lifted(Max(), [np.array(["a", "b"], object)])
    growing = aggregation(lift=lambda v: [v], combine=lambda a, b: a + b, lower=len)
    with pytest.raises(Unsupported, match="does not compile"):
        lifted(growing, [np.arange(3)])


def test_edges_of_slices_are_all_there() -> None:
    """The helper above cuts what it says."""
    made = slices(lambda _: [3, 1, 3], 5)
    assert [tuple(map(int, pair)) for pair in itertools.pairwise(made)] == [
        (0, 1), (1, 3), (3, 3), (3, 5),
    ]  # fmt: skip
