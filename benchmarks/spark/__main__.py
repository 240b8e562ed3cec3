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
from benchmarks.spark.alone import measured
from benchmarks.spark.cases import Case, cases
from benchmarks.spark.goals import goals
from benchmarks.spark.session import KEYS, data, seconds, session


class Frames:
    """The frames that cases run over, each made and cached once."""

    def __init__(self, spark: Any, rows: int) -> None:
        self.spark, self.rows = spark, rows
        self._made: dict[tuple[int, int | None], tuple[Any, int]] = {}

    def of(self, case: Case) -> tuple[Any, int]:
        """The frame of a case, and its rows."""
        rows = min(self.rows, case.rows or self.rows)
        which = rows, case.keys
        if which not in self._made:
            frame = data(self.spark, rows)
            if case.keys is not None:
                frame = frame.where(f"key < {case.keys}")
            frame = frame.cache()
            self._made[which] = frame, frame.count()
        return self._made[which]


def took(spark: Any, case: Case, frame: Any) -> float:
    """How long a case takes, with what runs when a query meets the frame."""
    for name, value in case.settings:
        spark.conf.set(name, value)
    start = time.perf_counter()
    seconds(case.make(frame))
    return time.perf_counter() - start


def measure(spark: Any, wanted: list[Case], rows: int, repeats: int) -> list[dict[str, Any]]:
    """Each case some times, those of a comparison in turns."""
    results, frames = [], Frames(spark, rows)
    for comparison in dict.fromkeys(case.comparison for case in wanted):
        group = [case for case in wanted if case.comparison == comparison]
        runs: dict[str, list[float]] = {case.name: [] for case in group}
        for round_ in range(repeats + 1):  # the first one is to warm up
            for case in random.sample(group, len(group)):
                took_now = took(spark, case, frames.of(case)[0])
                if round_:
                    runs[case.name].append(took_now)
        for case in group:
            n = frames.of(case)[1]
            median = statistics.median(runs[case.name])
            results.append(
                {"comparison": comparison, "case": case.name, "rows": n, "seconds": runs[case.name],
                 "krows_per_s": round(n / median / 1000, 2)}
            )  # fmt: skip
            print(
                f"{comparison}: {case.name}: {results[-1]['krows_per_s']} krows/s", file=sys.stderr
            )
    return results


def scaled(rows: int, repeats: int) -> dict[str, Any]:
    """The question without a key on one core and on two, in turns."""
    runs: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for cores in random.sample([1, 2], 2):
            made = measured(what="no key", cores=cores, rows=rows)
            runs[cores].append(made["seconds"])
            print(f"no key, {cores} core(s): {made['seconds']:.1f} s", file=sys.stderr)
    ratio = statistics.median(runs[1]) / statistics.median(runs[2])
    return {"cores": runs, "cores_ratio": [ratio]}


def bounded(rows: int, heap: str) -> dict[str, Any]:
    """The rows of one key, and the memory that they took: a worker holds windows, not keys."""
    made = {}
    for size in ("1 minute", "1 hour"):
        made[size] = measured(what="one key", rows=rows, memory=heap, range=size)
        took, held = made[size]["seconds"], made[size]["megabytes"]
        print(f"one key, {size}: {held} MB, {took:.1f} s", file=sys.stderr)
    return {"one_key": made}


def markdown(report: dict[str, Any]) -> str:
    """The results as tables."""
    lines = ["| question | plan | rows | krows/s | windrow is |", "|---|---|---|---|---|"]
    best = {r["comparison"]: r["krows_per_s"] for r in report["results"] if r["case"] == "windrow"}
    for row in report["results"]:
        question, plan, speed = row["comparison"], row["case"], row["krows_per_s"]
        peer = plan != "windrow" and question in best
        ratio = f"{best[question] / speed:.1f}×" if peer else ""
        lines.append(f"| {question} | {plan} | {row['rows']:,} | {speed:,} | {ratio} |")
    lines += ["", "| windrow against | asked | measured |", "|---|---|---|"]
    lines += [f"| {what} | {asked} | {found:.2f} |" for what, asked, found in goals(report)]
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
    parser.add_argument("--without", nargs="*", default=[], choices=["cores", "memory"])
    parser.add_argument("--key-rows", type=int, default=20_000_000, help="of the one key")
    parser.add_argument("--key-heap", default="600m", help="of Java, for the one key")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    report: dict[str, Any] = {}
    if "memory" not in given.without:
        report |= bounded(given.key_rows, given.key_heap)
    if "cores" not in given.without:
        report |= scaled(given.rows, given.repeats)
    spark = session(given.cores, given.memory)
    every = cases(tuple(given.windows), given.rows, KEYS)
    wanted = [case for case in every if (given.only or "") in case.comparison]
    import numba
    import pyarrow

    report |= {
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
