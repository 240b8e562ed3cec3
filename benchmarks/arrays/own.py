"""A user's own functions, against pandas' apply."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arrays.measuring import Section, Settings, power, table, times
from windrow import aggregation, rolling
from windrow.bench.measuring import Row, measure, median_of, rounds, summary
from windrow.bench.peers.libraries import OURS, Data

WINDOWS = (64, 1024)
TARGET = 100
SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)


def spread_of(window: NDArray[np.float64]) -> float:
    """What pandas calls for each window."""
    low: float = np.min(window)
    high: float = np.max(window)
    return high - low


def pandas_apply(data: Data, w: int, **options: Any) -> Any:
    return data.pandas(w).apply(spread_of, raw=True, **options).to_numpy()


def own(settings: Settings) -> Iterator[Row]:
    values = settings.values()
    for w in settings.windows(WINDOWS):
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


SECTION = Section(
    "A user's own functions",
    own,
    show_own,
    f"{TARGET} times as fast as pandas' apply(raw=True)",
    lambda rows: [
        r["ratios"]["pandas apply"] >= TARGET
        for r in rows
        if r["ratios"].get("pandas apply") is not None
    ],
)
