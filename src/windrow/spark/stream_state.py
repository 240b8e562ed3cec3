"""What Spark is told of a stream's state before a row comes, without loading what works on rows.

When a stream starts, Spark asks a process of its own on the driver which states there will be. To
load NumPy, Numba, pandas, PyArrow and windrow for that would take most of a second of a core, for
every stream: so the processor travels as bytes, which are read where rows come.

A worker reads the same bytes in every micro-batch. So it keeps what it has read, with all that was
found out about the queries since.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

_pickle: Any = cloudpickle  # which has no types
_BYTES = StructType([StructField("value", BinaryType())])
_CHUNK = StructType([StructField("log", IntegerType()), StructField("number", LongType())])


def state_of(handle: StatefulProcessorHandle) -> Any:
    """Return the state of a bucket in Spark's store, which Spark makes where there is none yet.

    It is one map for all: Spark takes some 4 ms of a core for each variable in every batch.
    """
    return handle.getMapState("chunks", _CHUNK, _BYTES)


def client_of(handle: StatefulProcessorHandle) -> Any:
    """Spark's client behind a handle, which can name a bucket; None if this one has none."""
    return getattr(handle, "_statefulProcessorApiClient", None)


def has_rows(handle: StatefulProcessorHandle) -> bool:
    """Whether rows come where this handle is: on the driver Spark only asks for the states."""
    client = client_of(handle)
    return client is None or client.handle_state == StatefulProcessorHandleState.CREATED


class Travelling:
    """A value that travels as bytes, and that a worker loads once, for all of its tasks."""

    def __init__(self, value: Any) -> None:
        self._bytes = _pickle.dumps(value)

    def load(self) -> Any:
        """Return the value: the one that this process has loaded before, if it has."""
        return _loaded(self._bytes)


@lru_cache(maxsize=64)
def _loaded(data: bytes) -> Any:
    return _pickle.loads(data)


class Deferred(StatefulProcessor):
    """A processor with this state that is loaded when rows come."""

    def __init__(self, processor: StatefulProcessor) -> None:
        self._processor = Travelling(processor)
        self._loaded: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Tell Spark the state, and load the processor if rows come."""
        if has_rows(handle):
            self._loaded = self._processor.load()
            self._loaded.init(handle)
        else:
            state_of(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Pass rows on."""
        return self._loaded.handleInputRows(key, rows, timerValues)  # type: ignore[no-any-return]

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Pass a timer on."""
        return self._loaded.handleExpiredTimer(  # type: ignore[no-any-return]
            key, timerValues, expiredTimerInfo
        )

    def close(self) -> None:
        """Nothing is open."""
