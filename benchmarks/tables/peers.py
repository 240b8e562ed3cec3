"""Against other libraries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.arrays.measuring import (
    Row,
    Section,
    Settings,
    cell,
    failure,
    median_of,
    rounds,
    say,
    summary,
    table,
    timed,
    times,
)
from benchmarks.tables.contenders import OURS, PEERS, Contender, Window, answers_of
from benchmarks.tables.readings import Frames, readings

MANY = 10_000
LONG = 6.0  # seconds; what would take longer is measured on a part of the table
SHARE = 20  # of the table
TARGET = 3.0
QUESTIONS = {"max, mean, argmax": True, "max, mean": False}


def peers(settings: Settings) -> Iterator[Row]:
    for keys in (1, max(2, MANY * settings.n // 5_000_000)):
        frames = Frames(readings(settings.n, keys), keys)
        part = frames.part(SHARE)
        for window in (Window(rows=1000), Window()):
            for question, located in QUESTIONS.items():
                results = measure(frames, part, window, located, settings.repeats)
                yield {
                    "question": question,
                    "case": f"{keys} keys, {window}" if keys > 1 else f"1 key, {window}",
                    "n": frames.rows,
                    "results": results,
                    "fastest": fastest(results),
                    "ratios": ratios(results),
                }


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
        say(f"  {best} over all rows")
        results[best] = summary([timed(full[best])[0]], first_s=results[best]["first_s"])
    return results


def same(a: Any, b: Any) -> bool:
    if a.dtype.kind == "M":
        return bool(np.array_equal(a.astype("M8[us]"), b.astype("M8[us]")))
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def fastest(results: Row) -> str | None:
    """The peer that is fastest, if one ran and agreed."""
    found = {name: median_of(results[name]) for name in PEERS if name in results}
    name = min(found, key=lambda n: found[n], default=None)
    return name if name is not None and math.isfinite(found[name]) else None


def ratios(results: Row) -> dict[str, float]:
    """The fastest peer's time by ours, for each kind of frame: above 1 we win."""
    peer = fastest(results)
    if peer is None:
        return {}
    mine = {name: median_of(results[name]) for name in OURS if name in results}
    return {n: median_of(results[peer]) / m for n, m in mine.items() if math.isfinite(m)}


def shown(result: Row, best: float) -> str:
    return cell(result, best) + ("*" if "scaled_from" in result else "")


def show(rows: list[Row]) -> str:
    names = [*OURS, *PEERS]
    lines = []
    for row in rows:
        results = row["results"]
        best = min(map(median_of, results.values()))
        cells = [shown(results[name], best) for name in names]
        won = " / ".join(times(row["ratios"].get(name)) for name in OURS)
        lines.append([row["question"], row["case"], *cells, won])
    head = ["", "", *names, "fastest peer / windrow, by frame"]
    intro = (
        f"Milliseconds for {rows[0]['n']:,} rows of (key, ts, load) in the order of ts; all cores "
        f"for everyone. An hour has 1,000 rows of one key, 200 of each of many. * was measured on "
        f"a {SHARE}th of the rows, with windows as long, and multiplied. Answers are compared. "
        "`polars` is an expression a column, `over` the key; `polars, rolling` is "
        "`rolling(…).agg(…)`. pandas finds the argmax by `apply(np.argmax, raw=True)`. Answers of "
        "pandas, DuckDB and `polars, rolling` are left in their order; ours are beside their rows."
    )
    return f"{intro}\n\n{table(head, lines)}"


SECTION = Section(
    "Against other libraries",
    peers,
    show,
    f"{TARGET:g}× as fast as the fastest peer, for max, mean and argmax together",
    lambda rows: [
        ratio >= TARGET
        for row in rows
        if QUESTIONS[row["question"]]
        for ratio in row["ratios"].values()
    ],
)
