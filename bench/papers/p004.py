"""The experiments of paper 004: the boundary aggregators SBA and PBA."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.alone import alone, tell
from bench.cycles import event_nanoseconds
from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import EVENT, TYPICAL, Make, curve, failure, latencies, rounds
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, at_most, grows, scales
from bench.sessions import session, spark_rows, to_nowhere
from bench.windows import Compiled, Counting, Sliced, interpreted_events
from windrow import Aggregation, Max, MomentSketch, sliding

ALGORITHMS = ("two_stacks", "slick_deque", "sba", "pba")

# -- operations ------------------------------------------------------------------------------------

UNIT = "⊕ a slide"
MEANS = Figure("Table 1, amortised", "⊕ of a slide on average", "window", UNIT, (True, False))
WORSTS = Figure("Table 1, worst", "⊕ of the dearest slide", "window", UNIT)
# the paper's bounds: of a slide on average, and at worst (None: it grows with the window)
BOUNDS: dict[str, tuple[float, float | None]] = {
    "two_stacks": (3, None),
    "daba": (5, 8),
    "flatfit": (3, None),
    "slick_deque": (2, None),
    "pba": (3, 3),
}


def operations(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Three windows' worth of slides over random values; of PBA what the caller waits for."""
    for n in settings.powers(3, 14, quick=11):
        for name in BOUNDS:
            if clock.over:
                yield MEANS.missing(name, n)
                yield WORSTS.missing(name, n)
                continue
            costs = _slides(name, n)
            yield MEANS.point(name, n, sum(costs) / len(costs), exact=True)
            yield WORSTS.point(name, n, float(max(costs)), exact=True)


def _slides(name: str, n: int) -> list[int]:
    counting, source = Counting(), random.Random(n)
    swag = counting.window(name, n)
    for _ in range(n):
        swag.evict()
        swag.insert(source.randrange(1 << 30))
    costs = []
    period = n + 1 if name == "flatfit" else n  # whole ones, each with one flip
    for _ in range(3 * period):
        before = counting.here
        swag.evict()
        swag.insert(source.randrange(1 << 30))
        swag.query()
        costs.append(counting.here - before)
    return costs


OPERATIONS = Experiment(
    "004 operations",
    "⊕ a slide, amortised and at worst, exactly",
    "A counting maximum over random values in the interpreted windows: evict, insert, query. Of "
    "PBA only what the caller's thread does is counted; the second thread has as many again.",
    (MEANS, WORSTS),
    operations,
    source="Table 1",
    finding="On average 3 for Two-Stacks and FlatFIT, 5 for DABA, fewer than 2 for SlickDeque and "
    "fewer than 3 for PBA; at worst 3 for PBA and 8 for DABA, and the whole window for the others.",
    rules=(
        *(at_most(MEANS, mean, name) for name, (mean, _) in BOUNDS.items()),
        *(at_most(WORSTS, worst, name) for name, (_, worst) in BOUNDS.items() if worst is not None),
        grows(WORSTS, "two_stacks", "linear"),
        grows(WORSTS, "flatfit", "linear"),
    ),
    weight=0.6,
)


# -- ranges ----------------------------------------------------------------------------------------

FIGURE_4 = Figure("Figure 4", "throughput by window", "window", "million values a second")
SAME_WORK = (
    "the compiled loop of Two-Stacks is the boundary aggregator on whole windows: the same work "
    "in larger pieces"
)


