"""The demo's queries, and the SQL that asks Spark's own functions the same where both are timed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from windrow.aggregations import ArgMax, Count, Max, Mean, Min, StdDev
from windrow.queries.query import sliding
from windrow.windows.durations import nanoseconds, short

LATENESS = "10 minutes"
# The longest is as long as the readings are.
HORIZONS = (
    *("1 minute", "5 minutes", "10 minutes", "20 minutes", "30 minutes"),
    *("1 hour", "2 hours", "3 hours", "6 hours", "12 hours"),
)


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
    columns, windows = [], []
    for horizon in HORIZONS:
        micros = nanoseconds(horizon, "range") // 1000
        name = f"w{micros // 1_000_000}"
        windows.append(
            f"{name} AS (PARTITION BY plug_id ORDER BY unix_micros(ts) "
            f"RANGE BETWEEN {micros} PRECEDING AND CURRENT ROW)"
        )
        columns += [f"{f} OVER {name} AS {n}_{short(horizon)}" for n, f in functions.items()]
    return f"SELECT *, {', '.join(columns)} FROM {{readings}} WINDOW {', '.join(windows)}"


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
_MANY: Any = sliding(
    partition_by="plug_id",
    order_by="ts",
    range=list(HORIZONS),
    n=Count("load"),
    mean=Mean("load"),
    peak=Max("load"),
    low=Min("load"),
    spread=StdDev("load"),
)
MANY = Question(
    "horizons",
    "five aggregations over ten horizons, from a minute to twelve hours, for every reading",
    _MANY,
    ("plug_id", "ts"),
    tuple(name for query in _MANY.queries for name in query.parts),
    _spark_sql(),
)
