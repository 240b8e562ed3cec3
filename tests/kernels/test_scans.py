"""Running sums and maxima in vectors have the bits of the same steps, one number at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from windrow.compiled import compiled
from windrow.identity import digest_of
from windrow.kernels.special import Array, scans
from windrow.kernels.special.minmax import LOWEST, Order, key_of
from windrow.kernels.special.running_maxima import prefix_maxima, suffix_maxima
from windrow.kernels.special.scans import (
    BLOCK,
    ask_for_block,
    prefix_sums,
    suffix_sums,
)


@compiled(cached=False)
def prefixes(block: Array, sums: Array) -> None:
    prefix_sums(block, 0, sums, 0)


@compiled(cached=False)
def suffixes(block: Array, sums: Array) -> None:
    suffix_sums(block, 0, sums, 0)


@compiled(cached=False)
def asked(values: Array, first: int) -> int:
    ask_for_block(values, first)
    return values.size


@compiled(cached=False)
def maxima(bits: Array, order: Order, before: Array, since: Array) -> None:
    prefix_maxima(bits, order, before)
    suffix_maxima(bits, order, since)


def sums_of_a_block(block: Array) -> Array:
    """The sums of the first values of a block, eight at a time, each eight as a tree."""
    made: list[float] = []
    base = 0.0
    for row in block.reshape(-1, 8):
        sums = scans.running_sums.py_func(tuple(row))
        made += [base + each for each in sums]
        base = base + sums[-1]
    return np.array(made)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(arrays(np.float64, BLOCK, elements=st.floats(width=64)))
def test_sums_within_a_block_are_those_of_the_tree(block: Array) -> None:
    first, last = np.full(BLOCK, 7.0), np.full(BLOCK, 7.0)
    prefixes(block, first)
    suffixes(block, last)
    np.testing.assert_array_equal(first, sums_of_a_block(block))
    np.testing.assert_array_equal(last[::-1], sums_of_a_block(block[::-1]))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 63, 64, 65, 1000])
@pytest.mark.parametrize("flip", [0, -1])
def test_running_maxima_are_those_of_the_keys_one_by_one(size: int, flip: int) -> None:
    source = np.random.default_rng(size)
    values = source.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1.5, 7.0], size)
    bits = values.view(np.int64)
    found = np.full((2, size + 1), 7)
    maxima(bits, (flip, True), found[0], found[1])
    keys = [key_of.py_func(int(each), (flip, True)) for each in bits]
    assert found[0].tolist() == [max(keys[:i], default=LOWEST) for i in range(size + 1)]
    assert found[1].tolist() == [max(keys[i:], default=LOWEST) for i in range(size + 1)]


def test_a_block_may_be_asked_for_beyond_both_ends() -> None:
    values = np.ones(10)
    assert asked(values, -(2**40)) == asked(values, 2**40) == 10


def test_functions_that_write_other_machine_code_are_told_apart() -> None:
    again = scans._sums_within_block(backwards=False)
    made = [digest_of(each, into="windrow") for each in (prefix_sums, suffix_sums, again)]
    assert made[0] == made[2] != made[1]
