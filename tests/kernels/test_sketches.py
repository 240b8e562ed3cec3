"""Sketches rolled over arrays, against the interpreted aggregators."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windrow import (
    Bloom,
    Collect,
    CountMin,
    HyperLogLog,
    MomentSketch,
    RollingState,
    aggregator,
    rolling,
    sliding,
)
from windrow.aggregations.base import Aggregation
from windrow.aggregations.hashing import hash64
from windrow.aggregations.hyperloglog import estimate
from windrow.aggregations.momentsketch import Moments
from windrow.errors import Unsupported
from windrow.kernels import sketch_rows
from windrow.kernels.routes import traced

Array = np.ndarray[Any, Any]

BLOOM = Bloom(bits=128, hashes=3)
DISTINCT = HyperLogLog(precision=5)
COUNTS = CountMin(epsilon=0.2, delta=0.1)
MOMENTS = MomentSketch(order=3)
SKETCHES = [BLOOM, DISTINCT, COUNTS, MOMENTS]
# Each algorithm with one sketch, each sketch with several: compiling is what takes the time.
PAIRS = [
    *[(sketch, "auto") for sketch in SKETCHES],
    *[(BLOOM, name) for name in ("daba", "flatfat", "sba", "log_mta", "pba")],
    *[(DISTINCT, name) for name in ("flatfit", "amta", "recalculate")],
    *[(COUNTS, name) for name in ("two_stacks", "slick_deque", "b_int")],
    *[(MOMENTS, name) for name in ("daba", "pba")],
]
every_pair = pytest.mark.parametrize(
    ("sketch", "algorithm"), PAIRS, ids=[f"{type(s).__name__}-{a}" for s, a in PAIRS]
)


@pytest.fixture(scope="module")
def integers() -> Array:
    return np.random.default_rng(1).integers(-20, 20, 150)


def interpreted(
    sketch: Aggregation, values: Array, bounds: list[tuple[int, int]], missing: Array | None = None
) -> list[Any]:
    """The results of windows of positions, which begin and end no earlier than those before."""
    swag, head, answers = aggregator(sketch, "two_stacks"), 0, []
    given = [
        None if missing is not None and missing[i] else v for i, v in enumerate(values.tolist())
    ]
    for first, past in bounds:
        for value in given[head + len(swag) : past]:
            swag.insert(value)
        swag.evict(first - head)
        head = first
        answers.append(swag.query())
    return answers


def last(w: int, n: int) -> list[tuple[int, int]]:
    return [(max(0, i + 1 - w), i + 1) for i in range(n)]


def close(a: Any, b: Any) -> bool:
    """Moments as near as roundings leave them, and nothing else but equal."""
    if not isinstance(a, Moments) or not isinstance(b, Moments):
        return bool(a == b)
    exact = [(m.count, repr(m.minimum), repr(m.maximum), m.finite[0]) for m in (a, b)]
    sums = [[m.mean, *m.finite[3:], *m.sums] for m in (a, b)]
    return exact[0] == exact[1] and np.allclose(*sums, rtol=1e-9, atol=1e-6, equal_nan=True)


def assert_answers(got: Array, expected: list[Any]) -> None:
    assert len(got) == len(expected)
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert close(a, b), (i, a, b)


def assert_identical(a: Array, b: Array) -> None:
    """The same bits, which the repr of Moments' floats shows too."""
    assert a.dtype == b.dtype
    if a.dtype != object:
        np.testing.assert_array_equal(a, b)
        return
    for x, y in zip(a, b, strict=True):
        assert repr(vars(x)) == repr(vars(y)) if isinstance(x, Moments) else x == y


# -- hashes -----------------------------------------------------------------------------------


@given(st.integers(-(2**63), 2**63 - 1))
@example(0)
@example(-1)
@example(-(2**63))
@example(2**63 - 1)
def test_integers_hash_as_in_the_interpreter(value: int) -> None:
    assert int(sketch_rows.hash_int64(np.int64(value))) == hash64(value)


@given(st.floats() | st.integers(-(2**63), 2**63 - 1).map(float))
@example(-0.0)
@example(math.nan)
@example(-math.nan)
@example(math.inf)
@example(-math.inf)
@example(5e-324)
@example(0.5)
@example(2.0**53 + 2)
@example(2.0**63)
@example(-(2.0**63))
@example(float(np.nextafter(2.0**63, 0)))
@example(float(np.nextafter(-(2.0**63), -math.inf)))
def test_floats_hash_as_in_the_interpreter(value: float) -> None:
    assert int(sketch_rows.hash_float64(value)) == hash64(value)


