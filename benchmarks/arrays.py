"""How fast `rolling` is over arrays, against its peers and against itself.

    python -m benchmarks.arrays [--quick] [--only peers own …] [--json FILE] [--markdown FILE]

One run measures everything, one contender after the other and then again, so that a disturbance
of the machine meets all of them. A first call, which may compile, is kept apart from the timed
ones; a figure is their median, with the smallest and the largest. All run on one thread unless
the section is about threads. The tables at the top say what is measured: a case is a line there.
Ctrl-C ends the run and keeps what is done.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from functools import cached_property, partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow import (
    Aggregation,
    ArgMax,
    Bloom,
    Count,
    Max,
    Mean,
    Min,
    RollingState,
    StdDev,
    Sum,
    aggregation,
    rolling,
)
from windrow.compiled.rolling import COMPILED
from windrow.errors import Unsupported

Row = dict[str, Any]
Call = Callable[["Data", int], Any]

SLOW = 20.0  # seconds; what takes longer is run once
OURS = "windrow"
SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)


class Data:
    """One array in the forms in which the peers take it; making these is not timed."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    @cached_property
    def bottleneck(self) -> Any:
        return import_module("bottleneck")

    @cached_property
    def numbagg(self) -> Any:
        return import_module("numbagg")

    @cached_property
    def ndimage(self) -> Any:
        return import_module("scipy.ndimage")

    @cached_property
    def series(self) -> Any:
        return import_module("pandas").Series(self.values)

    @cached_property
    def column(self) -> Any:
        return import_module("polars").Series(self.values)

    @cached_property
    def connection(self) -> Any:
        made = import_module("duckdb").connect(config={"threads": 1})
        given = {"i": np.arange(self.values.size), "v": self.values}
        made.register("given", given)
        made.execute("CREATE TABLE t AS SELECT i, v FROM given")
        made.unregister("given")
        return made

    def pandas(self, w: int) -> Any:
        return self.series.rolling(w, min_periods=1)

    def duckdb(self, call: str, w: int) -> Any:
        frame = f"ORDER BY i ROWS BETWEEN {w - 1} PRECEDING AND CURRENT ROW"
        query = f"SELECT {call} OVER ({frame}) AS a FROM t"
        try:
            return self.connection.execute(query).fetchnumpy()["a"]
        except RuntimeError as error:  # what becomes of Ctrl-C in a query
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise


def argmax_position(d: Data, w: int) -> Any:
    """Bottleneck counts from the window's end."""
    return np.arange(d.values.size) - d.bottleneck.move_argmax(d.values, w, min_count=1)


