"""hash64: equal values hash equally, in every process; different ones do not."""

from __future__ import annotations

import datetime
import math
import os
import struct
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregations.hashing import FLOAT_SALT, MASK, hash64, mix64
from windrow.errors import InvalidValue

VALUES = (
    int,
    0,
    -1,
    2**63,
    10**30,
    0.1,
    math.inf,
    Decimal("0.1"),
    Fraction(1, 3),
    "text",
    b"text",
    ("text", 1, (None, 2.5)),
    frozenset({"a", "b", "c", "d"}),
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12, 30),
    datetime.timedelta(days=1, microseconds=1),
)


def test_mix64_is_the_published_splitmix64():
    assert mix64(0) == 0xE220A8397B1DCDAF
    assert mix64(1234567) == 6457827717110365317


@given(st.integers(0, MASK), st.integers(0, 63))
def test_every_input_bit_changes_mix64(bits, position):
    assert mix64(bits) != mix64(bits ^ (1 << position))
    assert 0 <= mix64(bits) <= MASK


def test_half_of_the_output_bits_change_with_one_input_bit():
    rng = np.random.default_rng(5)
    words = [int(w) for w in rng.integers(0, 2**64, 200, np.uint64)]
    for position in range(64):
        changed = [(mix64(w) ^ mix64(w ^ (1 << position))).bit_count() for w in words]
        assert 30 < sum(changed) / len(changed) < 34


@given(st.integers(-(2**63), 2**63 - 1))
def test_64_bit_integers_are_mixed_by_their_bits(value):
    assert hash64(value) == mix64(value & MASK) == hash64(np.int64(value))


@given(st.floats(allow_nan=False))
def test_floats_are_mixed_by_their_bits_unless_whole(value):
    if value.is_integer() and -(2**63) <= value < 2**63:
        assert hash64(value) == hash64(int(value))
    else:
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        assert hash64(value) == mix64(bits ^ FLOAT_SALT) == hash64(np.float64(value))


NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False),
)


@given(NUMBERS, NUMBERS)
def test_numbers_hash_equally_when_they_are_equal(a, b):
    assert (hash64(a) == hash64(b)) == (a == b)


@given(st.one_of(st.integers(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False)))
def test_the_type_of_a_number_does_not_matter(value):
    if math.isfinite(value):
        assert hash64(Fraction(value)) == hash64(value)
    assert hash64(Decimal(value)) == hash64(value)
    assert hash64((value,)) == hash64((Decimal(value),))


def test_one_is_one():
    ones = (
        1,
        1.0,
        1 + 0j,
        True,
        np.int8(1),
        np.float32(1),
        np.bool_(True),
        Decimal("1.00"),
        Fraction(1),
    )
    assert {hash64(one) for one in ones} == {mix64(1)}
    assert hash64(-0.0) == hash64(0)


def test_all_nans_are_alike():
    other = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert len({hash64(n) for n in (math.nan, other, np.float32("nan"), Decimal("nan"))}) == 1


def test_a_huge_decimal_is_not_written_out():
    assert hash64(Decimal("1e999999999")) != hash64(Decimal("1e999999998"))


def test_kinds_and_borders_are_kept_apart():
    apart = ["1", b"1", 1, ("1",), ("1", ""), ("", "1"), ((), "1"), ("1", ()), None, "", b"", ()]
    apart += [frozenset(), frozenset({"1"}), 1.5, "1.5", datetime.date(2024, 1, 1)]
    apart += [datetime.datetime(2024, 1, 1), "2024-01-01", datetime.timedelta(1), 1j]
    assert len({hash64(value) for value in apart}) == len(apart)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_tuples_of_strings_hash_equally_only_when_equal(a, b):
    assert (hash64(tuple(a)) == hash64(tuple(b))) == (a == b)


def test_one_instant_in_two_time_zones_hashes_equally():
    utc = datetime.datetime(2024, 1, 1, 23, tzinfo=datetime.UTC)
    east = utc.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    assert hash64(utc) == hash64(east) != hash64(utc.replace(tzinfo=None))


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, (1, [2]), np.array([1, 2])])
def test_what_cannot_be_hashed_is_refused_by_the_askers_name(value):
    with pytest.raises(InvalidValue, match=f"'Asker' takes .* {type(value).__name__}"):
        hash64(value, "Asker")


@pytest.mark.parametrize("value", [object(), lambda: 0, (1, object())])
def test_a_repr_that_changes_between_processes_is_refused(value):
    with pytest.raises(InvalidValue, match=r"hash64 takes .* same in every process"):
        hash64(value)


def test_hashes_are_the_same_in_another_process():
    code = "from test_hashing import VALUES, hash64; print([hash64(v) for v in VALUES])"
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    seeds = {"PYTHONHASHSEED": "12345", "PYTHONPATH": path}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **seeds},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == str([hash64(value) for value in VALUES])