def ranges(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 2^3 to 2^22, a value a slide; uniform values unless files are given."""
    values = settings.uniform(1 << 20)
    contenders = {
        name: partial(Compiled, name, Max(), values) for name in ("recalculate", *ALGORITHMS)
    }
    yield from curve(FIGURE_4, settings.powers(3, 22, quick=19), contenders, settings, clock)


RANGES = Experiment(
    "004 ranges",
    "throughput by range: SBA ahead on small windows, PBA on large",
    "The compiled loops of Max, one value a slide; PBA has a second thread.",
    (FIGURE_4,),
    ranges,
    source="Figure 4",
    finding="SBA is ahead of Two-Stacks and SlickDeque even on small windows; PBA gains with the "
    "window up to 2^15 and stays there, 2.5 times Two-Stacks and 4 times SlickDeque.",
    rules=(
        ahead(FIGURE_4, "sba", "two_stacks").unless(SAME_WORK),
        ahead(FIGURE_4, "sba", "slick_deque"),
        ahead(FIGURE_4, "sba", "pba", until=1 << 9).unless(
            "the second thread gets the chunks of a whole batch at once, so that handing them over "
            "pays from windows of 64 on"
        ),
        ahead(FIGURE_4, "pba", "sba", since=1 << 15).unless(
            "the second thread needs a core to itself; on a busy machine it waits"
        ),
        ahead(FIGURE_4, "pba", "two_stacks", since=1 << 15, by=1.2).unless(
            "a ⊕ of Max is a nanosecond here, and answers are written at the speed of "
            "memory: half of the ⊕ on another core saves less than in Java"
        ),
        grows(FIGURE_4, "recalculate", "linear", since=64),
    ),
)


# -- slides ----------------------------------------------------------------------------------------

FIGURE_5 = Figure(
    "Figure 5", "throughput by slide", "slide", "million values a second", (False, False)
)


def _sliced(
    values: NDArray[np.float64],
    starts_at: Callable[[int], NDArray[np.int64]],
    width_at: Callable[[int], int],
) -> dict[str, Make]:
    """Return windows of slices by each algorithm; where slices begin and how many depend on x."""

    def make(algorithm: str, x: int, seconds: float) -> Sliced:
        return Sliced(algorithm, values, starts_at(x), width_at(x), seconds)

    return {name: partial(make, name) for name in ALGORITHMS}


def slides(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Slides of 1 to 10 over a range of 2^17."""
    window = settings.size(1 << 17, 1 << 15)
    values = settings.uniform(max(1 << 12, 4 * window))
    places = [1, 2, 4, 7, 10] if settings.quick else list(range(1, 11))
    contenders = _sliced(
        values,
        lambda slide: np.arange(0, values.size - slide + 1, slide),
        lambda slide: max(1, window // slide),
    )
    yield from curve(FIGURE_5, places, contenders, settings, clock)


def _closer(points: Points) -> Verdict:
    lines = [dict(points.line(FIGURE_5, name)) for name in ALGORITHMS]
    common = sorted(set.intersection(*map(set, lines)))
    if len(common) < 2:
        return TOO_FEW
    spread = [max(at) / min(at) for at in ([line[x] for line in lines] for x in common)]
    return Verdict(
        f"the fastest by the slowest: {spread[0]:.2f} at a slide of {common[0]:.0f}, "
        f"{spread[-1]:.2f} at {common[-1]:.0f}",
        spread[-1] < spread[0],
    )


SLIDES = Experiment(
    "004 slides",
    "throughput by slide: the algorithms draw near each other",
    "Slices of the slide's length are aggregated by NumPy, and their partials merged by the "
    "compiled loop; the range is 2^17 (2^15 in a quick run), rounded down to whole slices.",
    (FIGURE_5,),
    slides,
    source="Figure 5",
    finding="All gain with the slide, since fewer partials are merged; PBA leads at small slides, "
    "and the algorithms come closer as slicing becomes the larger part of the work.",
    rules=(
        Rule(
            "Figure 5: the fastest and the slowest are nearer at the largest slide than at 1",
            _closer,
        ),
        scales(FIGURE_5, "two_stacks", 1.0),
        scales(FIGURE_5, "sba", 1.0),
        ahead(FIGURE_5, "pba", "two_stacks", until=2).unless(
            "as in 004 ranges: a ⊕ of Max is too cheap for a second thread to save much"
        ),
    ),
)


# -- time windows ----------------------------------------------------------------------------------

FIGURE_6A = replace(FIGURE_5, name="Figure 6a", title="by range, a slide of 10 ms", x="minutes")
FIGURE_6B = replace(FIGURE_5, name="Figure 6b", title="by slide, the longest range", x="slide, ms")
TICK = 10  # milliseconds from one value to the next: 100 a second
MINUTE = 60_000


def slices(times: NDArray[np.int64], slide: int) -> NDArray[np.int64]:
    """Return where each stretch of `slide` milliseconds begins; every one of them has a value."""
    edges = np.arange(times[0] - times[0] % slide, times[-1] + 1, slide)
    starts: NDArray[np.int64] = np.searchsorted(times, edges[edges <= times[-1]])
    return starts


def time_windows(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Ranges of 6 to 60 minutes every 10 ms, then slides of 10 to 100 ms over the longest."""
    n = max(settings.size(1 << 20, 1 << 18), 1 << 12)
    values = settings.uniform(n)
    times = np.arange(n) * TICK + np.random.default_rng(2).integers(0, TICK, n)
    minutes = settings.sizes([6, 12, 24] if settings.quick else list(range(6, 61, 6)))
    minutes = [m if settings.largest > 1000 else i + 1 for i, m in enumerate(minutes)]
    starts = slices(times, TICK)
    by_range = _sliced(values, lambda _: starts, lambda x: x * MINUTE // TICK)
    yield from curve(FIGURE_6A, minutes, by_range, settings, clock.share(1, of=2))
    places = [10, 20, 50, 100] if settings.quick else list(range(10, 101, 10))
    by_slide = _sliced(values, partial(slices, times), lambda x: minutes[-1] * MINUTE // x)
    yield from curve(FIGURE_6B, places, by_slide, settings, clock)


TIME_WINDOWS = Experiment(
    "004 time windows",
    "throughput of windows by time",
    "Values at 100 a second with times that jitter; a slice is a stretch of the slide's length, "
    "found by its times and aggregated by NumPy, and a window is range/slide slices, merged by the "
    "compiled loop. In a quick run the ranges end at 24 minutes.",
    (FIGURE_6A, FIGURE_6B),
    time_windows,
    source="Figure 6",
    finding="PBA is the fastest at large ranges, and SBA ahead of Two-Stacks and SlickDeque; with "
    "larger slides all of them gain.",
    rules=(
        ahead(FIGURE_6A, "sba", "slick_deque"),
        ahead(FIGURE_6A, "sba", "two_stacks").unless(SAME_WORK),
        ahead(FIGURE_6A, "pba", "sba", since=12).unless(
            "slicing is done before the merge, on one thread, and takes most of the "
            "time; the second thread saves on the rest only"
        ),
        ahead(FIGURE_6B, "sba", "slick_deque", until=20),
    ),
    weight=2.5,
)


# -- latency ---------------------------------------------------------------------------------------

TABLE_2 = Figure("Table 2", "latency of Max over 16,384 values", "statistic", EVENT)
TABLE_2_COMPILED = replace(TABLE_2, name="Table 2, compiled")
TABLE_3 = Figure("Table 3", "latency of MomentSketch over an hour", "statistic", EVENT)
EACH = "the longest of each stretch"
FIGURE_7 = Figure(
    "Figure 7", f"Max over 16,384 random values: {EACH}", "event", EVENT, (False, True)
)
FIGURE_7_COMPILED = replace(FIGURE_7, name="Figure 7, compiled")
# The other panels, and the tables that go with them.
SMALLER = replace(TABLE_2, name="Figure 7, 8,192", title="latency of Max over 8,192 values")
FIGURE_7_SMALLER = replace(FIGURE_7, name="Figure 7, 8,192 by event", title=f"Max: {EACH}")
LARGER = replace(TABLE_2, name="Figure 7, 16,384", title="latency of Max over 16,384 values")
FIGURE_7_LARGER = replace(FIGURE_7, name="Figure 7, 16,384 by event", title=f"Max: {EACH}")
FIGURE_7_HOUR = replace(FIGURE_7, name="Figure 7, an hour", title=f"MomentSketch: {EACH}")
TWO_HOURS = replace(TABLE_3, name="Figure 7, two hours", title="latency of MomentSketch")
FIGURE_7_HOURS = replace(
    FIGURE_7, name="Figure 7, two hours by event", title=f"MomentSketch: {EACH}"
)
ONE_THREAD = (
    "Python runs one thread at a time: what the second thread computes, the first waits for"
)


def latency(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max over random values and over those given, then MomentSketch over hours of seconds."""
    n = settings.size(1 << 14, 1 << 12)
    events = settings.size(1 << 17, 1 << 13)
    sketched = min(events, 1 << 14)
    chance = np.random.default_rng(1).random(events).tolist()
    values = settings.uniform(events).tolist()
    sketch = MomentSketch(order=10)
    cases: list[tuple[Figure, Figure, Aggregation, int, list[float]]] = [
        (TABLE_2, FIGURE_7, Max(), n, chance),
        (SMALLER, FIGURE_7_SMALLER, Max(), n // 2, values),
        (LARGER, FIGURE_7_LARGER, Max(), n, values),
        (TABLE_3, FIGURE_7_HOUR, sketch, min(n, 3600), values[:sketched]),
        (TWO_HOURS, FIGURE_7_HOURS, sketch, min(n, 7200), values[:sketched]),
    ]
    compiled = {
        name: partial(event_nanoseconds, name, Max(), w=n) for name in ALGORITHMS if name != "pba"
    }
    short = clock.share(1, of=20)
    yield from latencies(TABLE_2_COMPILED, compiled, chance, settings, short, FIGURE_7_COMPILED)
    for share, (table, stretches, part, w, events_of) in clock.shares(cases):
        contenders = {name: interpreted_events(name, part, events_of, w) for name in ALGORITHMS}
        yield from latencies(table, contenders, events_of, settings, share, stretches)


def _mean(points: Points) -> Verdict:
    means = {name: points.value(TABLE_2, name, "mean") for name in ALGORITHMS}
    if means["sba"] is None or means["two_stacks"] is None or means["slick_deque"] is None:
        return TOO_FEW
    text = ", ".join(f"{name} {ns:,.0f} ns" for name, ns in means.items() if ns is not None)
    return Verdict(text, means["sba"] <= 1.1 * max(means["two_stacks"], means["slick_deque"]))


LATENCY = Experiment(
    "004 latency",
    "latency of Max and of MomentSketch",
    "Interpreted windows: Max over 2^14 values (2^12 in a quick run) and half of them, and "
    "MomentSketch with ten powers over one and two hours of partials a second apart; the values of "
    "the first panel are random, the others those of `--data` if there is any. Python's threads "
    "take turns, so PBA's second thread disturbs the first; its ⊕ are counted in 004 operations. "
    "SlickDeque needs an aggregation that selects, and MomentSketch does not. Compiled, an event "
    "is timed inside the loop by the processor's counter of cycles; PBA is not among those: its "
    "threads share the work of batches.",
    (
        *(TABLE_2, FIGURE_7, TABLE_2_COMPILED, FIGURE_7_COMPILED),
        *(SMALLER, FIGURE_7_SMALLER, LARGER, FIGURE_7_LARGER),
        *(TABLE_3, FIGURE_7_HOUR, TWO_HOURS, FIGURE_7_HOURS),
    ),
    latency,
    source="Tables 2 and 3, Figure 7",
    finding="Two-Stacks has a spike at every flip, SBA a smaller one at every boundary, SlickDeque "
    "and PBA none; PBA has the best mean, the smallest maximum and the smallest deviation.",
    rules=(
        ahead(TABLE_2, "slick_deque", "two_stacks", at=TYPICAL, by=2),
        ahead(TABLE_2, "pba", "two_stacks", at=TYPICAL, by=2).unless(ONE_THREAD),
        ahead(TABLE_2, "sba", "two_stacks", at=TYPICAL),
        ahead(TABLE_2_COMPILED, "slick_deque", "two_stacks", at=TYPICAL, by=2),
        ahead(TABLE_2_COMPILED, "sba", "two_stacks", at=TYPICAL).unless(SAME_WORK),
        ahead(TABLE_3, "pba", "two_stacks", at=TYPICAL, by=2).unless(ONE_THREAD),
        Rule(
            "Table 2: SBA's mean is at most 1.1 of the slower of Two-Stacks and SlickDeque",
            _mean,
            "interpreted, the steps around a ⊕ cost more than the ⊕ of Max, and SBA takes more of "
            "them for a value: it looks where the chunk and the boundary are",
        ),
    ),
)


# -- instances -------------------------------------------------------------------------------------

FIGURE_8 = Figure(
    "Figure 8", "throughput by instances", "instances", "thousand rows a second", (False, True)
)
FIGURE_8_NODES = replace(
    FIGURE_8, name="Figure 8, nodes", title="throughput by nodes", x="nodes of a cluster"
)
KEYS, WINDOW = 84, 1 << 10
OURS, THEIRS = "windrow on Spark", "Spark"


def instances(settings: Settings, clock: Clock) -> Iterator[Point]:
    """As many instances as there are cores, from one on: threads, then nodes of a cluster."""
    rows = settings.size(2_000_000, 400_000)
    few = min(rows, 200_000 if not settings.quick else 40_000)
    counts = range(1, min(6, os.cpu_count() or 1) + 1)
    cases = [(figure, count) for figure in (FIGURE_8, FIGURE_8_NODES) for count in counts]
    files = [str(path) for path in settings.data]
    for share, (figure, count) in clock.shares(cases):
        nodes = count if figure is FIGURE_8_NODES else 0
        sizes = (rows, few, min(WINDOW, rows))
        try:
            (runs,) = alone(both, count, nodes, *sizes, settings.repeats, files, seconds=share.left)
        except Exception as error:
            yield from (figure.missing(name, count, failure(error)) for name in (OURS, THEIRS))
            continue
        for name in (OURS, THEIRS):
            yield figure.timed(name, count, runs[name], runs["first_s"])


def both(
    cores: int, nodes: int, rows: int, few: int, window: int, repeats: int, files: list[str]
) -> None:
    """Tell the seconds a row of both, in a session of so many cores, or nodes if there are any."""
    from pyspark.sql import Window as SparkWindow
    from pyspark.sql import functions as sf

    values = Settings(data=tuple(map(Path, files))).values(rows) if files else None
    start = time.perf_counter()
    with session(cores, nodes=nodes) as spark:
        data = spark_rows(spark, rows, KEYS, values)
        frames = {n: data.limit(n).cache() if n < rows else data.cache() for n in {rows, few}}
        for frame in frames.values():
            frame.count()
        query = sliding(partition_by="key", order_by="ts", rows=window, m=Max("v"))
        over = SparkWindow.partitionBy("key").orderBy("ts").rowsBetween(1 - window, 0)
        jobs = {
            OURS: partial(to_nowhere, frames[rows].transform(query)),
            THEIRS: partial(to_nowhere, frames[few].withColumn("m", sf.max("v").over(over))),
        }
        rounds(jobs, 1)  # to warm up
        first = time.perf_counter() - start
        runs = rounds(jobs, repeats)
    a_row = {OURS: [s / rows for s in runs[OURS]], THEIRS: [s / few for s in runs[THEIRS]]}
    tell({"first_s": first, **a_row})


INSTANCES = Experiment(
    "004 instances",
    "parallel instances on a distributed engine",
    "Max over the last 1,024 rows of 84 keys, every row a result, in local[1], local[2], … as far "
    "as there are cores. Spark's own frame is asked about fewer rows, since it looks at 1,024 "
    "values for each; the paper's engine is Flink. Its nodes are the workers of a cluster that "
    "Spark starts on this machine, processes of one core each.",
    (FIGURE_8, FIGURE_8_NODES),
    instances,
    source="Figure 8",
    finding="Both grow linearly with the instances while each has a core for its reading and one "
    "for its aggregation, and PBA stays an order of magnitude ahead of the engine's own windows.",
    rules=(
        ahead(FIGURE_8, OURS, THEIRS, by=3),
        ahead(FIGURE_8_NODES, OURS, THEIRS, by=3),
        scales(FIGURE_8, OURS, 1.3).unless(
            "an instance is a thread of Spark and a Python worker, which keep two cores busy; "
            "where there are no more of them, a second instance has nothing to run on"
        ),
    ),
    weight=2.5,
)


EXPERIMENTS = (OPERATIONS, RANGES, SLIDES, TIME_WINDOWS, LATENCY, INSTANCES)
