"""Put the benchmark's main table into README.md: `python -m benchmarks.readme RESULTS.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.arrays.comparisons import OURS
from benchmarks.arrays.measuring import median_of

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- benchmark table: begin (written by `make bench`) -->\n"
END = "<!-- benchmark table: end -->\n"


def table(report: dict[str, Any]) -> str:
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
    ratio = f"{row['ratio']:.1f}" if row["ratio"] >= 1 else f"{row['ratio']:.2f}"
    if row["ratio"] >= 1:
        return ratio
    peers = {name: median_of(r) for name, r in row["results"].items() if name != OURS}
    return f"{ratio} ({min(peers, key=lambda name: peers[name])})"


def main() -> int:
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(before + BEGIN + table(report) + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
