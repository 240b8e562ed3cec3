"""Interleaved repeats and their medians, and the report of them."""

from __future__ import annotations

import math
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arrays.comparisons import PACKAGES
from windrow.errors import Unsupported

Row = dict[str, Any]
SLOW = 20.0  # seconds; what takes longer is run once


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


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def summary(runs: Sequence[float], **more: Any) -> Row:
    """Runs in seconds, and what is shown of them."""
    return {
        "status": "ok",
        "median_s": statistics.median(runs),
        "min_s": min(runs),
        "max_s": max(runs),
        "runs_s": list(runs),
        **more,
    }


def failure(error: Exception) -> str:
    if isinstance(error, ImportError):
        return "not installed"
    if isinstance(error, Unsupported):
        return "not supported"
    first_line = str(error).partition("\n")[0]
    return f"failed: {type(error).__name__}: {first_line}"[:120]


def rounds(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """The seconds of each call in each round, every round in another order.

    Who comes after whom matters: a call that finds memory which the one before gave back is spared
    the page faults of its answer, nearly half the time of a sum.
    """
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name in random.Random(turn).sample(list(calls), len(calls)):
            if not runs[name] or max(runs[name]) < SLOW:
                runs[name].append(timed(calls[name])[0])
    return runs


def measure(calls: Mapping[str, Callable[[], Any]], repeats: int, tolerance: float = 0.0) -> Row:
    """Time calls that should give the same answers as the first of them.

    What fails is reported and not timed; what disagrees is timed, and reported.
    """
    results: Row = {}
    reference = None
    for name, call in calls.items():
        try:
            first, answer = timed(call)
        except Exception as error:
            results[name] = {"status": failure(error)}
            continue
        results[name] = {"status": "ok", "first_s": first}
        answer = np.ma.filled(np.ma.asarray(answer, np.float64), np.nan)
        if reference is None:
            reference = answer
        elif not np.allclose(answer, reference, rtol=tolerance, atol=tolerance, equal_nan=True):
            results[name]["status"] = "disagrees"
    ready = {name: calls[name] for name in results if "first_s" in results[name]}
    slow = {name: results[name]["first_s"] for name in ready if results[name]["first_s"] > SLOW}
    runs = rounds({name: ready[name] for name in ready if name not in slow}, repeats)
    for name in ready:
        results[name] = summary(runs.get(name) or [slow[name]]) | results[name]
    return results


def median_of(result: Row) -> float:
    return float(result["median_s"]) if result["status"] == "ok" else math.inf


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


def machine(packages: Sequence[str] = PACKAGES) -> Row:
    """What the figures depend on."""
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "windrow": import_module("windrow").__version__,
        "versions": versions,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_before": load(),
    }


def load() -> float | None:
    """How many processes wanted to run in the last minute; more than the cores spoil figures."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


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
