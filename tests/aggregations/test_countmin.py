"""CountMin: counts that are never too small, seldom much too large, and subtract exactly."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregations.countmin import CountMin
from windrow.errors import InvalidArgument, InvalidValue

VALUES = st.lists(st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=1)), max_size=30)
SMALL = CountMin(epsilon=0.4, delta=0.2)  # 8 columns and 2 rows: everything collides


def same_state(a, b) -> bool:
    """Equality of states: None, a tuple, or an array of counters."""
    return type(a) is type(b) and np.array_equal(a, b)


def state_of(counts: CountMin, values):
    return counts.fold(map(counts.lift, values))


@given(VALUES, st.sampled_from([SMALL, CountMin()]))
def test_counts_are_never_too_small_and_the_total_is_exact(values, counts):
    sketch = counts.lower(state_of(counts, values))
    true = Counter(value for value in values if value is not None)
    if not true:
        assert sketch is None
    else:
        assert all(sketch.count(value) >= n for value, n in true.items())
        assert all(sketch[value] <= sketch.total for value in true)
        assert sketch.total == true.total()


@given(VALUES, VALUES, st.sampled_from([SMALL, CountMin(delta=0.5)]))
def test_merging_equals_inserting_everything_in_any_order(left, right, counts):
    a, b = state_of(counts, left), state_of(counts, right)
    everything = state_of(counts, left + right)
    assert same_state(counts.combine(a, b), everything)
    assert same_state(counts.combine(b, a), everything)


@given(VALUES, VALUES, st.sampled_from([SMALL, CountMin(delta=0.5)]))
def test_subtracting_gives_what_was_never_added(old, new, counts):
    total = state_of(counts, old + new)
    assert same_state(counts.inverse(total, state_of(counts, old)), state_of(counts, new))


@given(VALUES)
def test_states_are_never_changed(values):
    states = [state_of(SMALL, values[:i]) for i in range(len(values) + 1)]
    before = pickle.dumps(states)
    for i, a in enumerate(states):
        for b in states[: i + 1]:
            SMALL.combine(a, b)
            SMALL.inverse(a, b)
    assert pickle.dumps(states) == before
    assert not any(isinstance(s, np.ndarray) and s.flags.writeable for s in states)


def test_counts_exceed_epsilon_no_more_often_than_delta():
    rng = np.random.default_rng(3)
    values = rng.zipf(1.3, 20_000) % 5000
    counts = CountMin(epsilon=0.01, delta=0.05)
    sketch = counts.lower(state_of(counts, values))
    true = Counter(values.tolist())
    over = [sketch[value] - true[value] for value in range(5000)]
    assert min(over) >= 0
    assert np.mean(np.array(over) > 0.01 * len(values)) <= 0.05


def test_the_rows_are_independent():
    """Two values that share a counter in one row share one in another no more than by chance."""
    counts = CountMin(epsilon=0.1, delta=0.01)  # 32 columns, 5 rows
    rows = np.array([counts.unit(value)[1:] for value in range(1000)]) % counts.width
    shared = rows[:, None, :] == rows[None, :, :]
    pairs = shared[np.triu_indices(1000, 1)]
    for row in range(1, counts.depth):
        both = (pairs[:, 0] & pairs[:, row]).mean()
        assert both == pytest.approx(1 / counts.width**2, rel=0.2)


@pytest.mark.parametrize(
    ("epsilon", "delta", "width", "depth"),
    [(0.001, 0.01, 4096, 5), (0.5, 0.5, 8, 1), (0.9, 0.9, 4, 1), (0.01, 0.001, 512, 7)],
)
def test_the_size_follows_from_epsilon_and_delta(epsilon, delta, width, depth):
    counts = CountMin(epsilon=epsilon, delta=delta)
    assert (counts.width, counts.depth) == (width, depth)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
@pytest.mark.parametrize("share", [0, 1, -0.1, 2.0, float("nan"), "0.1", True, None])
def test_wrong_shares_are_refused(name, share):
    with pytest.raises(InvalidArgument, match=f"{name} must be from .* to below 1, got"):
        CountMin(**{name: share})


def test_unhashable_values_are_refused_by_name():
    with pytest.raises(InvalidValue, match=r"CountMin\(\) takes .* not list \[\]"):
        CountMin().lift([])
    with pytest.raises(InvalidValue, match=r"CountMinSketch .* not list"):
        CountMin().lower(CountMin().lift(1))[[]]


def test_values_of_python():
    counts = CountMin("caller", delta=0.1)
    assert repr(counts) == "CountMin('caller', delta=0.1)"
    assert repr(CountMin(epsilon=0.001)) == "CountMin()"
    assert pickle.loads(pickle.dumps(counts)) == counts != CountMin("caller")
    sketch = counts.lower(state_of(counts, [{"caller": "Ada"}, {"caller": "Bob"}]))
    again = pickle.loads(pickle.dumps(sketch))
    assert again == sketch and hash(again) == hash(sketch) and again["Ada"] == 1
    assert sketch != counts.lower(counts.lift({"caller": "Ada"}))
    assert repr(sketch) == "<CountMinSketch of 3 x 4096 counters, total 2>"
