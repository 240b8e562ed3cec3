"""The queries of the demo, and the same questions as Spark's own functions ask them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    """One query, asked twice: of windrow and of Spark."""

    name: str
    says: str
    query: Query
    by_spark: Callable[[Any], Any]
    keys: tuple[str, ...]  # what tells one answer from another
    answers: tuple[str, ...]
    close: float = 1e-9  # floats that were added up in another order


def peak_by_spark(frame: Any) -> Any:
    """Max over a RANGE frame, as SQL writes it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    hour = Window.partitionBy("plug_id").orderBy(sf.unix_micros("ts"))
    return frame.withColumn("peak", sf.max("load").over(hour.rangeBetween(-3_600_000_000, 0)))


def hourly_by_spark(frame: Any) -> Any:
    """Hopping windows by ``window(ts, …)``: each row goes into sixty of them."""
    from pyspark.sql import functions as sf

    return _windows(
        frame,
        "1 minute",
        sf.avg("load").alias("mean"),
        sf.max_by("plug_id", "load").alias("worst"),
    )


def percentiles_by_spark(frame: Any) -> Any:
    """The same with Spark's sketch of quantiles."""
    from pyspark.sql import functions as sf

    shares = sf.percentile_approx("load", list(QUANTILES), 1000).alias("percentiles")
    return _windows(frame, "10 minutes", shares)


def _windows(frame: Any, slide: str, *answers: Any) -> Any:
    from pyspark.sql import functions as sf

    made = frame.groupBy("house_id", sf.window("ts", "1 hour", slide)).agg(*answers)
    edges = {"window_start": sf.col("window.start"), "window_end": sf.col("window.end")}
    return made.withColumns(edges).drop("window")


QUESTIONS = (
    Question(
        "peak",
        "each plug's peak over the last hour, for every reading",
        sliding(
            partition_by="plug_id",
            order_by="ts",
            range="1 hour",
            lateness=LATENESS,
            peak=Max("load"),
        ),
        peak_by_spark,
        ("plug_id", "ts"),
        ("peak",),
    ),
    Question(
        "hourly",
        "each house's mean load and its most loaded plug, every minute over an hour",
        sliding(
            partition_by="house_id",
            order_by="ts",
            range="1 hour",
            slide="1 minute",
            lateness=LATENESS,
            mean=Mean("load"),
            worst=ArgMax("load", "plug_id"),
        ),
        hourly_by_spark,
        ("house_id", "window_start"),
        ("mean", "worst"),
    ),
    Question(
        "percentiles",
        "each house's median, 90th and 99th percentile, every ten minutes over an hour",
        sliding(
            partition_by="house_id",
            order_by="ts",
            range="1 hour",
            slide="10 minutes",
            lateness=LATENESS,
            percentiles=MomentSketch("load", order=MOMENTS, quantiles=QUANTILES),
        ),
        percentiles_by_spark,
        ("house_id", "window_start"),
        ("percentiles",),
        close=1e-3,  # an estimate solves for a density, which magnifies the last bits
    ),
)
