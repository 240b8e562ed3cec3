"""The report: all in one file, whatever was measured."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.experiment import Clock, Experiment, Settings
from bench.figures import fragment
from bench.plots import draw
from bench.points import DISAGREES, Figure, Point, Points
from bench.results import Outcome, Run, ratios
from bench.rules import ahead, grows
from bench.run import machine, run_all
from windrow.cli.terminal import Steps
from windrow.errors import InvalidArgument

FIGURE = Figure("f", "a figure of <lines>", "window", "ns")
MAX = Figure("max", "", "window", "ms")
VOID = {"meta", "br", "circle", "line", "polyline", "hr"}


def some_points() -> Iterator[Point]:
    for x in (1, 2, 4, 8, 16):
        yield FIGURE.timed("fast & small", x, (1e-9, 1.2e-9, 0.9e-9), first=0.5)
        yield FIGURE.point("slow", x, 2.0 * x, 2.2 * x, 2.1 * x)
    yield FIGURE.missing("slow", 32, "it took <too> long")


def experiment(run: Any = None, **more: Any) -> Experiment:
    return Experiment(
        "made up", "a title", "how it runs", (FIGURE,), run or (lambda s, c: some_points()),
        source="Figure 1", finding="It is so.",
        rules=(
            ahead(FIGURE, "fast & small", "slow"),
            grows(FIGURE, "slow", "flat").unless("because"),
        ),
        **more,
    )  # fmt: skip


def a_run(folder: Path, *experiments: Experiment) -> Run:
    return run_all("A run", experiments, Settings(True), Clock(60), folder, Steps(quiet=True))


def test_a_run_is_resumed(tmp_path: Path) -> None:
    def broken(settings: Settings, clock: Clock) -> Iterator[Point]:
        yield FIGURE.point("slow", 1, 2.0)
        raise ValueError("a disk is full")

    first = replace(experiment(), name="first")
    a_run(tmp_path, first, experiment(broken))
    left = {"first": replace(first, run=broken), "made up": experiment()}
    run = run_all(
        "A run", list(left.values()), Settings(True), Clock(60), tmp_path, Steps(quiet=True),
        resume=True,
    )  # fmt: skip
    assert [outcome.problem for outcome in run.outcomes] == ["", ""]
    assert [len(outcome.points) for outcome in run.outcomes] == [len(list(some_points()))] * 2
    with pytest.raises(InvalidArgument, match="other settings"):
        run_all(
            "A run", [first], Settings(False), Clock(60), tmp_path, Steps(quiet=True), resume=True
        )


class Balanced(HTMLParser):
    """Counts tags that are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_a_report_is_one_file(tmp_path: Path) -> None:
    a_run(tmp_path, experiment())
    page = (tmp_path / "report.html").read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert "http" not in page and "@import" not in page and "<script" not in page
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(svg)


def test_a_report_tells_what_agrees_and_why_not(tmp_path: Path) -> None:
    a_run(tmp_path, experiment())
    page, text = ((tmp_path / f"report.{kind}").read_text() for kind in ("html", "md"))
    for shown in (page, text):
        assert "It is so." in shown and "agrees" in shown and "differs" in shown
        assert "Why: because" in shown
        assert "not measured: it took" in shown
    assert "agrees in 1 of 2" in page
    assert "<too>" not in page and "&lt;too&gt;" in page


