"""Tables: queries against pandas, Polars and DuckDB, all cores for everyone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.experiment import Experiment, Figure
from windrow.bench.measuring import Row, failure, median_of, rounds, summary, timed
from windrow.bench.peers.contenders import OURS, PEERS, Contender, Window, answers_of
from windrow.bench.peers.frames import Frames, given, readings
from windrow.bench.peers.results import UNIT, point
from windrow.bench.points import Point, missing
from windrow.bench.settings import Settings
from windrow.samples import debs

MANY = 10_000
LONG = 6.0  # seconds; what would take longer is measured on a part of the table
SHARE = 20  # of the table
QUESTIONS = {"max, mean, argmax": True, "max, mean": False}


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """One key and many, windows by rows and by time, with the place of the maximum and without."""
    for keys, frames in _frames(settings):
        part = frames.part(SHARE)
        for window in (Window(rows=1000), Window()):
            case = f"{keys} keys, {window}" if keys > 1 else f"1 key, {window}"
            for question, located in QUESTIONS.items():
                if clock.over:
                    for name in (*OURS, *PEERS):
                        yield missing(question, name, case, UNIT, TIME_IS_UP)
                    continue
                results = measure(frames, part, window, located, settings.repeats)
                for name, result in results.items():
                    yield point(question, name, case, result)


def _frames(settings: Settings) -> Iterator[tuple[int, Frames]]:
    n = settings.size(5_000_000, 500_000)
    if settings.data:
        table = given(debs.readings(settings.data))
        keys = len(table["key"].unique())
        yield keys, Frames(table, keys)
        return
    for keys in (1, max(2, MANY * n // 5_000_000)):
        yield keys, Frames(readings(n, keys), keys)


def measure(frames: Frames, part: Frames, window: Window, located: bool, repeats: int) -> Row:
    """Time the contenders; their answers are compared on the part."""
    results: Row = {}
    every: dict[str, Contender] = {**OURS, **PEERS}
    full = {name: partial(call, frames, window, located) for name, call in every.items()}
    short = {name: partial(call, part, window, located) for name, call in every.items()}
    scale = frames.rows / part.rows
    reference: Row | None = None
    for name, call in short.items():
        try:
            first, made = timed(call)
            again = timed(call)[0] if first * scale < 10 * LONG else first
            found = answers_of(name, made, part)
        except Exception as error:
            results[name] = {"status": failure(error)}
            continue
        reference = reference or found
        agrees = all(same(found[column], reference[column]) for column in reference)
        status = "ok" if agrees else "disagrees"
        results[name] = {"status": status, "first_s": first, "about_s": again * scale}
    ready = [name for name in results if "about_s" in results[name]]
    long = [name for name in ready if name in PEERS and results[name]["about_s"] > LONG]
    whole = rounds({name: full[name] for name in ready if name not in long}, repeats)
    parts = rounds({name: short[name] for name in long}, repeats)
    for name, runs in (whole | parts).items():
        more = {"scaled_from": part.rows} if name in long else {}
        results[name] |= summary([r * (scale if more else 1) for r in runs], **more) | {
            "status": results[name]["status"]
        }
    while (best := fastest(results)) in long:  # whoever is to be beaten is measured in full
        long.remove(best)
        results[best] = summary([timed(full[best])[0]], first_s=results[best]["first_s"])
    return results


def same(a: Any, b: Any) -> bool:
    """Times to the microsecond, numbers to rounding."""
    if a.dtype.kind == "M":
        return bool(np.array_equal(a.astype("M8[us]"), b.astype("M8[us]")))
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def fastest(results: Row) -> str | None:
    """The peer that is fastest, if one ran and agreed."""
    found = {name: median_of(results[name]) for name in PEERS if name in results}
    name = min(found, key=lambda n: found[n], default=None)
    return name if name is not None and math.isfinite(found[name]) else None


EXPERIMENT = Experiment(
    "tables",
    "queries over tables",
    "5,000,000 rows of (key, ts, load) in the order of ts (500,000 in a quick run), all cores for "
    "everyone. An hour has 1,000 rows of one key, 200 of each of many. * was measured on a "
    f"{SHARE}th of the rows, with windows as long, and multiplied. Answers are compared. `polars` "
    "is an expression a column, `over` the key; `polars, rolling` is `rolling(…).agg(…)`. pandas "
    "finds the argmax by `apply(np.argmax, raw=True)`. Answers of pandas, DuckDB and `polars, "
    "rolling` are left in their order; ours are beside their rows.",
    tuple(Figure(question, question, "keys and window", UNIT) for question in QUESTIONS),
    run,
    weight=2.0,
)
