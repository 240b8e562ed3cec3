"""What is compared: our plan and Spark's own, for the same question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as sf

from windrow import ArgMax, Max, Mean, StdDev, sliding

TREE = "spark.sql.window.segmentTree.enabled"


@dataclass(frozen=True)
class Case:
    """A job, and the settings that it runs with."""

    comparison: str
    name: str
    make: Callable[[DataFrame], DataFrame]
    settings: tuple[tuple[str, str], ...] = ()
    rows: int | None = None  # at most so many: what takes too long is asked about fewer


def cases(windows: tuple[int, ...]) -> Iterator[Case]:
    """All cases; those of one comparison stand together."""
    yield Case("sort", "shuffle and sort", _sorted)
    for w in windows:
        yield from _rows(f"max, {w} rows", w, {"m": Max("v")}, [sf.max("v")])
    parts = {"m": Max("v"), "a": Mean("v"), "at": ArgMax("v", "ts")}
    own = [sf.max("v"), sf.avg("v"), sf.max_by("ts", "v")]
    yield from _rows("max, mean and argmax, 1024 rows", 1024, parts, own)
    yield from _rows("stddev, 1024 rows", 1024, {"s": StdDev("v")}, [sf.stddev("v")])
    yield from _without_key()
    yield from _hopping()


def _sorted(frame: DataFrame) -> DataFrame:
    return frame.repartition("key").sortWithinPartitions("key", "ts")


def _over(window: Any, columns: list[Column]) -> Callable[[DataFrame], DataFrame]:
    def make(frame: DataFrame) -> DataFrame:
        return frame.select("*", *[c.over(window).alias(f"c{i}") for i, c in enumerate(columns)])

    return make


def _rows(name: str, w: int, parts: Any, columns: list[Column]) -> Iterator[Case]:
    query = sliding(partition_by="key", order_by="ts", rows=w, **parts)
    window = SparkWindow.partitionBy("key").orderBy("ts").rowsBetween(1 - w, 0)
    few = max(20_000, 400_000_000 // w)  # Spark's default looks at w rows for each
    slow = few if len(parts) > 1 else None  # and the tree does not know max_by
    yield Case(name, "windrow", lambda frame: frame.transform(query))
    yield Case(name, "segment tree", _over(window, columns), ((TREE, "true"),), slow)
    yield Case(name, "default", _over(window, columns), ((TREE, "false"),), few)


def _without_key() -> Iterator[Case]:
    name = "max without a key, range of an hour"
    query = sliding(order_by="ts", range="1 hour", m=Max("v"))
    seconds = SparkWindow.orderBy(sf.col("ts").cast("double")).rangeBetween(-3600, 0)
    yield Case(name, "windrow", lambda frame: frame.transform(query))
    yield Case(name, "segment tree", _over(seconds, [sf.max("v")]), ((TREE, "true"),))


def _hopping() -> Iterator[Case]:
    name = "max, hopping windows of an hour every second"
    query = sliding(partition_by="key", order_by="ts", range="1 hour", slide="1 second", m=Max("v"))
    window = sf.window("ts", "1 hour", "1 second")
    yield Case(name, "windrow", lambda frame: frame.transform(query), rows=100_000)
    yield Case(name, "window()", lambda f: f.groupBy("key", window).agg(sf.max("v")), rows=5_000)
