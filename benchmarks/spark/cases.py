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
NO_KEY = "max without a key, range of an hour"
LONG = "max without a key, range of ten hours"
SEVERAL = "max, mean and argmax, 1024 rows"
HOPPING = "max, hopping windows of an hour every second"


@dataclass(frozen=True)
class Case:
    """A job, and the settings that it runs with."""

    comparison: str
    name: str
    make: Callable[[DataFrame], DataFrame]
    settings: tuple[tuple[str, str], ...] = ()
    keys: int | None = None  # of so many keys only: as long windows as with all, in less time
    rows: int | None = None  # over a frame of at most so many rows


def cases(windows: tuple[int, ...], rows: int, keys: int) -> Iterator[Case]:
    """All cases; those of one comparison stand together."""
    yield Case("sort", "shuffle and sort", _sorted)
    a_key = max(1, rows // keys)
    for w in windows:
        yield from _rows(f"max, {w} rows", w, {"m": Max("v")}, [sf.max("v")], a_key, keys)
    parts = {"m": Max("v"), "a": Mean("v"), "at": ArgMax("v", "ts")}
    own = [sf.max("v"), sf.avg("v"), sf.max_by("ts", "v")]
    yield from _rows(SEVERAL, 1024, parts, own, a_key, keys)
    best = {"at": ArgMax("v", "ts")}
    yield from _rows("argmax, 1024 rows", 1024, best, [sf.max_by("ts", "v")], a_key, keys)
    yield from _rows("stddev, 1024 rows", 1024, {"s": StdDev("v")}, [sf.stddev("v")], a_key, keys)
    yield from _without_key(NO_KEY, "1 hour", 3600)
    yield from _without_key(LONG, "10 hours", 36_000)
    yield from _hopping()


def _sorted(frame: DataFrame) -> DataFrame:
    return frame.repartition("key").sortWithinPartitions("key", "ts")


def _over(window: Any, columns: list[Column]) -> Callable[[DataFrame], DataFrame]:
    def make(frame: DataFrame) -> DataFrame:
        return frame.select("*", *[c.over(window).alias(f"c{i}") for i, c in enumerate(columns)])

    return make


def _rows(
    name: str, w: int, parts: Any, columns: list[Column], a_key: int, keys: int
) -> Iterator[Case]:
    query = sliding(partition_by="key", order_by="ts", rows=w, **parts)
    window = SparkWindow.partitionBy("key").orderBy("ts").rowsBetween(1 - w, 0)
    few = min(keys, max(4, 200_000_000 // (a_key * min(w, a_key))))  # Spark's default is O(w)
    slow = few if "at" in parts else None  # and so is the tree, as it does not know max_by
    yield Case(name, "windrow", lambda frame: frame.transform(query))
    yield Case(name, "segment tree", _over(window, columns), ((TREE, "true"),), slow)
    yield Case(name, "default", _over(window, columns), ((TREE, "false"),), few)


def _without_key(name: str, size: str, seconds: int) -> Iterator[Case]:
    query = sliding(order_by="ts", range=size, m=Max("v"))
    window = SparkWindow.orderBy(sf.col("ts").cast("double")).rangeBetween(-seconds, 0)
    yield Case(name, "windrow", lambda frame: frame.transform(query))
    yield Case(name, "segment tree", _over(window, [sf.max("v")]), ((TREE, "true"),))


def _hopping() -> Iterator[Case]:
    query = sliding(partition_by="key", order_by="ts", range="1 hour", slide="1 second", m=Max("v"))
    window = sf.window("ts", "1 hour", "1 second")
    yield Case(HOPPING, "windrow", lambda frame: frame.transform(query), rows=100_000)
    yield Case(
        HOPPING, "window()", lambda frame: frame.groupBy("key", window).agg(sf.max("v")), rows=500
    )  # it copies each row 3600 times, by code that is too long to be compiled
