"""Sums of windows in vectors, octet by octet, against exact sums of the same values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from windrow import Sum, rolling
from windrow.compiled import compiled
from windrow.identity import digest_of
from windrow.kernels.special import Array, octets
from windrow.kernels.special.octets import OCTET
from windrow.kernels.special.scans import BLOCK
from windrow.windows.arrays import roomy

blocks = arrays(np.float64, BLOCK, elements=st.floats(-1e6, 1e6))
whole_blocks = arrays(np.float64, BLOCK, elements=st.integers(-1000, 1000).map(float))


@compiled(cached=False)
def sums_of_windows(
    older: Array, newer: Array, high: float, low: float, out: Array, past_cache: bool = False
) -> Any:
    return octets.window_sums(older, 0, newer, 0, out, 0, high, low, 1.0, past_cache)


@compiled(cached=False)
def multiples_of_windows(
    older: Array, newer: Array, high: float, low: float, by: float, out: Array
) -> Any:
    return octets.window_multiples(older, 0, newer, 0, out, 0, high, low, by, False)


@compiled(cached=False)
def quotients_of_windows(
    older: Array, newer: Array, high: float, low: float, by: float, out: Array
) -> Any:
    return octets.window_quotients(older, 0, newer, 0, out, 0, high, low, by, False)


@compiled(cached=False)
def sums_and_means_of_growing_windows(
    newer: Array, high: float, low: float, out: Array, means: Array
) -> Any:
    total = octets.growing_sums(newer, 0, newer, 0, out, 0, high, low, 1.0, False)
    return total, octets.growing_means(newer, 0, newer, 0, means, 0, high, low, 65.0, False)


@compiled(cached=False)
def total_of(block: Array) -> Any:
    return octets.block_total(block, 0)


@compiled(cached=False)
def total_of_some(block: Array, count: int) -> float:
    return octets.total_of_first(block, 0, count)


@compiled(cached=False)
def ends_of(block: Array, count: int, sums: Array) -> None:
    octets.octet_ends(block, 0, sums, 0, count)


@compiled(cached=False)
def in_two_steps(
    older: Array, newer: Array, high: Array, low: Array, out: Array, totals: Array
) -> None:
    parts = np.empty(BLOCK)
    octets.parts_of_windows(older, 0, newer, 0, parts, 0, totals, 0)
    octets.put_multiples_together(parts, 0, high, 0, low, 0, out, 0, 1.0)


def exact(older: Array, newer: Array, j: int) -> Fraction:
    """What the j-th window has in the 64 values where it begins, and in those where it ends."""
    return sum(map(Fraction, older[j:]), Fraction()) + sum(map(Fraction, newer[: j + 1]))


@given(blocks, blocks, st.floats(-1e9, 1e9), st.floats(-1e-6, 1e-6))
def test_windows_have_what_lies_in_both_blocks_and_between(
    older: Array, newer: Array, high: float, low: float
) -> None:
    out = np.empty(BLOCK)
    assert sums_of_windows(older, newer, high, low, out) == total_of(newer)
    size = abs(older).sum() + abs(newer).sum() + abs(high)
    for j in range(BLOCK):
        wanted = exact(older, newer, j) + Fraction(high) + Fraction(low)
        assert abs(Fraction(out[j]) - wanted) <= Fraction(9 * 2.0**-53 * size)


@given(blocks, blocks, st.floats(-1e9, 1e9), st.floats(-1e-6, 1e-6))
def test_sums_are_multiplied_and_divided_and_written_past_the_cache(
    older: Array, newer: Array, high: float, low: float
) -> None:
    out, again, total = np.empty(BLOCK), np.empty(BLOCK), total_of(newer)
    sums_of_windows(older, newer, high, low, out)
    assert multiples_of_windows(older, newer, high, low, 0.125, again) == total
    np.testing.assert_array_equal(again, out / 8.0)
    assert quotients_of_windows(older, newer, high, low, 7.0, again) == total
    np.testing.assert_array_equal(again, out / 7.0)
    again = roomy(1 << 17, np.float64)[:BLOCK]
    assert sums_of_windows(older, newer, high, low, again, True) == total
    np.testing.assert_array_equal(again, out)


@given(blocks, st.floats(-1e9, 1e9), st.floats(-1e-6, 1e-6))
def test_growing_windows_are_those_that_begin_with_zeros(
    newer: Array, high: float, low: float
) -> None:
    out, means, expected = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total = sums_of_windows(np.zeros(BLOCK), newer, high, low, expected)
    assert sums_and_means_of_growing_windows(newer, high, low, out, means) == (total, total)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(means, expected / np.arange(65, 129))


@given(blocks)
def test_the_total_of_a_block_keeps_what_rounding_takes(block: Array) -> None:
    total, lost = total_of(block)
    error = Fraction(total) + Fraction(lost) - sum(map(Fraction, block), Fraction())
    assert abs(error) <= Fraction(2.0**-97 * abs(block).sum())


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_stays_in_its_windows(special: float) -> None:
    values, out = np.ones(2 * BLOCK), np.empty(BLOCK)
    for at in range(2 * BLOCK):
        spoiled = values.copy()
        spoiled[at] = special
        sums_of_windows(spoiled[:BLOCK].copy(), spoiled[BLOCK:].copy(), 0.0, 0.0, out)
        inside = np.arange(BLOCK) <= at if at < BLOCK else np.arange(BLOCK) >= at - BLOCK
        np.testing.assert_array_equal(out, np.where(inside, special, BLOCK + 1.0))
    sums_of_windows(values[:BLOCK], values[BLOCK:], special, 0.0, out)
    np.testing.assert_array_equal(out, np.full(BLOCK, special))


@given(whole_blocks, whole_blocks, st.integers(0, BLOCK - 1))
def test_parts_of_blocks(older: Array, newer: Array, count: int) -> None:
    assert total_of_some(newer, count) == newer[:count].sum()
    few, sums, totals = count % OCTET, np.empty(OCTET), np.empty(OCTET)
    ends_of(newer, few, sums)
    np.testing.assert_array_equal(sums, newer.reshape(OCTET, OCTET)[:, OCTET - few :].sum(axis=1))
    high, low, out = older[:OCTET].copy(), newer[:OCTET].copy(), np.empty(BLOCK)
    in_two_steps(older, newer, high, low, out, totals)
    np.testing.assert_array_equal(totals, newer.reshape(OCTET, OCTET).sum(axis=1))
    for row in range(BLOCK):
        octet = row // OCTET
        begin = older[row : (octet + 1) * OCTET].sum()
        end = newer[octet * OCTET : row + 1].sum()
        assert out[row] == high[octet] + low[octet] + begin + end


def test_functions_that_write_other_machine_code_are_told_apart() -> None:
    again = octets._windows_of_block()
    each = (octets.window_sums, octets.window_quotients, again)
    made = [digest_of(one, into="windrow") for one in each]
    assert made[0] == made[2] != made[1]


@pytest.mark.parametrize("w", [100, 129, 152, 400])
def test_infinities_of_both_signs_are_no_number(w: int) -> None:
    random = np.random.default_rng(w)
    for _ in range(30):
        values = random.normal(size=600)
        some = random.random(600) < 0.03
        values[some] = random.choice([np.inf, -np.inf], some.sum())
        with np.errstate(invalid="ignore"):
            wanted = [values[max(0, i - w + 1) : i + 1].sum() for i in range(600)]
        np.testing.assert_allclose(rolling(values, Sum(), rows=w), wanted, rtol=1e-9, atol=1e-9)
