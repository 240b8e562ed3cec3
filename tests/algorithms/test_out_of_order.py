"""The algorithms that keep values in the order of their times, against a list that is sorted."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.fuse import Blown, Fuse
from windrow import Collect, Concat, Max, aggregator
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import InvalidArgument, InvalidValue, Unsupported

OUT_OF_ORDER = [name for name in ALGORITHMS if algorithm_class(name).out_of_order]
each = pytest.mark.parametrize("algorithm", OUT_OF_ORDER)
TIMES = st.integers(0, 30)


class OutOfOrder(RuleBasedStateMachine):
    """Insertions and evictions anywhere, one by one and in bulk."""

    algorithm: str

    def __init__(self) -> None:
        super().__init__()
        self.swag: Any = aggregator(Collect(), self.algorithm)
        self.model: list[tuple[int, int]] = []  # (time, number)
        self.count = 0

    def _add(self, at: int) -> int:
        self.count += 1
        place = sum(time <= at for time, _ in self.model)
        self.model.insert(place, (at, self.count))
        return self.count

    def _remove(self, at: int) -> None:
        self.model.pop(next(i for i, (time, _) in enumerate(self.model) if time == at))

    @rule(at=TIMES)
    def insert(self, at: int) -> None:
        self.swag.insert(self._add(at), at=at)

    @rule(later=st.integers(0, 2))
    def insert_newest(self, later: int) -> None:
        self.insert((self.model[-1][0] if self.model else 0) + later)

    @rule(times=st.lists(TIMES, max_size=30))
    def extend(self, times: list[int]) -> None:
        self.swag.extend([self._add(at) for at in times], at=times)

    @rule(first=TIMES, n=st.integers(0, 120))
    def extend_in_order(self, first: int, n: int) -> None:
        self.extend(list(range(first, first + n)))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def evict_at(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from([time for time, _ in self.model]))
        self.swag.evict(at=at)
        self._remove(at)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def evict_all_at(self, data: st.DataObject) -> None:
        gone = data.draw(st.lists(st.sampled_from(range(len(self.model))), unique=True))
        times = [self.model[i][0] for i in gone]
        self.swag.evict(at=times)
        for at in times:
            self._remove(at)

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

    @rule(start=st.none() | TIMES, end=st.none() | st.integers(0, 150))
    def query_between(self, start: int | None, end: int | None) -> None:
        expected = [
            number
            for time, number in self.model
            if (start is None or start <= time) and (end is None or time <= end)
        ]
        assert (self.swag.query_between(start, end) or []) == expected

    @invariant()
    def agrees(self) -> None:
        assert (self.swag.query() or []) == [number for _, number in self.model]
        assert list(self.swag.times()) == [time for time, _ in self.model]
        assert len(self.swag) == len(self.model)
        self.swag._check()


class OutOfOrderFlatfat(OutOfOrder):
    algorithm = "flatfat"


class OutOfOrderFiba(OutOfOrder):
    algorithm = "fiba"


TestFlatfat = OutOfOrderFlatfat.TestCase
TestFiba = OutOfOrderFiba.TestCase
TestFlatfat.settings = TestFiba.settings = settings(max_examples=30, stateful_step_count=40)


def test_each_of_them_is_tried() -> None:
    assert {machine.algorithm for machine in OutOfOrder.__subclasses__()} == set(OUT_OF_ORDER)


@each
def test_what_fails_on_the_way_is_taken_back(algorithm: str) -> None:
    """In bulk, and in several steps: the other operations are tried with all algorithms."""
    operations: list[Any] = [
        lambda s: s.extend([7, 8, 9], at=[41, 3, 20]),
        lambda s: s.extend(range(20), at=range(50, 10, -2)),
        lambda s: s.evict(at=[60, 2, 20, 22]),
        lambda s: s.evict(33),
        lambda s: s.atomically(
            lambda: (s.insert(7, at=5), s.insert(8, at=31), s.evict(30), s.query())
        ),
    ]
    for call, size in itertools.product(operations, (33, 40, 100)):
        for burns in itertools.count(1):
            fuse = Fuse()
            swag: Any = aggregator(fuse.aggregations()["associative"], algorithm)
            for i in range(size):
                swag.insert(i, at=2 * i)
            for i in range(1, size, 7):
                swag.insert(-i, at=2 * i)
            if size < 40:
                swag.insert(0, at=60)
            before = swag.query()
            fuse.left = burns
            try:
                call(swag)
                break
            except Blown:
                swag._check()
                assert swag.query() == before
                call(swag)
                swag._check()


@each
def test_a_bulk_that_cannot_be_is_refused_as_a_whole(algorithm: str) -> None:
    swag: Any = aggregator(Concat(), algorithm)
    swag.extend("abcd", at=[1, 2, 2, 4])
    for error, call in (
        (InvalidArgument, lambda: swag.extend("xy", at=[1])),
        (InvalidValue, lambda: swag.extend("xy", at=[1, float("nan")])),
        (InvalidValue, lambda: swag.extend("xy", at=[1, None])),
        (InvalidValue, lambda: swag.extend(["x", 3], at=[1, 2])),
        (TypeError, lambda: swag.extend("xy", at=[0, "1"])),
        (InvalidArgument, lambda: swag.evict(at=[1, 2, 3])),
        (InvalidArgument, lambda: swag.evict(at=[1, 1])),
        (InvalidArgument, lambda: swag.evict(at=[4, 2, 2, 2])),
    ):
        with pytest.raises(error):
            call()
        swag._check()
        assert swag.query() == "abcd"
    swag.evict(at=np.array([2, 4]))
    assert swag.query() == "ac"
    swag.extend("", at=[])
    swag.evict(at=[])
    assert swag.query() == "ac"


def test_the_others_refuse_times_in_bulk() -> None:
    with pytest.raises(Unsupported, match=r"daba keeps .* take fiba or flatfat to insert by time"):
        aggregator(Max(), "daba").extend([1], at=[1])


@each
def test_times_must_be_given_from_the_start_and_found(algorithm: str) -> None:
    swag: Any = aggregator(Max(), algorithm)
    swag.insert(1)
    with pytest.raises(InvalidValue, match="have no times"):
        swag.insert(2, at=5)
    with pytest.raises(InvalidArgument, match="have no times, so none is at 1"):
        swag.evict(at=1)
    with pytest.raises(InvalidArgument, match="have no times, so none is at 1"):
        swag.query_between(1, 2)
    swag.evict()
    swag.insert(2, at=5)
    with pytest.raises(InvalidArgument, match="no value in the window has the time 6"):
        swag.evict(at=6)
    assert swag.query() == 2


@each
def test_a_value_without_a_time_is_as_new_as_the_newest(algorithm: str) -> None:
    swag: Any = aggregator(Concat(), algorithm)
    swag.insert("a", at=1)
    swag.insert("c", at=3)
    swag.insert("d")
    swag.insert("b", at=2)
    swag.extend("ef")
    assert swag.query() == "abcdef"


@each
def test_a_large_window_is_pickled_and_copied(algorithm: str) -> None:
    swag: Any = aggregator(Max(), algorithm)
    swag.extend(range(50_000), at=range(50_000))
    for other in (pickle.loads(pickle.dumps(swag)), copy.deepcopy(swag)):
        other.evict(20_000)
        other.insert(-1, at=30_000)
        other._check()
        assert (other.query(), len(other), other.oldest_time) == (49_999, 30_001, 20_000)
    assert len(swag) == 50_000
