"""Arrays: `rolling` against other libraries, and what it costs alone."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock, Experiment, Settings
from bench.measure import (
    EVENT,
    TYPICAL,
    Calls,
    Events,
    checked,
    close,
    curve,
    latencies,
    measure,
    nanoseconds,
    run_ready,
    timed,
    turns,
)
from bench.peers.accuracy import ACCURACY
from bench.peers.libraries import COMPARISONS, PEERS, STATISTICS, Data
from bench.points import Figure, Place, Point, Points
from bench.results import OURS
from bench.rules import ahead, at_most, grows
from bench.windows import Compiled
from windrow import ArgMax, Bloom, Max, Mean, RollingState, StdDev, Sum, aggregation, rolling

# -- against other libraries -----------------------------------------------------------------------

FIGURES = {name: Figure(name, f"rolling {name}", "window", "ms") for name in COMPARISONS}
WINDOWS = (8, 63, 64, 1024, 16384, 1 << 20)
TOLERANCE = 1e-6


def libraries(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each question at each window, everyone on one thread.

    Polars' rolling kernels are; its threads are left as they are, for the tables have all of them.
    """
    data = Data(settings.values(settings.size(4_000_000, 400_000)))
    few, n = len(data.few), data.values.size
    for w in settings.windows(WINDOWS, n):
        for question, calls in COMPARISONS.items():
            figure = FIGURES[question]
            if clock.over:
                yield from (figure.missing(name, w) for name in calls)
                continue
            bound = {name: partial(call, data, w) for name, call in calls.items()}
            timings = measure(bound, settings.repeats, TOLERANCE)
            for name in (name for name in (OURS, *PEERS) if name in timings):
                share = few / n if name == "river" else 1.0
                timings[name].more |= {"scaled_from": few} if share < 1 else {}
                yield timings[name].point(figure, name, w, share)


LIBRARIES = Experiment(
    "arrays",
    "rolling aggregates of arrays",
    "Everyone on one thread over the same doubles, 4,000,000 of them (400,000 in a quick run). "
    "Results are compared with ours; a library without the function is left out. river takes one "
    "value at a time and is asked about a twentieth of them, and its time multiplied (*). Whoever "
    "takes 30 times as long as the fastest is asked once.",
    tuple(FIGURES.values()),
    libraries,
    weight=7.0,
)


# -- order and pairs -------------------------------------------------------------------------------

STATISTIC = Figure("statistics", "order statistics and pairs", "question and window", "ms")
# How many times as fast as each of these is asked for.
GAINS = {
    "median": {"bottleneck": 2, "pandas": 2, "polars": 2},
    "corr": {"pandas": 3},
    "the 10 largest": {"duckdb": 10},
}


def statistic(question: str) -> str:
    """Return the name of a question with its window.

    >>> statistic("median")
    'median, w = 10,000'
    """
    return f"{question}, w = {STATISTICS[question][0]:,}"


