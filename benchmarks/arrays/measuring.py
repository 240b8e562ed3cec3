"""The sections of a benchmark of our own targets, and the report of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.bench.measuring import Row, failure, load, machine
from windrow.bench.peers.libraries import PACKAGES


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    quick: bool
    n: int
    repeats: int

    def windows(self, windows: Sequence[int]) -> list[int]:
        """Those that this run is long enough for."""
        return [w for w in windows if w <= (2**14 if self.quick else w) and 4 * w <= 2 * self.n]

    def values(self, n: int | None = None, centre: float = 0.0) -> NDArray[np.float64]:
        return centre + np.random.default_rng(1).standard_normal(n or self.n)


@dataclass(frozen=True)
class Section:
    """A table of the report: rows as they are measured, then what they show."""

    title: str
    run: Callable[[Settings], Iterator[Row]]
    show: Callable[[list[Row]], str]
    target: str
    reached: Callable[[list[Row]], list[bool]]  # whether each figure that has the target does

    def verdict(self, rows: list[Row]) -> str:
        """The target, and whether it is reached."""
        if not self.target:
            return "No target."
        met = self.reached(rows)
        word = "reached" if met and all(met) else "missed" if met else "not measured"
        return f"Target: {self.target}: **{word}** ({sum(met)} of {len(met)})."


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(text.replace('|', '/') for text in row)} |" for row in rows)


def cell(result: Row, best: float) -> str:
    """Milliseconds as median (min–max), the best in bold; or why there are none."""
    if "median_s" not in result:
        return "–" if result["status"] == "no such function" else str(result["status"])
    median, low, high = (milliseconds(result[k]) for k in ("median_s", "min_s", "max_s"))
    text = f"{median} ({low}–{high})" if len(result["runs_s"]) > 1 else f"{median} (once)"
    if result["status"] != "ok":
        return f"{text} {result['status']}"
    return f"**{text}**" if result["median_s"] == best else text


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.{2 if seconds < 0.01 else 1}f}"


def times(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}×"


def power(w: int) -> str:
    return f"2^{w.bit_length() - 1}" if w >= 2**14 and w.bit_count() == 1 else str(w)


def markdown(
    report: Row, sections: Mapping[str, Section], title: str = "windrow over arrays"
) -> str:
    """The report as it is read."""
    about, settings = report["machine"], report["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    loads = ", ".join(
        f"{about[k]:.1f} {when}"
        for k, when in (("load_before", "before"), ("load_after", "after"))
        if about.get(k) is not None
    )
    ran = (
        f"{about['cpu']}, {about['cores']} cores, {about['system']}; Python {about['python']}, "
        f"windrow {about['windrow']}, {versions}. Load {loads or 'unknown'}. {about['when']}."
    )
    how = (
        f"{'A quick run: ' if settings['quick'] else ''}{settings['repeats']} interleaved repeats; "
        "medians, in brackets the smallest and the largest. **Bold** is best, – means that there "
        "is no such function."
    )
    parts = [f"# {title}", ran, how]
    if max(about.get("load_before") or 0, about.get("load_after") or 0) > about["cores"]:
        parts.append("**The machine was busy:** more processes wanted to run than there are cores.")
    if not report["finished"]:
        parts.append("**Not finished:** the run was interrupted.")
    for name, found in report["sections"].items():
        section = sections[name]
        shown = section.show(found["rows"]) if found["rows"] else "Nothing was measured."
        parts += [f"## {section.title}", shown, section.verdict(found["rows"])]
        if "error" in found:
            parts.append(f"**Not finished:** {found['error']}")
    return "\n\n".join(parts) + "\n"


def measure_all(
    sections: Mapping[str, Section],
    settings: Settings,
    save: Callable[[Row], None],
    packages: Sequence[str] = PACKAGES,
) -> Row:
    """Run the sections; what is measured is saved after each, and when the run is interrupted."""
    report: Row = {
        "machine": machine(packages),
        "settings": {"quick": settings.quick, "n": settings.n, "repeats": settings.repeats},
        "sections": {},
        "finished": False,
    }
    try:
        for name, section in sections.items():
            start = time.perf_counter()
            found: Row = {"rows": [], "target": section.target}
            report["sections"][name] = found
            say(f"{name}: {section.title}")
            try:
                for row in section.run(settings):
                    found["rows"].append(row)
                    what = [row[k] for k in ("question", "case", "algorithm", "window") if k in row]
                    say(f"  {name} {' '.join(map(str, what))}: {time.perf_counter() - start:.0f} s")
            except Exception as error:  # the other sections go on
                found["error"] = failure(error)
                say(f"  {name} {found['error']}")
            found["seconds"] = time.perf_counter() - start
            found["verdict"] = section.verdict(found["rows"])
            say(f"  {found['verdict']}")
            save(report)
        report["finished"] = True
    except KeyboardInterrupt:
        say("interrupted; keeping what is done")
    report["machine"]["load_after"] = load()
    save(report)
    return report
