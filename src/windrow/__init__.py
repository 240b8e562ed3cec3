"""windrow: sliding-window aggregation for Python and Spark.

>>> from windrow import Max, aggregator
>>> swag = aggregator(Max(), algorithm="daba")
>>> swag.insert(3); swag.insert(5); swag.evict()
>>> swag.query(), len(swag)
(5, 1)

Names load on first use, so that importing windrow costs nothing but itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from windrow import aggregations as _aggregations

if TYPE_CHECKING:
    from windrow.aggregations import *
    from windrow.algorithms import aggregator as aggregator
    from windrow.kernels.rolling import RollingState as RollingState
    from windrow.kernels.rolling import rolling as rolling
    from windrow.queries.cql import sql as sql
    from windrow.queries.query import Query as Query
    from windrow.queries.query import sliding as sliding
    from windrow.queries.shared import Shared as Shared
    from windrow.queries.shared import shared as shared
    from windrow.queries.streaming import streaming as streaming
    from windrow.stores import LmdbStore as LmdbStore
    from windrow.stores import MemoryStore as MemoryStore
    from windrow.stores import RedisStore as RedisStore
    from windrow.stores import RocksStore as RocksStore
    from windrow.windows.adwin import Adwin as Adwin
    from windrow.windows.push import window as window

__version__ = "0.1.0.dev0"

_HOME = {
    **dict.fromkeys(_aggregations.NAMES, "windrow.aggregations"),
    "aggregator": "windrow.algorithms",
    "RollingState": "windrow.kernels.rolling",
    "rolling": "windrow.kernels.rolling",
    "sql": "windrow.queries.cql",
    "Query": "windrow.queries.query",
    "sliding": "windrow.queries.query",
    "streaming": "windrow.queries.streaming",
    "Shared": "windrow.queries.shared",
    "shared": "windrow.queries.shared",
    **dict.fromkeys(("LmdbStore", "MemoryStore", "RedisStore", "RocksStore"), "windrow.stores"),
    "Adwin": "windrow.windows.adwin",
    "window": "windrow.windows.push",
}

__all__ = sorted(_HOME)

if not TYPE_CHECKING:  # a type checker must not take every name for an object

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]
