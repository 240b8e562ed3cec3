"""A query meets a DataFrame: its schema as Arrow's and back, and errors in Spark's own style."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from windrow.engines.binding import Bound, bind
from windrow.errors import InvalidArgument, InvalidValue, Unsupported, WindrowError
from windrow.queries.query import Query


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
        return bind(query, to_arrow_schema(frame.schema, timezone="UTC"))
    except WindrowError as error:
        raise analysis_error(error, frame) from None


def analysis_error(error: WindrowError, frame: Any) -> WindrowError:
    """The same error as an AnalysisException, with the frame's columns."""
    columns = "".join(f"\n  {f.name}: {f.dataType.simpleString()}" for f in frame.schema.fields)
    for styled in _STYLED:
        if isinstance(error, styled.__mro__[1]):
            made = styled.__new__(styled)
            AnalysisException.__init__(made, f"{error}\nThe DataFrame's columns are:{columns}")
            return made
    return error


def result_schema(bound: Bound, frame: Any) -> StructType:
    """The schema of the result: Spark's own fields for what rides along, and the answers'."""
    own = {field.name: field for field in frame.schema.fields}
    return StructType(
        [
            own.get(field.name) or StructField(field.name, from_arrow_type(field.type))
            for field in bound.output()
        ]
    )


def arrow_result(bound: Bound, schema: StructType) -> pa.Schema:
    """What workers hand back: the result's schema as Arrow has it."""
    return to_arrow_schema(schema, timezone="UTC")
