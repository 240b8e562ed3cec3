"""How many entries of the store an operation touches: counted, not timed."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterable, Sequence

import pytest

from windrow import Count, Last, Max, Sum, Together, aggregator
from windrow.stores import MemoryStore
from windrow.stores.base import Pairs
from windrow.windows.until import PolicyWindow

every_algorithm = pytest.mark.parametrize("algorithm", ["amta", "log_mta"])


class CountingStore(MemoryStore):
    """Counts the entries that are read: those that are waited for, and those read ahead."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = self.ahead = self.written = self.batches = self.missed = 0

    def get(self, key: bytes) -> bytes | None:
        self.waited += 1
        self.missed += key not in self._entries
        return super().get(key)

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        assert threading.current_thread() is not threading.main_thread()
        self.ahead += len(wanted)
        self.missed += sum(key not in self._entries for key in wanted)
        return [self._entries.get(key) for key in wanted]

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        assert threading.current_thread() is not threading.main_thread()
        new = dict(puts)
        self.written += len(new)
        self.batches += 1
        super().batch(new.items(), deletes, window)

    def idle(self) -> None:
        """Return when the background has done what it was given."""
        done = threading.Event()
        self.later(done.set)
        done.wait()


@every_algorithm
@pytest.mark.parametrize("n", [2**10, 2**15])
def test_evicting_any_number_reads_a_logarithm(algorithm: str, n: int) -> None:
    store = CountingStore()
    with aggregator(Sum(), algorithm, store=store) as swag:
        swag.extend(range(n))
    most = 2 * math.log2(n) + 2
    for k in (1, 2, 3, n // 3, n // 2 - 1, n // 2, n - 2, n - 1, n):
        # A window of its own, opened with an empty cache, so that every read is a read.
        copied = CountingStore()
        copied._entries = dict(store._entries)
        swag = aggregator(Sum(), algorithm, store=copied)
        copied.waited = 0
        swag.evict(k)
        copied.idle()
        assert copied.waited <= most, k
        assert copied.ahead <= most, k
        assert swag.query() == (sum(range(k, n)) if k < n else None)
        copied.close()


@every_algorithm
def test_a_policy_reads_a_logarithm(algorithm: str) -> None:
    n = 2**14
    both = Together(sum=Sum(), last=Last(), count=Count())
    store = CountingStore()
    with aggregator(both, algorithm, store=store) as swag:
        swag.extend(1 for _ in range(n))
    for kept in (1, 2, 3, 100, n // 2, n - 3, n):
        copied = CountingStore()
        copied._entries = dict(store._entries)
        swag = aggregator(both, algorithm, store=copied)
        copied.waited = 0
        policy = PolicyWindow(lambda total, old, kept=kept: total.count - old.count >= kept)
        gone = policy.leaving(swag, 1)
        swag.evict(gone)
        copied.idle()
        assert gone == n + 1 - kept
        assert copied.waited <= 4 * math.log2(n) + 4, kept
        assert copied.ahead <= 4 * math.log2(n) + 4, kept
        copied.close()


@every_algorithm
def test_any_sequence_of_evictions_reads_a_logarithm_each(algorithm: str) -> None:
    """With a cache that fills as it goes, and however runs and jumps follow each other."""
    n, chance = 2**15, random.Random(1)
    store = CountingStore()
    swag = aggregator(Max(), algorithm, store=store)
    swag.extend(range(n))
    swag.flush()
    store.waited = 0
    evictions = 0
    while len(swag) > n // 8:
        before = store.waited
        swag.evict(chance.choice([1, 1, 1, 2, 3, chance.randrange(1, 200)]))
        assert store.waited - before <= 2 * math.log2(n) + 2
        evictions += 1
    store.idle()
    assert store.ahead <= 2 * evictions * math.log2(n)
    store.close()


def test_one_by_one_the_nodes_are_read_ahead_and_once() -> None:
    n, slides = 2**14, 2**13
    store = CountingStore()
    swag = aggregator(Max(), "amta", store=store)
    swag.extend(range(n))
    swag.flush()
    store.waited = 0
    for i in range(slides):
        swag.insert(i)
        swag.evict()
        store.idle()  # the background keeps pace
    assert store.ahead < slides + 512 * math.log2(slides)  # the last ones are for later
    assert store.waited < slides / 50
    store.close()


@every_algorithm
@pytest.mark.parametrize("n", [100, 1000, 2**12])
def test_nothing_is_asked_for_that_the_store_does_not_have(algorithm: str, n: int) -> None:
    """Not the nodes that are still in this process, nor those that no value has completed yet."""
    store = CountingStore()
    for _ in range(2):  # and once more when it is opened again
        with aggregator(Max(), algorithm, store=store) as swag:
            store.missed = 0
            swag.extend(range(n - len(swag)))
            for i in range(3000):
                swag.insert(i)
                swag.evict(3 if i % 7 == 0 else 1)
                if i % 7 == 1:
                    swag.extend([i, i])
            store.idle()
    assert store.missed == 0
    store.close()


@every_algorithm
def test_writes_go_in_batches_and_each_node_once(algorithm: str) -> None:
    n = 2**14
    store = CountingStore()
    with aggregator(Max(), algorithm, store=store) as swag:
        swag.extend(range(n))
    assert 2 * n - 64 <= store.written <= 2 * n + 2 * store.batches
    assert store.batches <= 2 * n / 512 + 2


def test_what_never_leaves_the_buffer_is_never_written() -> None:
    store = CountingStore()
    with aggregator(Max(), "amta", store=store) as swag:
        for i in range(5000):
            swag.insert(i)
            if i > 10:
                swag.evict()
    assert store.waited < 5000 / 50  # how often is the background thread's affair
    assert store.written < 5000 / 5


@every_algorithm
def test_a_store_that_is_away_costs_a_query_nothing(algorithm: str) -> None:
    store = CountingStore()
    with aggregator(Max(), algorithm, store=store) as swag:
        swag.extend(range(2000))
        swag.flush()
        store.waited = 0
        assert swag.query() == 1999
        assert store.waited == 0
