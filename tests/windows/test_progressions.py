"""Unions of progressions are counted as a walk over the positions counts them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow.windows.progressions import Progressions

parts = st.lists(st.tuples(st.integers(-30, 30), st.integers(1, 12)), min_size=1, max_size=5)


def walked(given: list[tuple[int, int]], after: int, to: int) -> int:
    return sum(any((p - r) % m == 0 for r, m in given) for p in range(after + 1, to + 1))


@given(parts=parts, after=st.integers(-60, 60), length=st.integers(0, 90))
def test_a_count_is_that_of_a_walk(parts: list[tuple[int, int]], after: int, length: int) -> None:
    union = Progressions(parts)
    found = walked(parts, after, after + length)
    assert union.counted
    assert union.count(after, after + length) == found
    assert found <= union.at_most(length) <= length


def test_too_many_progressions_are_bounded() -> None:
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
    union = Progressions([(p - 1, p) for p in primes])
    assert not union.counted
    found = walked([(p - 1, p) for p in primes], 0, 1000)
    assert found <= union.count(0, 1000)
    assert found <= union.at_most(1000) <= 1000
