"""Spark: queries against Spark's own frames and `window()`, by cores, and the memory of one key."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bench import debs
from bench.alone import alone, tell
from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import checked, failure, run_ready, timed, turns
from bench.points import Figure, Place, Point, Points
from bench.processes import family, shared_bytes
from bench.results import OURS
from bench.rules import TOO_FEW, ahead, at_most, scales, spread
from bench.sessions import session, spark_rows, to_nowhere
from windrow import (
    ArgMax,
    HyperLogLog,
    Max,
    Mean,
    Median,
    Min,
    StdDev,
    Sum,
    aggregation,
    sliding,
)

# -- against Spark's own ---------------------------------------------------------------------------

TREE, DEFAULT, WINDOW = "Spark, segment tree", "Spark, default", "Spark, window()"
PANDAS = "Spark, pandas UDF"
SETTING = "spark.sql.window.segmentTree.enabled"
ROWS = Figure("max over the last rows", "max over the last w rows of a key", "window", "µs a row")
OTHERS = Figure("other questions", "other questions", "question", "µs a row")
KEYS = 1000
SORT = "shuffle and sort"
RANGES = {"1 minute": 60, "1 hour": 3600, "10 hours": 36_000}
HOPS = {"minute": 60, "second": 3600}  # of the hops of an hour
HORIZONS = ["1 hour", "1 day", "7 days", "30 days"]
FIVE = "max, min, mean, sum, stddev"
SKETCH, OWN = "distinct values, about", "own function"
REPEATS = 3  # at most: a round takes two minutes
ONE_HORIZON, FOUR_HORIZONS = "five aggregations, an hour", "five aggregations, four horizons"


@dataclass(frozen=True)
class Case:
    """A job: what it makes of a frame, with which setting, over how many rows."""

    figure: Figure
    x: Place
    name: str
    make: Callable[[Any], Any]
    tree: bool = False
    rows: int = 1 << 62  # at most so many: what takes too long is asked about fewer
    keys: int = KEYS
    about: float = 1e-9  # how far results may be from another's


class Rows:
    """The rows (key, ts, v) of a session, as many as a case asks for, cached."""

    def __init__(self, spark: Any, settings: Settings, n: int) -> None:
        self.spark, self.settings, self.n = spark, settings, n
        self._frames: dict[tuple[int, int], Any] = {}

    def __call__(self, case: Case) -> Any:
        """Return as many rows as a case asks for."""
        known = min(case.rows, self.n), case.keys
        if known not in self._frames:
            self._frames[known] = self._made(*known).cache()
            self._frames[known].count()
        return self._frames[known]

    def _made(self, n: int, keys: int) -> Any:
        if not self.settings.data:
            return spark_rows(self.spark, n, keys)
        table = debs.readings(self.settings.data).slice(0, n).rename_columns(["key", "ts", "v"])
        return self.spark.createDataFrame(table)


def cases(windows: list[int], visits: int, n: int) -> Iterator[Case]:
    """Yield all jobs over n rows; a default frame may look at about `visits` values.

    What is asked about fewer rows has as many less keys, so that windows are as full.
    """
    yield Case(OTHERS, SORT, "Spark", _sorted)
    yield from _last_rows(windows, visits, n)
    yield from _without_a_key()
    for x, size in ((ONE_HORIZON, HORIZONS[0]), (FOUR_HORIZONS, HORIZONS)):
        query = sliding(partition_by="key", order_by="ts", range=size, **_five())
        yield Case(OTHERS, x, OURS, partial(_over_two_months, query))
    yield from _hops(visits)


def _five() -> dict[str, Any]:
    """Return five aggregations by the names of their results."""
    return {"a": Max("v"), "b": Min("v"), "c": Mean("v"), "d": Sum("v"), "e": StdDev("v")}


def _last_rows(windows: list[int], visits: int, n: int) -> Iterator[Case]:
    """Yield aggregations of the last rows of each key."""
    from pyspark.sql import Window as Frame
    from pyspark.sql import functions as sf

    def fewer(rows: int) -> dict[str, Any]:
        rows = max(6_000, rows)
        return {"rows": rows, "keys": max(2, KEYS * rows // n)} if rows < n else {}

    keyed = Frame.partitionBy("key").orderBy("ts")
    width, argmax = 1024 if 1024 in windows else windows[-1], sf.max_by("ts", "v")
    columns: list[tuple[Figure, Place, int, dict[str, Any], list[Any]]] = [
        *((ROWS, w, w, {"a": Max("v")}, [sf.max("v")]) for w in windows),
        (OTHERS, "stddev", width, {"a": StdDev("v")}, [sf.stddev("v")]),
        (
            OTHERS,
            FIVE,
            width,
            _five(),
            [sf.max("v"), sf.min("v"), sf.avg("v"), sf.sum("v"), sf.stddev("v")],
        ),
        (OTHERS, "argmax", width, {"by": ArgMax("v", "ts")}, [argmax]),
        (
            OTHERS,
            "max, mean, argmax",
            width,
            {"a": Max("v"), "b": Mean("v"), "by": ArgMax("v", "ts")},
            [sf.max("v"), sf.avg("v"), argmax],
        ),
    ]
    for figure, name, w, parts, own in columns:
        x = f"{name}, {w} rows" if isinstance(name, str) else name
        last = keyed.rowsBetween(1 - w, 0)
        yield Case(figure, x, OURS, sliding(partition_by="key", order_by="ts", rows=w, **parts))
        known = "by" not in parts  # the tree does not know max_by
        few = fewer(visits // (w if known else 8 * w))
        yield Case(figure, x, TREE, _over(last, own, list(parts)), True, **({} if known else few))
        yield Case(figure, x, DEFAULT, _over(last, own, list(parts)), **few)
    last, few = keyed.rowsBetween(1 - width, 0), fewer(visits // (16 * width))
    for name, part, theirs, column, about in (
        (SKETCH, HyperLogLog("v"), DEFAULT, sf.approx_count_distinct("v", 0.016), 0.05),
        (OWN, _own(), PANDAS, _pandas_function()("v"), 1e-9),
    ):
        x = f"{name}, {width} rows"
        query = sliding(partition_by="key", order_by="ts", rows=width, a=part)
        yield Case(OTHERS, x, OURS, query, about=about)
        yield Case(OTHERS, x, theirs, _over(last, [column], ["a"]), **few, about=about)
    yield from _medians(last, width, max(5_000, visits // width))


def _without_a_key() -> Iterator[Case]:
    """Yield maxima of a time, of all rows together."""
    from pyspark.sql import Window as Frame
    from pyspark.sql import functions as sf

    for name, seconds in RANGES.items():
        frame = Frame.orderBy(sf.col("ts").cast("double")).rangeBetween(-seconds, 0)
        x = f"max without a key, {name}"
        yield Case(OTHERS, x, OURS, sliding(order_by="ts", range=name, a=Max("v")))
        yield Case(OTHERS, x, TREE, _over(frame, [sf.max("v")], ["a"]), True)


def _hops(visits: int) -> Iterator[Case]:
    """Yield maxima of windows that hop."""
    from pyspark.sql import functions as sf

    for name, hops in HOPS.items():
        x, fewest = f"max, an hour every {name}", max(500, visits // hops**2)
        query = sliding(
            partition_by="key", order_by="ts", range="1 hour", slide=f"1 {name}", a=Max("v")
        )
        window = partial(sf.window, "ts", "1 hour", f"1 {name}")
        yield Case(OTHERS, x, OURS, query, rows=max(5_000, 6 * visits // hops))
        yield Case(OTHERS, x, WINDOW, partial(_hopping, window), rows=fewest)


def _medians(last: Any, w: int, few: int) -> Iterator[Case]:
    """Yield medians, of so few keys that windows of the few rows are full."""
    from pyspark.sql import functions as sf

    x, keys = f"median, {w} rows", max(1, few // (4 * w))
    query = sliding(partition_by="key", order_by="ts", rows=w, a=Median("v"))
    yield Case(OTHERS, x, OURS, query, keys=keys)
    yield Case(OTHERS, x, DEFAULT, _over(last, [sf.percentile("v", 0.5)], ["a"]), False, few, keys)


def _own() -> Any:
    """Return an aggregation of functions of one's own."""
    return aggregation(
        "v",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: s[1] - s[0],
    )