def test_results_are_kept_as_json_and_csv(tmp_path: Path) -> None:
    a_run(tmp_path, experiment())
    raw = json.loads((tmp_path / "results.json").read_text())
    assert raw["finished"] and {"cpu", "cores", "python", "versions"} <= set(raw["machine"])
    found = raw["experiments"]["made up"]
    assert len(found["points"]) == 11 and found["points"][0]["runs"] == [1.0, 1.2, 0.9]
    assert [v["agrees"] for v in found["verdicts"]] == [True, False]
    with (tmp_path / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11 and rows[0]["median"] == "1.0" and rows[0]["first_s"] == "0.5"
    assert rows[-1]["status"] == "not measured: it took <too> long"


def test_an_experiment_that_breaks_does_not_end_the_run(tmp_path: Path) -> None:
    def broken(settings: Settings, clock: Clock) -> Iterator[Point]:
        yield FIGURE.point("slow", 1, 1.0)
        raise ValueError("out of luck")

    made = a_run(tmp_path, experiment(broken), experiment())
    assert made.finished and made.outcomes[0].problem == "failed: ValueError: out of luck"
    assert len(made.outcomes[1].points) == 11
    assert "out of luck" in (tmp_path / "report.html").read_text()


def test_an_interrupted_run_keeps_what_is_done(tmp_path: Path) -> None:
    def interrupted(settings: Settings, clock: Clock) -> Iterator[Point]:
        yield FIGURE.point("slow", 1, 1.0)
        raise KeyboardInterrupt

    made = a_run(tmp_path, experiment(interrupted), experiment())
    assert not made.finished and len(made.outcomes) == 1
    raw = json.loads((tmp_path / "results.json").read_text())
    assert not raw["finished"] and len(raw["experiments"]["made up"]["points"]) == 1
    assert "interrupted" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("logarithmic", [(True, True), (False, False)])
@pytest.mark.parametrize("xs", [[1], [1, 2], [1, 1000, 10**6], ["mean", "p99"]], ids=str)
@pytest.mark.parametrize("ys", [(1.0,), (1e-6, 3e5), (0.0, 2.0)], ids=str)
def test_any_points_can_be_drawn(
    xs: list[Any], ys: tuple[float, ...], logarithmic: tuple[bool, bool]
) -> None:
    figure = Figure("f", "title", "x", "y", logarithmic)
    points = Points(figure.point(name, x, *ys) for name in "ab" for x in xs)
    tree = ElementTree.fromstring(draw(figure, points))
    width, height = map(float, tree.attrib["viewBox"].split()[2:])
    circles = [e for e in tree.iter() if e.tag == "circle"]
    assert len(circles) == 2 * len(xs)
    for circle in circles:
        assert 0 <= float(circle.attrib["cx"]) <= width
        assert 0 <= float(circle.attrib["cy"]) <= height


def test_nothing_measured_draws_nothing() -> None:
    assert draw(FIGURE, Points([FIGURE.missing("a", 1, "why")])) == ""


# -- ratios ----------------------------------------------------------------------------------


def peers(ours: float, theirs: float, status: str = "ok") -> Points:
    return Points(
        [
            MAX.point("windrow", 8, ours, 2 * ours),
            Point("max", "pandas", 8, "ms", (theirs, 2 * theirs), status),
            MAX.point("polars", 8, 100.0, 100.0),
        ]
    )


def shown(name: str, points: Points, *figures: Figure) -> str:
    compared = Experiment(name, name, "", figures, lambda s, c: iter(()))
    outcome = Outcome(compared, points)
    return fragment(Run("", Settings(), machine(), [outcome], True), outcome)


def test_a_faster_peer_is_shown_winning() -> None:
    (ratio,) = ratios(peers(4.0, 1.0), MAX)
    assert ratio.peer == "pandas" and str(ratio) == "0.25 (pandas)"
    assert (ratio.low, ratio.high) == (0.25, 0.25)
    assert "| max | 0.25 (pandas) |" in shown("arrays", peers(4.0, 1.0), MAX)


def test_who_disagrees_does_not_win() -> None:
    (ratio,) = ratios(peers(4.0, 1.0, DISAGREES), MAX)
    assert ratio.peer == "polars"
    assert list(ratios(Points([MAX.point("windrow", 8, 1.0)]), MAX)) == []


def test_places_that_are_words_have_a_line_each() -> None:
    points = Points(
        [
            MAX.point("windrow, Arrow", "1 key", 1.0),
            MAX.point("windrow, pandas", "1 key", 4.0),
            MAX.point("duckdb", "1 key", 2.0),
        ]
    )
    text = shown("tables", points, MAX)
    assert "| fastest peer | Arrow | pandas |" in text
    assert "| max | 1 key | duckdb | 2.0 | 0.50 (duckdb) |" in text


def test_without_peers_the_values_are_shown() -> None:
    text = shown("stores", Points([MAX.point("in the process", 8, 1.5)]), MAX)
    assert "**max" in text and "| 8 | 1.5 |" in text