def statistics_of(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each question at its window, everyone on one thread."""
    values = settings.values(settings.size(1_000_000, 100_000))
    for question, (w, part, calls) in STATISTICS.items():
        x, data = statistic(question), Data(values[: max(1, values.size // part)])
        if clock.over:
            yield from (STATISTIC.missing(name, x) for name in calls)
            continue
        w = min(w, data.values.size)
        bound = {name: partial(call, data, w) for name, call in calls.items()}
        timings = checked(bound, lambda a, b: close(numbers(a), numbers(b), TOLERANCE))
        run_ready(timings, bound, settings.repeats)
        for name, timing in timings.items():
            timing.more["values"] = data.values.size
            yield timing.point(STATISTIC, name, x)


def numbers(results: Any) -> NDArray[np.float64]:
    """Return the numbers of results, those of lists one after the other; NaN fills short rows."""
    if hasattr(results, "combine_chunks"):
        return np.asarray(results.combine_chunks().flatten())
    array = np.asarray(results, np.float64)
    return array[~np.isnan(array)]


STATISTIC_PEERS = Experiment(
    "arrays statistics",
    "order statistics and pairs",
    "Everyone on one thread over the same doubles, 1,000,000 of them (100,000 in a quick run), a "
    "twentieth for the 10 largest, which DuckDB answers as lists by `max(v, 10)`. Results are "
    "compared.",
    (STATISTIC,),
    statistics_of,
    rules=tuple(
        ahead(STATISTIC, OURS, peer, at=statistic(question), by=by)
        for question, peers in GAINS.items()
        for peer, by in peers.items()
    ),
)


# -- a user's own functions ------------------------------------------------------------------------

COST = Figure("own functions", "max − min as a user's own functions", "window", "ns a value")
APPLY, NUMBA = "pandas apply", "pandas apply, engine=numba"
SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)


def spread_of(window: NDArray[np.float64]) -> float:
    """Return what pandas asks for each window."""
    low: float = np.min(window)
    high: float = np.max(window)
    return high - low


def pandas_apply(data: Data, w: int, **options: Any) -> Any:
    return data.pandas(w).apply(spread_of, raw=True, **options).to_numpy()


def own_functions(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Results are compared on a short array: pandas takes microseconds a value."""
    values = settings.values(settings.size(4_000_000, 400_000))
    for w in settings.windows((64, 1024), values.size):
        short = Data(values[: max(20_000, 20 * w)])
        calls = {
            OURS: partial(rolling, short.values, SPREAD, rows=w),
            APPLY: partial(pandas_apply, short, w),
            NUMBA: partial(pandas_apply, short, w, engine="numba"),
        }
        if clock.over:
            yield from (COST.missing(name, w) for name in calls)
            continue
        timings = checked(calls, close)
        calls[OURS] = partial(rolling, values, SPREAD, rows=w)
        run_ready(timings, calls, settings.repeats)
        for name, timing in timings.items():
            size = values.size if name == OURS else short.values.size
            timing.more["values"] = size
            yield timing.point(COST, name, w, size)


OWN_FUNCTIONS = Experiment(
    "arrays own functions",
    "a user's own functions",
    "max − min written as lift, combine and lower; pandas calls a function for each window, over "
    "20,000 values.",
    (COST,),
    own_functions,
    rules=(ahead(COST, OURS, APPLY, by=100),),
    weight=0.5,
)


# -- the algorithms' loops -------------------------------------------------------------------------

RATE = Figure("loops", "Max by each algorithm's own loop", "window", "million values a second")
DRIFT = Figure("drift", "rate at the longest window by that at the shortest", "algorithm", "ratio")
COMPILED = (
    "recalculate", "subtract_on_evict", "two_stacks", "daba", "daba_lite", "flatfat", "b_int",
    "flatfit", "slick_deque", "sba", "pba", "log_mta", "amta",
)  # fmt: skip


def loops(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each algorithm at each window; then how much its rate changes with the window."""
    values = settings.values(1 << 20)
    windows = settings.windows((64, 1024, 16384, 1 << 20), settings.size(1 << 22, 1 << 19))
    contenders = {name: partial(Compiled, name, Max(), values) for name in COMPILED}
    points = Points()
    for point in curve(RATE, windows, contenders, settings, clock):
        yield points.add(point)
    for name in COMPILED:
        rates = points.values(RATE, name)
        if windows and windows[0] in rates and windows[-1] in rates:
            yield DRIFT.point("windrow", name, rates[windows[-1]] / rates[windows[0]])


LOOPS = Experiment(
    "arrays loops",
    "the algorithms' own loops",
    "`rolling(…, algorithm=…)` of Max over doubles, the window full, one value a slide.",
    (RATE, DRIFT),
    loops,
)


# -- late values -----------------------------------------------------------------------------------

LATE = Figure("late", "Max where every second value is late", "values late", RATE.unit)
FIBA = "fiba"


class Late:
    """A stream through FiBA's compiled loop: every second value comes d values late."""

    least, most = 1 << 12, 1 << 24

    def __init__(self, values: NDArray[Any], w: int, d: int, seconds: float) -> None:
        self.values = values
        self.at = 2 * np.arange(values.size)
        self.at[1::2] -= 2 * d + 1
        self.roll = partial(
            rolling, aggregation=Max(), range=2 * w, lateness=2 * d + 4, state=RollingState()
        )
        self.first = timed(lambda: self.run(2))[0]
        self.run(2 * w)

    def run(self, events: int) -> Any:
        for start in range(0, events, self.values.size):
            n = min(self.values.size, events - start)
            self.roll(self.values[:n], at=self.at[:n])
            self.at += 2 * n


def late(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Values up to 100,000 late in a window of 2^20."""
    values = settings.values(1 << 16)
    w = settings.size(1 << 20, 1 << 17)
    distances = [d for d in (1, 10, 100, 1000, 10_000, 100_000) if 2 * d <= w]
    contenders = {FIBA: partial(Late, values, w)}
    yield from curve(LATE, distances, contenders, settings, clock)


LATE_VALUES = Experiment(
    "arrays late",
    "values that come late",
    "`rolling(…, lateness=…)` of Max over doubles: every second value comes behind so many newer "
    "ones, in a window of a million.",
    (LATE,),
    late,
    rules=(grows(LATE, FIBA, "flat", since=10),),
    weight=0.5,
)


# -- latency ---------------------------------------------------------------------------------------

ONE_VALUE = Figure("latency", "one value a call, Bloom(bits=16384)", "statistic", EVENT)


def timed_calls(algorithm: str, values: Any, w: int) -> Events:
    """Return what fills a window, and times calls of one value each."""

    def run(calls: Any) -> Any:
        call = partial(
            rolling, aggregation=Bloom(bits=16384), rows=w, algorithm=algorithm,
            state=RollingState(),
        )  # fmt: skip
        call(values)
        for i in range(16):  # to warm up
            call(values[i : i + 1])
        return nanoseconds(call, calls)

    return run


def latency(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Two windows' worth of calls, by an algorithm that flips and by one that does not."""
    w = settings.size(1 << 14, 1 << 14)
    values = np.random.default_rng(1).integers(0, 2**62, 3 * w)
    contenders = {name: timed_calls(name, values[:w], w) for name in ("two_stacks", "daba")}
    calls = [values[i : i + 1] for i in range(w, values.size)]
    yield from latencies(ONE_VALUE, contenders, calls, settings, clock)


LATENCY = Experiment(
    "arrays latency",
    "the longest call of one value",
    "A window of 2^14 values, full; each call of `rolling` timed. “max, medians” is the longest of "
    "each call's median over the rounds: what the operating system does to one round is not in it.",
    (ONE_VALUE,),
    latency,
    rules=(ahead(ONE_VALUE, "daba", "two_stacks", at=TYPICAL, by=20),),
    weight=0.5,
)


# -- threads ---------------------------------------------------------------------------------------

TWO_THREADS = Figure("threads", "rolling with threads=2, w = 1000", "aggregation", "ms")
PBA = Figure("pba", "Max by SBA, and by PBA with its second thread", "window", "ms")
AGGREGATIONS = {
    "max": Max(), "argmax": ArgMax(), "sum": Sum(), "mean": Mean(), "stddev": StdDev(),
    "own": SPREAD,
}  # fmt: skip
LONG_WINDOWS = (1 << 14, 1 << 16, 1 << 18, 1 << 20)


def threads(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Pairs of calls that should give the same results."""
    values = settings.values(settings.size(10_000_000, 1_000_000))
    call, w = partial(rolling, values), min(1000, values.size)
    cases: list[tuple[Figure, Place, Calls]] = []
    for name, each in AGGREGATIONS.items():
        one = partial(call, each, rows=w)
        cases.append((TWO_THREADS, name, {"threads=1": one, "threads=2": partial(one, threads=2)}))
    for w in settings.windows(LONG_WINDOWS, values.size):
        sba = partial(call, Max(), rows=w, algorithm="sba")
        cases.append((PBA, w, {"sba": sba, "pba": partial(sba, algorithm="pba", threads=2)}))
    for figure, x, calls in cases:
        if clock.over:
            yield from (figure.missing(name, x) for name in calls)
        else:
            for name, timing in measure(calls, settings.repeats).items():
                yield timing.point(figure, name, x)


THREADS = Experiment(
    "arrays threads",
    "two threads against one",
    "10,000,000 doubles (1,000,000 in a quick run).",
    (TWO_THREADS, PBA),
    threads,
    rules=(ahead(TWO_THREADS, "threads=2", "threads=1", by=1.6), ahead(PBA, "pba", "sba")),
    weight=0.5,
)


# -- the first call --------------------------------------------------------------------------------

SECONDS = Figure(
    "first call", "importing windrow and the first call", "call", "s", (True, False), contest=False
)
WARM, COLD, IMPORTS = "warm cache", "generated anew", "importing NumPy and Numba"
CALLS = {
    "Max()": "from windrow import Max, rolling\nrolling(np.arange(1000.), Max(), rows=10)",
    "own": """from windrow import aggregation, rolling
spread = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
rolling(np.arange(1000.), spread, rows=10)""",
}
SCRIPT = """import time
start = time.perf_counter()
import numpy as np, numba
{}
print(time.perf_counter() - start)
"""


def first_call(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Scripts in processes of their own; the imports that any user of Numba pays are taken off."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        scripts = {}
        for i, (name, code) in enumerate({IMPORTS: "", **CALLS}.items()):
            scripts[name] = Path(folder, f"first_{i}.py")
            scripts[name].write_text(SCRIPT.format(code), encoding="utf-8")
            in_process(scripts[name])  # fills the cache
        runs: dict[str, list[float]] = {name: [] for name in scripts}
        for name in turns(scripts, 2 if settings.quick else 5):
            if not (clock.over and runs[name]):
                runs[name].append(in_process(scripts[name]))
        imports = statistics.median(runs[IMPORTS])
        for i, name in enumerate(CALLS):
            cold = in_process(scripts[name], WINDROW_CACHE_DIR=str(Path(folder, f"cold_{i}")))
            yield SECONDS.point(WARM, name, *(seconds - imports for seconds in runs[name]))
            yield SECONDS.point(COLD, name, cold - imports)
            yield SECONDS.point(IMPORTS, name, *runs[IMPORTS])


def in_process(path: Path, **environment: str) -> float:
    """Return the seconds that a script in a new process says it took."""
    command = [sys.executable, str(path)]
    env = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return float(done.stdout)


FIRST_CALL = Experiment(
    "arrays first call",
    "the first call of a new process",
    "Importing windrow and the first call, without what importing NumPy and Numba takes; with the "
    "cache of compiled loops, and without it.",
    (SECONDS,),
    first_call,
    rules=(at_most(SECONDS, 1.0, WARM),),
    weight=0.5,
)


EXPERIMENTS = (
    LIBRARIES, STATISTIC_PEERS, ACCURACY, OWN_FUNCTIONS, LOOPS, LATE_VALUES, LATENCY, THREADS,
    FIRST_CALL,
)  # fmt: skip
