"""A source to try streams with: ``spark.readStream.format("windrow-events")``.

Synthetic events at a set rate, with keys, disorder, late rows and bursts. An offset is a position,
and a row is a function of its position (`events_recipe`), so whatever Spark reads again after a
failure is what it was. ``spark.read`` gives the same rows as a table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from windrow.errors import InvalidArgument
from windrow.spark.events_options import FIELDS, arrow_schema, checked
from windrow.spark.events_recipe import Recipe


def register_events(spark: Any) -> None:
    """Make ``format("windrow-events")`` known to a session, classic or Connect."""
    spark.dataSource.register(Events)


class Events(DataSource):
    """The data source: options are checked here, before anything runs.

    >>> source = Events({"rowsPerSecond": "10", "numRows": "1000", "disorder": "2 seconds"})
    >>> source.recipe.rate, source.recipe.disorder, source.total
    (10, 2000000, 1000)
    """

    @classmethod
    def name(cls) -> str:
        """What ``format(…)`` calls it."""
        return "windrow-events"

    def __init__(self, options: Mapping[str, str]) -> None:
        found = checked(options)
        self.partitions: int = found.pop("partitions")
        self.max_rows: int | None = found.pop("maxRowsPerTrigger")
        total, until = found.pop("numRows"), found.pop("until")
        fields = {FIELDS[name]: value for name, value in found.items()}
        self.recipe = Recipe(**fields)
        if total is not None and until is not None:
            raise InvalidArgument("give numRows or until, not both")
        if until is not None:
            total = self.recipe.rows_before(until - self.recipe.start)
        self.total: int | None = total

    def schema(self) -> str:
        """All columns; a schema of the user's may leave some out and have the key as a string."""
        return "key BIGINT, ts TIMESTAMP, value DOUBLE, id BIGINT"

    def reader(self, schema: StructType) -> DataSourceReader:
        """The same rows as a table."""
        if self.total is None:
            raise InvalidArgument("a table has an end: give numRows or until")
        return TableReader(self, arrow_schema(schema), self.total)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The rows as they come due."""
        return StreamReader(self, arrow_schema(schema))


@dataclass
class WaitingChunk(InputPartition):
    """The rows at positions [first, last): what one task makes."""

    first: int
    last: int


class TableReader(DataSourceReader):
    """All rows at once."""

    def __init__(self, source: Events, schema: pa.Schema, total: int) -> None:
        self.source, self.made, self.total = source, schema, total

    def partitions(self) -> list[InputPartition]:
        """One piece a task."""
        pieces = _pieces(0, self.total, self.source.partitions)
        return pieces or [WaitingChunk(0, 0)]  # Spark reads one partition if it is given none

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, in Arrow batches."""
        assert isinstance(partition, WaitingChunk)
        return self.source.recipe.batches(partition.first, partition.last, self.made)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows that are due, counted from when the query first began.

    A query that was down for a while finds the rows that it missed waiting, as in a queue. Rows of
    an `availableNow` run do not wait for their time: it reads all `numRows`, and ends.
    """

    def __init__(self, source: Events, schema: pa.Schema) -> None:
        self.source, self.made = source, schema
        self.began = _now()
        self.all_at_once = False

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first row."""
        return self._offset(0)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """`maxRowsPerTrigger`, if it is given."""
        rows = self.source.max_rows
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is available now is everything: there must be an end to it."""
        if self.source.total is None:
            raise InvalidArgument("a run with availableNow needs an end: give numRows or until")
        self.all_at_once = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Behind the last row that is due, or as far as `limit` lets it go."""
        self._check(start)
        self.began = start["began"]
        position = int(start["position"])
        last = max(position, self._due())  # a clock that was set back takes no row back
        if isinstance(limit, ReadMaxRows):
            last = min(last, position + limit.max_rows)
        return self._offset(last)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Behind the last row that is due, read or not."""
        return self._offset(self._due())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The rows between two offsets, one piece a task."""
        self._check(end)
        return _pieces(int(start["position"]), int(end["position"]), self.source.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, in Arrow batches."""
        assert isinstance(partition, WaitingChunk)
        return self.source.recipe.batches(partition.first, partition.last, self.made)

    def _due(self) -> int:
        total = self.source.total
        if self.all_at_once and total is not None:
            return total
        due = self.source.recipe.rows_before(_now() - self.began)
        return due if total is None else min(due, total)

    def _offset(self, position: int) -> dict[str, Any]:
        recipe = self.source.recipe.fingerprint()
        return {"position": position, "began": self.began, "recipe": recipe}

    def _check(self, offset: dict[str, Any]) -> None:
        """A checkpoint must be of these events: other ones would fill its gaps unnoticed."""
        if offset["recipe"] != self.source.recipe.fingerprint():
            raise InvalidArgument(
                "the checkpoint was written with other options of windrow-events: rows would "
                "differ from those that were read; give the same options or a new checkpoint"
            )


def _pieces(first: int, last: int, count: int) -> list[InputPartition]:
    cuts = [first + (last - first) * n // count for n in range(count + 1)]
    return [WaitingChunk(a, b) for a, b in pairwise(cuts) if a < b]


def _now() -> int:
    return time.time_ns() // 1000
