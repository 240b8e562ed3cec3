"""What Spark is told of a stream's state before a row comes, without loading what works on rows.

When a stream starts, Spark asks a process of its own on the driver which states there will be. To
load NumPy, Numba, pandas, PyArrow and windrow for that would take most of a second of a core, for
every stream: so the processor travels as bytes, which are read where rows come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

_pickle: Any = cloudpickle  # which has no types
_BYTES = StructType([StructField("value", BinaryType())])
_TEXT = StructType([StructField("text", StringType())])
_CHUNK = StructType([StructField("log", IntegerType()), StructField("number", LongType())])


class States(NamedTuple):
    """The states of a bucket in Spark's store."""

    head: Any  # of the bucket, written by every step
    query: Any  # as text, for those who read the state
    chunks: Any

    @classmethod
    def of(cls, handle: StatefulProcessorHandle) -> States:
        """Return the states, which Spark makes where there are none yet."""
        return cls(
            handle.getValueState("head", _BYTES),
            handle.getValueState("query", _TEXT),
            handle.getMapState("chunks", _CHUNK, _BYTES),
        )


def client_of(handle: StatefulProcessorHandle) -> Any:
    """Spark's client behind a handle, which can name a bucket; None if this one has none."""
    return getattr(handle, "_statefulProcessorApiClient", None)


def has_rows(handle: StatefulProcessorHandle) -> bool:
    """Whether rows come where this handle is: on the driver Spark only asks for the states."""
    client = client_of(handle)
    return client is None or client.handle_state == StatefulProcessorHandleState.CREATED


class Deferred(StatefulProcessor):
    """A processor with these `States` that is loaded when rows come."""

    def __init__(self, processor: StatefulProcessor) -> None:
        self._bytes = _pickle.dumps(processor)
        self._loaded: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Tell Spark the states, and load the processor if rows come."""
        if has_rows(handle):
            self._loaded = _pickle.loads(self._bytes)
            self._loaded.init(handle)
        else:
            States.of(handle)

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
