"""A writing process is killed at random moments: its window is then one that it had.

None of what was confirmed is lost, and no operation is there by half.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.stores.stream import Model, open_window
from windrow.stores import LmdbStore, RocksStore

ROOT = Path(__file__).parents[2]
STORES: dict[str, Any] = {"rocks": RocksStore, "lmdb": LmdbStore}


def kill_a_writer(folder: Path, kind: str, algorithm: str, start: int, seconds: float) -> int:
    """Let a process write from operation `start` on, kill it; how many were confirmed at last."""
    log = folder / "log"
    log.write_bytes(b"")
    command = [sys.executable, "-m", "tests.stores.stream", kind, str(folder / "state"), algorithm]
    process = subprocess.Popen([*command, str(start), str(log)], cwd=ROOT)
    try:
        while not log.read_bytes():
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(seconds)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return max((int(line) for line in log.read_text().split()[1:]), default=start)


def kill_and_check(folder: Path, kind: str, algorithm: str, times: int) -> None:
    chance, model, kept = random.Random(f"{kind} {algorithm}"), Model(), 0
    for _ in range(times):
        confirmed = kill_a_writer(folder, kind, algorithm, model.done, chance.random() * 0.15)
        copy = folder / "copy"  # checking changes the window
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / "state", copy)
        with STORES[kind](copy) as store:
            swag = open_window(store, algorithm)
            before = model.done
            while model.head + model.end < swag._head + swag._end:
                model.step()
            assert model.done >= confirmed
            model.check(swag)
            kept += model.done > before
    assert kept > times / 3, "the processes were killed before they did anything"


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize(("algorithm", "times"), [("amta", 8), ("log_mta", 4)])
def test_killed_at_any_moment(tmp_path: Path, kind: str, algorithm: str, times: int) -> None:
    kill_and_check(tmp_path, kind, algorithm, times)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("algorithm", ["amta", "log_mta"])
def test_killed_hundreds_of_times(tmp_path: Path, kind: str, algorithm: str) -> None:
    kill_and_check(tmp_path, kind, algorithm, 150)
