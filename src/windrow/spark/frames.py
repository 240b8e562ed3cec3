"""The plan "frames": short windows of rows run by Spark's own window functions, where it is faster.

Spark goes through the rows of a frame for each row, which costs nothing to speak of for a few of
them, while every row that goes to a worker and back costs as much as WORK of them. A frame of all
rows so far costs it one step a row.

Results are the same where one expression of Spark's makes them of the rows, whatever their order:
sums and means of floats depend on it, and never run here. (Of 0.0 and −0.0, which are equal, Spark
takes the first as the largest.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from windrow.spark.columns import column, quoted
from windrow.tables.bind import Bound

# Rows of a frame, over all results, up to which Spark is faster: 2·10⁶ rows took 0.93 of the time
# of the way to Python for one maximum over 8 of them, 1.01 over 16, 1.28 over 32, and 0.83 over all
# so far, for three results as for one.
WORK = 8
_TREES = "spark.sql.window.segmentTree.enabled"  # before 4.3 there are none


def in_frames(bounds: Sequence[Bound], frame: Any) -> bool:
    """Whether Spark's own frames answer these queries, and faster.

    Spark's segment tree costs more than the way to Python, so with it only rows so far run here.
    """
    work, trees = 0, frame.sparkSession.conf.get(_TREES, "false") == "true"
    for bound in bounds:
        query = bound.query
        plain = query.min_rows is None and query.having is None and query.emit == "rstream"
        last_rows = query.window.by_rows and query.window.ends_now
        if not (plain and query.partition_by and last_rows):
            return False
        if any(part.spark_result is None for part in query.parts.values()):
            return False
        if trees and query.window.reach_rows is not None:
            return False
        work += len(query.parts) * (query.window.reach_rows or 1)
    return work <= WORK


def framed(bounds: Sequence[Bound], frame: Any, schema: Any) -> Any:
    """Return the rows of a frame, and the results beside them as columns of `schema`."""
    results = {}
    for bound in bounds:
        query = bound.query
        rows = query.window.reach_rows
        first = Window.unboundedPreceding if rows is None else 1 - rows
        over = (
            Window.partitionBy(*map(column, query.partition_by))
            .orderBy(*map(column, query.order_by))
            .rowsBetween(first, Window.currentRow)
        )
        for name, part in query.aggregations:
            columns = [*map(quoted, part.columns)] or ["1"]
            results[name] = sf.expr(str(part.spark_result).format(*columns)).over(over)
    rows = frame.select(
        *[
            results[name].alias(name) if name in results else column(name)
            for name in schema.fieldNames()
        ]
    )
    # A cast that changes nothing would cost a projection of every row.
    pairs = zip(schema, rows.schema, strict=True)
    cast = {f.name: column(f.name).cast(f.dataType) for f, g in pairs if f.dataType != g.dataType}
    return rows.withColumns(cast) if cast else rows
