"""What is measured, and what the figures say of the targets."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.arrays.measuring import power, say, table
from benchmarks.stores.contenders import BASE, STORES, contender
from windrow.algorithms.base import Aggregator
from windrow.bench.measuring import Row, summary

MEMORY_TARGET = 64 << 20
EVENT_TARGET = 10.0
EVICT_TARGET = 1000.0
FILLED = (BASE, "RocksStore", "LmdbStore")
EVENTS_WINDOW = 1 << 15


def filling(quick: bool) -> Iterator[Row]:
    smallest, largest = (11, 15) if quick else (15, 23)
    for name in FILLED:
        command = [sys.executable, "-m", "benchmarks.stores.filling", name]
        with subprocess.Popen(
            [*command, str(smallest), str(largest)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout
            for line in child.stdout:
                row = {"contender": name, **json.loads(line)}
                say(f"  {row}")
                yield row
        if child.returncode:
            raise RuntimeError(f"the process that filled {name} ended with {child.returncode}")


def events(quick: bool, redis: str | None) -> Iterator[Row]:
    """Insert, evict and query, each event; and inserts alone, by `extend`."""
    rounds, count = (2, 5_000) if quick else (5, 40_000)
    names = [BASE, *STORES, *(["RedisStore"] if redis else [])]
    runs: dict[tuple[str, str, str], list[float]] = {}
    with ExitStack() as stack:
        swags: dict[tuple[str, str], Aggregator] = {}
        for name in names:
            for algorithm in ("amta", "log_mta"):
                made = contender(name, algorithm, redis)
                if name == "RedisStore" and algorithm == "log_mta":
                    continue  # both would be the same window of the server
                swag = swags[name, algorithm] = stack.enter_context(made)
                swag.extend(range(EVENTS_WINDOW))
        for _ in range(rounds):
            for (name, algorithm), swag in swags.items():
                start = time.perf_counter()
                for i in range(count):
                    swag.insert(i)
                    swag.evict()
                    swag.query()
                slid = time.perf_counter()
                swag.extend(range(count))
                inserted = time.perf_counter()
                swag.evict(count)
                runs.setdefault((name, algorithm, "slide"), []).append((slid - start) / count)
                runs.setdefault((name, algorithm, "insert"), []).append((inserted - slid) / count)
    for (name, algorithm, what), seconds in runs.items():
        row = {"contender": name, "algorithm": algorithm, "what": what, **summary(seconds)}
        say(f"  {name} {algorithm} {what}: {row['median_s'] * 1e6:.1f} µs")
        yield row


def show_memory(rows: list[Row]) -> str:
    filled = [row for row in rows if row["step"] == "filled"]
    lines = [
        [
            row["contender"],
            power(row["n"]),
            f"{row['private_above'] / 2**20:,.1f}",
            f"{row['resident_above'] / 2**20:,.1f}",
            f"{row['seconds_each'] * 1e6:,.1f}",
        ]
        for row in filled
    ]
    head = ["window", "values", "private, MB", "with mapped files, MB", "µs an insert"]
    return table(head, lines)


def show_evicting(rows: list[Row]) -> str:
    lines = [
        [
            row["contender"],
            f"{power(row['half'])} of {power(row['n'])}",
            f"{row['at_once_s'] * 1e3:,.2f}",
            f"{row['one_by_one_s'] * 1e3:,.0f}",
            f"{row['one_by_one_s'] / row['at_once_s']:,.0f}×",
        ]
        for row in rows
        if row["step"] == "emptied"
    ]
    head = ["window", "evicted", "at once, ms", "as many one by one, ms", "ratio"]
    return table(head, lines)


def show_events(rows: list[Row]) -> str:
    base = {
        (row["algorithm"], row["what"]): row["median_s"] for row in rows if row["contender"] == BASE
    }
    lines = [
        [
            row["contender"],
            row["algorithm"],
            "insert, evict, query" if row["what"] == "slide" else "insert",
            f"{row['median_s'] * 1e6:,.1f} ({row['min_s'] * 1e6:,.1f}–{row['max_s'] * 1e6:,.1f})",
            f"{row['median_s'] / base[row['algorithm'], row['what']]:,.1f}×",
        ]
        for row in rows
    ]
    return table(["window", "algorithm", "event", "µs an event", "against the process"], lines)


def verdicts(rows: dict[str, list[Row]]) -> list[tuple[str, bool]]:
    """Each target that was measured, and whether it is reached."""
    found = []
    memory = rows.get("memory", [])
    for name in FILLED[1:]:
        above = [
            row["private_above"]
            for row in memory
            if row["contender"] == name and row["step"] == "filled"
        ]
        if above:
            text = f"{name}: at most 64 MB of private memory above the empty process"
            found.append((f"{text} ({max(above) / 2**20:.1f})", max(above) <= MEMORY_TARGET))
    for row in memory:
        if row["step"] == "emptied" and row["contender"] != BASE:
            ratio = row["one_by_one_s"] / row["at_once_s"]
            text = f"{row['contender']}: half the window at once 1000 times faster than one by one"
            found.append((f"{text} ({ratio:,.0f})", ratio >= EVICT_TARGET))
    timed = {
        (r["contender"], r["algorithm"], r["what"]): r["median_s"] for r in rows.get("events", [])
    }
    for what in ("slide", "insert"):
        if timed:
            ratio = timed["RocksStore", "amta", what] / timed[BASE, "amta", what]
            text = f"RocksStore: amta at most 10 times the time an event in the process, {what}"
            found.append((f"{text} ({ratio:.1f})", ratio <= EVENT_TARGET))
    return found
