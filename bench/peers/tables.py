"""Tables: queries against pandas, Polars and DuckDB, all cores for everyone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Timing, checked, rounds, timed
from bench.peers.contenders import OURS, PEERS, Window, answers_of
from bench.peers.frames import Frames, given, readings
from bench.points import Figure, Point
from windrow.samples import debs

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


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
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
        table = given(debs.readings(settings.data))
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


def same(found: Any, reference: Any) -> bool:
    """Whether all columns agree: times to the microsecond, numbers to rounding."""
    return all(_same_column(found[name], column) for name, column in reference.items())


def _same_column(a: Any, b: Any) -> bool:
    if a.dtype.kind == "M":
        return bool(np.array_equal(a.astype("M8[us]"), b.astype("M8[us]")))
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def fastest(timings: dict[str, Timing]) -> str | None:
    """Return the peer that is fastest, if one ran and agreed."""
    name = min((n for n in PEERS if n in timings), key=lambda n: timings[n].median, default=None)
    return name if name is not None and math.isfinite(timings[name].median) else None


EXPERIMENT = Experiment(
    "tables",
    "queries over tables",
    "5,000,000 rows of (key, ts, load) in the order of ts (500,000 in a quick run), all cores for "
    "everyone. An hour has 1,000 rows of one key, 200 of each of many. * was measured on a "
    f"{SHARE}th of the rows, with windows as long, and multiplied. Results are compared. `polars` "
    "is an expression a column, `over` the key; `polars, rolling` is `rolling(…).agg(…)`. pandas "
    "finds the argmax by `apply(np.argmax, raw=True)`. Results of pandas, DuckDB and `polars, "
    "rolling` are left in their order; ours are beside their rows.",
    tuple(FIGURES.values()),
    run,
    weight=4.0,
)
