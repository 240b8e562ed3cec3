"""Two threads against one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.arrays.measuring import Section, Settings, cell, power, table, times
from benchmarks.arrays.own import SPREAD
from windrow import Aggregation, Max, StdDev, rolling
from windrow.bench.measuring import Row, measure, median_of

THREADED: dict[str, Callable[[], Aggregation]] = {
    "max": Max,
    "stddev": StdDev,
    "own": lambda: SPREAD,
}
TARGET = 1.6
PBA_WINDOWS = (2**14, 2**16, 2**18, 2**20)


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
            TARGET,
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


SECTION = Section(
    "Threads",
    threads,
    show_threads,
    f"{TARGET} times as fast with two threads; pba not slower than sba",
    lambda rows: [r["gain"] >= r["target"] for r in rows if r["gain"] is not None],
)
