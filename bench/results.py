"""The results of a run, kept as JSON with every point and as CSV, and ratios to the peers."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.experiment import Experiment, Settings, Verdict
from bench.points import Figure, Place, Point, Points

OURS = "windrow"
COLUMNS = ("experiment", "figure", "series", "x", "unit", "status", "median", "low", "high")
MORE = ("runs", "first_s", "more")


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

    def to_dict(self) -> dict[str, Any]:
        kept: dict[str, Any] = {
            "title": self.experiment.title,
            "seconds": round(self.seconds, 3),
            "points": [point.to_dict() for point in self.points],
            "verdicts": [
                {"rule": rule, "found": verdict.found, "agrees": verdict.agrees}
                for rule, verdict, _ in self.verdicts
            ],
        }
        return kept | ({"problem": self.problem} if self.problem else {})


@dataclass
class Run:
    """Everything that a report is written from."""

    title: str
    settings: Settings
    machine: dict[str, Any]
    outcomes: list[Outcome] = field(default_factory=list)
    finished: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "machine": self.machine,
            "settings": self.settings.recorded,
            "finished": self.finished,
            "experiments": {o.experiment.name: o.to_dict() for o in self.outcomes},
        }

    def to_json(self) -> str:
        """Return the run as JSON, with a line for each point."""
        kept = self.to_dict()
        lines = {}
        for i, outcome in enumerate(kept["experiments"].values()):
            points = [json.dumps(p, ensure_ascii=False, allow_nan=False) for p in outcome["points"]]
            outcome["points"] = f"points of {i}"
            lines[json.dumps(outcome["points"])] = "[\n" + ",\n".join(points) + "\n]"
        text = json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False)
        for place, points_of_it in lines.items():
            text = text.replace(place, points_of_it, 1)
        return text + "\n"

    @classmethod
    def from_dict(cls, kept: dict[str, Any], experiments: Sequence[Experiment]) -> Run:
        """Return the run that was kept so; experiments that it did not have are left out."""
        settings = Settings(
            kept["settings"]["quick"],
            kept["settings"]["repeats"],
            data=tuple(map(Path, kept["settings"]["data"])),
        )
        run = cls(kept["title"], settings, kept["machine"], finished=kept["finished"])
        for experiment in experiments:
            if experiment.name in kept["experiments"]:
                outcome = kept["experiments"][experiment.name]
                points = Points(map(Point.from_dict, outcome["points"]))
                problem = outcome.get("problem", "")
                run.outcomes.append(Outcome(experiment, points, outcome["seconds"], problem))
        return run

    def to_csv(self) -> str:
        text = io.StringIO(newline="")
        rows = csv.writer(text)
        rows.writerow((*COLUMNS, *MORE))
        for outcome in self.outcomes:
            rows.writerows(csv_row(outcome.experiment.name, point) for point in outcome.points)
        return text.getvalue()


def csv_row(experiment: str, point: Point) -> list[Any]:
    kept = {"experiment": experiment, **point.to_dict()}
    runs = " ".join(f"{run:.6g}" for run in point.runs)
    first = "" if point.first is None else f"{point.first:.6g}"
    more = json.dumps(dict(point.more)) if point.more else ""
    return [*(kept.get(column, "") for column in COLUMNS), runs, first, more]


# -- ours against the others -----------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """The cost of the best peer by ours: above 1 we win."""

    figure: str
    x: Place
    ours: str
    peer: str
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        shown = f"{self.median:.1f}" if self.median >= 1 else f"{self.median:.2f}"
        return shown if self.median >= 1 else f"{shown} ({self.peer})"


def is_ours(series: str) -> bool:
    """Whether a line is windrow's: its name begins so."""
    return series.partition(",")[0] == OURS


def ratios(points: Points, figure: Figure) -> Iterator[Ratio]:
    """Yield, for each place and each of our lines, the best peer that ran and agreed.

    A figure whose lines are no contenders has none.

    >>> f = Figure("max", "", "window", "ms")
    >>> some = Points([f.point("windrow", 8, 1.0, 2.0), f.point("pandas", 8, 4.0, 6.0)])
    >>> [(r.peer, r.median, r.low, r.high) for r in ratios(some, f)]
    [('pandas', 3.3333333333333335, 3.0, 4.0)]
    """
    for x in points.places(figure) if figure.contest else ():
        measured = [p for p in points.of(figure) if p.x == x and p.measured]
        peers = [p for p in measured if not is_ours(p.series)]
        if not peers:
            continue
        peer = min(peers, key=lambda p: p.median)
        for ours in (p for p in measured if is_ours(p.series)):
            by_round = _by_round(ours, peer)
            ratio, ends = peer.median / ours.median, (min(by_round), max(by_round))
            yield Ratio(figure.name, x, ours.series, peer.series, ratio, *ends)


def _by_round(ours: Point, peer: Point) -> list[float]:
    """Return the ratio of each round; whoever ran once is compared by that."""
    if len(ours.runs) == len(peer.runs):
        return [theirs / own for own, theirs in zip(ours.runs, peer.runs, strict=True)]
    return [statistics.median(peer.runs) / own for own in ours.runs]
