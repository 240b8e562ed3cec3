"""A run: experiments one after the other, each with its share of the time; all of it is kept."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Verdict
from windrow.bench.measuring import Row, failure, load, machine
from windrow.bench.points import Point, Points
from windrow.bench.settings import Settings

COLUMNS = ("experiment", "figure", "series", "x", "unit", "status", "median", "low", "high")
MORE = ("runs", "first_s", "more")
POINTS = "points.csv"


class Progress(Protocol):
    """Where a run tells how far it is."""

    def begin(self, name: str, title: str) -> None:
        """An experiment begins."""

    def came(self, point: Point) -> None:
        """A point came."""

    def end(self, name: str, seconds: float, problem: str) -> None:
        """An experiment is over."""


@dataclass
class Outcome:
    """What an experiment gave."""

    experiment: Experiment
    points: Points = field(default_factory=Points)
    seconds: float = 0.0
    problem: str = ""

    @property
    def verdicts(self) -> list[tuple[str, Verdict, str]]:
        """Each rule in words, what was found, and why it may not be so."""
        return [(r.states, r.check(self.points), r.otherwise) for r in self.experiment.rules]

    def to_dict(self) -> Row:
        """As it is kept."""
        made: Row = {
            "title": self.experiment.title,
            "seconds": round(self.seconds, 3),
            "points": [point.to_dict() for point in self.points],
            "verdicts": [
                {"rule": rule, "found": verdict.found, "agrees": verdict.agrees}
                for rule, verdict, _ in self.verdicts
            ],
        }
        return made | ({"problem": self.problem} if self.problem else {})


@dataclass
class Run:
    """Everything that a report is made of."""

    title: str
    settings: Settings
    machine: Row
    outcomes: list[Outcome] = field(default_factory=list)
    finished: bool = False

    def to_dict(self) -> Row:
        """As it is kept."""
        return {
            "title": self.title,
            "machine": self.machine,
            "settings": {
                "quick": self.settings.quick,
                "repeats": self.settings.repeats,
                "data": [str(path) for path in self.settings.data],
            },
            "finished": self.finished,
            "experiments": {o.experiment.name: o.to_dict() for o in self.outcomes},
        }


def run_all(
    title: str,
    experiments: Sequence[Experiment],
    settings: Settings,
    clock: Clock,
    folder: Path,
    packages: Sequence[str],
    progress: Progress,
    report: Callable[[Run], dict[str, str]],
) -> Run:
    """Run the experiments; a point is in points.csv as soon as it is there.

    `report` makes the files that are read, by name; they and results.json are written after each
    experiment, and when the run is interrupted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = Run(title, settings, machine(packages))
    left = sum(experiment.weight for experiment in experiments)
    with (folder / POINTS).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow((*COLUMNS, *MORE))
        with suppress(KeyboardInterrupt):
            for experiment in experiments:
                outcome = Outcome(experiment)
                made.outcomes.append(outcome)
                share = clock.share(experiment.weight, of=left)
                left -= experiment.weight
                try:
                    _run_one(outcome, settings, share, rows, file, progress)
                finally:
                    _keep(made, folder, report(made))
            made.finished = True
    made.machine["load_after"] = load()
    _keep(made, folder, {POINTS: _csv(made), **report(made)})  # an interrupt may cut a line short
    return made


def _run_one(
    outcome: Outcome, settings: Settings, clock: Clock, rows: Any, file: IO[str], progress: Progress
) -> None:
    experiment, start = outcome.experiment, time.perf_counter()
    progress.begin(experiment.name, experiment.title)
    try:
        for point in experiment.run(settings, clock):
            outcome.points.add(point)
            rows.writerow(_row(experiment.name, point))
            file.flush()
            progress.came(point)
    except Exception as error:  # the other experiments go on
        outcome.problem = failure(error)
    except KeyboardInterrupt:
        outcome.problem = "interrupted"
        raise
    finally:
        outcome.seconds = time.perf_counter() - start
        progress.end(experiment.name, outcome.seconds, outcome.problem)


def _row(experiment: str, point: Point) -> list[Any]:
    """A point as a line of points.csv."""
    kept = point.to_dict()
    told = {"experiment": experiment, **kept}
    more = {k: v for k, v in kept.items() if k not in (*COLUMNS, *MORE)}
    runs = " ".join(f"{run:.6g}" for run in point.runs)
    first = "" if point.first is None else f"{point.first:.6g}"
    columns = [told.get(column, "") for column in COLUMNS]
    return [*columns, runs, first, json.dumps(more) if more else ""]


def _csv(run: Run) -> str:
    """All points, as points.csv has them."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow((*COLUMNS, *MORE))
    for outcome in run.outcomes:
        rows.writerows(_row(outcome.experiment.name, point) for point in outcome.points)
    return text.getvalue()


def _keep(run: Run, folder: Path, texts: dict[str, str]) -> None:
    """Write everything anew; a file is whole or the one before."""
    raw = json.dumps(run.to_dict(), indent=1, allow_nan=False) + "\n"
    for name, text in {"results.json": raw, **texts}.items():
        unfinished = folder / f".{name}.part"
        unfinished.write_text(text, encoding="utf-8", newline="")
        unfinished.replace(folder / name)
