"""The command line of the Spark benchmark."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import spark as about
from benchmarks.spark.cases import Case, cases

KEYS = 1000


def session(cores: int, memory: str) -> Any:
    """A local Spark with nothing beside it."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").appName("windrow benchmark")
    for name, value in {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def data(spark: Any, rows: int) -> Any:
    """Rows of (key, ts, v), a second apart from one to the next of a key."""
    from pyspark.sql import functions as sf

    return spark.range(rows).select(
        (sf.col("id") % KEYS).alias("key"),
        sf.timestamp_micros(sf.col("id") * (1_000_000 // KEYS)).alias("ts"),
        sf.rand(1).alias("v"),
    )


def seconds(spark: Any, case: Case, frame: Any) -> float:
    """How long a case takes."""
    for name, value in case.settings:
        spark.conf.set(name, value)
    start = time.perf_counter()
    case.make(frame).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def measure(spark: Any, wanted: list[Case], rows: int, repeats: int) -> list[dict[str, Any]]:
    """Each case some times, those of a comparison in turns."""
    results = []
    frames: dict[int, Any] = {}
    for comparison in dict.fromkeys(case.comparison for case in wanted):
        group = [case for case in wanted if case.comparison == comparison]
        runs: dict[str, list[float]] = {case.name: [] for case in group}
        for round_ in range(repeats + 1):  # the first one is to warm up
            for case in random.sample(group, len(group)):
                n = min(rows, case.rows or rows)
                if n not in frames:
                    frames[n] = data(spark, n).cache()
                    frames[n].count()
                took = seconds(spark, case, frames[n])
                if round_:
                    runs[case.name].append(took)
        for case in group:
            n = min(rows, case.rows or rows)
            median = statistics.median(runs[case.name])
            results.append(
                {"comparison": comparison, "case": case.name, "rows": n, "seconds": runs[case.name],
                 "krows_per_s": round(n / median / 1000, 1)}
            )  # fmt: skip
            print(
                f"{comparison}: {case.name}: {results[-1]['krows_per_s']} krows/s", file=sys.stderr
            )
    return results


def markdown(report: dict[str, Any]) -> str:
    """The results as a table."""
    lines = ["| question | plan | rows | krows/s | windrow is |", "|---|---|---|---|---|"]
    best = {r["comparison"]: r["krows_per_s"] for r in report["results"] if r["case"] == "windrow"}
    for row in report["results"]:
        question, plan, speed = row["comparison"], row["case"], row["krows_per_s"]
        peer = plan != "windrow" and question in best
        ratio = f"{best[question] / speed:.1f}×" if peer else ""
        lines.append(f"| {question} | {plan} | {row['rows']:,} | {speed} | {ratio} |")
    return "\n".join([f"{report['machine']}\n", *lines, ""])


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=about.__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--windows", type=int, nargs="+", default=[8, 64, 1024, 8192, 65536])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory", default="8g")
    parser.add_argument("--only", help="comparisons that have this in their name")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    spark = session(given.cores, given.memory)
    wanted = [c for c in cases(tuple(given.windows)) if (given.only or "") in c.comparison]
    import numba
    import pyarrow

    report = {
        "machine": f"{platform.machine()}, {given.cores} cores, "
        f"Python {platform.python_version()}, Spark {spark.version}, "
        f"PyArrow {pyarrow.__version__}, Numba {numba.__version__}",
        "results": measure(spark, wanted, given.rows, given.repeats),
    }
    text = markdown(report)
    print(text)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    if given.markdown:
        given.markdown.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
