"""A query meets a DataFrame: its schema as Arrow's and back, and errors in Spark's own style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue, Unsupported, WindrowError
from windrow.kernels.functions import NotCompilable
from windrow.queries.query import Query
from windrow.tables.bind import Bound, bind, compiled_outputs
from windrow.tables.filters import columns_of
from windrow.tables.types import plain


class SparkInvalidArgument(InvalidArgument, AnalysisException):
    """An InvalidArgument that also is what Spark raises for a query it cannot analyse."""


class SparkInvalidValue(InvalidValue, AnalysisException):
    """An InvalidValue that also is what Spark raises for a query it cannot analyse."""


class SparkUnsupported(Unsupported, AnalysisException):
    """An Unsupported that also is what Spark raises for a query it cannot analyse."""


_STYLED = (SparkInvalidArgument, SparkInvalidValue, SparkUnsupported)


def bound_to(query: Query, frame: Any) -> Bound:
    """The query bound to a DataFrame, at transform time: no row is read."""
    try:
        bound = bind(query, _arrow_schema(frame))
        _check_types(bound)
        _check_names(bound, frame)
        _check_collations(bound, frame)
    except WindrowError as error:
        raise analysis_error(error, frame) from None
    return bound


def _arrow_schema(frame: Any) -> pa.Schema:
    """The frame's schema; times have the session's zone, which hours and days are told in."""
    for field in frame.schema.fields:
        try:
            to_arrow_type(field.dataType, timezone="UTC")
        except PySparkTypeError:
            raise InvalidValue(
                f"the column {field.name!r} is of type {field.dataType.simpleString()}, which "
                f"Spark cannot hand to Python: leave it out, or cast it"
            ) from None
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    return to_arrow_schema(frame.schema, timezone=zone)


def _check_names(bound: Bound, frame: Any) -> None:
    """Spark takes names that differ in case only for the same, unless it is told not to."""
    if frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        return
    taken: dict[str, str] = {}
    for name in bound.output().names:
        other = taken.setdefault(name.lower(), name)
        if other != name:
            raise InvalidArgument(
                f"the result would have the columns {other!r} and {name!r}, which Spark takes for "
                f"the same; choose another name, or set spark.sql.caseSensitive"
            )


def _check_collations(bound: Bound, frame: Any) -> None:
    """Workers compare strings by their bytes; a collation may take other strings for equal."""
    for name in bound.needed:
        kind = frame.schema[name].dataType
        if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
            raise Unsupported(
                f"the column {name!r} is of type {kind.simpleString()}, and windows compare "
                f"strings by their bytes; give them collate({name}, 'UTF8_BINARY')"
            )


def _check_types(bound: Bound) -> None:
    """Spark wants the type of every answer before the first, and its times have microseconds."""
    for name, part in bound.query.aggregations:
        if bound.types[name] is not None:
            continue
        raise Unsupported(
            f"{name}={part!r}: Spark must know the type of its answers before it runs, and they do "
            f"not compile to numbers ({_why(bound, part)}); make lower a function that is "
            f"annotated with what it returns, as in `def lower(state) -> str:`"
        )
    if bound.own_rows and getattr(bound.at_type, "unit", "us") == "ns":
        raise InvalidArgument(
            f"{bound.query.window!r}: Spark's times have microseconds; give range, slide and "
            f"offset in whole ones"
        )


def _why(bound: Bound, part: Aggregation) -> str:
    """Why a user's own aggregation does not compile."""
    empty = columns_of(bound.schema.empty_table())
    try:
        compiled_outputs(part, [plain(empty(text).type) for text in part.columns])
    except NotCompilable as error:
        return str(error)
    raise AssertionError(f"{part!r} compiles")


def analysis_error(error: WindrowError, frame: Any) -> WindrowError:
    """The same error as an AnalysisException, with the frame's columns."""
    columns = "".join(f"\n  {f.name}: {f.dataType.simpleString()}" for f in frame.schema.fields)
    for styled in _STYLED:
        if isinstance(error, styled.__mro__[1]):
            made: Any = styled.__new__(styled)
            AnalysisException.__init__(made, f"{error}\nThe DataFrame's columns are:{columns}")
            styled_error: WindrowError = made
            return styled_error
    return error


def result_schema(bound: Bound, frame: Any) -> StructType:
    """The schema of the result: Spark's own fields for what rides along, and the answers'."""
    own = {field.name: field for field in frame.schema.fields}
    rides = bound.query.partition_by if bound.own_rows else bound.schema.names
    return StructType(
        [
            own[field.name] if field.name in rides else _answer_field(bound, field)
            for field in bound.output()
        ]
    )


def _answer_field(bound: Bound, field: pa.Field) -> StructField:
    """Counts, and where windows start and end, are never null, as in Spark."""
    part = bound.query.parts.get(field.name)
    always = part is None or part.empty is not None
    return StructField(field.name, from_arrow_type(field.type, True), nullable=not always)


def arrow_result(schema: StructType) -> pa.Schema:
    """What workers hand back: the result's schema as Arrow has it."""
    return to_arrow_schema(schema, timezone="UTC")


Batches = Iterator[pa.RecordBatch]


def in_arrow(frame: Any, work: Callable[[Batches], Batches], schema: StructType) -> Any:
    """`frame.mapInArrow`, which by itself takes a dot in a column's name for one in a path."""
    names = frame.columns
    if not any(mark in name for name in names for mark in ".`"):
        return frame.mapInArrow(work, schema)
    numbered = frame.toDF(*[f"c{i}" for i in range(len(names))])
    return numbered.mapInArrow(Renamed(tuple(names), work), schema)


@dataclass(frozen=True)
class Renamed:
    """What a worker runs over batches whose columns have lost their names."""

    names: tuple[str, ...]
    work: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        """The result of the work, batch by batch."""
        return self.work(batch.rename_columns(list(self.names)) for batch in batches)
