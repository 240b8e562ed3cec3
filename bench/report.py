"""The report: one HTML page with everything in it, and the tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import plots
from bench.points import Figure, Place, Point, Points
from bench.results import Outcome, Run, ratios

AGREES = {True: "agrees", False: "differs", None: "not measured"}
LOADS = ("load_before", "load_after")
TEMPLATE = Path(__file__).parent / "templates" / "report.html.j2"


def html(run: Run) -> str:
    """Return the page: figures, tables, what was expected, what was found."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(TEMPLATE.read_text("utf-8"))
    sections = [_section(outcome) for outcome in run.outcomes]
    return template.render(run=run, about=about(run), notes=notes(run), sections=sections) + "\n"


def about(run: Run) -> str:
    """Return the machine, the versions and the date of a run."""
    machine = run.machine
    versions = {"Python": machine["python"], "windrow": machine["windrow"], **machine["versions"]}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}"
    return f"{where}; {listed}; {machine['when']}."


def notes(run: Run) -> list[str]:
    """Return how the values were taken, and what spoils them."""
    loads = (run.machine.get(key) for key in LOADS)
    before, after = ("unknown" if load is None else f"{load:.1f}" for load in loads)
    files = ", ".join(path.name for path in run.settings.data)
    how = (
        f"{'A quick run: ' if run.settings.quick else ''}{run.settings.repeats} round(s), the "
        "contenders in another order in each; a value is the median, with the smallest and the "
        "largest. First calls, which may compile, are kept apart."
    )
    values = f"Values: {files or 'synthetic, with a fixed seed'}."
    return [how, f"{values} Load {before} before, {after} after.", *caveats(run)]


def caveats(run: Run) -> list[str]:
    """Return what a reader of any value of a run has to know."""
    machine, lines = run.machine, []
    if max(machine.get(key) or 0 for key in LOADS) > (machine["cores"] or 1):
        lines.append(
            "The machine was busy: more processes wanted to run than there are cores; ratios "
            "stand, single values may not."
        )
    if "note" in machine:
        lines.append(machine["note"])
    if not run.finished:
        lines.append("Not finished: the run was interrupted, or is still going on.")
    return lines


def _section(outcome: Outcome) -> dict[str, Any]:
    experiment, points = outcome.experiment, outcome.points
    verdicts = [
        {
            "rule": rule,
            "found": v.found,
            "word": AGREES[v.agrees],
            "why": why if v.agrees is False else "",
        }
        for rule, v, why in outcome.verdicts
    ]
    return {
        "id": experiment.name.replace(" ", "-"),
        "experiment": experiment,
        "seconds": outcome.seconds,
        "problem": outcome.problem,
        "verdicts": verdicts,
        "word": overall(outcome),
        "figures": [_figure(figure, points) for figure in experiment.figures],
    }


def overall(outcome: Outcome) -> str:
    """Return whether every rule that could be checked agrees."""
    agree = [verdict.agrees for _, verdict, _ in outcome.verdicts if verdict.agrees is not None]
    if not outcome.experiment.rules:
        return ""
    if not agree:
        return AGREES[None]
    if all(agree):
        return AGREES[True]
    return f"agrees in {sum(agree)} of {len(agree)}"


def _figure(figure: Figure, points: Points) -> dict[str, Any]:
    return {
        "figure": figure,
        "svg": plots.draw(figure, points),
        "legend": plots.legend(figure, points),
        "table": table(points, figure),
        "missing": _missing(points, figure),
        "ratios": list(ratios(points, figure)),
    }


def _missing(points: Points, figure: Figure) -> list[str]:
    """Return what was not measured, by its reason."""
    places: dict[tuple[str, str], list[str]] = {}
    for p in points.of(figure):
        if not p.measured:
            places.setdefault((p.series, p.status), []).append(place(p.x))
    return [f"{series} at {', '.join(xs)}: {why}" for (series, why), xs in places.items()]


def table(points: Points, figure: Figure) -> list[list[str]]:
    """Return a figure as rows of cells, the head first: places down, contenders across."""
    series = points.series(figure)
    rows = [[figure.x, *series]]
    for x in points.places(figure):
        cells = [points.at(figure, name, x) for name in series]
        ready = [p for p in cells if p is not None and p.measured]
        better = max if any(p.rate for p in ready) else min
        contest = figure.contest and len(series) > 1
        best = better((p.median for p in ready), default=None) if contest else None
        rows.append([place(x), *(cell(p, best) for p in cells)])
    return rows


def cell(point: Point | None, best: float | None = None) -> str:
    """Return the median (min–max), the best of a row marked; – where there is nothing."""
    if point is None or not point.runs:
        return "–"
    text = number(point.median)
    if len(point.runs) > 1 and point.low != point.high:
        text += f" ({number(point.low)}–{number(point.high)})"
    if "scaled_from" in point.more:
        text += "*"
    if not point.measured:
        return f"{text} {point.status}"
    return f"**{text}**" if point.median == best else text


def number(value: float) -> str:
    """Return three digits that count.

    >>> number(0.01234), number(12.34), number(123456.0)
    ('0.0123', '12.3', '123,456')
    """
    if value != 0 and abs(value) < 100:
        return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"
    return f"{value:,.0f}"


def place(x: Place) -> str:
    return x if isinstance(x, str) else f"{x:,}"


def markdown(run: Run) -> str:
    """Return the tables of a run, as they are read without a browser."""
    parts = [f"# {run.title}", about(run), *notes(run)]
    for outcome in run.outcomes:
        experiment = outcome.experiment
        source = f" ({experiment.source})" if experiment.source else ""
        parts += [f"## {experiment.name}: {experiment.title}{source}", experiment.how]
        if experiment.finding:
            parts.append(f"**The paper found:** {experiment.finding}")
        for rule, verdict, why in outcome.verdicts:
            because = f" Why: {why}" if verdict.agrees is False and why else ""
            parts.append(f"- {rule}. **{AGREES[verdict.agrees]}**: {verdict.found}.{because}")
        if outcome.problem:
            parts.append(f"**Not finished:** {outcome.problem}")
        parts += tables(outcome)
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def tables(outcome: Outcome) -> list[str]:
    """Return the tables of an experiment, each with its head; with ratios where there are any."""
    parts = []
    for figure in outcome.experiment.figures:
        if outcome.points.of(figure):
            title = f": {figure.title}" if figure.title != figure.name else ""
            parts.append(f"### {figure.name}{title}\n\nIn {figure.unit}.")
            rows = table(outcome.points, figure)
            by_place: dict[str, list[str]] = {}
            for ratio in ratios(outcome.points, figure):
                by_place.setdefault(place(ratio.x), []).append(f"{ratio.median:.2f}×")
            if by_place:
                rows[0].append("best peer / windrow")
                for row in rows[1:]:
                    row.append(" / ".join(by_place.get(row[0], ["–"])))
            parts.append(as_markdown(rows))
            parts += [f"- Not measured: {text}" for text in _missing(outcome.points, figure)]
    return parts


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *lines = rows
    return "\n".join(
        f"| {' | '.join(text.replace('|', '/') for text in row)} |"
        for row in [head, ["---"] * len(head), *lines]
    )
