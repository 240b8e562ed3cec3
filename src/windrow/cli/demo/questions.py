"""The demo's queries, and the SQL that asks Spark's own functions the same where both are timed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from windrow.aggregations import ArgMax, Count, Max, Mean, Min, StdDev
from windrow.queries.query import sliding

LATENESS = "10 minutes"
# In seconds; the longest is as long as the readings are.
HORIZONS = {
    "1 minute": 60, "5 minutes": 300, "10 minutes": 600, "20 minutes": 1200, "30 minutes": 1800,
    "1 hour": 3600, "2 hours": 7200, "3 hours": 10_800, "6 hours": 21_600, "12 hours": 43_200,
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A query, what it asks in words, and what tells its results apart."""

    name: str
    says: str
    query: Any
    keys: tuple[str, ...]  # the columns that tell one result row from another
    results: tuple[str, ...]
    spark_sql: str = ""  # {readings} stands for the frame

    def by_windrow(self, frame: Any) -> Any:
        """Return the DataFrame of windrow's results."""
        return frame.transform(self.query)

    def by_spark(self, frame: Any) -> Any:
        """Return the DataFrame of the results of Spark's own functions."""
        return frame.sparkSession.sql(self.spark_sql, readings=frame)


def _spark_sql() -> str:
    """Return five functions over each horizon, as a user would write them."""
    functions = {
        "n": "count(load)", "mean": "avg(load)", "peak": "max(load)", "low": "min(load)",
        "spread": "stddev_samp(load)",
    }  # fmt: skip
    columns = [
        f"{function} OVER w{seconds} AS {result}_{name}"
        for seconds, name in zip(HORIZONS.values(), _NAMES, strict=True)
        for result, function in functions.items()
    ]
    windows = [
        f"w{seconds} AS (PARTITION BY plug_id ORDER BY unix_micros(ts) "
        f"RANGE BETWEEN {seconds * 1_000_000} PRECEDING AND CURRENT ROW)"
        for seconds in HORIZONS.values()
    ]
    return f"SELECT *, {', '.join(columns)} FROM {{readings}} WINDOW {', '.join(windows)}"


_NAMES = ("1min", "5min", "10min", "20min", "30min", "1h", "2h", "3h", "6h", "12h")
_last_hour = partial(sliding, order_by="ts", range="1 hour", lateness=LATENESS)

QUESTIONS = (
    Question(
        "plugs",
        "each plug's peak and mean over the last hour, for every reading",
        _last_hour(partition_by="plug_id", peak=Max("load"), mean=Mean("load")),
        ("plug_id", "ts"),
        ("peak", "mean"),
    ),
    Question(
        "houses",
        "each house's mean load and its most loaded plug, every minute over an hour",
        _last_hour(
            partition_by="house_id",
            slide="1 minute",
            mean=Mean("load"),
            worst=ArgMax("load", "plug_id"),
        ),
        ("house_id", "window_start"),
        ("mean", "worst"),
    ),
)
# What Spark's own window functions are compared by: many aggregations over long windows. Over one
# short window they are as fast.
MANY = Question(
    "horizons",
    "five aggregations over ten horizons, from a minute to twelve hours, for every reading",
    sliding(
        partition_by="plug_id",
        order_by="ts",
        range=list(HORIZONS),
        n=Count("load"),
        mean=Mean("load"),
        peak=Max("load"),
        low=Min("load"),
        spread=StdDev("load"),
    ),
    ("plug_id", "ts"),
    tuple(f"{result}_{n}" for n in _NAMES for result in ("n", "mean", "peak", "low", "spread")),
    _spark_sql(),
)