# -- answers ----------------------------------------------------------------------------------


@every_pair
def test_rows_answer_as_the_interpreter(
    sketch: Aggregation, algorithm: str, integers: Array
) -> None:
    for w in (1, 3, 16, 1000):
        got = rolling(integers, sketch, rows=w, algorithm=algorithm)
        assert_answers(got, interpreted(sketch, integers, last(w, len(integers))))


@every_pair
def test_batches_answer_as_one_call(sketch: Aggregation, algorithm: str, integers: Array) -> None:
    for w in (3, 50, 1000):
        state = RollingState()
        pieces = [
            rolling(piece, sketch, rows=w, algorithm=algorithm, state=state)
            for piece in np.split(integers, [1, 2, 40, 40, 101])
        ]
        whole = rolling(integers, sketch, rows=w, algorithm=algorithm)
        assert_identical(np.concatenate(pieces), whole)


@pytest.mark.parametrize("sketch", SKETCHES, ids=repr)
def test_nulls_and_nans(sketch: Aggregation) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=120).round(1)
    values[rng.random(120) < 0.1] = math.nan
    values[rng.random(120) < 0.1] = math.inf
    values[:2] = -0.0, 0.0
    missing = rng.random(120) < 0.5
    missing[40:60] = True
    for w in (1, 3, 500):
        bounds = last(w, 120)
        got = rolling(values, sketch, rows=w, nulls=missing)
        assert_answers(got, interpreted(sketch, values, bounds, missing))
        assert_answers(rolling(values, sketch, rows=w), interpreted(sketch, values, bounds))
        got = rolling(values, sketch, rows=w, nulls=missing, nan="null")
        either = missing | np.isnan(values)
        assert_answers(got, interpreted(sketch, values, bounds, either))


def test_nulls_that_come_with_a_later_batch(integers: Array) -> None:
    state = RollingState()
    first = rolling(integers[:50], BLOOM, rows=4, state=state)
    masked = np.ma.MaskedArray(integers[50:], integers[50:] > 0)
    second = rolling(masked, BLOOM, rows=4, state=state)
    missing = np.concatenate([np.zeros(50, bool), integers[50:] > 0])
    expected = interpreted(BLOOM, integers, last(4, 150), missing)
    assert_answers(np.concatenate([first, second]), expected)


@pytest.mark.parametrize("sketch", SKETCHES, ids=repr)
@pytest.mark.parametrize("closed", ["both", "neither"])
def test_ranges_answer_as_the_interpreter(
    sketch: Aggregation, closed: str, integers: Array
) -> None:
    at = np.random.default_rng(3).integers(0, 9, 150).cumsum()
    at[100:] += 1000  # nothing before is in the windows from here on
    sides = {"both": ("left", "right"), "neither": ("right", "left")}[closed]
    lo, hi = np.searchsorted(at, at - 20, sides[0]), np.searchsorted(at, at, sides[1])
    lo = np.minimum(lo, hi)
    got = rolling(integers, sketch, range=20, at=at, closed=closed)
    expected = interpreted(sketch, integers, list(zip(lo.tolist(), hi.tolist(), strict=True)))
    assert_answers(got, expected)
    state = RollingState()
    pieces = [
        rolling(integers[a:b], sketch, range=20, at=at[a:b], closed=closed, state=state)
        for a, b in ((0, 5), (5, 6), (6, 90), (90, 150))
    ]
    assert_identical(np.concatenate([*pieces, state.finish()]), got)


def test_buffers_grow_with_the_window() -> None:
    """Few values a second at first, then many: the ring is copied to a larger one."""
    values = np.arange(400)
    at = np.concatenate([np.arange(0, 2000, 20), 2000 + np.arange(300)])
    for sketch in (BLOOM, COUNTS):
        whole = rolling(values, sketch, range=200, at=at)
        state = RollingState()
        pieces = [
            rolling(values[i : i + 40], sketch, range=200, at=at[i : i + 40], state=state)
            for i in range(0, 400, 40)
        ]
        assert_identical(np.concatenate([*pieces, state.finish()]), whole)


def test_a_long_window_takes_no_more_than_what_came(integers: Array) -> None:
    """2⁴⁰ rows of a state would not fit anywhere."""
    for algorithm in ("auto", "two_stacks", "b_int"):
        assert rolling(integers, COUNTS, rows=2**40, algorithm=algorithm)[-1].total == 150
    state = RollingState()
    for piece in np.split(integers, 3):
        counts = rolling(piece, COUNTS, rows=2**40, state=state)
    assert counts[-1].total == 150


# -- the types of results ---------------------------------------------------------------------


