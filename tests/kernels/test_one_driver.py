"""`rolling` is the driver of tables behind a carried tail: the same bits, however it is cut."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import CLASSES, arrays_for, identified
from tests.examples import examples
from windrow import (
    KLL,
    Count,
    Mean,
    RollingState,
    Sum,
    TDigest,
    aggregation,
    rolling,
    sliding,
    window,
)
from windrow.aggregations.base import Aggregation
from windrow.kernels.aggregate import aggregate
from windrow.kernels.results import merged
from windrow.kernels.routes import NotCompiledWarning, traced
from windrow.windows.positions import Windows
from windrow.windows.span_bounds import measured_bounds

SMALL = {"bits": 128, "precision": 5, "epsilon": 0.2, "order": 3}
OWN = [
    aggregation(lift=lambda v: v * 0.1, combine=lambda a, b: a + b, lower=lambda s: s),
    aggregation(lift=lambda v: [v * 0.1], combine=lambda a, b: [a[0] + b[0]], lower=lambda s: s[0]),
]


def small(cls: type[Aggregation]) -> list[Aggregation]:
    """Examples with small sketches, or exact ones where an estimate depends on the grouping."""
    import inspect

    if cls in (KLL, TDigest):
        return [cls(q=0.5, k=4000)]  # type: ignore[call-arg]

    known = {k: v for k, v in SMALL.items() if k in inspect.signature(cls).parameters}
    return [cls(**known)] if known else cls.examples()


EVERY = [a for cls in CLASSES for a in small(cls) if a.takes != "text"] + OWN


def bits(values: Any) -> Any:
    """What makes two results the same to the bit."""
    if isinstance(values, np.ma.MaskedArray):
        return values.filled(0).tobytes(), values.mask.tobytes()
    if values.dtype == object:
        return [repr(v) for v in values]
    return values.tobytes()


def joined(pieces: list[Any]) -> Any:
    if any(isinstance(p, np.ma.MaskedArray) for p in pieces):
        return np.ma.concatenate(pieces)
    return np.concatenate(pieces)


@pytest.mark.filterwarnings("ignore::windrow.kernels.routes.NotCompiledWarning")
@pytest.mark.parametrize("agg", EVERY, ids=identified)
@given(
    n=st.sampled_from([1, 7, 64, 65, 130, 300]),
    size=st.sampled_from([1, 2, 8, 63, 65, 100, 1000]),
    seed=st.integers(0, 2**16),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    whole=st.booleans(),
    nulls=st.booleans(),
    by_rows=st.booleans(),
)
@examples(12)
def test_rolling_is_the_table_s_driver_cut_anywhere(
    agg: Aggregation, n: int, size: int, seed: int, cuts: list[int], whole: bool, nulls: bool,
    by_rows: bool,
) -> None:  # fmt: skip
    random = np.random.default_rng(seed)
    values = random.integers(-9, 9, n) if whole else random.normal(size=n) * 10.0 ** (seed % 9 - 4)
    arrays = arrays_for(agg, values)
    gone = random.random(n) < 0.2 if nulls else None
    at = np.sort(random.integers(0, max(2, n // 2), n))
    starts = np.array([0, n])
    if by_rows:
        windows, asked = Windows(starts, rows=size), {"rows": size}
    else:
        lo, hi, _ = measured_bounds(at, np.array([0, at.size]), (-size, True), (0, False))
        windows, asked = Windows(starts, lo=lo, hi=hi), {"range": size}
    table = bits(merged(aggregate(agg, arrays, windows, nulls=[gone] * len(arrays))))
    times = {} if by_rows else {"at": at}
    assert bits(rolling(tuple(arrays), agg, **asked, **times, nulls=gone)) == table

    state, pieces = RollingState(), []
    edges = [0, *sorted({min(c, n) for c in cuts}), n]
    for a, b in itertools.pairwise(edges):
        part = {} if by_rows else {"at": at[a:b]}
        null = None if gone is None else gone[a:b]
        pieces.append(
            rolling(tuple(c[a:b] for c in arrays), agg, **asked, **part, nulls=null, state=state)
        )
    if not by_rows:
        pieces.append(state.finish())
    assert bits(joined([p for p in pieces if len(p)] or pieces[:1])) == table


@pytest.mark.parametrize("agg", EVERY, ids=identified)
def test_both_take_the_same_way(agg: Aggregation) -> None:
    arrays = arrays_for(agg, np.arange(5.0))
    with warnings.catch_warnings(), traced() as ran:
        warnings.simplefilter("ignore", NotCompiledWarning)
        aggregate(agg, arrays, Windows(np.array([0, 5]), rows=3))
        rolling(tuple(arrays), agg, rows=3)
    assert ran[0] == ran[1]


def test_both_refuse_the_same_overflow() -> None:
    large = np.array([2**62, 2**62, 5])
    assert rolling(large, Sum(), rows=1)[2] == 5
    with pytest.raises(OverflowError, match="exceeds int64"):
        aggregate(Sum(), [large], Windows(np.array([0, 3]), rows=2))
    with pytest.raises(OverflowError, match="exceeds int64"):
        rolling(large, Sum(), rows=2)


@examples(60)
@given(
    values=st.lists(st.sampled_from([2**63 - 1, -(2**63), 2**62, 2**53 + 1, -7, 0]), min_size=1),
    w=st.integers(1, 9),
)
def test_means_go_on_where_sums_exceed_int64(values: list[int], w: int) -> None:
    """Each is the exact sum divided, rounded twice at most, on every way that there is."""
    array = np.array(values)
    rows = [values[max(0, i + 1 - w) : i + 1] for i in range(len(values))]
    wanted = [float(Fraction(sum(own), len(own))) for own in rows]
    table = pa.table({"x": array, "i": np.arange(array.size)})
    pushed, hopping = window(Mean(), rows=w), sliding(order_by="i", range=w, slide=1, m=Mean("x"))
    for made in (
        rolling(array, Mean(), rows=w),
        rolling(array, Mean(), rows=w, algorithm="daba"),
        rolling(array, Mean(), rows=w, algorithm="subtract_on_evict"),
        [pushed.push(value) for value in values],
        sliding(rows=w, m=Mean("x"), n=Count())(table)["m"].to_numpy(),
        hopping(table)["m"].to_numpy()[: array.size],
    ):
        np.testing.assert_allclose(made, wanted, rtol=4e-16)
