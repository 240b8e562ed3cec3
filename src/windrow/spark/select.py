"""`run_select`, which runs the steps of a statement of SQL over a DataFrame.

Spark itself filters, computes, sorts and chooses; each stage of windows is a pass of windrow's own
over rows that are shuffled and sorted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.types import AtomicType

from windrow.errors import Unsupported
from windrow.queries.query import Query
from windrow.queries.select import OWN, Select, SortKey, Stage, Steps
from windrow.queries.shared import Shared
from windrow.spark.columns import column
from windrow.spark.dataframe import run
from windrow.spark.expressions import spark_column
from windrow.spark.schema import analysed, arrow_schema
from windrow.tables.bind import SchemaColumns


def run_select(select: Select, frame: Any) -> Any:
    """Return the results of a statement as a DataFrame, batch or streaming."""
    with analysed(frame):
        names = frame.columns
        steps = select.steps(columns_of_frame(frame))
        if frame.isStreaming:
            _check_stream(select, steps)
        if steps.where is not None:
            frame = frame.filter(spark_column(steps.where, frame))
    for stage in steps.stages:
        frame = _staged(stage, frame)
    with analysed(frame):
        if steps.qualify is not None:
            frame = frame.filter(spark_column(steps.qualify, frame))
        if steps.distinct:
            values = _values(steps.distinct, frame, names)
            distinct = {f"{OWN}distinct_{i}": value for i, value in enumerate(values)}
            frame = frame.withColumns(distinct).dropDuplicates(list(distinct))
        if steps.order:
            frame = frame.orderBy(*[_sort_column(key, frame) for key in steps.order])
        if steps.offset:
            frame = frame.offset(steps.offset)
        if steps.limit is not None:
            frame = frame.limit(steps.limit)
        results, texts = zip(*steps.results, strict=True)
        values = _values(texts, frame, names)
        return frame.select(*[v.alias(name) for name, v in zip(results, values, strict=True)])


def _values(texts: Sequence[str], frame: Any, names: Sequence[str]) -> list[Any]:
    """Return columns and expressions; `names` are the columns that the statement reads."""
    return [column(text) if text in names else spark_column(text, frame) for text in texts]


def columns_of_frame(frame: Any) -> SchemaColumns:
    """Return the columns of a DataFrame, as statements of SQL ask about them."""
    return SchemaColumns(arrow_schema(frame))


def _staged(stage: Stage, frame: Any) -> Any:
    """Return the frame with what a stage computes and aggregates."""
    if stage.computed:
        with analysed(frame):
            frame = frame.withColumns({n: spark_column(text, frame) for n, text in stage.computed})
    queries = tuple(_ordered(query, frame) for query in stage.queries)
    return run(Shared(queries) if len(queries) > 1 else queries[0], frame)


def _ordered(query: Query, frame: Any) -> Query:
    """Return the query with an order; where none matters, any will do."""
    if query.order_by or frame.isStreaming:
        return query
    window = query.window
    whole = window.endless and window.reach_rows is None
    if not whole or not query.commutative:
        raise Unsupported(
            "rows of a DataFrame have no order of their own, and this depends on one: write OVER "
            "(… ORDER BY …)"
        )
    sortable = [f.name for f in frame.schema.fields if isinstance(f.dataType, AtomicType)]
    return replace(query, order_by=query.partition_by[:1] or tuple(sortable[:1]))


def _sort_column(key: SortKey, frame: Any) -> Any:
    """Return what a DataFrame is sorted by for a key of ORDER BY."""
    values = spark_column(key.text, frame)
    if key.descending:
        return values.desc_nulls_first() if key.nulls_first else values.desc_nulls_last()
    return values.asc_nulls_first() if key.nulls_first else values.asc_nulls_last()


def _check_stream(select: Select, steps: Steps) -> None:
    """Refuse what needs the last row, which a stream has not, and what needs several passes."""
    if steps.distinct:
        raise Unsupported("a stream has no last row: GROUP BY and SELECT DISTINCT need one")
    if steps.order or steps.limit is not None or steps.offset:
        raise Unsupported("a stream has no last row: ORDER BY and LIMIT of the results need one")
    if len(steps.stages) > 1 or (select.inside and steps.stages):
        raise Unsupported(
            "over a stream all windows of a statement need the same PARTITION BY and ORDER BY, no "
            "DENSE_RANK, and no other statement in FROM: run one statement for each"
        )
    if any(not query.order_by for stage in steps.stages for query in stage.queries):
        raise Unsupported("a stream has no last row: write OVER (… ORDER BY …) along its times")
