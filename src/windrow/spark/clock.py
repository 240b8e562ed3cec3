"""A clock as a second source of a stream, so that something is done while no row comes.

Spark runs a micro-batch when a source has something new, and tells an operator neither that rows
have stopped to come nor that there will be none. So a row of this source wakes every bucket: now
and then (`flush`), or once a run (`final`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

_NAME = "windrow-clock"


def clock(session: Any, period: int | None) -> Any:
    """A stream of a row every so many milliseconds; None: of one row in each run."""
    session.dataSource.register(Clock)
    return session.readStream.format(_NAME).option("period", period or 0).load()


class Clock(DataSource):
    """The data source."""

    @classmethod
    def name(cls) -> str:
        """What ``format(…)`` calls it."""
        return _NAME

    def __init__(self, options: Mapping[str, str]) -> None:
        self.period = int(options["period"])

    def schema(self) -> str:
        """The milliseconds since 1970 up to which time has passed."""
        return "at long"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The rows as they come due."""
        return ClockReader(self.period)


@dataclass
class Tick(InputPartition):
    """A row."""

    at: int


class ClockReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One row however much time has passed; an offset is a time."""

    def __init__(self, period: int) -> None:
        self._period, self._began = period, _now()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before all times that come."""
        return {"at": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """None: there is one row at a time."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is available now is one row."""
        self._period = 0

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The last time at which there is a row; a clock that was set back takes none back."""
        return {"at": max(int(start["at"]), self._latest())}

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The same, read or not."""
        return {"at": self._latest()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One row between two offsets that differ."""
        return [Tick(int(end["at"]))] if end["at"] > start["at"] else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The row."""
        assert isinstance(partition, Tick)
        yield pa.RecordBatch.from_pydict({"at": pa.array([partition.at], pa.int64())})

    def _latest(self) -> int:
        return _now() // self._period * self._period if self._period else self._began


def _now() -> int:
    return time.time_ns() // 10**6
