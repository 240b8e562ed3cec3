"""The windows that are compared: AMTA in memory, and in each store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from windrow import Max, aggregator
from windrow.algorithms.base import Aggregator
from windrow.stores import LmdbStore, MemoryStore, RedisStore, RocksStore, Store

BASE = "in the process"
STORES = ("MemoryStore", "RocksStore", "LmdbStore")


@contextmanager
def contender(name: str, algorithm: str = "amta", redis: str | None = None) -> Iterator[Aggregator]:
    """An empty window; what it left on the disk is removed in the end."""
    if name == BASE:
        yield aggregator(Max(), algorithm)
        return
    with TemporaryDirectory(prefix="windrow-bench-") as folder:
        store: Store
        if name == "RedisStore":
            store = RedisStore(redis or "redis://127.0.0.1:6379/0", prefix="windrow-bench:")
        elif name == "RocksStore":
            store = RocksStore(folder)
        else:
            store = LmdbStore(folder) if name == "LmdbStore" else MemoryStore()
        with store:
            with aggregator(Max(), algorithm, store=store) as swag:
                yield swag
            if name == "RedisStore":
                store.remove("main")
