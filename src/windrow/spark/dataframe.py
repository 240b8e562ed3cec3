"""Queries over a DataFrame: what Spark computes itself, the choice of a plan, and the results."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, Unsupported
from windrow.kernels.routes import trace
from windrow.queries.plan import Plan, SparkPlan
from windrow.queries.query import Query
from windrow.queries.shared import Shared
from windrow.queries.streaming import Streaming
from windrow.spark.columns import along_decimals, unused
from windrow.spark.expressions import spark_column
from windrow.spark.frames import framed, in_frames
from windrow.spark.groups import Ranges, may_be_cut
from windrow.spark.in_place import Stretch, in_place, stretches_of
from windrow.spark.interpreter import check_workers
from windrow.spark.keys import held, is_held, keyed, shuffle_partitions
from windrow.spark.ranges import is_uneven, ranged, ranges_of
from windrow.spark.schema import analysed, bound_to, check_together, result_schema
from windrow.spark.sessions import in_parts
from windrow.spark.slices import hopping, slices_natively
from windrow.spark.stream import PlannedStream, planned_stream, stream
from windrow.tables.bind import Bound, warn_of_interpreted
from windrow.tables.run import told_apart


def run(query: Query | Shared, frame: Any) -> Any:
    """Return the results as a DataFrame, of several queries as one. Spark runs it when it must.

    Only a query without a key looks at the order column first, to see where it can be cut; and one
    over a large frame at a sample of its keys, to see whether one of them must be.
    """
    if frame.isStreaming:
        return run_stream(Streaming(query), frame)
    check_workers(frame)
    with analysed(frame):
        bounds, columns, frame = _prepared_all(query, frame)
        check_together(bounds, frame)
        for bound in bounds:
            bound.query.window.check_room()
        schema = result_schema(bounds, frame, columns)
        chosen, cut = _chosen(bounds, frame)
        for bound in bounds:
            trace(bound.query.window, chosen)
        if chosen == "slices":
            return hopping(bounds, frame, schema)
        if isinstance(cut, Ranges):
            return ranged(bounds, frame, schema, cut)
        if cut is not None:
            return in_place(bounds, frame, schema, cut)
        if chosen == "frames":
            return framed(bounds, frame, schema)
        if chosen == "tables":
            return held(bounds, frame, schema)
        if chosen == "ranges":
            return in_parts(bounds[0], frame, schema)
        return keyed(bounds, frame, schema)


run_shared = run_together = run  # queries share one pass over the rows


def run_stream(query: Streaming, frame: Any) -> Any:
    """Return the results over a streaming DataFrame."""
    check_workers(frame)
    with analysed(frame):
        bounds, columns, frame = _prepared_all(query.query, frame)
        return stream(query, bounds, frame, columns)


def planned(query: Streaming, frame: Any, partitions: int) -> PlannedStream:
    """Return what `run_stream` would run where a shuffle makes so many partitions."""
    with analysed(frame):
        bounds, columns, frame = _prepared_all(query.query, frame)
        return planned_stream(query, bounds, frame, columns, partitions)


def plans(queries: Sequence[Query], frame: Any) -> list[Plan]:
    """Return what will run for queries over a DataFrame; it looks at the frame as `run` does."""
    with analysed(frame):
        bounds, _, frame = _prepared_all(Shared(tuple(queries)), frame)
        check_together(bounds, frame)
        chosen = None if frame.isStreaming else _chosen(bounds, frame)[0]
        asked = zip(queries, bounds, strict=True)
        return [replace(bound.plan, query=query, spark=chosen) for query, bound in asked]


Cut = Ranges | Sequence[Stretch] | None


def _chosen(bounds: Sequence[Bound], frame: Any) -> tuple[SparkPlan, Cut]:
    """Return how queries over the same rows run together, and where rows are cut or lie already."""
    plans = {bound.plan.spark for bound in bounds}
    if plans == {"slices"}:
        return "slices", None
    if plans == {"ranges"} and not told_apart(bounds):
        chosen, cut = _along_the_order(bounds, frame)
        if chosen is not None:
            return chosen, cut
    if in_frames(bounds, frame):
        return "frames", None
    if is_held(bounds, frame):
        return "tables", None
    return "keys" if bounds[0].query.partition_by else "one task", None


def _along_the_order(bounds: Sequence[Bound], frame: Any) -> tuple[SparkPlan | None, Cut]:
    """Return how rows without a key, or with a hot one, run in parallel; None for too few rows."""
    query, tasks = bounds[0].query, _tasks(frame)
    if query.window.kept == "sessions":  # which Spark's own ranges do for
        return "ranges" if is_uneven(frame, query.partition_by, tasks) else None, None
    if not query.partition_by and not may_be_cut(frame):
        return None, None
    if stretches := stretches_of(bounds, frame, tasks):
        return "partitions", stretches
    ranges = ranges_of(bounds, frame, tasks)
    return "ranges" if ranges is not None else None, ranges


def _prepared_all(query: Query | Shared, frame: Any) -> tuple[list[Bound], list[str], Any]:
    """Return queries bound to the frame, the columns that it had, and it with expressions added."""
    queries = list(query) if isinstance(query, Shared) else [query]
    columns, bounds = frame.columns, []
    if len({query.where for query in queries}) > 1:
        raise Unsupported(
            "shared queries over a DataFrame run in one pass: give all the same where"
        )
    for one in queries:
        bound, frame = _prepared(one, frame, warns=True)
        bounds.append(bound)
    return [replace(b, schema=bounds[-1].schema) for b in bounds], columns, frame


def _prepared(query: Query, frame: Any, warns: bool = False) -> tuple[Bound, Any]:
    """Return the query bound to the frame, which has `where` applied and expressions as columns.

    With `warns`, there is a warning of functions that will run in the interpreter.
    """
    query, frame = along_decimals(query, frame)
    bound = bound_to(query, frame)
    if not bound.query.order_by and not frame.isStreaming:
        raise InvalidArgument("rows of a DataFrame have no order of their own: give order_by=")
    if warns:
        warn_of_interpreted([bound])
    frame, query = _computed(bound, frame)
    bound = bound_to(query, frame)
    return replace(bound, native=slices_natively(bound)), frame


def _tasks(frame: Any) -> int:
    """Return how many tasks run at once; on Connect, how many partitions a shuffle makes."""
    context = getattr(frame.sparkSession, "_sc", None)
    return shuffle_partitions(frame) if context is None else int(context.defaultParallelism)


def _computed(bound: Bound, frame: Any) -> tuple[Any, Query]:
    """Return the frame with `where` applied and expressions as columns, and the query over it."""
    query = bound.query
    if query.where is not None:
        frame = frame.filter(spark_column(query.where, frame, bound.schema))
        query = query.replace(where=None)
    names: dict[str, str] = {}
    texts = [text for _, part in query.aggregations for text in part.columns]
    size = query.window.row_size
    for text in texts if size is None else [*texts, size]:
        if text not in frame.columns and text not in names:
            taken = (*frame.columns, *names.values())
            names[text] = unused(f"__windrow_{len(taken)}", taken)
    if not names:
        return frame, query
    frame = frame.withColumns(
        {new: spark_column(text, frame, bound.schema) for text, new in names.items()}
    )
    parts = tuple((name, _renamed(part, names)) for name, part in query.aggregations)
    window = query.window if size is None else query.window.with_row_size(names.get(size, size))
    return frame, query.replace(aggregations=parts, window=window)


def _renamed(part: Aggregation, names: dict[str, str]) -> Aggregation:
    """Return an aggregation that reads columns by their new names."""
    renamed = copy.copy(part)
    renamed.columns = tuple(names.get(text, text) for text in part.columns)
    return renamed
