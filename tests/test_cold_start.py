"""What a first query compiles. Each name costs its user a tenth of a second or more, once.

`python -m bench cold` tells the seconds.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from numba.core import event
class Compiled(event.Listener):
    def on_start(self, event): pass
    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("windrow"):
            print(function.__name__)
with event.install_listener("numba:compile", Compiled()):
    __import__("bench.cold").cold.{case}()
"""
EXTREMES = ["_fourfold", "_load", "_pairwise", "key_of", "last_at", "segments", "short_extremes",
            "value_of"]  # fmt: skip
SUMS = ["_factor", "few_sums", "load_tile", "segments", "tile_at"]


@pytest.mark.parametrize(
    ("case", "names"), [("array", EXTREMES), ("table", [*EXTREMES, *SUMS])], ids=["array", "table"]
)
def test_a_first_query_compiles_what_it_needs(
    case: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(case=case)],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(names)
