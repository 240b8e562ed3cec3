"""Several queries over a DataFrame: one shuffle, one sort, one hop to Python.

Queries with a result a row give one DataFrame with the results of all beside the rows. Hopping
windows give one with a row for each window, `query` telling whose it is; what another query would
answer is null there. Slices, ranges and hot keys are cut once, for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import IntegerType, StructField, StructType

from windrow.errors import InvalidArgument, Unsupported
from windrow.spark.keys import QUERY
from windrow.spark.schema import analysis_error, result_schema
from windrow.tables.bind import Bound


def shared_schema(bounds: Sequence[Bound], frame: Any, columns: list[str]) -> StructType:
    """The schema of the results of all queries; `columns` are those that the user's frame has."""
    fields: dict[str, StructField] = {}
    apart = bool(bounds[0].own_rows) and len(bounds) > 1
    if apart:
        fields[QUERY] = StructField(QUERY, IntegerType(), False)
    for bound in bounds:
        for field in result_schema(bound, frame).fields:
            if field.name in columns or field.name not in frame.columns:
                missing = apart and field.name in bound.query.parts  # in rows of other queries
                fields[field.name] = StructField(
                    field.name, field.dataType, field.nullable or missing
                )
    return StructType(list(fields.values()))


def check_together(bounds: Sequence[Bound], frame: Any) -> None:
    """Refuse queries that do not look at the same rows in the same order."""
    alike = {(b.query.partition_by, b.query.order_by) for b in bounds}
    kinds = {b.own_rows for b in bounds}
    if len(alike) > 1 or len(kinds) > 1:
        raise analysis_error(
            Unsupported(
                "shared queries over a DataFrame run in one pass, so they need the same "
                "partition_by and order_by, and all an answer a row or all hopping windows"
            ),
            frame,
        )
    if not bounds[0].own_rows and any(not b.query.window.per_row or b.filters for b in bounds):
        raise analysis_error(
            Unsupported("shared queries over a DataFrame need an answer for every row"), frame
        )
    names = [name for b in bounds for name in b.query.parts]
    for name in names:
        if names.count(name) > 1:
            raise analysis_error(
                InvalidArgument(f"the name {name!r} is given to {names.count(name)} results"), frame
            )
