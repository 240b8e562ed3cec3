"""Where a window lies when it lies outside the process: one module a store."""

from __future__ import annotations

from windrow.stores.base import Store
from windrow.stores.encoding import register
from windrow.stores.errors import CorruptValue, StoreError, StoreUnavailable, WindowInUse
from windrow.stores.lmdb import LmdbStore
from windrow.stores.memory import MemoryStore
from windrow.stores.redis import RedisStore
from windrow.stores.rocks import RocksStore

__all__ = [
    "CorruptValue",
    "LmdbStore",
    "MemoryStore",
    "RedisStore",
    "RocksStore",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "WindowInUse",
    "register",
]