def _pandas_function() -> Any:
    """Return the same for Spark, which calls it for each window."""
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def spread_of(values: Any) -> Any:
        return values.max() - values.min()

    spread_of.__annotations__ = {"values": pd.Series, "return": float}
    return pandas_udf(spread_of, "double")  # type: ignore[call-overload]


def _sorted(frame: Any) -> Any:
    return frame.repartition("key").sortWithinPartitions("key", "ts")


def _over_two_months(query: Any, frame: Any) -> Any:
    """Return the query over rows of sixty days, where there were ten hours."""
    from pyspark.sql import functions as sf

    return query(frame.withColumn("ts", sf.expr("timestamp_micros(144 * unix_micros(ts))")))


def _over(window: Any, columns: list[Any], names: list[str]) -> Callable[[Any], Any]:
    pairs = list(zip(columns, names, strict=True))
    return lambda frame: frame.select("*", *[c.over(window).alias(name) for c, name in pairs])


def _hopping(window: Callable[[], Any], frame: Any) -> Any:
    from pyspark.sql import functions as sf

    return frame.groupBy("key", window()).agg(sf.max("v").alias("a"))


def spark_own(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Yield the points of all cases; those of a place take turns."""
    n = settings.size(3_000_000, 200_000)
    windows = [w for w in (8, 64, 1024, 4000) if w <= max(8, settings.largest)]
    windows = windows[:3] if settings.quick else windows
    with session() as spark:
        rows = Rows(spark, settings, n)
        every = list(cases(windows, min(n * 20, 4_000_000 if settings.quick else 200_000_000), n))
        places = list(dict.fromkeys((case.figure, case.x) for case in every))
        for share, place in clock.shares(places):
            of_place = [case for case in every if (case.figure, case.x) == place]
            if clock.over:
                yield from (case.figure.missing(case.name, case.x) for case in of_place)
            else:
                yield from _measured(spark, rows, of_place, share, settings)


def _measured(
    spark: Any, rows: Rows, place: list[Case], clock: Clock, settings: Settings
) -> Iterator[Point]:
    """Yield the points of the cases of one place; their results are compared over the same rows."""
    least = min(place, key=lambda case: case.rows)
    alike = [replace(case, rows=least.rows, keys=least.keys) for case in place]
    totals = {case.name: partial(_total, spark, case, rows) for case in alike}
    timings = checked(totals, lambda a, b: abs(a - b) <= least.about * max(1.0, abs(b)))
    jobs = {case.name: partial(_run, spark, case, rows) for case in place}
    repeats = min(REPEATS, settings.repeats)
    ready = sum(timing.ready for timing in timings.values())
    run_ready(timings, jobs, repeats if clock.left > 3 * repeats * ready else 1)
    for case in place:
        n = rows(case).count()
        timings[case.name].more["rows"] = n
        yield timings[case.name].point(case.figure, case.name, case.x, n)


def _run(spark: Any, case: Case, rows: Rows) -> None:
    spark.conf.set(SETTING, str(case.tree).lower())
    to_nowhere(case.make(rows(case)))


def _total(spark: Any, case: Case, rows: Rows) -> float:
    """Return the sum of the results: the same for all, whatever the order of the rows."""
    from pyspark.sql import functions as sf

    spark.conf.set(SETTING, str(case.tree).lower())
    frame = case.make(rows(case))
    name = next(name for name in ("a", "by", "key") if name in frame.columns)
    return float(frame.agg(sf.sum(sf.col(name).cast("double"))).first()[0] or 0.0)


def _question(points: Points, begins: str) -> float | None:
    """Return our cost of a question of many rows."""
    costs = points.values(OTHERS, OURS).items()
    return next((y for x, y in costs if str(x).startswith(begins)), None)


def _against_sort(points: Points) -> Verdict:
    sort, ours = points.value(OTHERS, "Spark", SORT), points.values(ROWS, OURS)
    costs = [y for x, y in ours.items() if not isinstance(x, str) and x > 8]
    if sort is None or not costs:
        return TOO_FEW
    ratio = max(costs) / sort
    return Verdict(f"{ratio:.2f} of it", ratio <= 1.2)


def _best_plan(points: Points) -> Verdict:
    """Compare with whichever of Spark's own plans is faster; 5 % are noise where it is ours."""
    trees, frames = (points.ratios(ROWS, OURS, peer) for peer in (TREE, DEFAULT))
    best = {x: min(ratio, frames.get(x, ratio)) for x, ratio in trees.items()}
    if not best:
        return TOO_FEW
    text = ", ".join(f"{ratio:.2f}× at {x}" for x, ratio in best.items())
    return Verdict(text, min(best.values()) >= 0.95)


def _together(points: Points) -> Verdict:
    one, several = _question(points, "argmax"), _question(points, "max, mean, argmax")
    if one is None or several is None:
        return TOO_FEW
    return Verdict(f"{several / one:.2f} times one", several < 1.5 * one)


def _horizons(points: Points) -> Verdict:
    one, four = _question(points, ONE_HORIZON), _question(points, FOUR_HORIZONS)
    if one is None or four is None:
        return TOO_FEW
    return Verdict(f"{four / one:.2f} times one", four <= 1.5 * one)


def _question_rule(begins: str, peer: str, by: float) -> Rule:
    def check(points: Points) -> Verdict:
        by_question = points.ratios(OTHERS, OURS, peer).items()
        ratios = [ratio for x, ratio in by_question if str(x).startswith(begins)]
        if not ratios:
            return TOO_FEW
        return Verdict(f"{peer} / {OURS}: {min(ratios):.2f}× at least", min(ratios) >= by)

    return Rule(f"{OTHERS.name}: {begins}: {by:g} times as fast as {peer}", check)


SPARK_OWN = Experiment(
    "spark",
    "queries over Spark DataFrames",
    "3,000,000 cached rows of (key, ts, v) over ten hours, 1,000 keys (200,000 rows in a quick "
    "run), into the noop sink, on all cores. Spark's own frames look at every value of a window "
    "without the segment tree, and its window() copies each row for every window that it is in: "
    "both are asked about fewer rows, of as many less keys. The sums of the results are compared.",
    (ROWS, OTHERS),
    spark_own,
    rules=(
        Rule(f"{ROWS.name}: as fast as the best of Spark's plans, at all places", _best_plan),
        ahead(ROWS, OURS, TREE, since=1024, by=2),
        ahead(ROWS, OURS, DEFAULT, since=4000, by=30),
        spread(ROWS, 1.5, OURS),
        Rule(f"{ROWS.name}: at most 1.2 times the cost of {SORT} from 64 on", _against_sort),
        Rule(f"{OTHERS.name}: three aggregations cost less than 1.5 times one", _together),
        Rule(f"{OTHERS.name}: four horizons cost at most 1.5 times one", _horizons),
        _question_rule(FIVE, TREE, 5),
        _question_rule("max, mean, argmax", TREE, 50),
        _question_rule("stddev", TREE, 2.5),
        _question_rule("argmax", TREE, 50),
        _question_rule(SKETCH, DEFAULT, 50),
        _question_rule(OWN, PANDAS, 50),
        _question_rule("median", DEFAULT, 50),
        _question_rule("max without a key, 1 hour", TREE, 3),
        _question_rule("max without a key, 10 hours", TREE, 1),
        _question_rule("max, an hour every", WINDOW, 20),
    ),
    weight=4.0,
)


# -- in processes of their own ---------------------------------------------------------------------

CORES = Figure("cores", "max without a key, an hour", "cores", "µs a row", (False, False))
MEMORY = Figure("memory of one key", "of all processes together", "range", "MB", (True, False))
SECONDS = Figure("time of one key", "from the rows to the results", "range", "s", (True, False))


def in_processes(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Without a key on one core and on two, in turns; then one key, by a short and a long range."""
    rows = settings.size(10_000_000, 400_000)
    yield from _by_cores(rows, settings, clock.share(1, of=2))
    rows = settings.size(20_000_000, 800_000)
    for share, span in clock.shares(["1 minute", "1 hour"]):
        try:
            (costs,) = alone(one_key, rows, span, "600m", seconds=share.left)
        except Exception as error:
            yield from (f.missing(OURS, span, failure(error)) for f in (MEMORY, SECONDS))
            continue
        yield MEMORY.point(OURS, span, costs["megabytes"], rows=rows)
        yield SECONDS.point(OURS, span, costs["seconds"], rows=rows)


def _by_cores(rows: int, settings: Settings, clock: Clock) -> Iterator[Point]:
    runs: dict[str, list[float]] = {"1": [], "2": []}
    why = ""
    for cores in turns(runs, min(REPEATS, settings.repeats)):
        if why or (clock.over and runs[cores]):
            continue
        try:
            runs[cores] += alone(no_key, int(cores), rows, seconds=max(30.0, clock.left))
        except Exception as error:
            why = failure(error)
    for cores, times in runs.items():
        point = CORES.timed(OURS, int(cores), [seconds / rows for seconds in times], rows=rows)
        yield point if times else CORES.missing(OURS, int(cores), why)


def no_key(cores: int, rows: int) -> None:
    """Tell the seconds of a query without a key over cached rows, after one to warm up."""
    os.sched_setaffinity(0, range(cores))  # one core is one for Java and Python together
    query = sliding(order_by="ts", range="1 hour", m=Max("v"))
    with session(cores, "4g") as spark:
        frame = spark_rows(spark, rows, 1).cache()
        frame.count()
        to_nowhere(frame.transform(query))
        tell(timed(lambda: to_nowhere(frame.transform(query)))[0])


def one_key(rows: int, span: str, heap: str) -> None:
    """Tell the seconds of a query over rows of one key, and the memory of all processes."""
    query = sliding(partition_by="key", order_by="ts", range=span, m=Max("v"))
    with Memory() as memory, session(memory=heap) as spark:
        to_nowhere(spark_rows(spark, min(rows, 200_000), 1).transform(query))
        frame = spark_rows(spark, rows, 1)
        seconds = timed(lambda: to_nowhere(frame.transform(query)))[0]
        time.sleep(0.3)  # so that the end is seen, too
    tell({"seconds": seconds, "megabytes": memory.most >> 20})


class Memory:
    """The most memory of this process and all below it, in bytes; looked at 5 times a second."""

    def __init__(self) -> None:
        self.most = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.most = max(self.most, sum(map(shared_bytes, family())))


IN_PROCESSES = Experiment(
    "spark alone",
    "one core and two; one key in little memory",
    "Each in a process of its own. Without a key, 10,000,000 cached rows; all rows of one key, "
    "20,000,000 that are not cached, with 600 MB for Java (fewer rows in a quick run). Memory is "
    "that of Java, the driver and its workers, each page counted once.",
    (CORES, MEMORY, SECONDS),
    in_processes,
    rules=(scales(CORES, OURS, 1.6), at_most(MEMORY, 2048)),
    weight=2.0,
)


EXPERIMENTS = (SPARK_OWN, IN_PROCESSES)
