"""The Reactive Aggregator's own: order by time, holes, the circular buffer and its sizes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from windrow import Collect, Concat, Max, aggregator
from windrow.algorithms.base import NOTHING
from windrow.errors import InvalidArgument, InvalidValue


class OutOfOrder(RuleBasedStateMachine):
    """Insertions and evictions anywhere, against a list that is kept sorted."""

    def __init__(self) -> None:
        super().__init__()
        self.swag: Any = aggregator(Collect(), "flatfat")
        self.model: list[tuple[int, int]] = []  # (time, number)
        self.count = 0

    @rule(at=st.integers(0, 30))
    def insert(self, at: int) -> None:
        self.count += 1
        self.swag.insert(self.count, at=at)
        place = sum(time <= at for time, _ in self.model)
        self.model.insert(place, (at, self.count))

    @rule(later=st.integers(0, 2))
    def insert_newest(self, later: int) -> None:
        self.insert((self.model[-1][0] if self.model else 0) + later)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def evict_at(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from([time for time, _ in self.model]))
        self.swag.evict(at=at)
        self.model.pop(next(i for i, (time, _) in enumerate(self.model) if time == at))

    @precondition(lambda self: self.model)
    @rule(share=st.floats(0, 1))
    def evict_oldest(self, share: float) -> None:
        k = max(1, int(share * len(self.model)))
        self.swag.evict(k)
        del self.model[:k]

    @precondition(lambda self: self.model)
    @rule(share=st.floats(0, 1))
    def query_last(self, share: float) -> None:
        last = max(1, int(share * len(self.model)))
        assert self.swag.query(last) == [number for _, number in self.model[-last:]]

    @invariant()
    def agrees(self) -> None:
        assert (self.swag.query() or []) == [number for _, number in self.model]
        assert len(self.swag) == len(self.model)
        self.swag._check()


OutOfOrder.TestCase.settings = settings(max_examples=150, stateful_step_count=60)
TestOutOfOrder = OutOfOrder.TestCase


def test_the_events_of_figure_5() -> None:
    """The buffer becomes inverted, and the answer is still in the order of the window."""
    swag: Any = aggregator(Concat(), "flatfat")
    for digit in "4732":
        swag.insert(digit)
    swag.evict()
    assert swag.query() == "732"
    swag.insert("9")
    assert [swag._fat[slot] for slot in range(4)] == [("9",), ("7",), ("3",), ("2",)]
    assert swag.query() == "7329"


def test_grows_when_full_and_shrinks_below_a_quarter() -> None:
    swag: Any = aggregator(Max(), "flatfat")
    sizes = []
    for i in range(33):
        swag.insert(i)
        sizes.append(swag._fat.size)
    assert sorted(set(sizes)) == [4, 8, 16, 32, 64]
    assert sizes[:9] == [4, 4, 4, 4, 8, 8, 8, 8, 16]
    while len(swag) > 16:
        swag.evict()
    assert swag._fat.size == 64
    swag.evict()
    assert swag._fat.size == 32
    swag.evict(len(swag))
    assert swag._fat.size == 4


def test_compacts_a_full_buffer_with_holes() -> None:
    swag: Any = aggregator(Concat(), "flatfat")
    for at, letter in enumerate("abcdefgh"):
        swag.insert(letter, at=at)
    for at in (2, 3, 5):
        swag.evict(at=at)
    assert (swag._span, len(swag), swag._fat.size) == (8, 5, 8)
    swag.insert("i", at=9)
    assert (swag._span, len(swag), swag._fat.size) == (6, 6, 8)
    assert swag.query() == "abeghi"


def test_a_late_value_fills_a_hole_without_moving_the_rest() -> None:
    swag: Any = aggregator(Concat(), "flatfat")
    for at, letter in enumerate("abcd"):
        swag.insert(letter, at=at)
    swag.evict(at=1)
    assert swag._fat[1] is NOTHING
    swag.insert("B", at=0.5)
    assert swag._fat[1] == ("B",)
    assert swag.query() == "aBcd"


def test_extend_updates_the_tree_once() -> None:
    calls = 0

    def plus(a: int, b: int) -> int:
        nonlocal calls
        calls += 1
        return a + b

    from windrow import aggregation

    swag = aggregator(aggregation(lift=int, combine=plus, lower=int), "flatfat")
    swag.extend(range(64))
    assert calls <= 2 * 64
    assert swag.query() == sum(range(64))


def test_times_must_be_given_from_the_start_and_found() -> None:
    swag = aggregator(Max(), "flatfat")
    swag.insert(1)
    with pytest.raises(InvalidValue, match="have no times"):
        swag.insert(2, at=5)
    with pytest.raises(InvalidArgument, match="have no times, so none is at 1"):
        swag.evict(at=1)
    swag.evict()
    swag.insert(2, at=5)
    with pytest.raises(InvalidArgument, match="no value in the window has the time 6"):
        swag.evict(at=6)
    assert swag.query() == 2


def test_a_value_without_a_time_is_as_new_as_the_newest() -> None:
    swag = aggregator(Concat(), "flatfat")
    swag.insert("a", at=1)
    swag.insert("c", at=3)
    swag.insert("d")
    swag.insert("b", at=2)
    assert swag.query() == "abcd"
