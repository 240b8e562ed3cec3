"""Against other libraries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from benchmarks.arrays.comparisons import COMPARISONS, OURS, PEERS, Data
from benchmarks.arrays.measuring import (
    Row,
    Section,
    Settings,
    cell,
    measure,
    median_of,
    power,
    table,
    times,
)


def peers(settings: Settings) -> Iterator[Row]:
    data = Data(settings.values())
    for question, calls in COMPARISONS.items():
        for w in settings.windows((8, 64, 1024, 16384, 2**20)):
            bound = {name: partial(call, data, w) for name, call in calls.items()}
            results = measure(bound, settings.repeats, tolerance=1e-6)
            yield {
                "question": question,
                "window": w,
                "n": data.values.size,
                "results": {
                    p: results.get(p, {"status": "no such function"}) for p in (OURS, *PEERS)
                },
                "ratio": ratio(results),
            }


def ratio(results: Row) -> float | None:
    """The fastest peer's time by ours: above 1 we win."""
    mine = median_of(results[OURS])
    fastest = min((median_of(r) for name, r in results.items() if name != OURS), default=math.inf)
    return fastest / mine if math.isfinite(fastest) and math.isfinite(mine) else None


def show_peers(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        results = row["results"]
        best = min(map(median_of, results.values()))
        cells = [cell(results[name], best) for name in (OURS, *PEERS)]
        first = f"{results[OURS]['first_s']:.2f}" if "first_s" in results[OURS] else "–"
        lines.append([row["question"], power(row["window"]), *cells, times(row["ratio"]), first])
    head = ["", "w", OURS, *PEERS, "fastest peer / windrow", "our first call, s"]
    return f"Milliseconds for {rows[0]['n']:,} values.\n\n{table(head, lines)}"


SECTION = Section(
    "Against other libraries",
    peers,
    show_peers,
    "as fast as the fastest peer, or faster",
    lambda rows: [r["ratio"] >= 1 for r in rows if r["ratio"] is not None],
)