def scipy_filter(name: str, outside: float) -> Call:
    """A filter whose window ends at the value instead of being centred on it."""

    def call(d: Data, w: int) -> Any:
        run = getattr(d.ndimage, name)
        return run(d.values, w, mode="constant", cval=outside, origin=(w - 1) // 2)

    return call


def ours(make: Callable[[], Aggregation]) -> Call:
    return lambda d, w: rolling(d.values, make(), rows=w)


# The question, and how each library asks it; one that is not named has no such function.
COMPARISONS: dict[str, dict[str, Call]] = {
    "max": {
        OURS: ours(Max),
        "bottleneck": lambda d, w: d.bottleneck.move_max(d.values, w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).max().to_numpy(),
        "polars": lambda d, w: d.column.rolling_max(w, min_samples=1).to_numpy(),
        "scipy": scipy_filter("maximum_filter1d", -math.inf),
        "duckdb": lambda d, w: d.duckdb("max(v)", w),
    },
    "min": {
        OURS: ours(Min),
        "bottleneck": lambda d, w: d.bottleneck.move_min(d.values, w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).min().to_numpy(),
        "polars": lambda d, w: d.column.rolling_min(w, min_samples=1).to_numpy(),
        "scipy": scipy_filter("minimum_filter1d", math.inf),
        "duckdb": lambda d, w: d.duckdb("min(v)", w),
    },
    "argmax": {
        OURS: ours(ArgMax),
        "bottleneck": argmax_position,
        "duckdb": lambda d, w: d.duckdb("arg_max(i, v)", w),
    },
    "stddev": {
        OURS: ours(StdDev),
        "bottleneck": lambda d, w: d.bottleneck.move_std(d.values, w, min_count=1, ddof=1),
        "numbagg": lambda d, w: d.numbagg.move_std(d.values, window=w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).std().to_numpy(),
        "polars": lambda d, w: d.column.rolling_std(w, min_samples=1).to_numpy(),
        "duckdb": lambda d, w: d.duckdb("stddev_samp(v)", w),
    },
    "mean": {
        OURS: ours(Mean),
        "bottleneck": lambda d, w: d.bottleneck.move_mean(d.values, w, min_count=1),
        "numbagg": lambda d, w: d.numbagg.move_mean(d.values, window=w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).mean().to_numpy(),
        "polars": lambda d, w: d.column.rolling_mean(w, min_samples=1).to_numpy(),
        "duckdb": lambda d, w: d.duckdb("avg(v)", w),
    },
    "sum": {
        OURS: ours(Sum),
        "bottleneck": lambda d, w: d.bottleneck.move_sum(d.values, w, min_count=1),
        "numbagg": lambda d, w: d.numbagg.move_sum(d.values, window=w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).sum().to_numpy(),
        "polars": lambda d, w: d.column.rolling_sum(w, min_samples=1).to_numpy(),
        "duckdb": lambda d, w: d.duckdb("sum(v)", w),
    },
    "count": {
        OURS: ours(Count),
        "pandas": lambda d, w: d.pandas(w).count().to_numpy(),
        "duckdb": lambda d, w: d.duckdb("count(v)", w),
    },
}
PEERS = ("bottleneck", "numbagg", "pandas", "polars", "scipy", "duckdb")
PACKAGES = ("numpy", "numba", "llvmlite", *PEERS)

ACCURACY = [  # question, window, where the values lie
    (question, w, centre)
    for question in ("sum", "mean", "stddev")
    for w in (64, 1024)
    for centre in (0.0, 1e8)
]
SAMPLES = 200

OWN_WINDOWS = (64, 1024)
OWN_TARGET = 100
LOOP_WINDOWS = (64, 1024, 16384, 2**20)
LATENCY = ("two_stacks", "daba")
LATENCY_WINDOW = 2**14
LATENCY_WARM = 16  # calls before the timed ones
LATENCY_TARGET = 1 / 20
THREADED: dict[str, Callable[[], Aggregation]] = {
    "max": Max,
    "stddev": StdDev,
    "own": lambda: SPREAD,
}
THREADS_TARGET = 1.6
PBA_WINDOWS = (2**14, 2**16, 2**18, 2**20)
FIRST_TARGET = 1.0
FIRST_IMPORTS = "import numpy as np, numba"
FIRST_CALLS = {
    "Max()": "from windrow import Max, rolling\nrolling(np.arange(1000.), Max(), rows=10)",
    "own": """from windrow import aggregation, rolling
spread = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
rolling(np.arange(1000.), spread, rows=10)""",
}


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    quick: bool
    n: int
    repeats: int

    def windows(self, windows: Sequence[int]) -> list[int]:
        """Those that this run is long enough for."""
        return [w for w in windows if w <= (2**14 if self.quick else w) and 4 * w <= 2 * self.n]

    def values(self, n: int | None = None, centre: float = 0.0) -> NDArray[np.float64]:
        return centre + np.random.default_rng(1).standard_normal(n or self.n)


@dataclass(frozen=True)
class Section:
    """A table of the report: rows as they are measured, then what they show."""

    title: str
    run: Callable[[Settings], Iterator[Row]]
    show: Callable[[list[Row]], str]
    target: str
    reached: Callable[[list[Row]], list[bool]]  # whether each figure that has the target does

    def verdict(self, rows: list[Row]) -> str:
        """The target, and whether it is reached."""
        if not self.target:
            return "No target."
        met = self.reached(rows)
        word = "reached" if met and all(met) else "missed" if met else "not measured"
        return f"Target: {self.target}: **{word}** ({sum(met)} of {len(met)})."


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def summary(runs: Sequence[float], **more: Any) -> Row:
    """Runs in seconds, and what is shown of them."""
    return {
        "status": "ok",
        "median_s": statistics.median(runs),
        "min_s": min(runs),
        "max_s": max(runs),
        "runs_s": list(runs),
        **more,
    }


def failure(error: Exception) -> str:
    if isinstance(error, ImportError):
        return "not installed"
    if isinstance(error, Unsupported):
        return "not supported"
    first_line = str(error).partition("\n")[0]
    return f"failed: {type(error).__name__}: {first_line}"[:120]


def rounds(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """The seconds of each call in each round; each round begins with another of them."""
    runs: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(repeats):
        k = turn % max(1, len(names))
        for name in names[k:] + names[:k]:
            if not runs[name] or max(runs[name]) < SLOW:
                runs[name].append(timed(calls[name])[0])
    return runs


def measure(calls: Mapping[str, Callable[[], Any]], repeats: int, tolerance: float = 0.0) -> Row:
    """Time calls that should give the same answers as the first of them.

    What fails is reported and not timed; what disagrees is timed, and reported.
    """
    results: Row = {}
    reference = None
    for name, call in calls.items():
        try:
            first, answer = timed(call)
        except Exception as error:
            results[name] = {"status": failure(error)}
            continue
        results[name] = {"status": "ok", "first_s": first}
        answer = np.ma.filled(np.ma.asarray(answer, np.float64), np.nan)
        if reference is None:
            reference = answer
        elif not np.allclose(answer, reference, rtol=tolerance, atol=tolerance, equal_nan=True):
            results[name]["status"] = "disagrees"
    ready = {name: calls[name] for name in results if "first_s" in results[name]}
    slow = {name: results[name]["first_s"] for name in ready if results[name]["first_s"] > SLOW}
    runs = rounds({name: ready[name] for name in ready if name not in slow}, repeats)
    for name in ready:
        results[name] = summary(runs.get(name) or [slow[name]]) | results[name]
    return results


def median_of(result: Row) -> float:
    return float(result["median_s"]) if result["status"] == "ok" else math.inf


# peers ------------------------------------------------------------------------------------------


def peers(settings: Settings) -> Iterator[Row]:
    data = Data(settings.values())
    for question, calls in COMPARISONS.items():
        for w in settings.windows((8, 64, 1024, 16384, 2**20)):
            bound = {name: partial(call, data, w) for name, call in calls.items()}
            results = measure(bound, settings.repeats, tolerance=1e-6)
            yield {
                "question": question,
                "window": w,
                "n": data.values.size,
                "results": {
                    p: results.get(p, {"status": "no such function"}) for p in (OURS, *PEERS)
                },
                "ratio": ratio(results),
            }


def ratio(results: Row) -> float | None:
    """The fastest peer's time by ours: above 1 we win."""
    mine = median_of(results[OURS])
    fastest = min((median_of(r) for name, r in results.items() if name != OURS), default=math.inf)
    return fastest / mine if math.isfinite(fastest) and math.isfinite(mine) else None


def show_peers(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        results = row["results"]
        best = min(map(median_of, results.values()))
        cells = [cell(results[name], best) for name in (OURS, *PEERS)]
        first = f"{results[OURS]['first_s']:.2f}" if "first_s" in results[OURS] else "–"
        lines.append([row["question"], power(row["window"]), *cells, times(row["ratio"]), first])
    head = ["", "w", OURS, *PEERS, "fastest peer / windrow", "our first call, s"]
    return f"Milliseconds for {rows[0]['n']:,} values.\n\n{table(head, lines)}"


# accuracy ---------------------------------------------------------------------------------------


def accuracy(settings: Settings) -> Iterator[Row]:
    for centre in sorted({centre for _, _, centre in ACCURACY}):
        data = Data(settings.values(centre=centre))
        for question, w, at in ACCURACY:
            if at != centre or 2 * w > data.values.size:
                continue
            rows = np.random.default_rng(2).integers(w - 1, data.values.size, SAMPLES)
            rows[-1] = data.values.size - 1
            exact = exact_answers(question, data.values, rows, w)
            errors = {}
            for name in (OURS, "pandas", "bottleneck", "numbagg", "polars"):
                try:
                    got = np.asarray(COMPARISONS[question][name](data, w))[rows]
                    errors[name] = relative_errors(got, exact)
                except Exception as error:
                    errors[name] = {"status": failure(error)}
            yield {"question": question, "window": w, "centre": centre, "n": data.values.size,
                   "errors": errors}  # fmt: skip


def exact_answers(
    question: str, values: NDArray[np.float64], rows: NDArray[np.int64], w: int
) -> list[Decimal]:
    """The answers of some rows, from sums in whole numbers: to 60 digits."""
    mantissa, exponent = np.frexp(values)
    lowest = int(exponent.min())
    whole = (np.ldexp(mantissa, 53)).astype(np.int64).tolist()
    shifts = (exponent - lowest).tolist()
    wanted = set((rows + 1).tolist()) | set((rows + 1 - w).tolist())
    before: dict[int, tuple[int, int]] = {}  # position: the sums of all values before it
    total = squares = 0
    for position, (m, shift) in enumerate(zip(whole, shifts, strict=True)):
        if position in wanted:
            before[position] = total, squares
        value = m << shift
        total += value
        squares += value * value
    before[len(whole)] = total, squares
    answers = []
    with localcontext(prec=60):
        unit = Decimal(2) ** (lowest - 53)
        for row in rows.tolist():
            (s0, q0), (s1, q1) = before[row + 1 - w], before[row + 1]
            s, q = s1 - s0, q1 - q0
            if question == "stddev":
                answers.append((Decimal(w * q - s * s) / (w * (w - 1))).sqrt() * unit)
            else:
                answers.append(Decimal(s) * unit / (w if question == "mean" else 1))
    return answers


def relative_errors(got: NDArray[np.float64], exact: list[Decimal]) -> Row:
    missing = int(np.isnan(got).sum())
    if missing:
        return {"status": f"NaN in {missing} of {len(exact)}"}
    errors = [abs(float((Decimal(g) - e) / e)) for g, e in zip(got.tolist(), exact, strict=True)]
    rms = math.sqrt(statistics.fmean(e * e for e in errors))
    return {"status": "ok", "max": max(errors), "rms": rms, "samples": len(errors)}


def show_accuracy(rows: list[Row]) -> str:
    names = list(rows[0]["errors"])
    lines = []
    for row in rows:
        errors = row["errors"]
        best = min((e["max"] for e in errors.values() if "max" in e), default=0.0)
        cells = []
        for name in names:
            e = errors[name]
            text = f"{e['max']:.1e} ({e['rms']:.1e})" if "max" in e else e["status"]
            cells.append(f"**{text}**" if e.get("max") == best else text)
        values = f"{row['centre']:.0e} + N(0, 1)" if row["centre"] else "N(0, 1)"
        lines.append([row["question"], power(row["window"]), values, *cells])
    intro = (
        f"Largest relative error (root mean square) of {SAMPLES} windows sampled from "
        f"{rows[0]['n']:,} values, against exact arithmetic."
    )
    return f"{intro}\n\n{table(['', 'w', 'values', *names], lines)}"


# own functions ----------------------------------------------------------------------------------


def spread_of(window: NDArray[np.float64]) -> float:
    """What pandas calls for each window."""
    low: float = np.min(window)
    high: float = np.max(window)
    return high - low


def pandas_apply(data: Data, w: int, **options: Any) -> Any:
    return data.pandas(w).apply(spread_of, raw=True, **options).to_numpy()


def own(settings: Settings) -> Iterator[Row]:
    values = settings.values()
    for w in settings.windows(OWN_WINDOWS):
        short = Data(values[: max(20_000, 20 * w)])  # pandas takes microseconds a value
        calls = {
            OURS: partial(rolling, short.values, SPREAD, rows=w),
            "pandas apply": partial(pandas_apply, short, w),
            "pandas apply, engine=numba": partial(pandas_apply, short, w, engine="numba"),
        }
        results = measure(calls, 1, tolerance=1e-9)  # the answers, on the short array
        sizes = dict.fromkeys(results, short.values.size) | {OURS: values.size}
        calls[OURS] = partial(rolling, values, SPREAD, rows=w)
        ready = {name: calls[name] for name, r in results.items() if "first_s" in r}
        for name, runs in rounds(ready, settings.repeats).items():
            results[name] = summary(runs) | {k: results[name][k] for k in ("status", "first_s")}
        per_value = {name: median_of(r) / sizes[name] for name, r in results.items()}
        found = {
            name: seconds / per_value[OURS] if math.isfinite(seconds + per_value[OURS]) else None
            for name, seconds in per_value.items()
        }
        yield {"window": w, "sizes": sizes, "results": results, "ratios": found}


def show_own(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        for name, r in row["results"].items():
            ran = "median_s" in r
            seconds = f"{r['median_s'] / row['sizes'][name] * 1e9:,.1f}" if ran else r["status"]
            first = f"{r['first_s']:.2f}" if ran else "–"
            ratio_ = "" if name == OURS else times(row["ratios"][name])
            lines.append(
                [power(row["window"]), name, f"{row['sizes'][name]:,}", seconds, first, ratio_]
            )
    head = ["w", "", "values", "ns a value", "first call, s", "its time / windrow's"]
    return f"max - min as a user's own functions.\n\n{table(head, lines)}"


# loops ------------------------------------------------------------------------------------------


def loops(settings: Settings) -> Iterator[Row]:
    for w in settings.windows(LOOP_WINDOWS):
        values = settings.values(max(settings.n, 4 * w))
        feeds = {}
        rows: dict[str, Row] = {}
        for name in COMPILED:
            feed = Feed(name, w)
            rows[name] = {"algorithm": name, "window": w, "status": "ok"}
            try:
                events = feed.fill(values[: 2 * w], budget=0.3 if settings.quick else 1.0)
            except Exception as error:
                rows[name]["status"] = failure(error)
                continue
            part = values[2 * w :][: events - events % w if events > w else events]
            feeds[name] = partial(feed, part)
            rows[name] |= {"events": part.size, "first_s": feed.first}
        for name, runs in rounds(feeds, settings.repeats).items():
            rows[name] |= summary(runs)
            rows[name]["million_a_second"] = rows[name]["events"] / rows[name]["median_s"] / 1e6
        yield from rows.values()


class Feed:
    """A stream of Max by one algorithm's loop, past its beginning."""

    piece = 4096
    patience = 10.0

    def __init__(self, algorithm: str, w: int) -> None:
        self.algorithm, self.w = algorithm, w
        self.state = RollingState()
        self.first = 0.0

    def __call__(self, values: NDArray[np.float64]) -> Any:
        return rolling(values, Max(), rows=self.w, algorithm=self.algorithm, state=self.state)

    def fill(self, values: NDArray[np.float64], budget: float) -> int:
        """Let the window fill; returns how many events will take `budget` seconds."""
        self.first = timed(lambda: self(values[:1]))[0]
        start = time.perf_counter()
        for at in range(1, values.size, self.piece):
            self(values[at : at + self.piece])
            if time.perf_counter() - start > self.patience:
                raise TimeoutError(f"the window was not full after {self.patience:.0f} s")
        pilot = np.resize(
            values, max(self.piece, self.w)
        )  # a whole window: some work comes once in it
        seconds = timed(lambda: self(pilot))[0]
        return max(self.piece, int(budget / seconds * pilot.size))


def drifts(rows: list[Row]) -> dict[str, float | None]:
    """The rate at the longest window by that at the shortest, of each algorithm."""
    ends = min(r["window"] for r in rows), max(r["window"] for r in rows)
    rates = {(r["algorithm"], r["window"]): r.get("million_a_second") for r in rows}
    found: dict[str, float | None] = {}
    for name in dict.fromkeys(r["algorithm"] for r in rows):
        short, long = (rates.get((name, w)) for w in ends)
        found[name] = long / short if short and long else None
    return found


def show_loops(rows: list[Row]) -> str:
    windows = sorted({r["window"] for r in rows})
    by = {(r["algorithm"], r["window"]): r for r in rows}
    lines = []
    for name, drift in drifts(rows).items():
        cells = []
        for w in windows:
            r = by.get((name, w), {"status": "not measured"})
            text = r["status"]
            if "runs_s" in r:
                low, high = r["events"] / r["max_s"] / 1e6, r["events"] / r["min_s"] / 1e6
                text = f"{r['million_a_second']:.4g} ({low:.4g}–{high:.4g})"
            cells.append(text)
        lines.append([name, *cells, "–" if drift is None else f"{drift:.2f}"])
    head = [
        "",
        *(f"w = {power(w)}" for w in windows),
        f"rate at {power(windows[-1])} / {power(windows[0])}",
    ]
    intro = "Max by each algorithm's own loop, the window full: million events a second."
    return f"{intro}\n\n{table(head, lines)}"


# latency ----------------------------------------------------------------------------------------


def latency(settings: Settings) -> Iterator[Row]:
    """Rounds over one stream, and each call's median over the rounds.

    The operating system takes the processor away for milliseconds, from another call in each
    round; what an algorithm does at a call is the same in all of them, and is left in the median.
    """
    w = min(LATENCY_WINDOW, settings.n)
    values = np.random.default_rng(1).integers(0, 2**62, 3 * w + LATENCY_WARM)
    seen: dict[str, list[list[float]]] = {name: [] for name in LATENCY}
    ways = {}
    for turn in range(settings.repeats):
        for name in LATENCY if turn % 2 == 0 else LATENCY[::-1]:
            row: Row = {"algorithm": name, "window": w, "round": turn + 1}
            try:
                seconds, ways[name] = latencies(name, values, w)
            except Exception as error:
                yield row | {"status": failure(error)}
                continue
            seen[name].append(seconds)
            yield row | {"how": ways[name]} | percentiles(seconds)
    for name, each in seen.items():
        if each:
            row = {"algorithm": name, "window": w, "round": "median"}
            yield row | {"how": ways[name]} | percentiles(np.median(each, axis=0).tolist())


def percentiles(seconds: list[float]) -> Row:
    p50, p99 = np.percentile(seconds, [50, 99]).tolist()
    calls = len(seconds)
    return {"status": "ok", "p50_s": p50, "p99_s": p99, "max_s": max(seconds), "calls": calls}


def latencies(algorithm: str, values: NDArray[np.int64], w: int) -> tuple[list[float], str]:
    """The seconds of each call of one value, the window full; and what ran, Loop or Interpreted."""
    state, bloom = RollingState(), Bloom(bits=16384)
    rolling(values[:w], bloom, rows=w, algorithm=algorithm, state=state)
    seconds = []
    gc.collect()
    gc.disable()
    try:
        for i in range(w, values.size):
            one = values[i : i + 1]
            start = time.perf_counter()
            rolling(one, bloom, rows=w, algorithm=algorithm, state=state)
            seconds.append(time.perf_counter() - start)
    finally:
        gc.enable()
    rollers = getattr(getattr(state, "_stream", None), "rollers", None)
    return seconds[LATENCY_WARM:], type(rollers[0]).__name__ if rollers else "unknown"


def latency_ratio(rows: list[Row], *, rounds_too: bool = False) -> float | None:
    """The second algorithm's longest call by the first one's: of the medians, or of all rounds."""
    longest = []
    for name in LATENCY:
        mine = [r for r in rows if r["algorithm"] == name and r["status"] == "ok"]
        found = [r["max_s"] for r in mine if (r["round"] != "median") == rounds_too]
        if not found:
            return None
        longest.append(max(found))
    return float(longest[1] / longest[0])


def show_latency(rows: list[Row]) -> str:
    lines = []
    for r in rows:
        figures = ["–"] * 3
        if r["status"] == "ok":
            figures = [f"{r[key] * 1e6:,.1f}" for key in ("p50_s", "p99_s", "max_s")]
        what = r.get("how", r["status"])
        lines.append([r["algorithm"], str(r["round"]), what, *figures])
    head = ["", "round", "run by", "p50, µs", "p99, µs", "max, µs"]
    intro = (
        f"Bloom(bits=16384), w = {power(rows[0]['window'])}: one value a call. The rounds have the "
        "same values; `median` is of each call's median over the rounds, without what the "
        "operating system does to one round."
    )
    before, after = LATENCY
    plain, raw = latency_ratio(rows), latency_ratio(rows, rounds_too=True)
    last = ""
    if plain is not None:
        last = f"\n\nLongest call, {after} / {before}: {plain:.4f}; of single rounds, {raw:.4f}."
    return f"{intro}\n\n{table(head, lines)}{last}"


# threads ----------------------------------------------------------------------------------------


def threads(settings: Settings) -> Iterator[Row]:
    values = settings.values(settings.n * 5 // 2)
    for name, make in THREADED.items():
        w = min(1000, values.size)
        yield pair(
            f"{name}, threads=1 → 2",
            w,
            partial(rolling, values, make(), rows=w),
            partial(rolling, values, make(), rows=w, threads=2),
            settings,
            THREADS_TARGET,
        )
    for w in settings.windows(PBA_WINDOWS):
        yield pair(
            "max, sba → pba",
            w,
            partial(rolling, values, Max(), rows=w, algorithm="sba"),
            partial(rolling, values, Max(), rows=w, algorithm="pba", threads=2),
            settings,
            1.0,
        )


def pair(
    case: str,
    w: int,
    before: Callable[[], Any],
    after: Callable[[], Any],
    settings: Settings,
    target: float,
) -> Row:
    """How much faster `after` is than `before`."""
    results = measure({"before": before, "after": after}, settings.repeats, tolerance=1e-9)
    mine, other = median_of(results["after"]), median_of(results["before"])
    gain = other / mine if math.isfinite(mine) and math.isfinite(other) else None
    return {"case": case, "window": w, "results": results, "gain": gain, "target": target}


def show_threads(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        cells = [cell(row["results"][name], 0.0) for name in ("before", "after")]
        target = f"≥ {row['target']:g}"
        lines.append([row["case"], power(row["window"]), *cells, times(row["gain"]), target])
    return "Milliseconds.\n\n" + table(
        ["", "w", "before", "after", "before / after", "target"], lines
    )


# first call -------------------------------------------------------------------------------------


def first(settings: Settings) -> Iterator[Row]:
    scripts = {"": FIRST_IMPORTS} | {k: f"{FIRST_IMPORTS}\n{v}" for k, v in FIRST_CALLS.items()}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for i, (name, code) in enumerate(scripts.items()):
            paths[name] = Path(folder, f"first_{i}.py")
            clock = "import time\nstart = time.perf_counter()\n"
            paths[name].write_text(f"{clock}{code}\nprint(time.perf_counter() - start)\n")
        warm = {name: in_process(path) for name, path in paths.items()}  # fills the cache
        runs: dict[str, list[float]] = {name: [] for name in warm}
        for _ in range(5):
            for name, path in paths.items():
                runs[name].append(in_process(path))
        imports = statistics.median(runs[""])
        for i, name in enumerate(FIRST_CALLS):
            cold = in_process(paths[name], WINDROW_CACHE_DIR=str(Path(folder, f"cold_{i}")))
            yield {
                "case": name,
                "imports_s": imports,
                "seconds": statistics.median(runs[name]) - imports,
                "cold_s": cold - imports,
                **summary(runs[name]),
            }


def in_process(path: Path, **environment: str) -> float:
    """The seconds that a script in a new process says it took."""
    command = [sys.executable, str(path)]
    env = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return float(done.stdout)


def show_first(rows: list[Row]) -> str:
    lines = [
        [
            r["case"],
            f"{r['seconds']:.3f}",
            f"{r['min_s'] - r['imports_s']:.3f}–{r['max_s'] - r['imports_s']:.3f}",
            f"{r['imports_s']:.3f}",
            f"{r['cold_s']:.3f}",
        ]
        for r in rows
    ]
    head = ["", "first call, s", "min–max", "importing NumPy and Numba, s", "generated anew, s"]
    return (
        "A new process: importing windrow and the first call, without what importing NumPy and "
        f"Numba takes; median of 5.\n\n{table(head, lines)}"
    )


# the report -------------------------------------------------------------------------------------

SECTIONS = {
    "peers": Section(
        "Against other libraries", peers, show_peers,
        "as fast as the fastest peer, or faster",
        lambda rows: [r["ratio"] >= 1 for r in rows if r["ratio"] is not None],
    ),
    "accuracy": Section("Accuracy", accuracy, show_accuracy, "", lambda rows: []),
    "own": Section(
        "A user's own functions", own, show_own,
        f"{OWN_TARGET} times as fast as pandas' apply(raw=True)",
        lambda rows: [
            r["ratios"]["pandas apply"] >= OWN_TARGET
            for r in rows if r["ratios"].get("pandas apply") is not None
        ],
    ),
    "loops": Section("The algorithms' loops", loops, show_loops, "", lambda rows: []),
    "latency": Section(
        "Latency", latency, show_latency,
        f"daba's longest call at most {LATENCY_TARGET:g} of two_stacks', as medians over rounds",
        lambda rows: [x <= LATENCY_TARGET for x in [latency_ratio(rows)] if x is not None],
    ),
    "threads": Section(
        "Threads", threads, show_threads,
        f"{THREADS_TARGET} times as fast with two threads; pba not slower than sba",
        lambda rows: [r["gain"] >= r["target"] for r in rows if r["gain"] is not None],
    ),
    "first": Section(
        "The first call", first, show_first,
        f"less than {FIRST_TARGET} s with a warm cache",
        lambda rows: [r["seconds"] < FIRST_TARGET for r in rows],
    ),
}  # fmt: skip


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(text.replace('|', '/') for text in row)} |" for row in rows)


def cell(result: Row, best: float) -> str:
    """Milliseconds as median (min–max), the best in bold; or why there are none."""
    if "median_s" not in result:
        return "–" if result["status"] == "no such function" else str(result["status"])
    median, low, high = (milliseconds(result[k]) for k in ("median_s", "min_s", "max_s"))
    text = f"{median} ({low}–{high})" if len(result["runs_s"]) > 1 else f"{median} (once)"
    if result["status"] != "ok":
        return f"{text} {result['status']}"
    return f"**{text}**" if result["median_s"] == best else text


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.{2 if seconds < 0.01 else 1}f}"


def times(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}×"


def power(w: int) -> str:
    return f"2^{w.bit_length() - 1}" if w >= 2**14 and w.bit_count() == 1 else str(w)


def machine() -> Row:
    """What the figures depend on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "windrow": import_module("windrow").__version__,
        "versions": versions,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_before": load(),
    }


def load() -> float | None:
    """How many processes wanted to run in the last minute; more than the cores spoil figures."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def markdown(report: Row) -> str:
    """The report as it is read."""
    about, settings = report["machine"], report["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    loads = ", ".join(
        f"{about[k]:.1f} {when}"
        for k, when in (("load_before", "before"), ("load_after", "after"))
        if about.get(k) is not None
    )
    ran = (
        f"{about['cpu']}, {about['cores']} cores, {about['system']}; Python {about['python']}, "
        f"windrow {about['windrow']}, {versions}. Load {loads or 'unknown'}. {about['when']}."
    )
    how = (
        f"{'A quick run: ' if settings['quick'] else ''}{settings['repeats']} interleaved repeats; "
        "medians, in brackets the smallest and the largest. **Bold** is best, – means that there "
        "is no such function."
    )
    parts = ["# windrow over arrays", ran, how]
    if max(about.get("load_before") or 0, about.get("load_after") or 0) > about["cores"]:
        parts.append("**The machine was busy:** more processes wanted to run than there are cores.")
    if not report["finished"]:
        parts.append("**Not finished:** the run was interrupted.")
    for name, found in report["sections"].items():
        section = SECTIONS[name]
        shown = section.show(found["rows"]) if found["rows"] else "Nothing was measured."
        parts += [f"## {section.title}", shown, section.verdict(found["rows"])]
        if "error" in found:
            parts.append(f"**Not finished:** {found['error']}")
    return "\n\n".join(parts) + "\n"


def measure_all(names: Sequence[str], settings: Settings, save: Callable[[Row], None]) -> Row:
    """Run the sections; what is measured is saved after each, and when the run is interrupted."""
    report: Row = {
        "machine": machine(),
        "settings": {"quick": settings.quick, "n": settings.n, "repeats": settings.repeats},
        "sections": {},
        "finished": False,
    }
    try:
        for name in names:
            start = time.perf_counter()
            found: Row = {"rows": [], "target": SECTIONS[name].target}
            report["sections"][name] = found
            say(f"{name}: {SECTIONS[name].title}")
            try:
                for row in SECTIONS[name].run(settings):
                    found["rows"].append(row)
                    what = [row[k] for k in ("question", "case", "algorithm", "window") if k in row]
                    say(f"  {name} {' '.join(map(str, what))}: {time.perf_counter() - start:.0f} s")
            except Exception as error:  # the other sections go on
                found["error"] = failure(error)
                say(f"  {name} {found['error']}")
            found["seconds"] = time.perf_counter() - start
            found["verdict"] = SECTIONS[name].verdict(found["rows"])
            say(f"  {found['verdict']}")
            save(report)
        report["finished"] = True
    except KeyboardInterrupt:
        say("interrupted; keeping what is done")
    report["machine"]["load_after"] = load()
    save(report)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.arrays",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the values")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="NAME",
                        help=f"of {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the raw results go")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="where the tables go")
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    n = given.n or (400_000 if given.quick else 4_000_000)
    settings = Settings(given.quick, n, repeats=3 if given.quick else 5)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

    def save(report: Row) -> None:
        if given.json:
            given.json.write_text(
                json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )
        if given.markdown:
            given.markdown.write_text(markdown(report), encoding="utf-8")

    names = [name for name in SECTIONS if name in (given.only or SECTIONS)]
    report = measure_all(names, settings, save)
    print(markdown(report), end="")
    return 0 if report["finished"] else 130


if __name__ == "__main__":
    sys.exit(main())
