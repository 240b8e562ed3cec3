"""Memory stays bounded while ever new aggregations of the user's own are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")

# Ask `different` aggregations, and all of them again, `rounds` times in all; print the resident
# memory in MB at the end of each tenth of the first round, and of each later round.
PROGRAM = """
import functools, gc, os, sys
import numpy as np
from windrow import aggregation, rolling
from windrow.compiled import loaded
from windrow.kernels import generate

generate.kernel = functools.lru_cache(maxsize=4)(generate.kernel.__wrapped__)
different, rounds = map(int, sys.argv[1:])

def scaled(factor):
    return aggregation(lift=lambda v: v * factor, combine=lambda a, b: max(a, b), lower=float)

def resident():
    gc.collect()
    assert len(loaded) <= 4, len(loaded)
    with open("/proc/self/statm") as pages:
        print(int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6)

for turn in range(rounds):
    for i in range(different):
        largest = rolling(np.array([1.0, 3.0, 2.0]), scaled(i + 0.5), rows=2)
        assert largest.tolist() == [i + 0.5, 3 * (i + 0.5), 3 * (i + 0.5)]
        if turn == 0 and (i + 1) % (different // 10) == 0:
            resident()
    if turn:
        resident()
"""


def resident(folder: Path, different: int, rounds: int) -> list[float]:
    """The memory that a new process with an empty cache has, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(different), str(rounds)],
        env={**os.environ, "WINDROW_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.splitlines()]


def test_loops_that_are_let_go_of_are_freed(tmp_path: Path) -> None:
    used = resident(tmp_path, different=20, rounds=15)
    compiled, loaded = used[:10], used[10:]
    assert compiled[-1] - compiled[4] < 10 * 2.0, "of 10 aggregations that were compiled"
    assert loaded[-1] - loaded[3] < 200 * 0.2, "of 200 loops that were loaded from disk"


@pytest.mark.slow
def test_hundreds_of_aggregations_leave_only_their_machine_code(tmp_path: Path) -> None:
    used = resident(tmp_path, different=300, rounds=1)
    assert used[-1] - used[2] < 210 * 1.5
    assert used[-1] < 700
