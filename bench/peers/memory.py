"""How much memory a query over a table takes beyond its input and its output.

Each value is that of a process of its own: it makes the table, runs the query over a short one so
that everything is loaded and compiled, and compares the most it ever held with what it held before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench.alone import alone, status_bytes, tell
from bench.experiment import Clock, Experiment, Settings
from bench.measure import failure
from bench.peers.contenders import OURS, Window, query
from bench.peers.frames import Frames, readings
from bench.peers.tables import WINDOWS, case, many_keys
from bench.points import Figure, Point
from bench.rules import at_most

BEYOND = Figure(
    "memory", "held beyond input and output", "keys and window", "times the input", (True, False)
)
RESULT = 8  # bytes: each of the three is a double or a time


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
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
                    (found,) = alone(tell_memory, kind, n, keys, window.rows)
                    yield BEYOND.point(name, x, found["beyond"] / found["input"], **found)
                except Exception as error:
                    yield BEYOND.missing(name, x, failure(error))


def tell_memory(kind: str, n: int, keys: int, rows: int | None) -> None:
    """Tell what a query held."""
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
    output = 3 * RESULT * len(result)
    return {"input": 3 * RESULT * n, "output": output, "beyond": max(0, peak - before - output)}


def _forget_the_peak() -> None:
    """Let VmHWM begin anew; where that is not allowed the value is too large, never too small."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError as error:
        print(f"the peak counts from the start of the process: {error}", file=sys.stderr)


EXPERIMENT = Experiment(
    "tables memory",
    "memory of a query",
    "The most that max, mean and argmax of 5,000,000 rows (500,000 in a quick run) held beyond the "
    "input and the three columns of results, by the input: the resident size of a process.",
    (BEYOND,),
    run,
    rules=(at_most(BEYOND, 3.0),),
)
