"""Runs experiments one after the other, each with its share of the time, and keeps the results."""

from __future__ import annotations

import csv
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import windrow
from bench import report
from bench.experiment import Clock, Experiment, Settings
from bench.measure import failure
from bench.results import COLUMNS, MORE, Outcome, Run, csv_row
from windrow.cli.terminal import Steps
from windrow.errors import InvalidArgument

POINTS, RESULTS = "points.csv", "results.json"
PACKAGES = (
    "numpy", "numba", "llvmlite", "pyarrow", "pandas", "polars", "duckdb", "bottleneck", "numbagg",
    "scipy", "river", "pyspark", "rocksdict", "lmdb", "redis",
)  # fmt: skip


def run_all(
    title: str,
    experiments: Sequence[Experiment],
    settings: Settings,
    clock: Clock,
    folder: Path,
    steps: Steps,
    *,
    resume: bool = False,
) -> Run:
    """Run the experiments; a point is in points.csv as soon as it is there.

    results.json and the reports are written after each experiment, and when the run is interrupted.
    With `resume`, what an earlier run has finished there is kept, and costs none of the time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(title, settings, machine())
    kept = _finished(folder, experiments, settings) if resume else {}
    every = sum(experiment.weight for experiment in experiments)
    left = sum(e.weight for e in experiments if e.name not in kept)
    clock = clock.share(left, of=every)
    with (folder / POINTS).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow((*COLUMNS, *MORE))
        with suppress(KeyboardInterrupt):
            for experiment in experiments:
                outcome = kept.get(experiment.name) or Outcome(experiment)
                run.outcomes.append(outcome)
                if experiment.name in kept:
                    continue
                share = clock.share(experiment.weight, of=left)
                left -= experiment.weight
                try:
                    with steps.step(experiment.name) as note:
                        _run_one(outcome, settings, share, file, note)
                finally:
                    _keep(run, folder)
            run.finished = True
    run.machine["load_after"] = load()
    _keep(run, folder)
    _write(folder / POINTS, run.to_csv())  # an interrupt may have cut a line short
    return run


def _finished(
    folder: Path, experiments: Sequence[Experiment], settings: Settings
) -> dict[str, Outcome]:
    """Return the outcomes without a problem of an earlier run with these settings, by name."""
    try:
        before = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    run = Run.from_dict(before, experiments)
    if run.settings.recorded != settings.recorded:
        raise InvalidArgument(
            f"{folder / RESULTS} has other settings, {run.settings.recorded}: choose another "
            f"directory"
        )
    return {o.experiment.name: o for o in run.outcomes if not o.problem}


def _run_one(
    outcome: Outcome, settings: Settings, clock: Clock, file: IO[str], note: Callable[[str], None]
) -> None:
    experiment, start, rows = outcome.experiment, time.perf_counter(), csv.writer(file)
    try:
        for point in experiment.run(settings, clock):
            outcome.points.add(point)
            rows.writerow(csv_row(experiment.name, point))
            file.flush()
            note(f"{point.figure}: {point.series} at {point.x}"[:60])
    except Exception as error:  # the other experiments go on
        outcome.problem = failure(error)
    except KeyboardInterrupt:
        outcome.problem = "interrupted"
        raise
    finally:
        outcome.seconds = time.perf_counter() - start
        note(f"{outcome.seconds:.0f} s{f' ({outcome.problem})' if outcome.problem else ''}")


def _keep(run: Run, folder: Path) -> None:
    _write(folder / RESULTS, run.to_json())
    _write(folder / "report.html", report.html(run))
    _write(folder / "report.md", report.markdown(run))


def _write(path: Path, text: str) -> None:
    """Write a file: all of it, or the one before stays."""
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(text, encoding="utf-8", newline="")
    unfinished.replace(path)


def machine() -> dict[str, Any]:
    """Return what the values depend on: the processor, the versions, the date and the load."""
    versions = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "windrow": windrow.__version__,
        "versions": versions,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_before": load(),
    }


def load() -> float | None:
    """Return how many processes wanted to run in the last minute; more than the cores spoil it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
