"""The kernel of HyperLogLog against states that are folded window by window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow import HyperLogLog, RollingState, rolling
from windrow.kernels.aggregate import aggregate
from windrow.kernels.routes import traced
from windrow.windows.positions import Windows


def folded(distinct: HyperLogLog, values: Any, lo: Any, hi: Any) -> list[int]:
    """The estimate of each window, from the states of its values."""
    lifted = [distinct.lift(value) for value in values]
    return [distinct.lower(distinct.fold(lifted[a:b])) for a, b in zip(lo, hi, strict=True)]


def column(n: int, kind: str, distinct: int) -> Any:
    """Values with many ties, and with what is equal but written otherwise."""
    values: Any = np.random.default_rng(n).integers(-distinct, distinct, n)
    if kind == "int64":
        return values * 0x9E3779B97F4A7C1
    values = values / 3
    values[:: max(1, n // 7)] = np.nan
    values[1 :: max(1, n // 5)] = -0.0
    return values


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), min_size=1, max_size=30),
    st.sampled_from([4, 5, 12]),
    st.sampled_from(["int64", "float64"]),
    st.booleans(),
)
def test_windows_by_their_bounds(
    steps: list[tuple[int, int]], precision: int, kind: str, masked: bool
) -> None:
    ends = np.cumsum([step for step, _ in steps])
    lo = np.maximum.accumulate([max(0, e - w) for e, (_, w) in zip(ends, steps, strict=True)])
    n = int(ends[-1])
    values = column(n, kind, 25)
    nulls = np.random.default_rng(1).random(n) < 0.2 if masked else np.zeros(n, bool)
    distinct = HyperLogLog(precision=precision)
    wanted = folded(
        distinct, [None if z else v for v, z in zip(values, nulls, strict=True)], lo, ends
    )
    windows = Windows(np.array([0, n]), lo=lo, hi=ends)
    for threads in (1, 2):
        made = aggregate(
            distinct, [values], windows, nulls=[nulls] if masked else None, threads=threads
        )
        assert made.values.tolist() == wanted


@pytest.mark.parametrize("precision", [4, 9, 14])
@pytest.mark.parametrize("rows", [1, 7, 100, 5000])
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_the_last_rows(kind: str, rows: int, precision: int) -> None:
    values, distinct = column(700, kind, 200), HyperLogLog(precision=precision)
    at = np.arange(1, 701)
    with traced() as ran:
        made = rolling(values, distinct, rows=rows)
    assert {way for _, way in ran} == {"estimates"}
    assert made.tolist() == folded(distinct, values, np.maximum(at - rows, 0), at)
    state = RollingState()
    cut = np.split(values, [3, 250, 251, 600])
    parts = [rolling(part, distinct, rows=rows, state=state) for part in cut]
    assert np.concatenate(parts).tolist() == made.tolist()


def test_one_register_is_one_value() -> None:
    distinct = HyperLogLog(precision=4)
    registers: dict[int, list[int]] = {}
    for value in range(500):
        registers.setdefault(distinct.lift(value) >> 6, []).append(value)
    values = np.array(max(registers.values(), key=len))
    made = rolling(values, distinct, rows=5)
    assert made.tolist() == folded(
        distinct, values, np.maximum(np.arange(values.size) - 4, 0), np.arange(1, values.size + 1)
    )
    assert set(made.tolist()) == {1}