def test_quantiles_are_numbers() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(100, 5, 40)
    values[:3] = math.nan
    one = rolling(values, MomentSketch(order=3, quantiles=0.5), rows=30, nan="null")
    assert one.dtype == np.float64
    assert np.isnan(one).tolist() == [True] * 3 + [False] * 37
    sketch = MomentSketch(order=3, quantiles=(0.5, 0.9))
    several = rolling(values, sketch, rows=30, nan="null")
    assert several.mask.tolist() == [(True, True)] * 3 + [(False, False)] * 37
    np.testing.assert_array_equal(several["f0"][3:], one[3:])
    expected = interpreted(sketch, values, last(30, 40), np.isnan(values))
    np.testing.assert_allclose(several[30:].tolist(), expected[30:], rtol=1e-6)
    (only,) = rolling(values[5:6], MomentSketch(order=3, quantiles=[0.5]), rows=1)
    assert only == (values[5],)


def test_the_estimate_is_the_interpreters() -> None:
    rng = np.random.default_rng(6)
    for full in (0, 3, 2**13):
        ranks = np.minimum(rng.geometric(0.5, 2**14) - 1, 51)
        ranks[:full] = 51
        histogram = np.bincount(ranks, minlength=52)
        assert math.isclose(sketch_rows.estimate(histogram), estimate(histogram), rel_tol=1e-12)


def test_objects_are_those_of_the_interpreter(integers: Array) -> None:
    blooms = rolling(integers, BLOOM, rows=5)
    assert all(integers[i] in blooms[i] and integers[i - 4] in blooms[i] for i in range(4, 150))
    counts = rolling(integers, COUNTS, rows=5)
    assert counts[-1].total == 5
    assert not counts[-1].counters.flags.writeable
    counters = [sketch.counters for sketch in counts]
    assert not any(np.shares_memory(a, b) for a, b in itertools.pairwise(counters))


def test_floats_and_integers_that_are_equal_give_equal_sketches(integers: Array) -> None:
    for sketch in (BLOOM, DISTINCT, COUNTS):
        a, b = rolling(integers, sketch, rows=7), rolling(integers.astype(float), sketch, rows=7)
        assert a.tolist() == b.tolist()


def test_more_rows_than_a_slice() -> None:
    values = np.random.default_rng(7).integers(0, 10**6, 2500)
    got = rolling(values, DISTINCT, rows=1500)
    assert got.dtype == np.int64
    assert got.tolist() == interpreted(DISTINCT, values, last(1500, 2500))


def test_nothing_comes_of_nothing() -> None:
    empty = np.empty(0, np.int64)
    assert rolling(empty, DISTINCT, rows=3).dtype == np.int64
    assert rolling(empty, BLOOM, rows=3).shape == (0,)


# -- which way is taken -----------------------------------------------------------------------


def test_what_cannot_be_subtracted_is_refused(integers: Array) -> None:
    for algorithm in ("subtract_on_evict", "slick_deque"):
        with pytest.raises(Unsupported):
            rolling(integers, BLOOM, rows=3, algorithm=algorithm)


def test_times_and_strings_stay_with_the_interpreter() -> None:
    for values in (np.array(["a", "b", "a"]), np.array([1, 2, 1], "M8[s]")):
        assert rolling(values, DISTINCT, rows=3).tolist() == [1, 2, 2]


def test_numbers_are_compiled(integers: Array) -> None:
    with traced() as ran:
        for sketch in SKETCHES:
            rolling(integers, sketch, rows=3)
    assert [way for _, way in ran] == [
        "two_stacks",
        "estimates",
        "subtract_on_evict",
        "two_stacks",
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize(
    "sketch",
    [HyperLogLog("v", precision=6), Bloom("v", bits=256), CountMin("v", epsilon=0.1)],
    ids=str,
)
def test_sketches_of_texts_are_compiled_and_have_the_bits_of_single_events(
    sketch: Any, kind: pa.DataType
) -> None:
    values = [None if n % 5 == 3 else f"id{n * n % 17}" for n in range(60)]
    table = pa.table({"t": list(range(60)), "v": pa.array(values).cast(kind)})
    for window in ({"rows": 7}, {"rows": (-2, 3)}, {"range": 9, "slide": 3}):
        query = sliding(order_by="t", **window, r=sketch, seen=Collect("v"))
        for row in query(table).to_pylist():
            single = aggregator(type(sketch)(**sketch.parameters()))
            single.extend(row["seen"] or [])
            told = single.query()
            assert row["r"] == (told if isinstance(told, int | None) else bytes(told))
        assert "values of Python" not in query.explain(table)
