"""The first call of a new process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.arrays.measuring import Section, Settings, table
from windrow.bench.measuring import Row, summary

TARGET = 1.0
IMPORTS = "import numpy as np, numba"
CALLS = {
    "Max()": "from windrow import Max, rolling\nrolling(np.arange(1000.), Max(), rows=10)",
    "own": """from windrow import aggregation, rolling
spread = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
rolling(np.arange(1000.), spread, rows=10)""",
}


def first(settings: Settings) -> Iterator[Row]:
    scripts = {"": IMPORTS} | {k: f"{IMPORTS}\n{v}" for k, v in CALLS.items()}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for i, (name, code) in enumerate(scripts.items()):
            paths[name] = Path(folder, f"first_{i}.py")
            clock = "import time\nstart = time.perf_counter()\n"
            paths[name].write_text(f"{clock}{code}\nprint(time.perf_counter() - start)\n")
        warm = {name: in_process(path) for name, path in paths.items()}  # fills the cache
        runs: dict[str, list[float]] = {name: [] for name in warm}
        for _ in range(5):
            for name, path in paths.items():
                runs[name].append(in_process(path))
        imports = statistics.median(runs[""])
        for i, name in enumerate(CALLS):
            cold = in_process(paths[name], WINDROW_CACHE_DIR=str(Path(folder, f"cold_{i}")))
            yield {
                "case": name,
                "imports_s": imports,
                "seconds": statistics.median(runs[name]) - imports,
                "cold_s": cold - imports,
                **summary(runs[name]),
            }


def in_process(path: Path, **environment: str) -> float:
    """The seconds that a script in a new process says it took."""
    command = [sys.executable, str(path)]
    env = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return float(done.stdout)


def show_first(rows: list[Row]) -> str:
    lines = [
        [
            r["case"],
            f"{r['seconds']:.3f}",
            f"{r['min_s'] - r['imports_s']:.3f}–{r['max_s'] - r['imports_s']:.3f}",
            f"{r['imports_s']:.3f}",
            f"{r['cold_s']:.3f}",
        ]
        for r in rows
    ]
    head = ["", "first call, s", "min–max", "importing NumPy and Numba, s", "generated anew, s"]
    return (
        "A new process: importing windrow and the first call, without what importing NumPy and "
        f"Numba takes; median of 5.\n\n{table(head, lines)}"
    )


SECTION = Section(
    "The first call",
    first,
    show_first,
    f"less than {TARGET} s with a warm cache",
    lambda rows: [r["seconds"] < TARGET for r in rows],
)
