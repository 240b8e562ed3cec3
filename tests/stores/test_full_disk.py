"""A disk that is full: the store says so, loses nothing, and goes on when there is room again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOUNT = ["unshare", "--map-root-user", "--mount", "sh", "-c"]  # a disk that no one else sees


def can_mount(folder: Path) -> bool:
    if not shutil.which("unshare"):
        return False
    command = [*MOUNT, f"mount -t tmpfs -o size=1m tmpfs '{folder}'"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.faults
@pytest.mark.parametrize("kind", ["rocks", "lmdb"])
def test_a_full_disk(
    kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The disk of an open store is filled while a window is written, and has room again later."""
    if not can_mount(tmp_path):
        pytest.skip("a small disk cannot be mounted here: needs unshare and user namespaces")
    script = f"mount -t tmpfs -o size=32m tmpfs '{tmp_path}' && exec \"$@\""
    run = [sys.executable, "-m", "tests.stores.full_disk", kind, str(tmp_path)]
    done = subprocess.run(
        [*MOUNT, script, "sh", *run], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    for what, number in counts.items():
        record_property(what, number)
    assert counts["times full"] == 3
    assert counts["milliseconds until it went on"] < 2000
