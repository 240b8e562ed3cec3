"""Seconds of calls, in rounds that take turns, and what the figures depend on."""

from __future__ import annotations

import math
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from windrow.errors import Unsupported

Row = dict[str, Any]
SLOW = 20.0  # seconds; what takes longer is run once


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call takes, and its answer."""
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def rounds(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """The seconds of each call in each round, every round in another order.

    Who comes after whom matters: a call that finds memory which the one before gave back is spared
    the page faults of its answer, nearly half the time of a sum.

    >>> {name: len(runs) for name, runs in rounds({"a": int, "b": str}, 3).items()}
    {'a': 3, 'b': 3}
    """
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name in random.Random(turn).sample(list(calls), len(calls)):
            if not runs[name] or max(runs[name]) < SLOW:
                runs[name].append(timed(calls[name])[0])
    return runs


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
    """Why there is no figure, in a line."""
    if isinstance(error, ImportError):
        return "not installed"
    if isinstance(error, Unsupported):
        return "not supported"
    first_line = str(error).partition("\n")[0]
    if isinstance(error, TimeoutError):
        return first_line
    return f"failed: {type(error).__name__}: {first_line}"[:120]


def measure(calls: Mapping[str, Callable[[], Any]], repeats: int, tolerance: float = 0.0) -> Row:
    """Time calls that should give the same answers as the first of them.

    What fails is reported and not timed; what disagrees is timed, and reported. A shorter answer
    is that of the first values.
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
        elif not np.allclose(
            answer, reference[: answer.size], rtol=tolerance, atol=tolerance, equal_nan=True
        ):
            results[name]["status"] = "disagrees"
    ready = {name: calls[name] for name in results if "first_s" in results[name]}
    slow = {name: results[name]["first_s"] for name in ready if results[name]["first_s"] > SLOW}
    runs = rounds({name: ready[name] for name in ready if name not in slow}, repeats)
    for name in ready:
        results[name] = summary(runs.get(name) or [slow[name]]) | results[name]
    return results


def median_of(result: Row) -> float:
    """The median of what ran and agreed; infinite for the rest, which cannot win."""
    return float(result["median_s"]) if result["status"] == "ok" else math.inf


def machine(packages: Sequence[str]) -> Row:
    """What the figures depend on: the processor, and the versions of everyone."""
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
    """The processor, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
