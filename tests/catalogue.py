"""Every aggregation of the package, found by looking: a new one is tested unasked."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import windrow.aggregations
from windrow import (
    R2,
    Corr,
    Covariance,
    Intercept,
    Kurtosis,
    Max,
    Mean,
    Skewness,
    Slope,
    Sum,
    Together,
    aggregation,
)
from windrow.aggregations.base import Aggregation
from windrow.algorithms.base import NOTHING
from windrow.kernels.results import are_lists

CLASSES: list[type[Aggregation]] = list(
    dict.fromkeys(
        value
        for name in windrow.aggregations.__all__
        if isinstance(value := getattr(windrow.aggregations, name), type)
        and value not in (Aggregation, Together)
    )
)

AGGREGATIONS: list[Aggregation] = [
    *(example for cls in CLASSES for example in cls.examples()),
    Together(peak=Max(), mean=Mean(), total=Sum()),
    aggregation(
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: s[1] - s[0],
    ),
    aggregation(  # affine maps: neither commutative nor selective, and with an identity
        lift=lambda v: (int(v) % 7 + 1, int(v) % 5),
        combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
        lower=lambda f: f,
        identity=(1, 0),
        exact=True,
    ),
]

_integers = st.integers(-(10**6), 10**6)
_numbers = st.one_of(_integers, st.floats(-1e6, 1e6))
_small = st.integers(-3, 3)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "any": _small,
    "hashable": st.one_of(_small, st.text(max_size=2), st.tuples(_small, _small)),
    "number": st.one_of(_small, _numbers),
    "integer": _integers,
    "boolean": st.booleans(),
    "summable": st.one_of(_small, _numbers),
    "measurable": st.one_of(_small, _numbers, st.just(math.nan)),
    "ordered": st.one_of(_small, _numbers, st.just(math.nan)),
    "text": st.text(max_size=3),
    "number or text": st.one_of(_small, st.floats(-3, 3), st.text(max_size=2)),
    "timed": st.tuples(_integers, st.integers(0, 10**4)),
    "ordered pair": st.tuples(st.one_of(_small, st.floats(-3, 3)), _integers),
    "number pair": st.tuples(st.one_of(_small, _numbers), st.one_of(_small, _numbers)),
}


@functools.cache  # Hypothesis looks through each strategy that is made
def values_for(aggregation: Aggregation, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Values that `aggregation` takes."""
    values = VALUES["number" if isinstance(aggregation, Together) else aggregation.takes]
    return st.one_of(values, st.none()) if nulls else values


def _fitted(aggregation: Aggregation, values: Any) -> Any:
    """An array of numbers as one of the type that `aggregation` takes."""
    if aggregation.takes == "boolean":
        return np.nan_to_num(values) > 0
    if aggregation.takes == "integer":
        return np.clip(np.nan_to_num(values), -(2**40), 2**40).astype(np.int64)
    return values


def arrays_for(aggregation: Aggregation, values: Any) -> list[Any]:
    """The arrays that `aggregate` takes: the values, and seconds or others beside them if asked."""
    beside = {"timed": [np.arange(len(values))], "number pair": [values[::-1].copy()]}
    return [_fitted(aggregation, values), *beside.get(aggregation.takes, [])]


def rows_of(aggregation: Aggregation, arrays: list[Any], nulls: Any = None) -> list[Any]:
    """What an aggregator gets for each row of the arrays, of which the first may have nulls."""
    columns = [plain(array) for array in arrays]
    if nulls is not None:
        columns[0] = [None if gone else v for v, gone in zip(columns[0], nulls, strict=True)]
    if aggregation.columns:
        return [dict.fromkeys(aggregation.columns, v) for v in columns[0]]
    if aggregation.takes == "ordered pair":
        columns.append(list(range(len(columns[0]))))
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def plain(values: Any) -> list[Any]:
    """Python's own values; times as NumPy's, which Python's cannot all hold."""
    if are_lists(values):
        return [row[:n] for n, row in zip(values["length"], values["items"].tolist(), strict=True)]
    return list(values) if values.dtype.kind in "mM" else list(values.tolist())


def same(a: Any, b: Any, close: Callable[[float, float], bool] | None = None) -> bool:
    """Whether two states or answers are equal: NaN equals itself, floats by `close` if given."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if a is None or b is None or a.shape != b.shape:
            return False
        if close is None:
            return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
        largest = float(np.max(np.abs(a), initial=1.0))  # power sums: the high ones cancel
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9 * largest, equal_nan=True))
    if close is not None and isinstance(a, bytes) and isinstance(b, bytes):
        return a == b or same(_content(a), _content(b), close)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(same(x, y, close) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], close) for k in a)
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if close is not None and isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or close(float(a), float(b))
    return bool(a == b)


# The classes of Apache DataSketches by the byte of a sketch that tells its family.
_SKETCHES = {
    3: "compact_theta_sketch",
    7: "hll_sketch",
    15: "kll_doubles_sketch",
    20: "tdigest_double",
}


def _content(state: bytes) -> Any:
    """What a sketch of Apache DataSketches says, in whatever order its values came."""
    import datasketches

    sketch = getattr(datasketches, _SKETCHES[state[2]]).deserialize(state)
    if state[2] in (3, 7):
        return sketch.get_estimate()
    shares = np.arange(1, 100) / 100
    return [] if sketch.is_empty() else [sketch.get_quantile(float(share)) for share in shares]


# Sums of products and powers around the mean: what cancels in them is of that power.
_DEGREES: dict[type[Aggregation], int] = {
    **dict.fromkeys((Corr, Covariance, Slope, Intercept, R2), 2),
    Skewness: 3,
    Kurtosis: 4,
}


def closeness(
    aggregation: Aggregation, scale: float = 1e6
) -> Callable[[float, float], bool] | None:
    """How near two states must be: equal where the aggregation is exact."""
    if aggregation.exact:
        return None
    scale **= _DEGREES.get(type(aggregation), 1)
    return lambda x, y: math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9 * scale)


def identified(aggregation: Aggregation) -> str:
    """A short name for a test's id."""
    return repr(aggregation).replace("<lambda>", "λ").replace("<module>.", "")[:40]


__all__ = [
    "AGGREGATIONS",
    "CLASSES",
    "NOTHING",
    "arrays_for",
    "closeness",
    "identified",
    "plain",
    "rows_of",
    "same",
    "values_for",
]
