"""How the cost grows with the table, and with the window."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.arrays.measuring import Section, Settings, milliseconds, table
from windrow.bench.measuring import Row, median_of, rounds, summary
from windrow.bench.peers.contenders import Window, query
from windrow.bench.peers.frames import readings
from windrow.bench.peers.tables import MANY

SIZES = (10, 100, 1000, 10_000, 100_000)
AN_EIGHTH_MORE = 1.125  # what a row of the longer table may cost, by one of the shorter
FLAT = 1.5  # what the dearest window may cost, by the cheapest


def cases(settings: Settings) -> dict[str, tuple[int, Window]]:
    many = max(2, MANY * settings.n // 5_000_000)
    return {
        f"{name}, {window}": (keys, window)
        for name, keys in (("1 key", 1), (f"{many} keys", many))
        for window in (Window(rows=1000), Window())
    }


def over_rows(settings: Settings) -> Iterator[Row]:
    """A fifth of the rows, and all of them, of as many keys."""
    for case, (keys, window) in cases(settings).items():
        asked = query(keys, window, located=True)
        sizes = (settings.n // 5, settings.n)
        calls = {str(n): partial(asked, readings(n, keys)) for n in sizes}
        results = _timed(calls, settings.repeats)
        short, long = (median_of(results[str(n)]) / n for n in sizes)
        yield {"case": case, "n": sizes, "results": results, "growth": long / short}


def over_windows(settings: Settings) -> Iterator[Row]:
    data = readings(settings.n, 1)
    calls = {
        str(w): partial(query(1, Window(rows=w), located=True), data)
        for w in SIZES
        if w <= settings.n
    }
    results = _timed(calls, settings.repeats)
    medians = [median_of(result) for result in results.values()]
    yield {
        "case": "1 key, rows=w",
        "n": settings.n,
        "results": results,
        "spread": max(medians) / min(medians),
    }


def _timed(calls: dict[str, Any], repeats: int) -> Row:
    for call in calls.values():
        call()
    return {name: summary(runs) for name, runs in rounds(calls, repeats).items()}


def _nanoseconds(result: Row, n: int) -> str:
    low, high = (f"{result[k] / n * 1e9:.0f}" for k in ("min_s", "max_s"))
    return f"{result['median_s'] / n * 1e9:.0f} ({low}–{high})"


def show_rows(rows: list[Row]) -> str:
    sizes = rows[0]["n"]
    lines = [
        [row["case"], *(_nanoseconds(row["results"][str(n)], n) for n in sizes),
         f"{row['growth']:.2f}"]
        for row in rows
    ]  # fmt: skip
    head = ["", *(f"{n:,} rows" for n in sizes), "ratio"]
    return (
        "Nanoseconds a row for max, mean and argmax of an Arrow table, with as many keys in the "
        f"short table as in the long one. Linear growth is 1.\n\n{table(head, lines)}"
    )


def show_windows(rows: list[Row]) -> str:
    (row,) = rows
    results = row["results"]
    head = ["", *(f"w = {int(w):,}" for w in results), "dearest / cheapest"]
    cells = [
        f"{milliseconds(r['median_s'])} ({milliseconds(r['min_s'])}–{milliseconds(r['max_s'])})"
        for r in results.values()
    ]
    line = [row["case"], *cells, f"{row['spread']:.2f}"]
    return (
        f"Milliseconds for max, mean and argmax of {row['n']:,} rows of an Arrow table.\n\n"
        f"{table(head, [line])}"
    )


ROWS = Section(
    "As the table grows",
    over_rows,
    show_rows,
    f"a row of the long table costs at most {AN_EIGHTH_MORE:g} of one of the short",
    lambda rows: [row["growth"] <= AN_EIGHTH_MORE for row in rows],
)
WINDOWS = Section(
    "As the window grows",
    over_windows,
    show_windows,
    f"the dearest window costs at most {FLAT:g} times the cheapest",
    lambda rows: [row["spread"] <= FLAT for row in rows],
)
