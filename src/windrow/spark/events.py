"""A source to try streams with: ``spark.readStream.format("windrow-events")``.

Synthetic events at a set rate, with keys, disorder, late rows and bursts. An offset is a position,
and a row is a function of its position (`events_recipe`), so whatever Spark reads again after a
failure is what it was. ``spark.read`` gives the same rows as a table.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from windrow.errors import InvalidArgument, did_you_mean
from windrow.spark.events_recipe import FURTHEST, Recipe
from windrow.windows.durations import nanoseconds

TYPES = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "double": pa.float64(),
}
# The columns, and what each may be; the first of them if no schema is given.
COLUMNS = {"key": ("bigint", "string"), "ts": ("timestamp",), "value": ("double",),
           "id": ("bigint",)}  # fmt: skip
START = "2026-01-01T00:00:00+00:00"


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
        settings = {"start": _instant("start", START), **_read_options(options)}
        self.partitions: int = settings.pop("partitions", 1)
        self.max_rows: int | None = settings.pop("max_rows", None)
        total, until = settings.pop("total", None), settings.pop("until", None)
        self.recipe = Recipe(**settings)
        if total is not None and until is not None:
            raise InvalidArgument("give numRows or until, not both")
        if until is not None:
            total = self.recipe.rows_before(until - self.recipe.start)
        self.total: int | None = total

    def schema(self) -> str:
        """All columns; a schema of the user's may leave some out and have the key as a string."""
        return ", ".join(f"{name} {kinds[0]}" for name, kinds in COLUMNS.items())

    def reader(self, schema: StructType) -> DataSourceReader:
        """The same rows as a table."""
        if self.total is None:
            raise InvalidArgument("a table has an end: give numRows or until")
        return TableReader(self, _arrow_schema(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The rows as they come due."""
        return StreamReader(self, _arrow_schema(schema))


@dataclass
class Piece(InputPartition):
    """The rows at positions [first, last): what one task makes."""

    first: int
    last: int


class Reader:
    """What reads a piece of the rows of a source, with the columns of a schema."""

    def __init__(self, source: Events, schema: pa.Schema) -> None:
        self.source, self.columns = source, schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, in Arrow batches."""
        assert isinstance(partition, Piece)
        return self.source.recipe.batches(partition.first, partition.last, self.columns)


class TableReader(Reader, DataSourceReader):
    """All rows at once."""

    def partitions(self) -> list[InputPartition]:
        """One piece a task."""
        pieces = _pieces(0, self.source.total or 0, self.source.partitions)
        return pieces or [Piece(0, 0)]  # Spark reads one partition if it is given none


class StreamReader(Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows that are due, counted from when the query first began.

    A query that was down for a while finds the rows that it missed waiting, as in a queue. Rows of
    an `availableNow` run do not wait for their time: it reads all `numRows`, and ends.
    """

    def __init__(self, source: Events, schema: pa.Schema) -> None:
        super().__init__(source, schema)
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
    return [Piece(a, b) for a, b in pairwise(cuts) if a < b]


def _now() -> int:
    return time.time_ns() // 1000


# -- options ------------------------------------------------------------------------------------


def _arrow_schema(schema: StructType) -> pa.Schema:
    """The columns that were asked for, in Arrow's types, or an error that names the wrong one."""
    fields = []
    for field in schema.fields:
        if field.name not in COLUMNS:
            raise InvalidArgument(
                f"windrow-events has no column {field.name!r}; {did_you_mean(field.name, COLUMNS)}"
            )
        text = field.dataType.simpleString()
        if text not in COLUMNS[field.name]:
            allowed = " or ".join(COLUMNS[field.name])
            raise InvalidArgument(f"{field.name} is {allowed}, not {text}")
        fields.append(pa.field(field.name, TYPES[text], field.nullable))
    return pa.schema(fields)


def _whole(least: int, most: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        number = int(text) if text.strip().lstrip("-").isdecimal() else None
        if number is None or not least <= number <= most:
            raise InvalidArgument(f"{name} must be a whole number from {least}, got {text!r}")
        return number

    return read


def _share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise InvalidArgument(f"{name} must be a number from 0 up to 1, got {text!r}")
    return share


def _duration(name: str, text: str) -> int:
    span = nanoseconds(text, name)
    if span % 1000:
        raise InvalidArgument(f"{name} must be whole microseconds, got {text!r}")
    return span // 1000


def _instant(name: str, text: str) -> int:
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(f"{name} must be a time like {START!r}, got {text!r}") from None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=dt.UTC)
    return (instant - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


# What may be set: what it is called here (the fields of a Recipe among them), and how it is read.
OPTIONS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "rowsPerSecond": ("rate", _whole(1, 10**9)),
    "keys": ("keys", _whole(1, 2**32 - 1)),
    "disorder": ("disorder", _duration),
    "late": ("late", _share),
    "lateBy": ("late_by", _duration),
    "bursts": ("bursts", _duration),
    "burstShare": ("burst_share", _share),
    "start": ("start", _instant),
    "seed": ("seed", _whole(0, 2**64 - 1)),
    "numRows": ("total", _whole(0, FURTHEST)),
    "until": ("until", _instant),
    "maxRowsPerTrigger": ("max_rows", _whole(1, FURTHEST)),
    "partitions": ("partitions", _whole(1, 10_000)),
}


def _read_options(options: Mapping[str, str]) -> dict[str, Any]:
    """The values of the options that are given; Spark hands names over in lower case."""
    known = {name.lower(): name for name in OPTIONS}
    settings = {}
    for option, text in options.items():
        name = known.get(option.lower())
        if name is None:
            raise InvalidArgument(
                f"windrow-events has no option {option!r}; {did_you_mean(option, OPTIONS)}"
            )
        field, read = OPTIONS[name]
        settings[field] = read(name, text)
    return settings
