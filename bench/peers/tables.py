"""Tables: queries against pandas, Polars and DuckDB, how they grow, and their memory."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import debs
from bench.alone import alone, status_bytes, tell
from bench.experiment import Clock, Experiment, Settings
from bench.measure import Calls, Timing, checked, failure, rounds, timed
from bench.peers.contenders import (
    OURS,
    PEERS,
    Frames,
    Window,
    answers_of,
    own_readings,
    query,
    readings,
)
from bench.points import Figure, Point
from bench.rules import at_most, spread
from windrow import Aggregation, Max, Mean, Query, sliding

# -- against other libraries -----------------------------------------------------------------------

MANY = 10_000
LONG = 6.0  # seconds; what would take longer is measured on a part of the table
SHARE = 20  # of the table
FIGURES = {
    question: Figure(question, question, "keys and window", "ms")
    for question in ("max, mean, argmax", "max, mean")
}
WINDOWS = (Window(rows=1000), Window())


def case(keys: int, window: Window) -> str:
    """Return the name of a case.

    >>> case(1, Window(rows=1000))
    '1 key, rows=1000'
    """
    return f"{keys} key{'s' if keys > 1 else ''}, {window}"


def many_keys(n: int) -> int:
    """Return how many keys a table of n rows has, if not one."""
    return max(2, MANY * n // 5_000_000)


def libraries(settings: Settings, clock: Clock) -> Iterator[Point]:
    """One key and many, windows by rows and by time, with the place of the maximum and without."""
    for keys, frames in _frames(settings):
        part = frames.part(SHARE)
        for window in WINDOWS:
            for figure in FIGURES.values():
                if clock.over:
                    for name in (*OURS, *PEERS):
                        yield figure.missing(name, case(keys, window))
                    continue
                located = "argmax" in figure.name
                timings = measure(frames, part, window, located, settings.repeats)
                for name, timing in timings.items():
                    yield timing.point(figure, name, case(keys, window))


def _frames(settings: Settings) -> Iterator[tuple[int, Frames]]:
    n = settings.size(5_000_000, 500_000)
    if settings.data:
        table = own_readings(debs.readings(settings.data))
        keys = len(table["key"].unique())
        yield keys, Frames(table, keys)
        return
    for keys in (1, many_keys(n)):
        yield keys, Frames(readings(n, keys), keys)


def measure(
    frames: Frames, part: Frames, window: Window, located: bool, repeats: int
) -> dict[str, Timing]:
    """Time the contenders; their results are compared on the part."""
    every = {**OURS, **PEERS}
    full = {name: partial(call, frames, window, located) for name, call in every.items()}
    short = {name: partial(call, part, window, located) for name, call in every.items()}
    scale = frames.rows / part.rows
    timings = checked(
        {name: partial(_answers, name, call, part) for name, call in short.items()}, same
    )
    ready = {name: timing.first for name, timing in timings.items() if timing.first is not None}
    about = {
        name: scale * (timed(short[name])[0] if first * scale < 10 * LONG else first)
        for name, first in ready.items()
    }
    long = [name for name in about if name in PEERS and about[name] > LONG]
    for name, runs in rounds({n: full[n] for n in about if n not in long}, repeats).items():
        timings[name].runs = runs
    for name, runs in rounds({n: short[n] for n in long}, repeats).items():
        timings[name].runs = [seconds * scale for seconds in runs]
        timings[name].more = {"scaled_from": part.rows}
    while (best := fastest(timings)) in long:  # whoever is to be beaten is measured in full
        long.remove(best)
        timings[best].runs, timings[best].more = [timed(full[best])[0]], {}
    return timings


def _answers(name: str, call: Any, part: Frames) -> Any:
    return answers_of(name, call(), part)


def same(answers: Any, reference: Any) -> bool:
    """Whether all columns agree: times to the microsecond, numbers to rounding."""
    return all(_same_column(answers[name], column) for name, column in reference.items())


def _same_column(a: Any, b: Any) -> bool:
    if a.dtype.kind == "M":
        return bool(np.array_equal(a.astype("M8[us]"), b.astype("M8[us]")))
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def fastest(timings: dict[str, Timing]) -> str | None:
    """Return the peer that is fastest, if one ran and agreed."""
    name = min((n for n in PEERS if n in timings), key=lambda n: timings[n].median, default=None)
    return name if name is not None and math.isfinite(timings[name].median) else None


LIBRARIES = Experiment(
    "tables",
    "queries over tables",
    "5,000,000 rows of (key, ts, load) in the order of ts (500,000 in a quick run), all cores for "
    "everyone. An hour has 1,000 rows of one key, 200 of each of many. * was measured on a "
    f"{SHARE}th of the rows, with windows as long, and multiplied. Results are compared. `polars` "
    "is an expression a column, `over` the key; `polars, rolling` is `rolling(…).agg(…)`. pandas "
    "finds the argmax by `apply(np.argmax, raw=True)`. Results of pandas, DuckDB and `polars, "
    "rolling` are left in their order; ours are beside their rows.",
    tuple(FIGURES.values()),
    libraries,
    weight=5.0,
)


# -- small tables ----------------------------------------------------------------------------------

FEW_ROWS, FEW_KEYS = 1000, 100
CALLS = 20  # in a row, so that the clock has something to measure
SMALL_FIGURES = {
    question: Figure(f"1,000 rows: {question}", question, "keys and window", "ms")
    for question in FIGURES
}
SMALL_WINDOWS = (Window(rows=100), Window())


def small(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Yield the times of the same questions of a small table: what a call costs."""
    for keys in (1, FEW_KEYS):
        frames = Frames(readings(FEW_ROWS, keys), keys)
        for window in SMALL_WINDOWS:
            for figure in SMALL_FIGURES.values():
                located = "argmax" in figure.name
                every = {**OURS, **PEERS}
                calls = {n: partial(call, frames, window, located) for n, call in every.items()}
                timings = checked(
                    {name: partial(_answers, name, call, frames) for name, call in calls.items()},
                    same,
                )
                ready = [name for name, timing in timings.items() if timing.first is not None]
                again = {name: partial(_repeated, calls[name]) for name in ready}
                for name, runs in ({} if clock.over else rounds(again, settings.repeats)).items():
                    timings[name].runs = [seconds / CALLS for seconds in runs]
                for name, timing in timings.items():
                    yield timing.point(figure, name, case(keys, window))


