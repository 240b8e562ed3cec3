"""Memory stays bounded while ever new aggregations of the user's own are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")

# Ask `different` aggregations, and all of them again, `rounds` times in all; print the resident
# memory in MB and the number of LLVM's engines at the end of each fifth of the first round, and of
# each later round.
PROGRAM = """
import functools, gc, os, sys
import numpy as np
from windrow import aggregation, rolling
from windrow.compiled import engines, loaded
from windrow.kernels import generate

generate.kernel = functools.lru_cache(maxsize=2)(generate.kernel.__wrapped__)
different, rounds = map(int, sys.argv[1:])

def scaled(factor):
    return aggregation(lift=lambda v: v * factor, combine=lambda a, b: max(a, b), lower=float)

def resident():
    gc.collect()
    assert len(loaded) <= 2, len(loaded)
    with open("/proc/self/statm") as pages:
        print(int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6, len(engines))

for turn in range(rounds):
    for i in range(different):
        largest = rolling(np.array([1.0, 3.0, 2.0]), scaled(i + 0.5), rows=2)
        assert largest.tolist() == [i + 0.5, 3 * (i + 0.5), 3 * (i + 0.5)]
        if turn == 0 and (i + 1) % (different // 5) == 0:
            resident()
    if turn:
        resident()
"""


def resident(folder: Path, different: int, rounds: int) -> tuple[list[float], list[int]]:
    """The memory that a new process with an empty cache has, in MB, and its engines."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(different), str(rounds)],
        env={**os.environ, "WINDROW_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines()]
    return [float(megabytes) for megabytes, _ in told], [int(count) for _, count in told]


def test_loops_that_are_let_go_of_are_freed(tmp_path: Path) -> None:
    used, engines = resident(tmp_path, different=5, rounds=5)
    compiled, loaded = used[:5], used[5:]
    assert compiled[-1] - compiled[1] < 3 * 0.8, "of 3 aggregations that were compiled"
    assert loaded[-1] - loaded[1] < 10 * 0.1, "of 10 loops that were loaded from disk"
    assert len(set(engines[1:])) == 1, "an engine goes with its loop"


@pytest.mark.slow
def test_hundreds_of_aggregations_leave_next_to_nothing(tmp_path: Path) -> None:
    used, engines = resident(tmp_path, different=300, rounds=1)
    assert used[-1] - used[1] < 180 * 0.3
    assert used[-1] < 350
    assert len(set(engines)) == 1
