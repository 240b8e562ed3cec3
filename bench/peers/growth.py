"""How the cost of a query over a table grows with the table, and with the window."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.experiment import Clock, Experiment, Settings
from bench.measure import Calls, rounds
from bench.peers.contenders import Window, query
from bench.peers.frames import readings
from bench.peers.tables import WINDOWS, case, many_keys
from bench.points import Figure, Point
from bench.rules import spread

ROWS = Figure(
    "as the table grows", "max, mean and argmax, Arrow", "rows", "ns a row", contest=False
)
WIDTHS = Figure("as the window grows", "max, mean and argmax, Arrow", "window", "ms")
SIZES = (10, 100, 1000, 10_000, 100_000)


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
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


EXPERIMENT = Experiment(
    "tables growth",
    "the cost of a query by the rows of a table and of a window",
    "An Arrow table of 5,000,000 rows (500,000 in a quick run) and one of a fifth of it, with as "
    "many keys; linear growth is the same time a row.",
    (ROWS, WIDTHS),
    run,
    rules=(spread(ROWS, 1.125, ends=True), spread(WIDTHS, 1.5)),
)
