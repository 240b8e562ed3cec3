"""Put the benchmarks' main tables into README.md: `python -m benchmarks.readme RESULTS.json …`.

The file's name tells which: arrays.json or tables.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.arrays.comparisons import OURS
from benchmarks.arrays.measuring import median_of
from benchmarks.tables.contenders import OURS as OUR_FRAMES

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- benchmark {}: begin (written by `make bench`) -->\n"
END = "<!-- benchmark {}: end -->\n"


def arrays(report: dict[str, Any]) -> str:
    """How many times as fast as the fastest peer, by aggregation and window."""
    rows = {
        (row["question"], row["window"]): row
        for row in report["sections"]["peers"]["rows"]
        if row["ratio"] is not None
    }
    questions = list(dict.fromkeys(question for question, _ in rows))
    windows = sorted({window for _, window in rows})
    n = report["settings"]["n"]
    lines = [
        f"`rolling` on {n:,} float64 values, one thread: how many times as fast as the fastest of",
        "bottleneck, numbagg, pandas, Polars, SciPy and DuckDB in the same run. Below 1 the peer",
        "named is faster.\n",
        "| | " + " | ".join(f"w = {w:,}" for w in windows) + " |",
        "|---|" + "---:|" * len(windows),
    ]
    for question in questions:
        cells = [_cell(rows.get((question, window))) for window in windows]
        lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    peers = {name: median_of(r) for name, r in row["results"].items() if name != OURS}
    return _ratio(row["ratio"], min(peers, key=lambda name: peers[name]))


def _ratio(ratio: float | None, peer: str | None) -> str:
    """A ratio, and below 1 who is faster."""
    if ratio is None:
        return "–"
    return f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f} ({peer})"


def tables(report: dict[str, Any]) -> str:
    """How many times as fast as the fastest peer, by question, keys and window, and by frame."""
    n = report["settings"]["n"]
    lines = [
        f"Queries over tables of {n:,} rows, all cores for everyone: how many times as fast as the",
        "fastest of pandas, Polars and DuckDB in the same run.\n",
        "| | | fastest peer | " + " | ".join(name.partition(", ")[2] for name in OUR_FRAMES) + " |",
        "|---|---|---|" + "---:|" * len(OUR_FRAMES),
    ]
    for row in report["sections"]["peers"]["rows"]:
        peer = row["fastest"]
        cells = [_ratio(row["ratios"].get(name), peer) for name in OUR_FRAMES]
        shown = [row["question"], f"{row['case']}", peer or "–", *cells]
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {"arrays": arrays, "tables": tables}
PLACES = {"arrays": "table", "tables": "of tables"}


def main() -> int:
    for path in map(Path, sys.argv[1:]):
        report = json.loads(path.read_text(encoding="utf-8"))
        begin, end = (mark.format(PLACES[path.stem]) for mark in (BEGIN, END))
        before, rest = README.read_text(encoding="utf-8").split(begin)
        after = rest.split(end)[1]
        made = WRITERS[path.stem](report)
        README.write_text(before + begin + made + end + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
