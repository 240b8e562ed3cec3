"""The first call of `rolling` in a new process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.experiment import Clock, Experiment, Settings
from bench.measure import turns
from bench.points import Figure, Point
from bench.rules import at_most

SECONDS = Figure(
    "first call", "importing windrow and the first call", "call", "s", (True, False), contest=False
)
WARM, COLD, IMPORTS = "warm cache", "generated anew", "importing NumPy and Numba"
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
SCRIPT = """import time
start = time.perf_counter()
import numpy as np, numba
{}
print(time.perf_counter() - start)
"""


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Scripts in processes of their own; the imports that any user of Numba pays are taken off."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        scripts = {}
        for i, (name, code) in enumerate({IMPORTS: "", **CALLS}.items()):
            scripts[name] = Path(folder, f"first_{i}.py")
            scripts[name].write_text(SCRIPT.format(code), encoding="utf-8")
            in_process(scripts[name])  # fills the cache
        runs: dict[str, list[float]] = {name: [] for name in scripts}
        for name in turns(scripts, 2 if settings.quick else 5):
            if not (clock.over and runs[name]):
                runs[name].append(in_process(scripts[name]))
        imports = statistics.median(runs[IMPORTS])
        for i, name in enumerate(CALLS):
            cold = in_process(scripts[name], WINDROW_CACHE_DIR=str(Path(folder, f"cold_{i}")))
            yield SECONDS.point(WARM, name, *(seconds - imports for seconds in runs[name]))
            yield SECONDS.point(COLD, name, cold - imports)
            yield SECONDS.point(IMPORTS, name, *runs[IMPORTS])


def in_process(path: Path, **environment: str) -> float:
    """Return the seconds that a script in a new process says it took."""
    command = [sys.executable, str(path)]
    env = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return float(done.stdout)


EXPERIMENT = Experiment(
    "arrays first call",
    "the first call of a new process",
    "Importing windrow and the first call, without what importing NumPy and Numba takes; with the "
    "cache of compiled loops, and without it.",
    (SECONDS,),
    run,
    rules=(at_most(SECONDS, 1.0, WARM),),
    weight=0.5,
)
