"""Every kind of store, new and empty, for the tests that hold for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stores.servers import RedisServer
from windrow.stores import LmdbStore, MemoryStore, RedisStore, RocksStore, Store

KINDS = ["memory", "rocks", "lmdb", "redis"]
_numbers = itertools.count()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the store; again, after it was closed, with what it holds."""
    kind: str = request.param
    opened: list[Store] = []
    if kind == "memory":
        kept = MemoryStore()

        def open_store() -> Store:
            kept._closed = False
            kept._executor = None
            return kept
    elif kind == "redis":
        url = request.getfixturevalue("redis_server").url
        prefix = f"test-{next(_numbers)}:"

        def open_store() -> Store:
            return RedisStore(url, prefix=prefix)
    else:
        cls = RocksStore if kind == "rocks" else LmdbStore

        def open_store() -> Store:
            return cls(tmp_path / "state")

    def tracked() -> Store:
        opened.append(open_store())
        return opened[-1]

    yield tracked
    for store in opened:
        store.close()
