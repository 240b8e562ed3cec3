"""Bloom: every value of the window is found, few others are."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregations.bloom import Bloom, BloomFilter
from windrow.errors import InvalidArgument, InvalidValue, Unsupported

VALUES = st.lists(st.one_of(st.integers(), st.floats(), st.text(), st.tuples(st.text())))


def filter_of(bloom: Bloom, values) -> BloomFilter | None:
    return bloom.lower(bloom.fold(map(bloom.lift, values)))


@given(VALUES.filter(bool), st.sampled_from([64, 1024, 16384]), st.integers(1, 16))
def test_every_value_is_found(values, bits, hashes):
    seen = filter_of(Bloom(bits=bits, hashes=hashes), values)
    assert all(value in seen for value in values)


@given(VALUES, VALUES)
def test_merging_equals_inserting_everything(left, right):
    bloom = Bloom()
    a, b = (bloom.fold(map(bloom.lift, part)) for part in (left, right))
    assert bloom.combine(a, b) == bloom.combine(b, a) == bloom.fold(map(bloom.lift, left + right))


@given(st.integers(), st.integers(6, 14), st.integers(1, 16))
def test_a_value_sets_exactly_as_many_bits_as_there_are_hashes(value, power, hashes):
    state = Bloom(bits=1 << power, hashes=hashes).lift(value)
    assert state.bit_count() == hashes
    assert state < 1 << (1 << power)


def test_false_positives_are_as_rare_as_the_formula_says():
    seen = filter_of(Bloom(), range(1000))
    expected = (1 - math.exp(-5 * 1000 / 16384)) ** 5  # 0.00126
    wrong = sum(value in seen for value in range(1000, 101_000))
    assert 0.7 * expected < wrong / 100_000 < 1.4 * expected


@pytest.mark.parametrize("n", [1, 10, 100, 1000, 5000])
def test_the_approximate_count_is_within_five_percent(n):
    seen = filter_of(Bloom(), (f"caller {i}" for i in range(n)))
    assert seen.approximate_count() == pytest.approx(n, rel=0.05)


def test_a_full_filter_counts_infinitely_many():
    assert BloomFilter((1 << 64) - 1, 64, 2).approximate_count() == math.inf


def test_nulls_and_empty_windows_give_null():
    bloom = Bloom()
    assert filter_of(bloom, []) is None
    assert filter_of(bloom, [None, None]) is None
    assert filter_of(bloom, [None, 0]) == filter_of(bloom, [0])


def test_a_bound_column_is_picked():
    assert "Ada" in filter_of(Bloom("caller"), [{"caller": "Ada", "length": 3}])


def test_it_cannot_subtract_and_says_so():
    with pytest.raises(Unsupported, match=r"Bloom\(\) is not invertible"):
        Bloom().inverse(3, 1)


@pytest.mark.parametrize("bits", [0, 32, 63, 100, 2**33, -64, 64.0, "64", True, None])
def test_wrong_bits_are_refused(bits):
    with pytest.raises(InvalidArgument, match=r"bits must be a power of two, 64 .*, got"):
        Bloom(bits=bits)


@pytest.mark.parametrize("hashes", [0, 17, -1, 2.0, "2", True, None])
def test_wrong_hashes_are_refused(hashes):
    with pytest.raises(InvalidArgument, match="hashes must be a whole number, 1 to 16, got"):
        Bloom(hashes=hashes)


def test_unhashable_values_are_refused_by_name():
    with pytest.raises(InvalidValue, match=r"Bloom\(hashes=3\) takes .* not list \[1\]"):
        Bloom(hashes=3).lift([1])
    with pytest.raises(InvalidValue, match=r"BloomFilter of 16384 bits, .* not list"):
        [1] in filter_of(Bloom(), [1])  # noqa: B015


def test_values_of_python():
    bloom = Bloom("caller", bits=64, hashes=2)
    assert repr(bloom) == "Bloom('caller', bits=64, hashes=2)"
    assert repr(Bloom()) == repr(Bloom(bits=16384, hashes=5)) == "Bloom()"
    assert pickle.loads(pickle.dumps(bloom)) == bloom != Bloom("caller")
    seen = filter_of(Bloom(), "abc")
    again = pickle.loads(pickle.dumps(seen))
    assert again == seen and hash(again) == hash(seen) and "a" in again
    assert seen != filter_of(Bloom(), "abd")
    assert repr(seen) == "<BloomFilter of 16384 bits, 15 set, 5 hashes>"
