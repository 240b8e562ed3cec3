"""The work of `compare`: a fixed small set that uses only what any windrow has in its interface.

windrow is imported by the functions, in a process whose path leads to the checkout's own.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.alone import tell
from bench.feed import Feed
from bench.measure import timed, turns
from bench.sessions import session, spark_rows, to_nowhere

Cases = dict[str, Callable[[], float]]  # by name, a call that returns seconds
WIDTHS = (64, 1024, 65536)
RUNS = 3  # of each case in a process, after one to warm up


def measure_area(area: str, source: str, quick: bool, largest: int) -> None:
    """Tell the median seconds of each case of an area, or in words why there are none."""
    import windrow

    if not Path(windrow.__file__).is_relative_to(source):
        raise RuntimeError(f"windrow was imported from {windrow.__file__}, not from {source}")
    with AREAS[area](quick, largest) as cases:
        runs: dict[str, list[float]] = {}
        for name, case in cases.items():
            try:
                case()
                runs[name] = []
            except Exception as error:
                tell([name, f"{type(error).__name__}: {error}".partition("\n")[0][:80]])
        for name in turns(runs, RUNS):
            runs[name].append(cases[name]())
        for name, seconds in runs.items():
            tell([name, statistics.median(seconds)])


def seconds_of(call: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], float]:
    """Return a call that returns how many seconds another one takes."""
    return lambda: timed(partial(call, *arguments, **options))[0]


@contextmanager
def arrays(quick: bool, largest: int) -> Iterator[Cases]:
    """Each aggregation by rows and by range, with short and long windows."""
    from windrow import ArgMax, CountDistinct, Max, Mean, StdDev, Sum, aggregation, rolling

    n = min(100_000 if quick else 1_000_000, largest)
    values = np.random.default_rng(1).standard_normal(n)
    few = np.random.default_rng(2).integers(0, 1000, n)
    at = np.datetime64("2026-01-01", "us") + np.arange(n) * np.timedelta64(1, "s")
    own = aggregation(
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: s[1] - s[0],
    )
    aggregations: dict[str, Any] = {
        "max": Max(), "sum": Sum(), "mean": Mean(), "stddev": StdDev(), "argmax": ArgMax(),
        "count_distinct": CountDistinct(), "own": own,
    }  # fmt: skip
    cases: Cases = {}
    for name, one in aggregations.items():
        array = few if name == "count_distinct" else values
        for w in WIDTHS:
            cases[f"{name}, rows={w}"] = seconds_of(rolling, array, one, rows=w)
            span = {"range": f"{w - 1} seconds", "at": at}
            cases[f"{name}, range of {w}"] = seconds_of(rolling, array, one, **span)
    yield cases


@contextmanager
def tables(quick: bool, largest: int) -> Iterator[Cases]:
    """Arrow tables of one key and of many; windows by rows, by range and hopping."""
    import pyarrow as pa

    from windrow import ArgMax, Max, Mean, sliding

    n = min(100_000 if quick else 1_000_000, largest)
    random = np.random.default_rng(1)
    at = np.datetime64("2026-01-01", "us") + np.cumsum(random.integers(1, 7_200_000, n))
    columns = {"ts": at, "load": random.normal(100.0, 20.0, n)}
    windows: dict[str, dict[str, Any]] = {
        "rows=1000": {"rows": 1000},
        "range=1 hour": {"range": "1 hour"},
        "hopping": {"range": "1 hour", "slide": "1 minute"},
    }
    wanted: dict[str, dict[str, Any]] = {
        "max, mean": {"peak": Max("load"), "mean": Mean("load")},
        "argmax": {"worst": ArgMax("load", "ts")},
    }
    cases: Cases = {}
    for keys in (1, 10_000):
        table = pa.table({"key": random.integers(0, keys, n), **columns})
        for window, extent in windows.items():
            for name, results in wanted.items():
                query = sliding(partition_by="key", order_by="ts", **extent, **results)
                cases[f"{name}, {keys:,} key(s), {window}"] = seconds_of(query, table)
    yield cases


@contextmanager
def spark(quick: bool, largest: int) -> Iterator[Cases]:
    """DataFrames: by key, several aggregations, without a key, and hopping windows."""
    from windrow import ArgMax, Max, Mean, Min, StdDev, sliding

    n = min(100_000 if quick else 1_000_000, largest)
    keyed: Any = {"partition_by": "key", "order_by": "ts"}
    five: Any = {
        "a": Max("v"), "b": Min("v"), "c": Mean("v"), "d": StdDev("v"), "e": ArgMax("v", "ts"),
    }  # fmt: skip
    queries = {
        "max, rows=8": sliding(**keyed, rows=8, m=Max("v")),
        "max, rows=1024": sliding(**keyed, rows=1024, m=Max("v")),
        "five aggregations, rows=1024": sliding(**keyed, rows=1024, **five),
        "max without a key, 1 hour": sliding(order_by="ts", range="1 hour", m=Max("v")),
        "hopping, 60 slides": sliding(**keyed, range="1 hour", slide="1 minute", m=Max("v")),
    }
    with session() as spark:
        frame = spark_rows(spark, n, 1000).cache()
        frame.count()
        yield {
            name: seconds_of(lambda query: to_nowhere(frame.transform(query)), query)
            for name, query in queries.items()
        }


@contextmanager
def streams(quick: bool, largest: int) -> Iterator[Cases]:
    """Streams: a result a row of 10,000 keys, and hopping windows; without the first batch."""
    from windrow import Max, Mean, sliding

    n = min(10_000 if quick else 100_000, largest)
    keyed: Any = {"partition_by": "key", "order_by": "ts", "lateness": "5 seconds"}
    queries = {
        "a result a row, 10,000 keys": (10_000, sliding(**keyed, rows=100, m=Max("v"))),
        "hopping, 60 slides": (
            100,
            sliding(**keyed, range="60 seconds", slide="1 second", m=Max("v"), a=Mean("v")),
        ),
    }
    with session() as spark, tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        cases: Cases = {}
        for name, (keys, query) in queries.items():
            feed = Feed(spark, Path(folder), keys, per_second=max(1000, keys))
            for _ in range(4):
                feed.add(n)
            cases[name] = partial(feed.row_seconds, query, 600.0)
        yield cases


AREAS = {"arrays": arrays, "tables": tables, "spark": spark, "streams": streams}
