"""The tables that README includes: how many times as fast as the fastest peer."""

from __future__ import annotations

from windrow.bench.experiment import Experiment
from windrow.bench.points import Points
from windrow.bench.ratios import Ratio, ratios
from windrow.bench.report import as_markdown
from windrow.bench.run import Run

INTRO = {
    "arrays": "`rolling` on arrays of doubles, one thread: how many times as fast as the fastest "
    "of\nbottleneck, numbagg, pandas, Polars, SciPy, DuckDB and river in the same run. Below 1 "
    "the peer\nnamed is faster.",
    "tables": "Queries over tables, all cores for everyone: how many times as fast as the fastest "
    "of\npandas, Polars and DuckDB in the same run.",
    "spark": "Queries over Spark DataFrames on all cores: how many times as fast as the fastest "
    "of\nSpark's own ways in the same run.",
    "streaming": "Hopping windows of a stream: how many times as fast as Spark's `window()` in "
    "the same run.",
}


def fragments(run: Run) -> dict[str, str]:
    """A Markdown file for each kind of peers that has ratios, by its name."""
    made = {}
    for outcome in run.outcomes:
        name = outcome.experiment.name
        if name in INTRO:
            text = fragment(outcome.experiment, outcome.points)
            if text:
                made[f"readme-{name}.md"] = text
    return made


def fragment(experiment: Experiment, points: Points) -> str:
    """One table: questions down, places across; or one line each where places are words."""
    found = [list(ratios(points, figure.name)) for figure in experiment.figures]
    every = [ratio for each in found for ratio in each]
    if not every:
        return ""
    head = INTRO[experiment.name]
    if any(isinstance(r.x, str) for r in every):
        return f"{head}\n\n{_lines(every)}\n"
    places = sorted({float(r.x) for r in every})
    x = experiment.figures[0].x
    short = "w" if x == "window" else x
    rows = [["", *(f"{short} = {place:,.0f}" for place in places)]]
    for each in found:
        if each:
            at = {float(r.x): str(r) for r in each}
            rows.append([each[0].figure, *(at.get(place, "–") for place in places)])
    return f"{head}\n\n{as_markdown(rows)}\n"


def _lines(every: list[Ratio]) -> str:
    """A line for each question and place, a column for each of our frames."""
    ours = list(dict.fromkeys(r.ours for r in every))
    names = [name.partition(", ")[2] or name for name in ours]
    rows = [["", "", "fastest peer", *names]]
    for figure, x in dict.fromkeys((r.figure, r.x) for r in every):
        here = {r.ours: r for r in every if (r.figure, r.x) == (figure, x)}
        peer = next(iter(here.values())).peer
        cells = [str(here[name]) if name in here else "–" for name in ours]
        place = x if isinstance(x, str) else f"{x:,.0f}"
        rows.append([figure, place, peer, *cells])
    return as_markdown(rows)
