"""Figures in documents: written from raw results, between marks, and up to date."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.catalogue import PAPERS, PEERS, experiments
from bench.command import bench
from bench.experiment import Settings
from bench.figures import MARKS, NOT_YET, TITLES, filled, fragment, groups_of, read, write
from bench.results import Outcome, Run

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "benchmarks"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BEGIN = "<!-- figures tables: begin, written by `python -m bench figures` -->\n"
END = "<!-- figures tables: end -->\n"


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return read(RESULTS)


def test_raw_results_are_read_as_they_are_kept(runs: dict[str, Run]) -> None:
    assert set(runs) <= set(TITLES) and "arrays" in runs
    for kind, run in runs.items():
        assert run.finished
        kept = json.loads((RESULTS / f"{kind}.json").read_text("utf-8"))
        assert len(run.outcomes) == len(kept["experiments"])
        assert run.to_json() == (RESULTS / f"{kind}.json").read_text("utf-8")
        for outcome in run.outcomes:
            figures = {figure.name: figure.unit for figure in outcome.experiment.figures}
            assert {p.figure: p.unit for p in outcome.points}.items() <= figures.items()


def test_the_documents_are_up_to_date(tmp_path: Path) -> None:
    """`python -m bench figures` would change nothing."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    assert write(tmp_path) == []
    (tmp_path / "docs" / "benchmarks" / "arrays.md").unlink()
    assert [path.name for path in write(tmp_path)] == ["arrays.md"]


def test_every_mark_names_an_experiment() -> None:
    names = {e.name for e in experiments([*PAPERS, *PEERS])}
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        found = [match["name"] for match in MARKS.finditer(text)]
        assert set(found) <= names, path
        assert len(found) == len(re.findall("^<!-- figures", text, flags=re.MULTILINE)) / 2, path


def test_every_file_of_the_results_is_written_by_a_program() -> None:
    for path in RESULTS.iterdir():
        assert path.stem in TITLES and path.suffix in (".json", ".md"), path


def test_figures_tell_the_machine_the_versions_and_the_date(runs: dict[str, Run]) -> None:
    for run in runs.values():
        for outcome in run.outcomes:
            text = fragment(run, outcome)
            for told in ("python", "windrow", "when", "cpu"):
                assert run.machine[told] in text


def test_figures_take_their_place(runs: dict[str, Run]) -> None:
    text = f"before\n{BEGIN}stale\n{END}after\n"
    placed = filled(text, runs)
    assert placed.startswith(f"before\n{BEGIN}") and placed.endswith(f"{END}after\n")
    assert "stale" not in placed and "| max, mean |" in placed
    assert filled(placed, runs) == placed
    assert filled(text, {}) == f"before\n{BEGIN}{NOT_YET}{END}after\n"
    assert filled("no marks\n", runs) == "no marks\n"


def a_run(folder: Path, kind: str, finished: bool = True) -> None:
    chosen = experiments(groups_of(kind))
    figure = chosen[0].figures[0]
    outcome = Outcome(chosen[0])
    outcome.points.add(figure.point("windrow", 8, 1.0))
    machine = {"cpu": "a", "cores": 1, "system": "b", "python": "3", "windrow": "0",
               "versions": {}, "when": "today"}  # fmt: skip
    run = Run("A run", Settings(True), machine, [outcome], finished)
    folder.mkdir()
    (folder / "results.json").write_text(run.to_json(), encoding="utf-8")


def test_a_run_becomes_the_raw_results_of_its_kind(tmp_path: Path) -> None:
    (tmp_path / "docs" / "benchmarks").mkdir(parents=True)
    (tmp_path / "README.md").write_text(f"{BEGIN}{END}", encoding="utf-8")
    a_run(tmp_path / "run", "tables")
    done = CliRunner().invoke(bench, ["figures", str(tmp_path / "run"), "--root", str(tmp_path)])
    assert done.exit_code == 0
    written = {path.name for path in (tmp_path / "docs" / "benchmarks").iterdir()}
    assert written == {"tables.json", "tables.md"}
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert "A quick run." in readme and "today" in readme


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    a_run(tmp_path / "run", "papers", finished=False)
    done = CliRunner().invoke(bench, ["figures", str(tmp_path / "run"), "--root", str(tmp_path)])
    assert done.exit_code == 2 and "not finished" in done.output
