"""A `remove` that is interrupted: the window is gone, and a new one of its name is a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from windrow import Sum, aggregator
from windrow.stores import MemoryStore, base
from windrow.stores.base import Pairs


class Interrupted(BaseException):
    """The process ends here."""


class MortalStore(MemoryStore):
    """Lets a number of batches through, and ends before the next one."""

    batches = 1 << 30

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        self.batches -= 1
        if self.batches < 0:
            raise Interrupted
        super().batch(puts, deletes, window)


def reopened(store: MemoryStore) -> MemoryStore:
    """Return what another process finds."""
    other = MemoryStore()
    other._entries = dict(store._entries)
    return other


@pytest.mark.faults
@pytest.mark.parametrize("algorithm", ["amta", "log_mta"])
@pytest.mark.parametrize("again", ["open", "remove"])
def test_removed_by_half(
    algorithm: str,
    again: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """`remove` ends before each of its batches in turn; a new window has the name afterwards."""
    monkeypatch.setattr(base, "_CHUNK", 140)
    whole = MemoryStore()
    with aggregator(Sum(), algorithm, store=whole, window="w") as swag:
        swag.extend(range(700))
    interruptions = 0
    while True:
        store = MortalStore()
        store._entries = dict(whole._entries)
        store.batches = interruptions
        try:
            store.remove("w")
            break
        except Interrupted:
            interruptions += 1
        store = reopened(store)
        assert store.windows() == (["w"] if interruptions == 1 else [])
        if again == "remove" or store.windows():
            store.remove("w")
            assert not len(store)
        options = {"store": store, "window": "w", "buffer": 64, "cache": 32}
        with aggregator(Sum(), algorithm, **options) as swag:
            oracle = aggregator(Sum(), algorithm)
            for i in range(1100):
                swag.insert(7 * i)
                oracle.insert(7 * i)
                if i >= 350:
                    swag.evict()
                    oracle.evict()
                assert swag.query() == oracle.query(), (interruptions, i)
        store.close()
    assert interruptions > 5
    record_property("removals interrupted", interruptions)
    record_property("entries that the new window took for its own", 0)  # else it has failed
