"""Every experiment, in a tiny size: its points are those that its figures show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.catalogue import PAPERS, PEERS, experiments
from bench.experiment import Clock, Experiment, Settings
from bench.papers import p000, p002, p004
from bench.points import Point, Points
from bench.windows import Counting

ROOT = Path(__file__).parents[2]
SECONDS = 600.0  # the first run compiles
TINY = Settings(quick=True, repeats=2, largest=16)
EXPERIMENTS = experiments([*PAPERS, *PEERS])
FEWER = [
    (p000, "AGGREGATIONS", ("Max", "Count")),
    (p000, "COMPARED", ("Max",)),
]
# These start Java, or processes that import everything anew, or compile much.
SLOW = ("000 break-even", "003 latency", "004 latency", "arrays latency",
        "000 memory", "001 memory", "002 memory", "004 instances", "arrays first call",
        "tables memory", "spark", "spark alone", "streaming", "streaming state", "batches",
        "stores", "scaling")  # fmt: skip


def test_every_paper_and_every_kind_has_its_experiments() -> None:
    assert {e.name.split()[0] for e in EXPERIMENTS} == {*PAPERS, *PEERS}
    names = [e.name for e in EXPERIMENTS]
    assert len(names) == len(set(names)) == 24 + 21
    assert sum(name[0].isdigit() for name in names) == 24


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_an_experiment_tells_all_of_it(experiment: Experiment) -> None:
    assert experiment.title and experiment.how and experiment.figures
    if experiment.name[0].isdigit():
        assert experiment.source and experiment.finding and experiment.rules
    names = [figure.name for figure in experiment.figures]
    assert len(names) == len(set(names))
    for rule in experiment.rules:
        assert rule.check(Points()).agrees is None, "nothing was measured, so nothing is told"


def marked(experiment: Experiment) -> object:
    marks = [pytest.mark.slow] if experiment.name in SLOW else []
    return pytest.param(experiment, marks=marks, id=experiment.name)


def in_a_process(name: str) -> Points:
    """Points of an experiment that starts Spark: a session of the tests must not be stopped."""
    code = (
        "import json, sys; from bench.catalogue import PEERS, experiments\n"
        "from bench.experiment import Clock, Settings\n"
        "(found,) = [e for e in experiments(PEERS) if e.name == sys.argv[1]]\n"
        f"points = found.run(Settings(True, 2, largest=3000), Clock({SECONDS}))\n"
        "print(json.dumps([point.to_dict() for point in points]))"
    )
    command = [sys.executable, "-c", code, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return Points(map(Point.from_dict, json.loads(done.stdout.splitlines()[-1])))


@pytest.mark.parametrize("experiment", [marked(e) for e in EXPERIMENTS])
def test_an_experiment_yields_points_of_its_figures(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, kept in FEWER:  # each of them compiles for seconds
        monkeypatch.setattr(module, name, {k: getattr(module, name)[k] for k in kept})
    settings = TINY if experiment.name[0].isdigit() else Settings(True, 2, largest=3000)
    if experiment.name.split()[0] in ("spark", "streaming", "batches"):
        points = in_a_process(experiment.name)
    else:
        points = Points(experiment.run(settings, Clock(SECONDS)))
    figures = {figure.name for figure in experiment.figures}
    assert {p.figure for p in points} == figures
    for p in points:
        assert p.measured or p.status.startswith("not measured: "), p
        assert not p.status.startswith("not measured: failed"), p
        if p.runs:
            assert 0 <= p.low <= p.median <= p.high
    for figure in experiment.figures:
        told = {p.status for p in points.of(figure)}
        assert any(p.measured for p in points.of(figure)) or "never" in "".join(told), told
    for rule in experiment.rules:
        verdict = rule.check(points)
        assert verdict.found and verdict.agrees in (True, False, None)


def test_when_there_is_no_time_every_place_says_so() -> None:
    for experiment in EXPERIMENTS:
        if experiment.name in ("000 cost", "002 operations", "003 latency", "004 ranges", "tables"):
            points = list(experiment.run(TINY, Clock(0.0)))
            assert points and not any(p.measured for p in points)


@pytest.mark.parametrize("experiment", [p002.OPERATIONS, p004.OPERATIONS], ids=lambda e: e.name)
def test_the_counts_are_those_of_the_papers(experiment: Experiment) -> None:
    """⊕ are exact: what the papers state of them must hold on any machine."""
    points = Points(experiment.run(Settings(True, 1, largest=1 << 7), Clock(60.0)))
    for rule in experiment.rules:
        verdict = rule.check(points)
        assert verdict.agrees, (rule.states, verdict.found)


def test_counting_counts() -> None:
    counting = Counting()
    swag = counting.window("recalculate", 10)
    assert counting.total == 0
    swag.query()
    assert counting.total == counting.here == 9
