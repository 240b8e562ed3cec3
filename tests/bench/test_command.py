"""The command line: what it refuses, what it leaves behind, and what Ctrl-C keeps."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.catalogue import experiments
from bench.command import bench
from bench.peers import arrays, tables

ROOT = Path(__file__).parents[2]
TINY = ["--quick", "--largest", "16"]


def call(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(bench, arguments)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_names_are_checked_before_anything_runs(tmp_path: Path) -> None:
    status, told = call("papers", "--only", "000,0044", "--output", str(tmp_path / "out"))
    assert status == 2 and "'0044' is unknown" in told and "did you mean" in told
    status, told = call("peers", "--only", "array", "--output", str(tmp_path / "out"))
    assert status == 2 and "did you mean 'arrays'" in told
    assert not (tmp_path / "out").exists()


def test_a_wrong_file_is_told_before_anything_runs(tmp_path: Path) -> None:
    status, told = call("peers", "--data", str(tmp_path / "no.txt"), "--output", str(tmp_path))
    assert status == 2 and "there is no file" in told
    (tmp_path / "wrong.txt").write_text("1 2 3\n")
    given = ["--data", str(tmp_path / "wrong.txt"), "--output", str(tmp_path / "out")]
    status, told = call("papers", *given)
    assert status == 2 and "DEBS 2014" in told
    assert not (tmp_path / "out").exists()


def test_papers_leaves_a_report_and_results(tmp_path: Path) -> None:
    given = ["--only", "002", *TINY, "--seconds", "4", "--output", str(tmp_path)]
    status, told = call("papers", *given)
    assert status == 0
    assert told.splitlines()[-1] == str(tmp_path / "report.html")
    assert "002 operations: agrees" in told
    for name in ("report.html", "report.md", "results.json", "points.csv"):
        assert (tmp_path / name).stat().st_size > 500
    raw = json.loads((tmp_path / "results.json").read_text())
    assert list(raw["experiments"]) == [e.name for e in experiments(["002"])]
    assert "2^22" in (tmp_path / "report.md").read_text()


def test_peers_leaves_points_of_everyone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bottleneck")
    monkeypatch.setattr(arrays, "EXPERIMENTS", arrays.EXPERIMENTS[:1])
    given = ["--only", "arrays", "--quick", "--largest", "600"]
    status, _ = call("peers", *given, "--output", str(tmp_path))
    assert status == 0
    raw = json.loads((tmp_path / "results.json").read_text())
    points = raw["experiments"]["arrays"]["points"]
    statuses = {p["series"]: p["status"] for p in points}  # other peers may not be installed
    assert {name: statuses[name] for name in ("windrow", "bottleneck", "pandas")} == {
        "windrow": "ok", "bottleneck": "ok", "pandas": "ok"
    }  # fmt: skip


@pytest.mark.slow
def test_peers_take_a_file_of_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(tables, "EXPERIMENTS", tables.EXPERIMENTS[:1])
    lines = [f"{1377986401 + i} {50 + i % 7}.5 1 {i % 3} 0 0" for i in range(300)]
    (tmp_path / "plugs.txt").write_text("\n".join(lines))
    given = ["--only", "tables", *TINY, "--data", str(tmp_path / "plugs.txt")]
    status, _ = call("peers", *given, "--output", str(tmp_path / "out"))
    assert status == 0
    raw = json.loads((tmp_path / "out" / "results.json").read_text())
    points = raw["experiments"]["tables"]["points"]
    assert {p["x"] for p in points} == {"3 keys, rows=1000", '3 keys, range="1 hour"'}
    assert {p["status"] for p in points} == {"ok"}
    assert "plugs.txt" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "papers", "--only", "002", "--quick"]
    with subprocess.Popen(
        [*command, "--output", str(tmp_path)], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, cwd=ROOT,
    ) as child:  # fmt: skip
        kept = tmp_path / "points.csv"
        deadline = time.monotonic() + 60
        while not kept.exists() or len(kept.read_text().splitlines()) < 5:
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "interrupted" in err and "Traceback" not in err
    raw = json.loads((tmp_path / "results.json").read_text())
    assert not raw["finished"]
    points = [p for found in raw["experiments"].values() for p in found["points"]]
    with kept.open() as file:
        assert len(list(csv.DictReader(file))) == len(points) >= 4
    assert "interrupted" in (tmp_path / "report.html").read_text()


# -- windrow bench ---------------------------------------------------------------------------


def windrow(*arguments: str, cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """The installed command, as far as the path goes: without the checkout's root."""
    code = f"import sys; from windrow.cli import main; sys.argv[1:] = {[*arguments]!r}; main()"
    found = os.pathsep.join(filter(None, [path, str(ROOT / "src")]))
    return subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False, cwd=cwd,
        env=os.environ | {"PYTHONPATH": found},
    )  # fmt: skip


def test_windrow_bench_runs_in_a_checkout() -> None:
    done = windrow("bench", "--help", cwd=ROOT)
    assert done.returncode == 0 and done.stderr == ""
    assert all(f"  {name} " in done.stdout for name in bench.commands)
    done = windrow("bench", "papers", "--only", "0044", cwd=ROOT)
    assert done.returncode == 2 and "'0044' is unknown" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("--help",), ("papers",), ("peers", "--quick")])
def test_elsewhere_it_says_where_the_benchmarks_are(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    done = windrow("bench", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("windrow: the benchmarks are not part of the installed package")
    assert "checkout" in done.stderr and len(done.stderr.splitlines()) == 1


def test_another_package_of_that_name_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__init__.py").touch()
    done = windrow("bench", "papers", cwd=tmp_path, path=str(tmp_path))
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_the_wheel_has_no_benchmarks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["only-include"] == ["src/windrow", "src/pyspark_windrow.py"]
    assert not (ROOT / "src" / "windrow" / "bench").exists()


@pytest.mark.slow
def test_growth_tells_the_memory_after_each_query() -> None:
    status, told = call("growth", "--queries", "2")
    lines = told.splitlines()
    assert status == 0
    assert [line.split()[:2] for line in lines[:2]] == [["1", "queries"], ["2", "queries"]]
    assert lines[-1].endswith("MB more for each query after the first 1")
