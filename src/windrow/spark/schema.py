"""Queries bound to a DataFrame's schema, the schema of results, and errors in Spark's style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue, Unsupported, WindrowError
from windrow.kernels.functions import NotCompilable
from windrow.queries.query import Query, check_distinct
from windrow.tables.bind import Bound, bind, compiled_outputs
from windrow.tables.filters import columns_of
from windrow.tables.run import QUERY, told_apart
from windrow.tables.types import plain


class SparkInvalidArgument(InvalidArgument, AnalysisException):
    """An InvalidArgument that also is what Spark raises for a query it cannot analyse."""


class SparkInvalidValue(InvalidValue, AnalysisException):
    """An InvalidValue that also is what Spark raises for a query it cannot analyse."""


class SparkUnsupported(Unsupported, AnalysisException):
    """An Unsupported that also is what Spark raises for a query it cannot analyse."""


@contextmanager
def analysed(frame: Any) -> Iterator[None]:
    """Raise errors of windrow as AnalysisExceptions that name the frame's columns."""
    try:
        yield
    except WindrowError as error:
        columns = "".join(f"\n  {f.name}: {f.dataType.simpleString()}" for f in frame.schema.fields)
        for styled in (SparkInvalidArgument, SparkInvalidValue, SparkUnsupported):
            if isinstance(error, styled.__mro__[1]):
                raised: Any = styled.__new__(styled)
                AnalysisException.__init__(
                    raised, f"{error}\nThe DataFrame's columns are:{columns}"
                )
                raise raised from None
        raise


def bound_to(query: Query, frame: Any) -> Bound:
    """Return the query bound to a DataFrame, at transform time: no row is read."""
    bound = bind(query, arrow_schema(frame), along_decimals=False)
    _check_types(bound)
    _check_names(bound, frame)
    _check_collations(bound, frame)
    return bound


def arrow_schema(frame: Any) -> pa.Schema:
    """Return the frame's schema; times have the session's zone, by which hours and days go."""
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
    """Refuse names that differ in case only, which Spark takes for the same unless told not to."""
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
    """Refuse collations: workers compare strings by their bytes."""
    for name in bound.needed:
        kind = frame.schema[name].dataType
        if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
            raise Unsupported(
                f"the column {name!r} is of type {kind.simpleString()}, and windows compare "
                f"strings by their bytes; give them collate({name}, 'UTF8_BINARY')"
            )


def _check_types(bound: Bound) -> None:
    """Refuse results of unknown types, which Spark must know before it runs, and nanoseconds."""
    for name, part in bound.query.aggregations:
        if bound.types[name] is not None:
            continue
        raise Unsupported(
            f"{name}={part!r}: Spark must know the type of its results before it runs, and they do "
            f"not compile to numbers ({_why(bound, part)}); make lower a function that is "
            f"annotated with what it returns, as in `def lower(state) -> str:`"
        )
    if bound.own_rows and getattr(bound.at_type, "unit", "us") == "ns":
        raise InvalidArgument(
            f"{bound.query.window!r}: Spark's times have microseconds; give all sizes in whole ones"
        )


def _why(bound: Bound, part: Aggregation) -> str:
    """Return why a user's own aggregation does not compile."""
    empty = columns_of(bound.schema.empty_table())
    try:
        compiled_outputs(part, [plain(empty(text).type) for text in part.columns])
    except NotCompilable as error:
        return str(error)
    raise AssertionError(f"{part!r} compiles")


def result_schema(bounds: Sequence[Bound], frame: Any, columns: Sequence[str]) -> StructType:
    """Return the schema of the results of all queries; `columns` are those of the user's frame.

    Counts, and where windows start and end, are never null, as in Spark.
    """
    own = {field.name: field for field in frame.schema.fields}
    apart = told_apart(bounds)
    fields = {QUERY: StructField(QUERY, IntegerType(), False)} if apart else {}
    for bound in bounds:
        rides = bound.query.partition_by if bound.own_rows else bound.schema.names
        for name, kind in ((field.name, field.type) for field in bound.output()):
            if name in own and name not in columns:
                continue  # an expression that the aggregations read
            if name in rides:
                fields[name] = StructField(name, own[name].dataType, own[name].nullable)
                continue
            part = bound.query.parts.get(name)  # null in the rows of other queries
            least = bound.query.min_rows is not None
            null = part is not None and (apart or least or part.empty is None)
            fields[name] = StructField(name, from_arrow_type(kind, True), null)
    return StructType(list(fields.values()))


def check_together(bounds: Sequence[Bound], frame: Any) -> None:
    """Refuse queries that do not look at the same rows in the same order."""
    if len(bounds) < 2:
        return
    who = f"shared queries over a {'stream' if frame.isStreaming else 'DataFrame'}"
    if len({(b.query.partition_by, b.query.order_by, b.own_rows) for b in bounds}) > 1:
        raise Unsupported(
            f"{who} run in one pass, so they need the same partition_by and order_by, and all "
            f"hopping windows or none, all sessions or none"
        )
    if told_apart(bounds) and any(QUERY in bound.output().names for bound in bounds):
        raise InvalidArgument(
            f"{who} tell by a column {QUERY!r} whose each result is, and there is another column "
            f"of that name: rename it"
        )
    check_distinct(name for bound in bounds for name in bound.query.parts)
