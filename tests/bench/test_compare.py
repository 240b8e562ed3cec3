"""Two checkouts against each other, here this one against itself."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.alone import alone
from bench.command import bench
from bench.compare import compare_checkouts
from bench.workloads import AREAS, measure_area

ROOT = Path(__file__).parents[2]
CASES = {"arrays": 42, "tables": 12, "spark": 5, "streams": 2}


def test_the_parent_imports_no_windrow() -> None:
    code = (
        "import sys; sys.argv = ['bench', 'compare', '--help']\n"
        "from bench.command import bench\n"
        "try: bench()\n"
        "except SystemExit: pass\n"
        "sys.exit(int('windrow' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "--before" in done.stdout


FAKE = """
import time
ArgMax = CountDistinct = Max = Mean = StdDev = Sum = lambda: None

def aggregation(**functions):
    return None

def rolling(values, aggregation, **window):
    if not set(window) & {windows!r}:
        raise ValueError("no such window")
    time.sleep({seconds})
"""


def checkout(folder: Path, seconds: float, *windows: str) -> Path:
    """A checkout of a windrow that takes a known time, and knows some windows."""
    (folder / "src" / "windrow").mkdir(parents=True)
    text = FAKE.format(seconds=seconds, windows=set(windows))
    (folder / "src" / "windrow" / "__init__.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_ratio_is_after_by_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = checkout(tmp_path / "a", 0.005, "rows", "range")
    after = checkout(tmp_path / "b", 0.03, "rows")
    lines = list(compare_checkouts(before, after, ["arrays"], True, rounds=2, largest=100))
    cases = [line for line in "\n".join(lines).splitlines() if line.startswith("  ")]
    assert len(cases) == CASES["arrays"]
    for line in cases:
        if "range" in line:
            assert line.endswith("after: ValueError: no such window")
        else:
            assert float(line.split()[-2]) > 1, line  # three times as long, on a quiet machine
    assert "geometric mean of 21 ratios" in lines[-1]
    sides = [f"arrays, round {i}, {side}" for i in (1, 2) for side in ("before", "after")]
    assert capsys.readouterr().err.splitlines() == sides


@pytest.mark.slow  # everything is compiled anew
@pytest.mark.parametrize("area", AREAS)
def test_every_case_has_a_ratio(area: str) -> None:
    lines = list(compare_checkouts(ROOT, ROOT, [area], True, rounds=1, largest=2000))
    cases = [line for line in "\n".join(lines).splitlines() if line.startswith("  ")]
    assert len(cases) == CASES[area]
    for line in cases:
        assert float(line.split()[-2]) > 0, line


def test_windrow_must_come_from_the_checkout(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="windrow was imported from"):
        list(alone(measure_area, "tables", str(tmp_path / "src"), True, 10))


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    given = ["compare", "--before", str(tmp_path), "--after", str(ROOT)]
    done = CliRunner().invoke(bench, given)
    assert done.exit_code == 2 and "is not a checkout" in done.output
