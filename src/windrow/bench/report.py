"""The report: one HTML page with everything in it, and the tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

from windrow.bench import plots
from windrow.bench.experiment import Figure
from windrow.bench.points import Point, Points
from windrow.bench.ratios import ratios
from windrow.bench.run import Outcome, Run

WORDS = {True: "agrees", False: "differs", None: "not measured"}


def html(run: Run) -> str:
    """The page: figures, tables, what was expected, what was found."""
    from jinja2 import Environment

    text = resources.files("windrow.bench").joinpath("templates/report.html.j2").read_text("utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    sections = [_section(outcome) for outcome in run.outcomes]
    return template.render(run=run, about=about(run), notes=notes(run), sections=sections) + "\n"


def about(run: Run) -> str:
    """Where the figures come from."""
    here = run.machine
    versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
    loads = ", ".join(
        f"{here[key]:.1f} {when}"
        for key, when in (("load_before", "before"), ("load_after", "after"))
        if here.get(key) is not None
    )
    return (
        f"{here['cpu']}, {here['cores']} cores, {here['system']}; Python {here['python']}, "
        f"windrow {here['windrow']}, {versions}. Load {loads or 'unknown'}. {here['when']}."
    )


def notes(run: Run) -> list[str]:
    """How the figures were taken, and what spoils them."""
    quick = "A quick run: " if run.settings.quick else ""
    files = ", ".join(path.name for path in run.settings.data)
    how = (
        f"{quick}{run.settings.repeats} rounds, the contenders in another order in each; a figure "
        "is the median, with the smallest and the largest. First calls, which may compile, are "
        "kept apart."
    )
    made = [how, f"Values: {files or 'synthetic, with a fixed seed'}."]
    busy = max(run.machine.get("load_before") or 0, run.machine.get("load_after") or 0)
    if busy > (run.machine["cores"] or 1):
        made.append(
            "The machine was busy: more processes wanted to run than there are cores; ratios "
            "stand, single figures may not."
        )
    if not run.finished:
        made.append("Not finished: the run was interrupted, or is still going on.")
    return made


def _section(outcome: Outcome) -> dict[str, Any]:
    experiment, points = outcome.experiment, outcome.points
    verdicts = [
        {
            "rule": rule,
            "found": v.found,
            "word": WORDS[v.agrees],
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
    """Whether the shape agrees: where every rule that could be checked does."""
    found = [verdict.agrees for _, verdict, _ in outcome.verdicts if verdict.agrees is not None]
    if not outcome.experiment.rules:
        return ""
    if not found:
        return WORDS[None]
    if all(found):
        return WORDS[True]
    return f"agrees in {sum(found)} of {len(found)}"


def _figure(figure: Figure, points: Points) -> dict[str, Any]:
    unit = next((p.unit for p in points.of(figure.name)), "")
    return {
        "figure": figure,
        "unit": unit,
        "svg": plots.draw(figure, points),
        "legend": plots.legend(figure, points),
        "table": table(points, figure),
        "missing": _missing(points, figure.name),
        "ratios": list(ratios(points, figure.name)),
    }


def _missing(points: Points, figure: str) -> list[str]:
    """What was not measured, by its reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for p in points.of(figure):
        if not p.measured:
            found.setdefault((p.series, p.status), []).append(
                p.x if isinstance(p.x, str) else f"{p.x:,}"
            )
    return [f"{series} at {', '.join(xs)}: {why}" for (series, why), xs in found.items()]


def table(points: Points, figure: Figure) -> list[list[str]]:
    """A figure as rows of cells, the first the head: places down, contenders across."""
    series = points.series(figure.name)
    rows = [[figure.x, *series]]
    for x in points.places(figure.name):
        cells = [points.at(figure.name, name, x) for name in series]
        ready = [p for p in cells if p is not None and p.measured]
        better = max if any(p.rate for p in ready) else min
        best = better((p.median for p in ready), default=None) if len(series) > 1 else None
        rows.append([_place(x), *(cell(p, best) for p in cells)])
    return rows


def cell(point: Point | None, best: float | None = None) -> str:
    """Median (min–max), the smallest of a row marked; – where there is nothing."""
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
    """Three digits that count.

    >>> number(0.01234), number(12.34), number(123456.0)
    ('0.0123', '12.3', '123,456')
    """
    if value != 0 and abs(value) < 100:
        return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"
    return f"{value:,.0f}"


def _place(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:,}"


def markdown(run: Run) -> str:
    """The tables of a run, as they are read without a browser."""
    parts = [f"# {run.title}", about(run), *notes(run)]
    for outcome in run.outcomes:
        experiment = outcome.experiment
        source = f" ({experiment.source})" if experiment.source else ""
        parts += [f"## {experiment.name}: {experiment.title}{source}", experiment.how]
        if experiment.finding:
            parts.append(f"**The paper found:** {experiment.finding}")
        for rule, verdict, why in outcome.verdicts:
            because = f" Why: {why}" if verdict.agrees is False and why else ""
            parts.append(f"- {rule}. **{WORDS[verdict.agrees]}**: {verdict.found}.{because}")
        if outcome.problem:
            parts.append(f"**Not finished:** {outcome.problem}")
        for figure in experiment.figures:
            if outcome.points.of(figure.name):
                unit = outcome.points.of(figure.name)[0].unit
                parts.append(f"### {figure.name}: {figure.title}\n\nIn {unit}.")
                parts.append(as_markdown(table(outcome.points, figure)))
                parts += [
                    f"- Not measured: {text}" for text in _missing(outcome.points, figure.name)
                ]
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a table."""
    head, *lines = rows
    return "\n".join(
        f"| {' | '.join(text.replace('|', '/') for text in row)} |"
        for row in [head, ["---"] * len(head), *lines]
    )
