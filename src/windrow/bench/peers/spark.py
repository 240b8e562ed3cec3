"""Spark: queries against Spark's own frames, their segment tree off and on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from windrow.aggregations import ArgMax, Max, Mean, StdDev
from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.measuring import failure, rounds, timed
from windrow.bench.peers.sessions import cores, session, stopped
from windrow.bench.points import DISAGREES, OK, Point, missing
from windrow.bench.ratios import OURS
from windrow.bench.settings import Settings
from windrow.queries.query import Query, sliding
from windrow.samples import debs

TREE, DEFAULT, WINDOW = "Spark, segment tree", "Spark, default", "Spark, window()"
SETTING = "spark.sql.window.segmentTree.enabled"
ROWS, OTHERS = "max over the last rows", "other questions"
UNIT = "µs a row"
KEYS = 1000


@dataclass(frozen=True)
class Case:
    """A job: what it makes of a frame, with which setting, over how many rows."""

    figure: str
    x: float | str
    name: str
    make: Callable[[Any], Any]
    tree: bool = False
    rows: int = 1 << 62  # at most so many: what takes too long is asked about fewer


class Rows:
    """The rows (key, ts, v) of a session, as many as a case asks for, cached."""

    def __init__(self, spark: Any, settings: Settings, n: int) -> None:
        self.spark, self.settings, self.n = spark, settings, n
        self._frames: dict[int, Any] = {}

    @cached_property
    def given(self) -> Any:
        """The user's own, if there are files."""
        table = debs.readings(self.settings.data).rename_columns(["key", "ts", "v"])
        return self.spark.createDataFrame(table)

    def __call__(self, n: int) -> Any:
        """The first n of them."""
        from pyspark.sql import functions as sf

        n = min(n, self.n)
        if n not in self._frames:
            if self.settings.data:
                frame = self.given.limit(n)
            else:
                frame = self.spark.range(n).select(
                    (sf.col("id") % KEYS).alias("key"),
                    sf.timestamp_micros(sf.col("id") * (1_000_000 // KEYS)).alias("ts"),
                    sf.rand(1).alias("v"),
                )
            self._frames[n] = frame.cache()
            self._frames[n].count()
        return self._frames[n]


def cases(windows: list[int], visits: int) -> Iterator[Case]:
    """All jobs; a default frame may look at about `visits` values."""
    from pyspark.sql import Window as Frame
    from pyspark.sql import functions as sf

    keyed = Frame.partitionBy("key").orderBy("ts")
    for w in windows:
        few = max(5_000, visits // w)
        query = sliding(partition_by="key", order_by="ts", rows=w, a=Max("v"))
        yield from _three(ROWS, w, query, keyed.rowsBetween(1 - w, 0), [sf.max("v")], few)
    w = windows[-1]
    few, last = max(5_000, visits // w), keyed.rowsBetween(1 - w, 0)
    query = sliding(partition_by="key", order_by="ts", rows=w, a=StdDev("v"))
    yield from _three(OTHERS, f"stddev, {w} rows", query, last, [sf.stddev("v")], few)
    query = sliding(
        partition_by="key", order_by="ts", rows=w, a=Max("v"), b=Mean("v"), c=ArgMax("v", "ts")
    )
    own = [sf.max("v"), sf.avg("v"), sf.max_by("ts", "v")]
    x = f"max, mean, argmax, {w} rows"
    yield Case(OTHERS, x, OURS, query)
    yield Case(OTHERS, x, TREE, _over(last, own), True, few)  # the tree does not know max_by
    yield Case(OTHERS, x, DEFAULT, _over(last, own), False, few)
    seconds = Frame.orderBy(sf.col("ts").cast("double")).rangeBetween(-60, 0)
    query = sliding(order_by="ts", range="1 minute", a=Max("v"))
    x = "max without a key, 1 minute"
    yield Case(OTHERS, x, OURS, query)
    yield Case(OTHERS, x, TREE, _over(seconds, [sf.max("v")]), True)
    query = sliding(partition_by="key", order_by="ts", range="1 hour", slide="1 minute", a=Max("v"))
    x = "max, an hour every minute"
    hops = sf.window("ts", "1 hour", "1 minute")
    yield Case(OTHERS, x, OURS, query)
    yield Case(
        OTHERS, x, WINDOW, lambda f: f.groupBy("key", hops).agg(sf.max("v").alias("a")),
        rows=max(5_000, visits // 60),
    )  # fmt: skip


def _three(
    figure: str, x: float | str, query: Query, frame: Any, own: list[Any], few: int
) -> Iterator[Case]:
    yield Case(figure, x, OURS, query)
    yield Case(figure, x, TREE, _over(frame, own), True)
    yield Case(figure, x, DEFAULT, _over(frame, own), False, few)


def _over(window: Any, columns: list[Any]) -> Callable[[Any], Any]:
    names = "abc"
    return lambda frame: frame.select(
        "*", *[c.over(window).alias(names[i]) for i, c in enumerate(columns)]
    )


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """The cases of a place take turns."""
    n = settings.size(2_000_000, 200_000)
    windows = [w for w in (8, 64, 1024, 8192) if w <= max(8, settings.largest)]
    windows = windows[:3] if settings.quick else windows
    with stopped(session(cores())) as spark:
        rows = Rows(spark, settings, n)
        every = list(cases(windows, min(n * 20, 4_000_000 if settings.quick else 100_000_000)))
        places = list(dict.fromkeys((case.figure, case.x) for case in every))
        for i, place in enumerate(places):
            here = [case for case in every if (case.figure, case.x) == place]
            if clock.over:
                yield from (missing(c.figure, c.name, c.x, UNIT, TIME_IS_UP) for c in here)
            else:
                yield from _measured(spark, rows, here, clock.share(1, len(places) - i), settings)


def _measured(
    spark: Any, rows: Rows, here: list[Case], clock: Clock, settings: Settings
) -> Iterator[Point]:
    first: dict[str, float] = {}
    status: dict[str, str] = {}
    reference: float | None = None
    few = min(case.rows for case in here)
    for case in here:
        try:
            first[case.name], total = timed(partial(_total, spark, replace(case, rows=few), rows))
        except Exception as error:
            yield missing(case.figure, case.name, case.x, UNIT, failure(error))
            continue
        reference = total if reference is None else reference
        agrees = abs(total - reference) <= 1e-9 * max(1.0, abs(reference))
        status[case.name] = OK if agrees else DISAGREES
    jobs = {case.name: partial(_run, spark, case, rows) for case in here if case.name in first}
    repeats = settings.repeats if clock.left > 3 * settings.repeats * len(jobs) else 1
    for name, runs in rounds(jobs, repeats).items():
        case = next(c for c in here if c.name == name)
        n = rows(case.rows).count()
        each = tuple(seconds / n * 1e6 for seconds in runs)
        yield Point(case.figure, name, case.x, UNIT, each, status[name], first[name], {"rows": n})


def _run(spark: Any, case: Case, rows: Rows) -> None:
    spark.conf.set(SETTING, str(case.tree).lower())
    case.make(rows(case.rows)).write.format("noop").mode("overwrite").save()


def _total(spark: Any, case: Case, rows: Rows) -> float:
    """The sum of the answers: the same for all, whatever the order of the rows."""
    from pyspark.sql import functions as sf

    spark.conf.set(SETTING, str(case.tree).lower())
    return float(case.make(rows(case.rows)).agg(sf.sum("a")).first()[0] or 0.0)


EXPERIMENT = Experiment(
    "spark",
    "queries over Spark DataFrames",
    "2,000,000 cached rows of (key, ts, v), 1,000 keys (200,000 in a quick run), into the noop "
    "sink, on all cores. Spark's own frames look at every value of a window without the segment "
    "tree, and are then asked about fewer rows. The sums of the answers are compared.",
    (
        Figure(ROWS, "max over the last w rows of a key", "window", UNIT),
        Figure(OTHERS, "other questions", "question", UNIT),
    ),
    run,
    weight=3.0,
)
