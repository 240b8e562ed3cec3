"""Every compiled loop against the interpreted algorithm, and every compiled aggregation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.catalogue import CLASSES, arrays_for, rows_of
from tests.tables.oracle import of_windows
from windrow import (
    HyperLogLog,
    Max,
    RollingState,
    StdDev,
    Sum,
    aggregation,
    rolling,
)
from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class
from windrow.algorithms.sba import Cuts
from windrow.kernels.columns import column
from windrow.kernels.rolling import COMPILED
from windrow.kernels.stream_loop import Batch, roller

AFFINE = aggregation(  # neither commutative nor selective, without a neutral element of its own
    lift=lambda v: (v % 7 + 1, v % 5),
    combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
    lower=lambda f: f[0] * 1000 + f[1],
    inverse=lambda total, old: (
        total[0] * pow_mod(old[0], 99) % 101,
        (total[1] - old[1] * (total[0] * pow_mod(old[0], 99) % 101)) % 101,
    ),
)
EXAMPLES = [example for cls in CLASSES for example in cls.examples()]
BUILT_IN = [agg for agg in EXAMPLES if agg.algebra("float64")]


def pow_mod(base: int, exponent: int) -> int:
    """base**exponent modulo 101."""
    result = 1
    for _ in range(exponent):
        result = result * base % 101
    return result


def interpreted(
    agg: Aggregation, arrays: list[Any], lo: Any, hi: Any, nulls: Any = None
) -> list[Any]:
    """The results of recalculation, window by window."""
    return of_windows(agg, rows_of(agg, arrays, nulls), (np.asarray(lo), np.asarray(hi)))


def row_bounds(n: int, w: int) -> tuple[list[int], list[int]]:
    return [max(0, i + 1 - w) for i in range(n)], [i + 1 for i in range(n)]


def agree(got: Any, expected: list[Any], exact: bool) -> bool:
    """Whether an array has these answers; None as NaN, NaT or masked."""
    masked = np.ma.getmaskarray(got)
    for i, want in enumerate(expected):
        have = got[i]
        if want is None:
            if not (masked[i] or have != have):
                return False
        elif isinstance(want, tuple):
            if tuple(have) != tuple(want):
                return False
        elif want != want:
            if have == have:
                return False
        elif not (have == want or (not exact and have == pytest.approx(want, rel=1e-9, abs=1e-9))):
            return False
    return True


@pytest.mark.parametrize("algorithm", ["auto", *COMPILED])
@pytest.mark.parametrize("w", [1, 2, 3, 8, 33, 500])
def test_loops_on_what_neither_commutes_nor_selects(algorithm: str, w: int) -> None:
    if algorithm != "auto" and not algorithm_class(algorithm).supports(AFFINE):
        pytest.skip("refused, as other tests show")
    values = np.random.default_rng(w).integers(0, 50, 200)
    lo, hi = row_bounds(values.size, w)
    got = rolling(values, AFFINE, rows=w, algorithm=algorithm)
    assert agree(got, interpreted(AFFINE, [values], lo, hi), exact=True)


@pytest.mark.parametrize("algorithm", COMPILED)
def test_loops_on_max_by_rows_and_by_time(algorithm: str) -> None:
    if not algorithm_class(algorithm).supports(Max()):
        pytest.skip("refused, as other tests show")
    source = np.random.default_rng(5)
    values = source.normal(size=300)
    at = np.cumsum(source.integers(0, 4, 300) * (source.random(300) < 0.7))
    for w in (1, 7, 64, 1000):
        lo, hi = row_bounds(300, w)
        expected = [values[a:b].max() for a, b in zip(lo, hi, strict=True)]
        assert (rolling(values, Max(), rows=w, algorithm=algorithm) == expected).all()
    for size in (1, 10, 10_000):
        windows = [(at >= t - size) & (at <= t) for t in at]
        expected = [values[window].max() for window in windows]
        assert (rolling(values, Max(), range=size, at=at, algorithm=algorithm) == expected).all()


def forms() -> Iterator[Any]:
    """Yield each aggregation by both algorithms, with nulls and without; half of it is slow."""
    cases = itertools.product(enumerate(BUILT_IN), enumerate(["auto", "two_stacks"]), [0, 1])
    for (i, agg), (j, algorithm), with_nulls in cases:
        marks = [] if (i + j + with_nulls) % 2 else [pytest.mark.slow]
        id_ = f"{agg!r}-{algorithm}-{'nulls' if with_nulls else 'integers'}"
        yield pytest.param(agg, algorithm, bool(with_nulls), id=id_, marks=marks)


@pytest.mark.parametrize(("agg", "algorithm", "with_nulls"), list(forms()))
def test_every_compiled_aggregation(agg: Aggregation, algorithm: str, with_nulls: bool) -> None:
    source = np.random.default_rng(1)
    # Floats with nulls, integers without: the types and the nulls do not meet in any function.
    arrays = arrays_for(agg, source.integers(1, 5, 90) + (0.25 if with_nulls else 0))
    nulls = source.random(90) < 0.4 if with_nulls else None
    for w in (1, 4, 30):
        lo, hi = row_bounds(90, w)
        got = rolling(tuple(arrays), agg, rows=w, algorithm=algorithm, nulls=nulls)
        expected = interpreted(agg, arrays, lo, hi, nulls)
        assert agree(got, expected, exact=False), (got, expected)


@pytest.mark.parametrize("agg", [Sum(), StdDev()], ids=repr)
def test_subtracting_leaves_no_trace_of_infinities(agg: Aggregation) -> None:
    values = np.array([1.0, np.inf, 2.0, 3.0, np.nan, 4.0, 5.0, -np.inf, 6.0, 7.0])
    got = rolling(values, agg, rows=2, algorithm="subtract_on_evict")
    expected = rolling(values, agg, rows=2, algorithm="recalculate")
    if isinstance(agg, Sum):
        np.testing.assert_array_equal(got, expected)
    else:  # a variance cannot be subtracted from once it is NaN, so it is not taken by `auto`
        np.testing.assert_array_equal(got[:1], expected[:1])


GROWING = [(name, AFFINE if algorithm_class(name).supports(AFFINE) else Max()) for name in COMPILED]
GROWING += [(name, HyperLogLog(precision=4)) for name in ("flatfat", "log_mta")]  # states are rows


@pytest.mark.parametrize(
    ("algorithm", "agg"), GROWING, ids=[f"{a}-{type(b).__name__}" for a, b in GROWING]
)
def test_buffers_grow_with_the_window(algorithm: str, agg: Aggregation) -> None:
    values = np.random.default_rng(2).integers(1, 1000, 200)
    half = 400 - np.geomspace(400, 1, 70)  # ever denser, then ever thinner, and once more
    at = np.concatenate([half, 800 - half[::-1], 1200 + half[:60]])
    options: dict[str, Any] = {"aggregation": agg, "range": 90, "algorithm": algorithm}
    whole = rolling(values, at=at, **options).tolist()
    for step in (1, 7, 45):
        state, got = RollingState(), []
        for a in range(0, 200, step):
            here = slice(a, a + step)
            got += rolling(values[here], at=at[here], state=state, **options).tolist()
        assert got + state.finish().tolist() == whole


@pytest.mark.parametrize("n", [1, 5, 64, 100, 1025])
def test_loops_are_as_large_as_their_papers_say(n: int) -> None:
    """FlatFIT 2n states and pointers, B-Int 2^(⌈log₂ n⌉ + 1) states; PBA (3n + 13)/2, as SBA."""
    values = np.arange(2.0 * n)
    bounds = {"flatfit": 2 * n + 1, "b_int": max(8, 2 << (n - 1).bit_length()) + 1}
    bounds["pba"] = (3 * n + 13) // 2
    for algorithm, bound in bounds.items():
        came = column(values, None, "value")
        loop: Any = roller(Max(), [came], [values], n, algorithm, False, Cuts.by_rows(n))
        for base in range(0, 6 * n, 2 * n):
            loop.roll(Batch([came], base, [values], False, base, base + 2 * n))
        kept = loop.buffers if algorithm == "flatfit" else loop.buffers[:2]
        held = [a.size for b in kept for a in (b if isinstance(b, tuple) else (b,))]
        assert sum(held) <= bound, algorithm
        assert not loop.waiting, "no value of an earlier batch is kept beside the states"
