"""The command line of the streaming benchmark."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.spark.session import session
from benchmarks.streaming.feeding import Feed, speed, written
from windrow import Max, Mean, sliding

Result = dict[str, Any]
RATIOS = (1, 10, 60, 600, 3600)
# At these ratios Spark's own windows take minutes for a few thousand rows.
SPARKS = {1: 500_000, 10: 500_000, 60: 100_000, 600: 4_000}


def hopping(spark: Any, path: Path, rows: int, repeats: int, ratios: Any) -> Iterator[Result]:
    """Windows of one to 3600 slides, ours and Spark's own, in turns."""
    from pyspark.sql import functions as sf

    for ratio in ratios:
        size = f"{ratio} seconds"

        def ours(frame: Any, size: str = size) -> Any:
            return frame.transform(
                sliding(
                    partition_by="key", order_by="ts", range=size, slide="1 second",
                    lateness="5 seconds", m=Max("v"), a=Mean("v"),
                )
            )  # fmt: skip

        def theirs(frame: Any, size: str = size) -> Any:
            windows = sf.window("ts", size, "1 second")
            grouped = frame.withWatermark("ts", "5 seconds").groupBy("key", windows)
            return grouped.agg(sf.max("v"), sf.avg("v"))

        for _ in range(repeats):
            for name, make, n in (("windrow", ours, rows), ("window()", theirs, SPARKS.get(ratio))):
                if n is None:
                    continue
                feed = Feed(spark, path / "hopping", keys=100, per_second=1000)
                for _ in range(4):
                    feed.add(min(n, rows))
                made = speed(feed.run(make)[0])
                yield {"what": "hopping", "ratio": ratio, "who": name, "rows": 4 * min(n, rows),
                       "krows_per_s": round(made, 2)}  # fmt: skip


def rows_of_keys(spark: Any, path: Path, rows: int, repeats: int) -> Iterator[Result]:
    """An answer a row, ten thousand keys."""
    asked = {
        "rows=100": {"rows": 100},
        "range=10 minutes": {"range": "10 minutes"},
    }
    for _ in range(repeats):
        for name, window in asked.items():
            feed = Feed(spark, path / "rows", keys=10_000, per_second=10_000)
            for _ in range(5):
                feed.add(rows)
            query = sliding(
                partition_by="key", order_by="ts", lateness="5 seconds", m=Max("v"), **window
            )
            made = speed(feed.run(lambda frame, query=query: frame.transform(query))[0])
            yield {"what": "an answer a row", "case": name, "who": "windrow", "rows": 5 * rows,
                   "krows_per_s": round(made, 2)}  # fmt: skip


def state(spark: Any, path: Path, exponents: Any) -> Iterator[Result]:
    """What a micro-batch of 4,096 rows writes, what is kept, and what a restart takes."""
    for exponent in exponents:
        window = 2**exponent
        query = sliding(partition_by="key", rows=window, m=Max("v"))
        feed = Feed(spark, path / "state", keys=1, per_second=1000)
        feed.add(window)

        def make(frame: Any, query: Any = query) -> Any:
            return frame.transform(query)

        feed.run(make)
        for _ in range(10):
            feed.add(4096)
        progress, _ = feed.run(make)
        feed.add(4096)
        _, restart = feed.run(make)
        chunks = spark.read.format("statestore").option("stateVarName", "chunks")
        sizes = chunks.load(str(feed.path / "checkpoint")).selectExpr(
            "sum(length(user_map_value.value))"
        )
        yield {"what": "state", "window": window, "who": "windrow",
               "written_per_batch": written(progress) // 10,
               "kept": sizes.first()[0], "raw": window * 8,
               "restart_seconds": round(restart, 2)}  # fmt: skip


def table(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    results = report["results"]
    lines = [f"Measured on {report['machine']}.", ""]
    lines += ["| hopping, range / slide | windrow, krows/s | Spark's window() | ratio |",
              "|---|---|---|---|"]  # fmt: skip

    def median(**wanted: Any) -> float | None:
        found = [r["krows_per_s"] for r in results if wanted.items() <= r.items()]
        return statistics.median(found) if found else None

    for ratio in dict.fromkeys(r["ratio"] for r in results if r["what"] == "hopping"):
        ours = median(what="hopping", ratio=ratio, who="windrow")
        theirs = median(what="hopping", ratio=ratio, who="window()")
        told = ("not measured", "") if theirs is None else (f"{theirs:g}", f"{ours / theirs:.1f}×")
        lines.append(f"| {ratio} | {ours:g} | {told[0]} | {told[1]} |")
    lines += ["", "| an answer a row, 10,000 keys | krows/s |", "|---|---|"]
    for case in dict.fromkeys(r["case"] for r in results if "case" in r):
        lines.append(f"| {case} | {median(case=case):g} |")
    head = "| window, rows | written by a batch of 4,096 rows | kept | raw values | restart |"
    lines += ["", head, "|---|---|---|---|---|"]
    for r in results:
        if r["what"] == "state":
            lines.append(
                f"| {r['window']:,} | {r['written_per_batch']:,} B | {r['kept']:,} B "
                f"| {r['raw']:,} B | {r['restart_seconds']} s |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print as it goes, and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000, help="of a micro-batch")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--ratios", type=int, nargs="*", default=RATIOS)
    parser.add_argument("--windows", type=int, nargs="*", default=(12, 14, 16, 18, 20))
    parser.add_argument("--only", nargs="*", default=("hopping", "rows", "state"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    spark = session(2, "3g")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        sections = {
            "rows": lambda: rows_of_keys(spark, path, options.rows, options.repeats),
            "state": lambda: state(spark, path, options.windows),
            "hopping": lambda: hopping(spark, path, options.rows, options.repeats, options.ratios),
        }
        for name, section in sections.items():
            if name not in options.only:
                continue
            for result in section():
                results.append(result)
                print(json.dumps(result), file=sys.stderr, flush=True)
                report = {
                    "machine": f"{os.cpu_count()} cores, {platform.machine()}, Spark "
                    f"{spark.version}, Python {platform.python_version()}",
                    "results": results,
                }
                if options.json:
                    options.json.write_text(json.dumps(report, indent=1) + "\n")
    print(table(report))
    if options.markdown:
        options.markdown.write_text(table(report))


if __name__ == "__main__":
    main()
