"""What the soak found: whether state, memory and times are flat, from the raw results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from bench.plots import Axis, short
from bench.report import as_markdown, number

FLAT, FLAT_TIME = 1.10, 1.25  # the last third by the first, at most; times have other causes too
TENTHS = 10
MEGABYTE = 2**20


@dataclass(frozen=True)
class Measure:
    """Something that is watched: where it is in the raw results, and its unit."""

    name: str
    series: str  # "batches" or "samples"
    key: str
    unit: float = MEGABYTE
    unit_name: str = "MB"
    most: float = FLAT

    def values(self, raw: dict[str, Any]) -> list[float]:
        """Return what was measured, in its order."""
        return [record[self.key] / self.unit for record in raw[self.series]]


MEASURES = (
    Measure("state: bytes of its chunks", "samples", "state_bytes"),
    Measure("files of the checkpoint", "samples", "files_bytes"),
    Measure("the state store's memory", "batches", "store_bytes"),
    Measure("Python workers, all", "batches", "python_bytes"),
    Measure("Python workers, the largest", "batches", "largest_worker"),
    Measure("Java", "batches", "java_bytes"),
    Measure("the driver's Python", "batches", "driver_bytes"),
    Measure("time of a micro-batch", "batches", "seconds", 1.0, "s", FLAT_TIME),
)


@dataclass(frozen=True)
class Verdict:
    """The medians of the first third and of the last, and whether the last is no larger."""

    measure: Measure
    first: float
    last: float

    @property
    def flat(self) -> bool:
        """Whether it did not grow."""
        return self.last <= self.measure.most * self.first

    @classmethod
    def of(cls, measure: Measure, raw: dict[str, Any]) -> Verdict:
        """Compare the thirds of what was measured."""
        values = measure.values(raw)
        third = max(1, len(values) // 3)
        return cls(measure, median(values[:third]), median(values[-third:]))


def verdicts(raw: dict[str, Any]) -> list[Verdict]:
    """Return the verdict on each measure."""
    return [Verdict.of(measure, raw) for measure in MEASURES]


def is_right(raw: dict[str, Any]) -> bool:
    """Return whether every compared result was right, and every late row counted."""
    return bool(raw["compared"]) and not raw["problems"] and raw["late"] == raw["late_expected"]


def summary(raw: dict[str, Any]) -> list[str]:
    """Return what is to be known, in a few lines."""
    batches = raw["batches"]
    rows = sum(batch["rows"] for batch in batches)
    grown = [verdict.measure.name for verdict in verdicts(raw) if not verdict.flat]
    return [
        f"{len(batches):,} micro-batches in {raw['minutes']:.0f} minutes, {rows:,} rows, "
        f"{raw['asked']['keys']:,} keys that come and go"
        + (", interrupted before its time." if raw["interrupted"] else "."),
        f"{raw['compared']:,} results recalculated: {_problems(raw)}.",
        f"{raw['late']:,} rows were counted as late, and {raw['late_expected']:,} were.",
        "Everything is flat." if not grown else f"Not flat: {'; '.join(grown)}.",
    ]


def _problems(raw: dict[str, Any]) -> str:
    problems = raw["problems"]
    return f"not all are right, for one {problems[0]}" if problems else "all are right"


def documents(raw: dict[str, Any]) -> dict[str, str]:
    """Return the files of the report, by name."""
    return {"soak.md": markdown(raw), "soak.svg": svg(raw)}


def markdown(raw: dict[str, Any]) -> str:
    """Return the report."""
    machine = raw["machine"]
    versions = {"Python": machine["python"], "windrow": machine["windrow"]}
    versions |= {name: machine["versions"].get(name) for name in ("pyspark", "pyarrow", "numba")}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    rows = [["", "unit", "first third", "last third", "last / first", ""]]
    for verdict in verdicts(raw):
        measure = verdict.measure
        ratio = verdict.last / verdict.first if verdict.first else 1.0
        words = "flat" if verdict.flat else f"**grows**: more than {measure.most}"
        cells = [number(verdict.first), number(verdict.last), f"{ratio:.2f}", words]
        rows.append([measure.name, measure.unit_name, *cells])
    what = (
        "One stream of a query by rows with `idle=`, watched for as long as `make soak` says. Keys "
        "come for a while and are gone for longer; there are empty micro-batches, bursts of ten "
        "times the rows, floods of late rows, and stretches in which the watermark is stuck. "
        "Written by `python -m bench soak` from soak.json."
    )
    how = (
        "Medians. Memory is what processes have resident; Java has all of its heap from the start. "
        f"A measure is flat if the last third is at most {FLAT} times the first, and times of "
        f"micro-batches at most {FLAT_TIME} times."
    )
    where = (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; {listed}; "
        f"{machine['when']}. "
        f"Load {median(batch['load'] for batch in raw['batches']):.1f} in the median: above "
        f"{machine['cores']}, other programs ran beside it, and times are theirs too."
    )
    parts = [
        "# A stream for half an hour",
        what,
        "\n".join(f"- {line}" for line in summary(raw)),
        "## First third and last third",
        how,
        as_markdown(rows),
        "![Each measure over the run](soak.svg)",
        "## On the way",
        "Medians of each tenth of the run.",
        as_markdown(_tenths(raw)),
        f"<sub>{where}</sub>",
    ]
    return "\n\n".join(parts) + "\n"


def _tenths(raw: dict[str, Any]) -> list[list[str]]:
    """Return the rows of a table: the tenths of the run down, the measures across."""
    head = ["micro-batches", *(f"{m.name}, {m.unit_name}" for m in MEASURES)]
    first, last = raw["batches"][0]["batch"], raw["batches"][-1]["batch"] + 1
    cuts = [first + (last - first) * n // TENTHS for n in range(TENTHS + 1)]
    rows = [head]
    for begin, end in pairwise(cuts):
        cells = []
        for measure in MEASURES:
            records = zip(raw[measure.series], measure.values(raw), strict=True)
            values = [value for record, value in records if begin <= record["batch"] < end]
            cells.append(number(median(values)) if values else "–")
        rows.append([f"{begin:,} to {end - 1:,}", *cells])
    return rows


# -- the picture --------------------------------------------------------------------------------

POINTS = 250  # of a line, at most: each is the largest of its stretch
WIDTH, HEIGHT, LEFT, TOP, GAP = 640, 110, 56, 22, 14
STYLE = (
    "text{font:11px sans-serif;fill:#666}polyline{fill:none;stroke:#00796b;stroke-width:1}"
    "line{stroke:#bbb;stroke-width:.5}"
)


def svg(raw: dict[str, Any]) -> str:
    """Return the measures over the run, one below the other, from 0 on."""
    shown = [m for m in MEASURES if len(raw[m.series]) > 1]
    parts = []
    for i, measure in enumerate(shown):
        batches = [float(record["batch"]) for record in raw[measure.series]]
        parts.append(_panel(measure, batches, measure.values(raw), i * (HEIGHT + GAP)))
    height = len(shown) * (HEIGHT + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
        f"<style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


def _panel(measure: Measure, xs: Sequence[float], ys: Sequence[float], top: float) -> str:
    low, high = top + HEIGHT, top + TOP
    across = Axis([0.0, *xs], LEFT, WIDTH - 8, logarithmic=False)
    up = Axis([0.0, *ys], low, high, logarithmic=False)
    parts = [f'<text x="{LEFT}" y="{top + 12}">{measure.name}, {measure.unit_name}</text>']
    for tick in up.ticks(most=4):
        y = up(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - 8}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end">{short(tick)}</text>')
    step, pairs = math.ceil(len(xs) / POINTS), list(zip(ys, xs, strict=True))
    shown = [max(pairs[i : i + step]) for i in range(0, len(pairs), step)]
    path = " ".join(f"{across(x)},{up(y)}" for y, x in shown)
    return f'{"".join(parts)}<polyline points="{path}"/>'
