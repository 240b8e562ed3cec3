"""How long a call of one value may take."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.arrays.measuring import Section, Settings, power, table
from windrow import Bloom, RollingState, rolling
from windrow.bench.measuring import Row, failure

ALGORITHMS = ("two_stacks", "daba")
WINDOW = 2**14
WARM = 16  # calls before the timed ones
TARGET = 1 / 20


def latency(settings: Settings) -> Iterator[Row]:
    """Rounds over one stream, and each call's median over the rounds.

    The operating system takes the processor away for milliseconds, from another call in each
    round; what an algorithm does at a call is the same in all of them, and is left in the median.
    """
    w = min(WINDOW, settings.n)
    values = np.random.default_rng(1).integers(0, 2**62, 3 * w + WARM)
    seen: dict[str, list[list[float]]] = {name: [] for name in ALGORITHMS}
    ways = {}
    for turn in range(settings.repeats):
        for name in ALGORITHMS if turn % 2 == 0 else ALGORITHMS[::-1]:
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
    return seconds[WARM:], type(rollers[0]).__name__ if rollers else "unknown"


def latency_ratio(rows: list[Row], *, rounds_too: bool = False) -> float | None:
    """The second algorithm's longest call by the first one's: of the medians, or of all rounds."""
    before, after = (longest(rows, name, rounds_too=rounds_too) for name in ALGORITHMS)
    return None if before is None or after is None else after / before


def longest(rows: list[Row], algorithm: str, *, rounds_too: bool) -> float | None:
    """An algorithm's longest call: of the medians, or the raw maximum of all rounds."""
    mine = [r for r in rows if r["algorithm"] == algorithm and r["status"] == "ok"]
    found = [r["max_s"] for r in mine if (r["round"] != "median") == rounds_too]
    return max(found, default=None)


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
    return f"{intro}\n\n{table(head, lines)}\n\n{show_longest(rows)}"


def show_longest(rows: list[Row]) -> str:
    """Both figures: without the operating system, on which the target is, and with it."""
    lines = []
    for what, raw in (("median over the rounds", False), ("raw maximum of all rounds", True)):
        found = [longest(rows, name, rounds_too=raw) for name in ALGORITHMS]
        cells = ["–" if s is None else f"{s * 1e6:,.1f}" for s in found]
        ratio = latency_ratio(rows, rounds_too=raw)
        lines.append([what, *cells, "–" if ratio is None else f"{ratio:.4f}"])
    before, after = ALGORITHMS
    return table(["longest call", f"{before}, µs", f"{after}, µs", f"{after} / {before}"], lines)


SECTION = Section(
    "Latency",
    latency,
    show_latency,
    f"daba's longest call at most {TARGET:g} of two_stacks', as medians over rounds",
    lambda rows: [x <= TARGET for x in [latency_ratio(rows)] if x is not None],
)
