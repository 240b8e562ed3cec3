"""HyperLogLog: the number of distinct values, within its error at every size."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregations.hyperloglog import HyperLogLog, estimate
from windrow.errors import InvalidArgument, InvalidValue, Unsupported

VALUES = st.lists(st.one_of(st.none(), st.integers(), st.text()), max_size=40)


def same_state(a, b) -> bool:
    """Equality of states: None, an integer, or an array of registers."""
    return type(a) is type(b) and np.array_equal(a, b)


def state_of(distinct: HyperLogLog, values):
    return distinct.fold(map(distinct.lift, values))


@given(VALUES, VALUES, st.sampled_from([4, 8, 12]))
def test_merging_equals_inserting_everything_in_any_order(left, right, precision):
    distinct = HyperLogLog(precision=precision)
    a, b = state_of(distinct, left), state_of(distinct, right)
    everything = state_of(distinct, left + right)
    assert same_state(distinct.combine(a, b), everything)
    assert same_state(distinct.combine(b, a), everything)
    assert same_state(distinct.combine(everything, a), everything)


@given(VALUES)
def test_states_are_never_changed(values):
    distinct = HyperLogLog(precision=4)
    states = [state_of(distinct, values[:i]) for i in range(len(values) + 1)]
    states += [state_of(distinct, values[i:]) for i in range(len(values))]
    before = pickle.dumps(states)
    for a in states:
        for b in states:
            distinct.combine(a, b)
    assert pickle.dumps(states) == before
    assert not any(isinstance(s, np.ndarray) and s.flags.writeable for s in states)


def test_a_register_keeps_its_largest_rank():
    distinct = HyperLogLog(precision=4)
    first, *others = (distinct.lift(value) for value in range(200))
    shared = [state for state in others if state >> 6 == first >> 6]
    assert len(shared) > 3
    for other in shared:
        assert distinct.combine(first, other) == distinct.combine(other, first) == max(first, other)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10])
def test_a_few_values_are_counted_exactly(n):
    distinct = HyperLogLog()
    values = [f"caller {i % n}" for i in range(3 * n)]
    assert distinct.lower(state_of(distinct, values)) == n


@pytest.mark.parametrize("n", [100, 1000, 5000, 10_000, 12_000, 20_000, 60_000])
@pytest.mark.parametrize("offset", [0, 10**12])
def test_whole_numbers_within_four_standard_errors(n, offset):
    distinct = HyperLogLog(precision=10)
    answer = distinct.lower(state_of(distinct, range(offset, offset + n)))
    assert abs(answer / n - 1) < 4 * 1.04 / math.sqrt(1024)


def test_strings_within_four_standard_errors():
    distinct = HyperLogLog(precision=12)
    answer = distinct.lower(state_of(distinct, (f"caller {i}" for i in range(30_000))))
    assert abs(answer / 30_000 - 1) < 4 * 1.04 / math.sqrt(4096)


@pytest.mark.parametrize("precision", [4, 8, 12, 18])
@pytest.mark.parametrize("n", [1, 30, 1000, 10**5, 10**7, 10**9, 10**12])
def test_the_estimator_is_sound_from_one_to_a_million_millions(precision, n):
    """On simulated registers: each sees n / 2^precision values, its rank is their maximum."""
    rng = np.random.default_rng(precision * 100 + len(str(n)))
    registers, repeats, most = 1 << precision, 64 if precision < 12 else 8, 65 - precision
    estimates = []
    for _ in range(repeats):
        here = rng.poisson(n / registers, registers)  # values of each register
        uniform = np.maximum(rng.random(registers), 1e-300)
        with np.errstate(divide="ignore"):
            # P(rank <= r) = (1 - 2^-r)^values, inverted
            least = -np.expm1(np.log(uniform) / here)
            ranks = np.where(here > 0, np.ceil(-np.log2(least)), 0)
        ranks = np.clip(ranks, 0, most).astype(np.int64)
        estimates.append(estimate(np.bincount(ranks, minlength=most + 1)))
    error = math.sqrt((1.04**2 / registers + 1 / n) / repeats)  # the number itself is Poisson
    assert abs(np.mean(estimates) / n - 1) < 4 * error + 1.2 / registers


def test_nulls_do_not_count():
    distinct = HyperLogLog()
    assert distinct.lower(state_of(distinct, [None, None])) == 0
    assert distinct.lower(state_of(distinct, [None, 1, 1.0, True, None])) == 1


def test_it_cannot_subtract_and_says_so():
    with pytest.raises(Unsupported, match=r"HyperLogLog\(\) is not invertible"):
        HyperLogLog().inverse(None, None)


@pytest.mark.parametrize("precision", [3, 19, 0, -4, 12.0, "12", True, None])
def test_wrong_precision_is_refused(precision):
    with pytest.raises(InvalidArgument, match="precision must be a whole number, 4 to 18, got"):
        HyperLogLog(precision=precision)


def test_unhashable_values_are_refused_by_name():
    with pytest.raises(InvalidValue, match=r"HyperLogLog\(precision=4\) takes .* not dict"):
        HyperLogLog(precision=4).lift({})


def test_values_of_python():
    distinct = HyperLogLog("caller", precision=4)
    assert repr(distinct) == "HyperLogLog('caller', precision=4)"
    assert repr(HyperLogLog(precision=12)) == "HyperLogLog()"
    assert pickle.loads(pickle.dumps(distinct)) == distinct != HyperLogLog("caller")
    assert distinct.lower(distinct.lift({"caller": "Ada"})) == 1
