"""Figures in documents: written from raw results, between marks, and up to date."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.catalogue import PAPERS, PEERS, experiments
from bench.command import bench
from bench.experiment import Settings
from bench.figures import (
    MARKS,
    NOT_YET,
    TITLES,
    WITH_PLOTS,
    filled,
    fragment,
    groups_of,
    read,
    write,
)
from bench.points import Points
from bench.results import Outcome, Run
from bench.summaries import QUESTIONS, SUMMARIES

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
    names = {e.name for e in experiments([*PAPERS, *PEERS])} | set(SUMMARIES)
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        found = [match["name"] for match in MARKS.finditer(text)]
        assert set(found) <= names, path
        assert len(found) == len(re.findall("^<!-- figures", text, flags=re.MULTILINE)) / 2, path


def test_every_file_of_the_results_is_written_by_a_program() -> None:
    more = dict.fromkeys(WITH_PLOTS, ".html") | {"soak": ".svg"}
    for path in RESULTS.iterdir():
        kinds = (".json", ".md", more.get(path.stem))
        assert path.stem in {*TITLES, "soak"} and path.suffix in kinds, path


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


MACHINE = {"cpu": "a", "cores": 1, "system": "b", "python": "3", "windrow": "0",
           "versions": {}, "when": "today"}  # fmt: skip


def test_every_question_names_a_figure() -> None:
    figures = {(e.name, f.name) for e in experiments(PEERS) for f in e.figures}
    assert {(question.experiment, question.figure) for question in QUESTIONS} <= figures


def test_today_s_ways_are_held_against_windrow() -> None:
    """The fastest of those that a user of such data has, and speeds where there is none."""
    arrays, streams = experiments(["arrays"])[0], experiments(["streaming"])[0]
    by_array, by_stream = Outcome(arrays), Outcome(streams)
    most = next(figure for figure in arrays.figures if figure.name == "max")
    per_row = next(figure for figure in streams.figures if figure.name == "a result a row")
    for name, cost in (("windrow", 2.0), ("pandas", 9.0), ("bottleneck", 5.0), ("duckdb", 1.0)):
        status = {} if name != "duckdb" else {"status": "disagrees"}
        by_array.points.add(replace(most.point(name, 1024, cost), **status))
    by_stream.points.add(per_row.point("windrow", "range=10 minutes", 4.0))
    runs = {
        "arrays": Run("", Settings(), MACHINE, [by_array], True),
        "streaming": Run("", Settings(True), MACHINE, [by_stream], True),
    }
    last, where, doubt = (
        "the last 10 minutes before every row",
        "a, 1 cores, today",
        "with reservations",
    )
    assert SUMMARIES["today"](runs).splitlines() == [
        "| your data | the question | today | windrow is |",
        "| --- | --- | --- | --- |",
        "| NumPy | maximum of the last 1,024 values | bottleneck | **2.5×** as fast |",
        f"| Spark stream | {last} | not in Spark | 250,000 rows a second |",
        "",
        f"<sub>Medians of one run each. arrays: {where}; streaming: {where}, {doubt}.</sub>",
    ]
    assert SUMMARIES["today"]({}) == SUMMARIES["verdicts"](runs) == ""


def test_verdicts_of_the_papers_count_rules_and_tell_what_differs() -> None:
    chosen = experiments(["002"])
    run = Run("", Settings(), MACHINE, [Outcome(experiment) for experiment in chosen], True)
    text = SUMMARIES["verdicts"]({"papers": run})
    rules = sum(len(experiment.rules) for experiment in chosen)
    assert text.startswith(f"{rules} rules: {rules} not measured.")
    assert all(f"| {experiment.name} |" in text for experiment in chosen)
    assert "What differs" not in text


def test_the_model_is_a_line_through_the_costs_by_aggregations() -> None:
    (experiment,) = experiments(["scaling"])
    by_number, shuffled = experiment.figures[3], experiment.figures[5]
    run = Run("", Settings(), {"cores": 2})
    points = Points(by_number.point("Spark", k, 100.0 + 10 * k) for k in (1, 5, 50))
    run.outcomes = [Outcome(experiment, points)]
    line = "- Spark: 100 ns a row, and 10.0 ns more for each aggregation, on 2 cores."
    assert SUMMARIES["model"]({"scaling": run}) == f"{line}\n"
    points.add(shuffled.point("Spark", 1, 16.0))
    # 150 ns on two cores are 300 of one, and 16 bytes written and read at 10 ns each are 320
    assert "16 TB to shuffle, and about 0.2 hours" in SUMMARIES["model"]({"scaling": run})
    assert SUMMARIES["model"]({}) == ""


def a_run(folder: Path, kind: str, finished: bool = True) -> None:
    chosen = experiments(groups_of(kind))
    figure = chosen[0].figures[0]
    outcome = Outcome(chosen[0])
    outcome.points.add(figure.point("windrow", 8, 1.0))
    run = Run("A run", Settings(True), MACHINE, [outcome], finished)
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
