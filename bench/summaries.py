"""Summaries of whole runs: what users do today, the papers' verdicts, and how costs grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bench.points import Place, Point, Points
from bench.report import AGREES, as_markdown, caveats, overall
from bench.results import OURS, Run, is_ours


@dataclass(frozen=True)
class Question:
    """A line of the table: who asks what, where it was measured, and what is done today."""

    data: str
    asks: str
    experiment: str
    figure: str
    x: Place
    ours: str = OURS
    peers: tuple[str, ...] = ()  # what users of such data have; if empty, everyone that ran
    today: str = ""  # in words; if empty, the name of the fastest peer


THREE, TWO = "max, mean, argmax", "max, mean"
HOUR, MANY = 'range="1 hour"', "10,000 keys"
IN_SPARK = "Spark's window functions"
QUESTIONS = (
    Question("NumPy", "maximum of the last 1,024 values", "arrays", "max", 1024),
    Question("NumPy", "mean of the last 1,024 values", "arrays", "mean", 1024),
    Question("NumPy", "your own function of the last 1,024 values", "arrays own functions",
             "own functions", 1024, today="pandas' `apply` with Numba"),
    Question(f"pandas, {MANY}", f"{THREE} of the last hour", "tables", THREE,
             f"10000 keys, {HOUR}", "windrow, pandas", ("pandas",), "`groupby().rolling()`"),
    Question(f"Polars, {MANY}", f"{THREE} of the last hour", "tables", THREE,
             f"10000 keys, {HOUR}", "windrow, Polars", ("polars", "polars, rolling"), "Polars"),
    Question(f"Polars, {MANY}", f"{TWO} of the last hour", "tables", TWO,
             f"10000 keys, {HOUR}", "windrow, Polars", ("polars", "polars, rolling"), "Polars"),
    Question(f"Arrow, {MANY}", f"{THREE} of the last hour", "tables", THREE,
             f"10000 keys, {HOUR}", "windrow, Arrow", ("duckdb",), "DuckDB"),
    Question("Spark batch", "maximum of the last 8 rows", "spark", "max over the last rows", 8,
             today=IN_SPARK),
    Question("Spark batch", f"{THREE} of the last 1,024 rows", "spark", "other questions",
             "max, mean, argmax, 1024 rows", today=IN_SPARK),
    Question("Spark batch, no key", "maximum of the last hour", "spark", "other questions",
             "max without a key, 1 hour", today=IN_SPARK),
    Question("Spark batch", "maximum of an hour, every second", "spark", "other questions",
             "max, an hour every second", today="Spark's `window()`"),
    Question("Spark stream", "one window after the other", "streaming", "hopping windows", 1,
             today="Spark's `window()`"),
    Question("Spark stream", "windows 60 times as long as their slide", "streaming",
             "hopping windows", 60, today="Spark's `window()`"),
    Question("Spark stream", "the last 10 minutes before every row", "streaming",
             "a result a row", "range=10 minutes", today="not in Spark"),
)  # fmt: skip


def today(runs: Mapping[str, Run]) -> str:
    """Return the questions that were measured: what users do today, and how much faster this is.

    A question without a peer has rows a second.
    """
    rows = [["your data", "the question", "today", "windrow is"]]
    used: dict[str, Run] = {}
    for question in QUESTIONS:
        for kind, run in runs.items():
            points = [
                point
                for outcome in run.outcomes
                if outcome.experiment.name == question.experiment
                for point in outcome.points
                if (point.figure, point.x) == (question.figure, question.x) and point.measured
            ]
            ours = next((point for point in points if point.series == question.ours), None)
            if ours is not None:
                used[kind] = run
                rows.append(_row(question, ours, points))
    if not used:
        return ""
    where = "; ".join(
        f"{kind}: {run.machine['cpu']}, {run.machine['cores']} cores, {run.machine['when'][:10]}"
        f"{', with reservations' if run.settings.quick or caveats(run) else ''}"
        for kind, run in used.items()
    )
    return f"{as_markdown(rows)}\n\n<sub>Medians of one run each. {where}.</sub>\n"


def _row(question: Question, ours: Point, points: list[Point]) -> list[str]:
    def allowed(point: Point) -> bool:
        return not is_ours(point.series) and (not question.peers or point.series in question.peers)

    start = [question.data, question.asks]
    peer = min(filter(allowed, points), key=lambda point: point.median, default=None)
    if peer is None:
        return [*start, question.today or "–", _speed(ours)]
    times = peer.median / ours.median
    text = f"**{times:,.1f}×**" if times < 10 else f"**{times:,.0f}×**"
    word = f"{text} as fast" if times >= 1 else f"{times:.2f}× as fast"
    return [*start, question.today or peer.series, word]


def _speed(point: Point) -> str:
    if point.unit != "µs a row":
        raise ValueError(f"a cost in {point.unit} is no speed")
    return f"{1e6 / point.median:,.0f} rows a second"


def verdicts(runs: Mapping[str, Run]) -> str:
    """Return what became of each experiment of the papers, and every rule that does not hold."""
    run = runs.get("papers")
    if run is None:
        return ""
    rows = [["experiment", "figures and tables", "here"]]
    differs: list[str] = []
    counts: dict[bool | None, int] = dict.fromkeys(AGREES, 0)
    for outcome in run.outcomes:
        experiment = outcome.experiment
        rows.append([experiment.name, experiment.source, overall(outcome) or "–"])
        for rule, verdict, why in outcome.verdicts:
            counts[verdict.agrees] += 1
            if verdict.agrees is False:
                because = f" Why: {why}" if why else ""
                differs.append(f"- {experiment.name}: {rule}. Found: {verdict.found}.{because}")
    listed = ", ".join(f"{count} {AGREES[agrees]}" for agrees, count in counts.items() if count)
    parts = [f"{sum(counts.values())} rules: {listed}.", as_markdown(rows)]
    if differs:
        parts += ["What differs:", "\n".join(differs)]
    machine = run.machine
    parts.append(f"<sub>{machine['cpu']}, {machine['cores']} cores; {machine['when']}.</sub>\n")
    return "\n\n".join(parts)


# -- how the cost grows ----------------------------------------------------------------------------

CORES, ROWS = 1_000, 1e12  # a cluster, and a table
WRITTEN = 100e6  # bytes a second that a core moves


def model(runs: Mapping[str, Run]) -> str:
    """Return the line that the costs follow, and what it says for a thousand cores, on paper."""
    run = runs.get("scaling")
    if run is None:
        return ""
    (outcome,) = run.outcomes
    lines = []
    costs: dict[str, tuple[float, float]] = {}
    for series in dict.fromkeys(p.series for p in outcome.points):
        line = _line(outcome.points, series)
        if line is not None:
            costs[series] = line
            base, slope = line
            lines.append(
                f"- {series}: {base:.0f} ns a row, and {slope:.1f} ns more for each aggregation, "
                f"on {run.machine['cores']} cores."
            )
    shuffled = [p.median for p in outcome.points if p.figure == "bytes shuffled" and p.measured]
    if "Spark" not in costs or not shuffled:
        return "\n".join(lines) + "\n" if lines else ""
    base, slope = costs["Spark"]
    busy = (base + 5 * slope) * 1e-9 * run.machine["cores"]  # seconds of a core for a row
    moved = max(shuffled)
    hours = ROWS / CORES * (busy + 2 * moved / WRITTEN) / 3600
    lines.append(
        f"- A row is shuffled once, as {min(shuffled):.0f} to {moved:.0f} bytes. So {ROWS:.0e} "
        f"rows with five aggregations are {ROWS * moved / 1e12:,.0f} TB to shuffle, and about "
        f"{hours:,.1f} hours for {CORES:,} cores that write and read {WRITTEN / 1e6:.0f} MB a "
        f"second each: {hours * busy / (busy + 2 * moved / WRITTEN):,.1f} of them computing."
    )
    return "\n".join(lines) + "\n"


def _line(points: Points, series: str) -> tuple[float, float] | None:
    """Return the straight line through the costs by aggregations: ns a row, and ns for each.

    It has the least relative errors: the dearest queries would decide alone otherwise.
    """
    measured = [
        (float(p.x), p.median)
        for p in points
        if (p.figure, p.series) == ("by aggregations", series) and p.measured
    ]
    if len(measured) < 2:
        return None
    counts, costs = np.array(measured).T
    sides = np.column_stack([1 / costs, counts / costs])
    base, slope = np.linalg.lstsq(sides, np.ones(costs.size))[0].tolist()
    return base, slope


SUMMARIES: dict[str, Callable[[Mapping[str, Run]], str]] = {
    "today": today,
    "verdicts": verdicts,
    "model": model,
}
