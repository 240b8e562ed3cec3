"""A window in a store is the window in memory, to the bit; and so is the one opened again."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, identified, same, values_for
from tests.examples import examples
from windrow import Max, Mean, Sum, aggregator
from windrow.aggregations.base import Aggregation
from windrow.algorithms.base import Aggregator
from windrow.algorithms.stored import Stored
from windrow.errors import EmptyWindow, InvalidArgument, InvalidValue, Unsupported
from windrow.stores import CorruptValue, MemoryStore, Store, StoreError
from windrow.stores.encoding import encode
from windrow.stores.nodes import between

ALGORITHMS = ["amta", "log_mta"]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def operations(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    insert = values.map(lambda value: ("insert", value))
    evict = st.sampled_from([0.0, 0.0, 0.0, 0.3, 0.5, 1.0]).map(lambda share: ("evict", share))
    other = st.sampled_from([("flush", None), ("open again", None)])
    return st.lists(st.one_of(insert, insert, insert, evict, other), max_size=60)


def run(
    agg: Aggregation, algorithm: str, steps: list[tuple[str, Any]], buffer: int, cache: int
) -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"store": store, "buffer": buffer, "cache": cache}
    swag, oracle = aggregator(agg, algorithm, **options), aggregator(agg, algorithm)
    for step, what in steps:
        if step == "insert":
            swag.insert(what)
            oracle.insert(what)
        elif step == "evict":
            if len(oracle):
                k = max(1, int(len(oracle) * what))
                swag.evict(k)
                oracle.evict(k)
        elif step == "flush":
            swag.flush()
        else:
            swag.close()
            swag = aggregator(agg, algorithm, **options)
        swag._check()
        assert len(swag) == len(oracle)
        assert same(swag._query(), oracle._query())
    while len(oracle):
        swag.evict(1 + len(oracle) // 3)
        oracle.evict(1 + len(oracle) // 3)
        assert same(swag._query(), oracle._query())
    store.close()


@every_algorithm
@pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
@given(data=st.data())
@examples(8)
def test_every_aggregation(algorithm: str, agg: Aggregation, data: st.DataObject) -> None:
    steps = data.draw(operations(values_for(agg)))
    run(agg, algorithm, steps, data.draw(st.integers(1, 8)), data.draw(st.integers(2, 8)))


@every_algorithm
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("insert"), st.integers(0, 60)),
            st.tuples(st.just("evict"), st.integers(0, 60)),
            st.tuples(st.just("while"), st.integers(0, 300)),
            st.tuples(st.just("open again"), st.none()),
        ),
        max_size=25,
    ),
    buffer=st.sampled_from([1, 3, 16]),
    cache=st.sampled_from([2, 5, 16]),
)
@examples(80)
def test_many_at_once(algorithm: str, steps: list[Any], buffer: int, cache: int) -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"store": store, "buffer": buffer, "cache": cache}
    swag, oracle = aggregator(Sum(), algorithm, **options), aggregator(Sum(), algorithm)
    for step, n in steps:
        if step == "insert":
            for value in range(n):
                swag.insert(value % 10)
                oracle.insert(value % 10)
        elif step == "evict":
            swag.evict(min(n, len(oracle)))
            oracle.evict(min(n, len(oracle)))
        elif step == "while":
            went = [a.evict_while(lambda old, n=n: old <= n) for a in (swag, oracle)]
            assert went[0] == went[1]
        else:
            swag.close()
            swag = aggregator(Sum(), algorithm, **options)
        swag._check()
        assert (len(swag), swag._query()) == (len(oracle), oracle._query())
    store.close()


def test_a_long_slide_in_every_store(make: Callable[[], Store]) -> None:
    for algorithm in ALGORITHMS:
        store = make()
        swag, oracle = aggregator(Sum(), algorithm, store=store), aggregator(Sum(), algorithm)
        for i in range(6000):
            swag.insert(i * 7919 % 1009)
            oracle.insert(i * 7919 % 1009)
            if len(oracle) > 1500:
                swag.evict()
                oracle.evict()
            if i % 1700 == 1699:
                swag.evict(900)
                oracle.evict(900)
                swag.close()
                store.close()
                store = make()
                swag = aggregator(Sum(), algorithm, store=store)
            if i % 97 == 0:
                assert swag._query() == oracle._query()
        swag._check()
        swag.evict(len(swag))
        swag.close()
        store.remove("main")
        store.close()


@every_algorithm
def test_old_entries_are_removed(algorithm: str) -> None:
    """Few more entries than the window has nodes, however many values went through it."""
    with MemoryStore() as store:
        swag = aggregator(Max(), algorithm, store=store)
        for i in range(24_000):
            swag.insert(i)
            if i >= 3000:
                swag.evict()
            if i % 3000 == 2999:
                swag.flush()
                assert len(store) < 2 * 3000 + 2 * 2048 + 10 * 512
        swag.evict(len(swag))
        swag.flush()
        while len(store) > 2:  # the rest goes in the background, with nobody asking
            assert swag._nodes._working or len(store) == 2
            time.sleep(0.001)
        assert {key[:1] for key, _ in store.scan(b"")} == {b"m", b"g"}


def test_the_nodes_that_begin_in_a_range() -> None:
    for start in range(1, 40):
        for end in range(start, 40):
            wanted = {(n, m) for n in range(8) for m in range(40) if start <= m << n < end}
            found = between(start, end)
            assert set(found) == wanted
            assert len(found) == len(wanted)
    assert {(n, 0) for n in range(64)} <= set(between(0, 1))


# -- what the window remembers, and what it refuses ------------------------------------------


@every_algorithm
def test_a_window_remembers_what_it_holds(algorithm: str) -> None:
    store = MemoryStore()
    with aggregator(Max(), algorithm, store=store) as swag:
        swag.insert(3)
    with aggregator(Max(), algorithm, store=store) as swag:
        with pytest.raises(InvalidValue, match="holds number values"):
            swag.insert("three")
        assert swag.query() == 3


def test_another_aggregation_or_algorithm_is_refused() -> None:
    store = MemoryStore()
    with aggregator(Max(), "amta", store=store) as swag:
        swag.insert(3)
    with pytest.raises(InvalidArgument, match=r"holds amta of Max\(\), so .* as amta of Sum\(\)"):
        aggregator(Sum(), "amta", store=store)
    with pytest.raises(InvalidArgument, match=r"as log_mta of Max\(\)"):
        aggregator(Max(), "log_mta", store=store)
    with aggregator(Max(), "amta", store=store) as swag:  # a refusal holds nothing
        assert swag.query() == 3


@every_algorithm
def test_what_cannot_be_stored_is_not_inserted(algorithm: str) -> None:
    from windrow import Last

    with aggregator(Last(), algorithm, store=MemoryStore()) as swag:
        swag.insert(1)
        with pytest.raises(InvalidValue, match="cannot hold object"):
            swag.insert(object())
        assert (swag.query(), len(swag)) == (1, 1)
        with pytest.raises(EmptyWindow):
            swag.evict(2)


def test_a_closed_window_says_so() -> None:
    swag = aggregator(Max(), "amta", store=MemoryStore(), window="w")
    swag.insert(3)
    swag.close()
    swag.close()
    for call in (lambda: swag.insert(1), lambda: swag.evict(), swag.query, swag.flush):
        with pytest.raises(StoreError, match=r"window 'w' of MemoryStore.* is closed"):
            call()


def test_a_window_is_not_copied() -> None:
    with aggregator(Max(), "amta", store=MemoryStore(), window="w") as swag:
        for call in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(Unsupported, match=r"window 'w' lies in MemoryStore.* copied"):
                call(swag)


@pytest.mark.parametrize("algorithm", ["amta", "log_mta"])
def test_times_lie_in_the_store(algorithm: str) -> None:
    store, n = MemoryStore(), 3000
    with aggregator(Sum(), algorithm, store=store, buffer=64, cache=8) as swag:
        for i in range(n):
            swag.insert(1, at=2 * i)
        assert swag.count_older(lambda t: t < 2000) == 1000
        swag.evict(swag.count_older(lambda t: t < 2000))
    with aggregator(Sum(), algorithm, store=store, buffer=64, cache=8) as swag:
        assert (len(swag), swag.oldest_time) == (2000, 2000)
        with pytest.raises(InvalidValue, match="at=5 is before the newest time, 5998"):
            swag.insert(1, at=5)
        with pytest.raises(InvalidValue, match="values have times; give this one its at="):
            swag.insert(1)
        with pytest.raises(InvalidValue, match="values have times"):
            swag.extend([1])
        swag.insert(1, at=6000)
        for t in range(2000, 5990, 10):  # a run, so that times are read ahead
            gone = swag.count_older(lambda each, t=t: each < t)
            swag.evict(gone)
            assert swag.oldest_time == t
        assert swag.query() == len(swag) == 11
    assert len(store._entries) < 200, "the times of what has left are removed"
    aggregator(Sum(), algorithm, store=store).close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "daba"}, "daba keeps its window in this process; with a store= take amta"),
        ({"store": "state/"}, "store must be a store such as RocksStore, got 'state/'"),
        ({"buffer": 0}, "buffer must be 1 or more, got 0"),
        ({"cache": "big"}, "cache must be a whole number, got 'big'"),
        ({"chunk": 3}, "amta has no option 'chunk'"),
        ({"out_of_order": True}, "has no out_of_order"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    store = MemoryStore()
    with pytest.raises(InvalidArgument, match=message):
        aggregator(Max(), **{"algorithm": "amta", "store": store} | options)
    with aggregator(Max(), "amta", store=store):
        pass  # nothing holds the window


def test_a_window_without_a_store_has_no_name() -> None:
    with pytest.raises(InvalidArgument, match="amta has no option 'window'"):
        aggregator(Max(), "amta", window="w")


def test_auto_takes_amta() -> None:
    with aggregator(Mean(), store=MemoryStore(), window="w") as swag:
        assert swag.algorithm == "amta"
        text = swag.explain()
        assert "because its window lies in a store" in text
        assert text.endswith("in window 'w' of MemoryStore()")


# -- entries that are not windrow's, or not what they were -----------------------------------


def filled(store: Store, algorithm: str = "amta") -> None:
    with aggregator(Max(), algorithm, store=store, window="w", buffer=4) as swag:
        swag.extend(range(100))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"{}", "window 'w' of MemoryStore.*: the record was not written by windrow"),
        (encode(5), "its record is not one of windrow's"),
        (encode((1, 2)), "its record is not one of windrow's"),
        (encode(5)[:-1] + b"\0", "the record is damaged"),
    ],
)
def test_a_record_of_others(value: bytes, message: str) -> None:
    store = MemoryStore()
    store.put(b"mw", value)
    for _ in range(2):
        with pytest.raises(CorruptValue, match=message):
            aggregator(Max(), "amta", store=store, window="w")


def _all_read(swag: Aggregator) -> None:
    while len(swag):
        swag.evict()


@every_algorithm
def test_a_damaged_node_is_an_error(algorithm: str) -> None:
    store = MemoryStore()
    filled(store, algorithm)
    for key, value in store.scan(b"n\x01w"):
        store.put(key, value[:-1] + bytes((value[-1] ^ 1,)))
    swag = aggregator(Max(), algorithm, store=store, window="w")
    with pytest.raises(CorruptValue, match=r"window 'w' .*: node \d+ of level \d is damaged"):
        _all_read(swag)
    with pytest.raises(CorruptValue, match="is damaged"):
        _all_read(swag)


@every_algorithm
def test_a_missing_node_is_an_error(algorithm: str) -> None:
    store = MemoryStore()
    filled(store, algorithm)
    store.batch([], [key for key, _ in store.scan(b"n\x01w")])
    swag = aggregator(Max(), algorithm, store=store, window="w")
    before = len(swag), swag.query()
    with pytest.raises(CorruptValue, match=r"node \d+ of level \d is missing"):
        swag.evict(37)
    assert (len(swag), swag.query()) == before
    assert isinstance(swag, Stored)
