"""A store that fails: it is told, nothing is lost, and nothing is done twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import Collect, Last, Sum, aggregation, aggregator
from windrow.errors import InvalidArgument, InvalidValue
from windrow.stores import CorruptValue, MemoryStore, StoreError, keys
from windrow.stores.base import Pairs
from windrow.stores.encoding import decode, encode

every_algorithm = pytest.mark.parametrize("algorithm", ["amta", "log_mta"])


class FailingStore(MemoryStore):
    """Raises while `away`; then it may have done the batch, as when only the answer got lost."""

    def __init__(self) -> None:
        super().__init__()
        self.away = self.done_anyway = False

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        if not self.away or self.done_anyway:
            super().batch(puts, deletes, window)
        if self.away:
            raise StoreError("the store is away")

    def get(self, key: bytes) -> bytes | None:
        if self.away:
            raise StoreError("the store is away")
        return super().get(key)


@every_algorithm
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("insert"), st.integers(1, 40)),
            st.tuples(st.just("evict"), st.floats(0, 1)),
            st.tuples(st.just("away"), st.booleans()),
            st.tuples(st.just("back"), st.none()),
            st.tuples(st.just("flush"), st.none()),
            st.tuples(st.just("open again"), st.none()),
        ),
        max_size=40,
    )
)
@examples(80)
def test_what_fails_is_not_done_and_what_is_done_stays(algorithm: str, steps: list[Any]) -> None:
    store = FailingStore()
    swag = aggregator(Collect(), algorithm, store=store, buffer=3, cache=3)
    model: list[int] = []
    number = 0

    def tried(call: Any, *arguments: Any) -> bool:
        """Whether the operation was done; one that raised was not."""
        try:
            call(*arguments)
        except StoreError:
            return False
        return True

    for step, what in steps:
        if step == "insert":
            for _ in range(what):
                number += 1
                if tried(swag.insert, number):
                    model.append(number)
        elif step == "evict":
            k = int(len(model) * what)
            if tried(swag.evict, k):
                del model[:k]
        elif step == "away":
            store.away, store.done_anyway = True, what
        elif step == "back":
            store.away = False
        elif step == "flush":
            if tried(swag.flush):
                assert not store.away
        elif tried(swag.close):
            assert not store.away
            swag = aggregator(Collect(), algorithm, store=store, buffer=3, cache=3)
        assert len(swag) == len(model)
    store.away = False
    if not tried(swag.close):  # what a write in the background met before
        swag.close()
    with aggregator(Collect(), algorithm, store=store) as swag:
        assert (swag.query() or []) == model
    store.close()


@every_algorithm
def test_an_extend_that_fails_can_be_repeated(algorithm: str) -> None:
    """However far it came: nothing of it is in the window, nor in the store."""
    store = FailingStore()
    swag = aggregator(Collect(), algorithm, store=store, buffer=4, cache=2)
    swag.extend(range(50))
    swag.flush()

    def values() -> Iterator[int]:
        yield from range(50, 90)
        if store.away:
            raise StoreError("the source is away")
        yield from range(90, 550)

    store.away = True
    for _ in range(3):
        with pytest.raises(StoreError, match="away"):
            swag.extend(values())
        assert len(swag) == 50
    store.away = False
    swag.extend(values())
    swag.evict(20)
    swag.close()
    with aggregator(Collect(), algorithm, store=store) as swag:
        assert swag.query() == list(range(20, 550))
    store.close()


@every_algorithm
def test_an_extend_is_written_whole_or_not_at_all(algorithm: str) -> None:
    """What another process would find while it runs is the window before or after it."""
    store = MemoryStore()
    swag = aggregator(Collect(), algorithm, store=store, buffer=2, cache=2)
    swag.extend(range(10))
    swag.flush()

    def values() -> Iterator[int]:
        for value in range(10, 200):
            found = MemoryStore()
            found._entries = dict(store._entries)
            with aggregator(Collect(), algorithm, store=found) as other:
                assert other.query() == list(range(10))
            yield value

    swag.extend(values())
    swag.close()
    with aggregator(Collect(), algorithm, store=store) as swag:
        assert swag.query() == list(range(200))
    store.close()


@every_algorithm
def test_an_extend_of_more_than_a_batch_is_refused(algorithm: str) -> None:
    with aggregator(Sum(), algorithm, store=MemoryStore()) as swag:
        with pytest.raises(InvalidArgument, match="at most 65536 values in one operation; give"):
            swag.extend(itertools.count())
        assert len(swag) == 0


@every_algorithm
def test_a_flush_fails_until_the_store_is_back(algorithm: str) -> None:
    store = FailingStore()
    swag = aggregator(Sum(), algorithm, store=store)
    swag.extend(range(10))
    store.away = True
    for _ in range(3):
        with pytest.raises(StoreError, match="the store is away"):
            swag.flush()
    with pytest.raises(StoreError, match="the store is away"):
        swag.close()
    swag.insert(10)  # it is still open
    store.away = False
    swag.close()
    with aggregator(Sum(), algorithm, store=store) as swag:
        assert (swag.query(), len(swag)) == (55, 11)


def test_memory_stays_bounded_while_the_store_is_away() -> None:
    store = FailingStore()
    swag = aggregator(Sum(), "amta", store=store, buffer=16)
    store.away = True
    done = 0
    for value in range(1500):
        try:
            swag.insert(value)
        except StoreError:
            continue
        done += 1
    assert len(swag) == done < 9 * 16
    store.away = False
    swag.close()


def test_states_that_only_a_combine_makes_unstorable() -> None:
    """They are found when they are written: an error then, and the window in memory is whole."""
    odd = aggregation(lift=lambda v: v, combine=lambda a, b: object(), lower=lambda s: s)
    store = MemoryStore()
    swag = aggregator(odd, "amta", store=store)
    swag.extend([1, 2])
    with pytest.raises(InvalidValue, match="a store cannot hold object"):
        swag.flush()
    assert len(swag) == 2
    store.close()


def test_a_store_that_is_closed_before_its_window() -> None:
    store = MemoryStore()
    swag = aggregator(Last(), "amta", store=store)
    swag.extend(range(5000))
    store.close()
    with pytest.raises(StoreError, match="clos"):
        swag.close()


def crafted_records() -> Iterator[Any]:
    """Yield records of windows that windrow reads, and would never write."""
    store = MemoryStore()
    with aggregator(Sum(), "amta", store=store) as swag:
        swag.extend(range(10))
    whole = decode(dict(store.scan(keys.RECORD))[keys.RECORD + b"main"])
    yield from (None, 7, (), whole[:2], whole[:-1], (*whole, 1))
    for place in range(3, len(whole)):
        for value in (None, -1, "x", ((),), ((1, 2),), {"a": 1}):
            yield (*whole[:place], value, *whole[place + 1 :])


def test_records_made_to_do_harm() -> None:
    told = 0
    for record in crafted_records():
        store = MemoryStore()
        store.put(keys.RECORD + b"main", encode(record))
        try:
            aggregator(Sum(), "amta", store=store).query()
        except CorruptValue:
            told += 1
    assert told > 20
    store = MemoryStore()
    store.put(keys.GARBAGE + b"main", encode("x"))
    with pytest.raises(CorruptValue, match="what was removed is no position"):
        aggregator(Sum(), "amta", store=store)
