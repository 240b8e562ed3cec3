"""The algorithms' loops on full windows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arrays.measuring import Section, Settings, power, table
from windrow import Max, RollingState, rolling
from windrow.bench.measuring import Row, failure, rounds, summary, timed
from windrow.kernels.rolling import COMPILED

WINDOWS = (64, 1024, 16384, 2**20)


def loops(settings: Settings) -> Iterator[Row]:
    for w in settings.windows(WINDOWS):
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


SECTION = Section("The algorithms' loops", loops, show_loops, "", lambda rows: [])