def _repeated(call: Any, calls: int = CALLS) -> None:
    for _ in range(calls):
        call()


SMALL = Experiment(
    "tables small",
    "queries over small tables",
    f"1,000 rows, one key or {FEW_KEYS}: the mean of {CALLS} calls in a row. Otherwise as above.",
    tuple(SMALL_FIGURES.values()),
    small,
)


# -- growth ----------------------------------------------------------------------------------------

ROWS = Figure(
    "as the table grows", "max, mean and argmax, Arrow", "rows", "ns a row", contest=False
)
WIDTHS = Figure("as the window grows", "max, mean and argmax, Arrow", "window", "ms")
SIZES = (10, 100, 1000, 10_000, 100_000)


def growth(settings: Settings, clock: Clock) -> Iterator[Point]:
    """A fifth of the rows and all of them, with as many keys; then windows of 10 to 100,000."""
    n = settings.size(5_000_000, 500_000)
    for keys in (1, many_keys(n)):
        for window in WINDOWS:
            ask = query(keys, window, located=True)
            sizes = {str(rows): rows for rows in (n // 5, n)}
            calls = {x: partial(ask, readings(rows, keys)) for x, rows in sizes.items()}
            for x, runs in _timed(calls, settings, clock).items():
                seconds = [seconds / sizes[x] for seconds in runs]
                yield ROWS.timed(case(keys, window), sizes[x], seconds)
    table = readings(n, 1)
    widths = {str(w): Window(rows=w) for w in SIZES if w <= n}
    calls = {x: partial(query(1, window, located=True), table) for x, window in widths.items()}
    for x, runs in _timed(calls, settings, clock).items():
        yield WIDTHS.timed("1 key, rows=w", int(x), runs, rows=n)


def _timed(calls: Calls, settings: Settings, clock: Clock) -> dict[str, list[float]]:
    """Return the seconds of each call, after one to warm up; of none when the time is up."""
    if clock.over:
        return {}
    rounds(calls, 1)
    return rounds(calls, settings.repeats)


GROWTH = Experiment(
    "tables growth",
    "the cost of a query by the rows of a table and of a window",
    "An Arrow table of 5,000,000 rows (500,000 in a quick run) and one of a fifth of it, with as "
    "many keys; linear growth is the same time a row.",
    (ROWS, WIDTHS),
    growth,
    rules=(spread(ROWS, 1.125, ends=True), spread(WIDTHS, 1.5)),
)


# -- frames ----------------------------------------------------------------------------------------

FRAME = Figure(
    "frames", "time of a frame", "question", "times the trailing frame", (True, False), False
)
TRAILING, WITHOUT, LEAST = "trailing", "without the current row", "min_rows"
# The same number of rows, or the same time, in other places about the current row.
ENDS: dict[str, dict[str, Any]] = {
    "rows": {TRAILING: (-1000, 0), "centred": (-500, 500), "unequal ends": (-750, 250)},
    "range": {
        TRAILING: ("-1 hour", 0),
        "centred": ("-30 minutes", "30 minutes"),
        "unequal ends": ("-45 minutes", "15 minutes"),
    },
}
QUESTIONS: dict[str, Aggregation] = {"max": Max("load"), "mean": Mean("load")}
FRAME_CALLS = 5  # in a round
# Of which frames how many times the time of the trailing one is allowed.
ALLOWED = {
    "centred": 1.2,
    "unequal ends": 1.2,
    f"{TRAILING}, {WITHOUT}": 1.2,
    f"centred, {WITHOUT}": 1.2,
    f"{TRAILING}, {LEAST}": 1.05,
}


def frame_queries(kind: str, question: str) -> dict[str, Query]:
    """Return a question about the frames of a kind, and about those that leave something out."""
    queries = {}
    for name, ends in ENDS[kind].items():
        frame = {"order_by": "ts", kind: ends, "result": QUESTIONS[question]}
        queries[name] = sliding(**frame)
        queries[f"{name}, {WITHOUT}"] = sliding(**frame, exclude="current row")
        queries[f"{name}, {LEAST}"] = sliding(**frame, min_rows=500)
    return {name: query for name, query in queries.items() if name == TRAILING or name in ALLOWED}


def frames_of(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each frame by rows and by time, in turns with the one that ends with the current row."""
    table = readings(settings.size(2_000_000, 200_000), 1)
    for kind in ENDS:
        for question in QUESTIONS:
            x = f"{question}, {kind}"
            if clock.over:
                yield from (FRAME.missing(name, x) for name in ALLOWED)
                continue
            calls = {n: partial(q, table) for n, q in frame_queries(kind, question).items()}
            several = replace(settings, repeats=settings.repeats * FRAME_CALLS)
            fastest = {n: _fastest(runs) for n, runs in _timed(calls, several, clock).items()}
            for name in ALLOWED:
                ratios = (a / b for a, b in zip(fastest[name], fastest[TRAILING], strict=True))
                yield FRAME.point(name, x, *ratios, rows=len(table))


def _fastest(runs: list[float]) -> list[float]:
    """Return the fastest call of each round: whatever else the machine does only adds to it."""
    return [min(runs[i : i + FRAME_CALLS]) for i in range(0, len(runs), FRAME_CALLS)]


FRAMES = Experiment(
    "tables frames",
    "frames against the trailing one",
    "An Arrow table of 2,000,000 rows (200,000 in a quick run) and one key; frames of about 1,000 "
    f"rows, counted or an hour: the fastest of {FRAME_CALLS} calls by that of the frame that ends "
    "with the current row, in the same round; all frames in turns, call by call.",
    (FRAME,),
    frames_of,
    rules=tuple(at_most(FRAME, bound, name) for name, bound in ALLOWED.items()),
)


# -- memory ----------------------------------------------------------------------------------------

BEYOND = Figure(
    "memory", "held beyond input and output", "keys and window", "times the input", (True, False)
)
RESULT = 8  # bytes: each of the three is a double or a time


def memory(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Max, mean and argmax of each kind of frame."""
    n = settings.size(5_000_000, 500_000)
    for keys in (1, many_keys(n)):
        for window in WINDOWS:
            for name in OURS:
                kind, x = name.partition(", ")[2].lower(), case(keys, window)
                if clock.over:
                    yield BEYOND.missing(name, x)
                    continue
                try:
                    (sizes,) = alone(tell_memory, kind, n, keys, window.rows)
                    yield BEYOND.point(name, x, sizes["beyond"] / sizes["input"], **sizes)
                except Exception as error:
                    yield BEYOND.missing(name, x, failure(error))


def tell_memory(kind: str, n: int, keys: int, rows: int | None) -> None:
    """Tell what `measured` returns, from a process of its own."""
    tell(measured(kind, n, keys, Window(rows)))


def measured(kind: str, n: int, keys: int, window: Window) -> dict[str, int]:
    """Return bytes of the input, and of what the query held at most beyond input and output."""
    ask = query(keys, window, located=True)
    ask(getattr(Frames(readings(1000, keys), keys), kind))
    frame = getattr(Frames(readings(n, keys), keys), kind)
    _forget_the_peak()
    before = status_bytes("VmRSS")
    result = ask(frame)
    peak = status_bytes("VmHWM")
    shared = kind != "pandas" or np.shares_memory(result["load"], frame["load"])
    output = (3 if shared else 6) * RESULT * len(result)
    return {"input": 3 * RESULT * n, "output": output, "beyond": max(0, peak - before - output)}


def _forget_the_peak() -> None:
    """Let VmHWM begin anew; where that is not allowed the value is too large, never too small."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError as error:
        print(f"the peak counts from the start of the process: {error}", file=sys.stderr)


MEMORY = Experiment(
    "tables memory",
    "memory of a query",
    "The most that max, mean and argmax of 5,000,000 rows (500,000 in a quick run) held beyond the "
    "input and the columns of the result that are not the input's own (three, and in pandas 2 all "
    "six), by the input: the resident size of a process.",
    (BEYOND,),
    memory,
    rules=(at_most(BEYOND, 2.0),),
)


EXPERIMENTS = (LIBRARIES, SMALL, GROWTH, FRAMES, MEMORY)
