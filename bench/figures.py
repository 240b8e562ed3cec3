"""The figures in README and the documents, written from the raw results in docs/benchmarks.

A place for figures is a pair of comments with the name of an experiment:

    <!-- figures arrays: begin, written by `python -m bench figures` -->
    <!-- figures arrays: end -->

`today`, `verdicts` and `model` are about whole runs, see `bench.summaries`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from bench.catalogue import PAPERS, PEERS, experiments
from bench.report import about, as_markdown, caveats, html, markdown, place, tables
from bench.results import Outcome, Ratio, Run, is_ours, ratios
from bench.soak.report import documents
from bench.summaries import SUMMARIES

TITLES = {"papers": "The papers' experiments"} | {
    kind: f"windrow and its peers: {kind}" for kind in PEERS
}
MARKS = re.compile(
    r"(<!-- figures (?P<name>[\w ]+): begin[^>]*-->\n).*?(<!-- figures (?P=name): end -->\n)",
    flags=re.DOTALL,
)
WITH_PLOTS = {"papers", "scaling"}  # a page with plots is written of them, too
SOAK = "soak.json"  # what a stream took for half an hour; `bench.soak` writes it
NOT_YET = "Not measured yet: `make bench` measures it and writes its figures here.\n"


def groups_of(kind: str) -> tuple[str, ...]:
    """Return what `experiments` takes for a file of results: all papers, or one kind of data."""
    return PAPERS if kind == "papers" else (kind,)


def take_over(folder: Path, results: Path) -> list[str]:
    """Copy a finished run to the raw results, a file for each kind; return the kinds."""
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    if not kept["finished"]:
        raise ValueError(f"the run in {folder} is not finished")
    kinds = []
    for kind, title in TITLES.items():
        run = Run.from_dict(kept | {"title": title}, experiments(groups_of(kind)))
        if run.outcomes:
            (results / f"{kind}.json").write_text(run.to_json(), encoding="utf-8")
            kinds.append(kind)
    return kinds


def read(results: Path) -> dict[str, Run]:
    """Return the runs of the raw results, by kind."""
    return {
        kind: Run.from_dict(json.loads(path.read_text("utf-8")), experiments(groups_of(kind)))
        for kind in TITLES
        if (path := results / f"{kind}.json").exists()
    }


def write(root: Path) -> list[Path]:
    """Write the figures of all documents below `root`; return the files that changed."""
    results = root / "docs" / "benchmarks"
    runs = read(results)
    texts = {results / f"{kind}.md": markdown(run) for kind, run in runs.items()}
    for kind in runs.keys() & WITH_PLOTS:
        texts[results / f"{kind}.html"] = html(runs[kind])
    if (results / SOAK).exists():
        raw = json.loads((results / SOAK).read_text("utf-8"))
        texts |= {results / name: text for name, text in documents(raw).items()}
    for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        texts[path] = filled(path.read_text("utf-8"), runs)
    changed = [p for p, text in texts.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in changed:
        path.write_text(texts[path], encoding="utf-8")
    return changed


def filled(text: str, runs: dict[str, Run]) -> str:
    """Return a document with figures between its marks."""
    outcomes = {o.experiment.name: (run, o) for run in runs.values() for o in run.outcomes}

    def figures(match: re.Match[str]) -> str:
        name, inside = match["name"], ""
        if name in outcomes:
            inside = fragment(*outcomes[name])
        elif name in SUMMARIES:
            inside = SUMMARIES[name](runs)
        return f"{match[1]}{inside or NOT_YET}{match[3]}"

    return MARKS.sub(figures, text)


def fragment(run: Run, outcome: Outcome) -> str:
    """Return an experiment's figures: how many times as fast as the best peer, or its tables.

    The machine, the versions and the date of the run stand below.
    """
    quick = ["A quick run."] if run.settings.quick else []
    below = f"<sub>{' '.join([*quick, about(run), *caveats(run)])}</sub>\n"
    experiment, points = outcome.experiment, outcome.points
    by_figure = [list(ratios(points, figure)) for figure in experiment.figures]
    every = [ratio for of_figure in by_figure for ratio in of_figure]
    if not every:
        parts = [p.replace("### ", "**", 1).replace("\n\nIn ", "**, in ") for p in tables(outcome)]
        return "\n\n".join([*parts, below]) if parts else NOT_YET
    places = {(r.figure, r.x) for r in every}
    measured = [p.series for p in points if p.measured and (p.figure, p.x) in places]
    peers = [name for name in dict.fromkeys(measured) if not is_ours(name)]
    head = (
        f"{experiment.title[0].upper()}{experiment.title[1:]}: how many times as fast as the "
        f"fastest of\n{'; '.join(peers)}\nin the same run. Below 1 the peer named is faster."
    )
    if any(isinstance(r.x, str) for r in every) or len({r.ours for r in every}) > 1:
        return f"{head}\n\n{_lines(every)}\n\n{below}"
    xs = sorted({float(r.x) for r in every})
    axis = "w" if experiment.figures[0].x == "window" else experiment.figures[0].x
    rows = [["", *(f"{axis} = {x:,.0f}" for x in xs)]]
    for of_figure in filter(None, by_figure):
        at = {float(r.x): str(r) for r in of_figure}
        rows.append([of_figure[0].figure, *(at.get(x, "–") for x in xs)])
    return f"{head}\n\n{as_markdown(rows)}\n\n{below}"


def _lines(every: list[Ratio]) -> str:
    """Return a line for each question and place, a column for each of our frames."""
    ours = list(dict.fromkeys(r.ours for r in every))
    names = [name.partition(", ")[2] or name for name in ours]
    rows = [["", "", "fastest peer", *names]]
    for figure, x in dict.fromkeys((r.figure, r.x) for r in every):
        at = {r.ours: r for r in every if (r.figure, r.x) == (figure, x)}
        peer = next(iter(at.values())).peer
        cells = [str(at[name]) if name in at else "–" for name in ours]
        rows.append([figure, place(x), peer, *cells])
    return as_markdown(rows)
