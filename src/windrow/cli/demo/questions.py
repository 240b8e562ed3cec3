"""The three queries of the demo, each with the SQL that asks Spark's own functions the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from windrow.aggregations import ArgMax, Max, Mean, MomentSketch
from windrow.queries.query import Query, sliding

LATENESS = "10 minutes"
QUANTILES = (0.5, 0.9, 0.99)
# With more moments the last bit of a sum, which depends on how the sum was put together, decides
# now and then whether a moment counts, and an estimate jumps.
MOMENTS = 8


@dataclass(frozen=True)
class Question:
    """A query for windrow, and the same query for Spark."""

    name: str
    says: str
    query: Query
    spark_sql: str  # {readings} stands for the frame
    keys: tuple[str, ...]  # the columns that tell one result row from another
    results: tuple[str, ...]
    close: float = 1e-9  # the relative difference of floats that were added up in another order

    def by_windrow(self, frame: Any) -> Any:
        """Return the DataFrame of windrow's results."""
        return frame.transform(self.query)

    def by_spark(self, frame: Any) -> Any:
        """Return the DataFrame of the results of Spark's own functions."""
        return frame.sparkSession.sql(self.spark_sql, readings=frame)


_last_hour = partial(sliding, order_by="ts", range="1 hour", lateness=LATENESS)
_HOPPING_SQL = """
    SELECT house_id, window.start AS window_start, window.end AS window_end, {results}
    FROM {{readings}}
    GROUP BY house_id, window(ts, '1 hour', '{slide}')
"""

QUESTIONS = (
    Question(
        "peak",
        "each plug's peak over the last hour, for every reading",
        _last_hour(partition_by="plug_id", peak=Max("load")),
        """
        SELECT *, max(load) OVER (
            PARTITION BY plug_id ORDER BY unix_micros(ts)
            RANGE BETWEEN 3600000000 PRECEDING AND CURRENT ROW
        ) AS peak
        FROM {readings}
        """,
        ("plug_id", "ts"),
        ("peak",),
    ),
    Question(
        "hourly",
        "each house's mean load and its most loaded plug, every minute over an hour",
        _last_hour(
            partition_by="house_id",
            slide="1 minute",
            mean=Mean("load"),
            worst=ArgMax("load", "plug_id"),
        ),
        _HOPPING_SQL.format(
            slide="1 minute", results="avg(load) AS mean, max_by(plug_id, load) AS worst"
        ),
        ("house_id", "window_start"),
        ("mean", "worst"),
    ),
    Question(
        "percentiles",
        "each house's median, 90th and 99th percentile, every ten minutes over an hour",
        _last_hour(
            partition_by="house_id",
            slide="10 minutes",
            percentiles=MomentSketch("load", order=MOMENTS, quantiles=QUANTILES),
        ),
        _HOPPING_SQL.format(
            slide="10 minutes",
            results=f"percentile_approx(load, array{QUANTILES}, 1000) AS percentiles",
        ),
        ("house_id", "window_start"),
        ("percentiles",),
        close=1e-3,  # an estimate solves for a density, which magnifies the last bits
    ),
)
