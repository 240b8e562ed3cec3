"""`windrow doctor`: what this machine has and what works on it, and the command that helps."""

from __future__ import annotations

import os
import platform
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import click

from windrow.cli.failures import EXTRAS, Package
from windrow.cli.session import find_java
from windrow.cli.terminal import VERSION, Steps, coloured, json_option, show_json, verbose_option
from windrow.cli.trials import results

_CORE: tuple[Package, ...] = (("numpy", "2.0", None), ("numba", "0.68", None))
_NEEDED_BY_DEMO = ("cli", "sql", "arrow", "spark")
_LEAST_MEMORY = 3  # GB: two for Java, one for Python
_MARKS = {
    "ok": ("✓", "green"),
    "missing": ("✗", "red"),
    "failed": ("✗", "red"),
    "optional": ("·", "dim"),
}
_NEEDED_BY_SPARK = ("pyspark", "pandas", "pyarrow", "java")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: str  # ok, missing, failed, optional
    says: str
    cure: str = ""


@click.command()
@click.option("--fast", is_flag=True, help="Look at what is installed; run nothing.")
@verbose_option
@json_option("The findings as JSON.")
def doctor(fast: bool, verbose: bool, as_json: bool) -> int:
    """What is installed, what works, and the command that brings what is missing.

    Looks at the packages and Java, then runs a query over a few rows in this process and, if Spark
    is there, as a batch and as a stream: about half a minute, and never more than three.

    Ends with 0 if `windrow demo` and `windrow run` can work here, and with 1 if they cannot.
    """
    report = list(findings())
    if not fast:
        lacking = {finding.name for finding in report if finding.state != "ok"}
        with (
            Steps(quiet=not sys.stderr.isatty()) as steps,
            steps.step("running a query"),
        ):
            report += _tried(not lacking & {*_NEEDED_BY_SPARK}, verbose)
    if as_json:
        show_json([asdict(finding) for finding in report])
    else:
        _show(report)
    return int(any(finding.state in ("missing", "failed") for finding in report))


def _tried(spark: bool, verbose: bool) -> Iterator[Finding]:
    """Run a query in this process and on Spark, and yield what came of each run."""
    for name, problem, says in results(spark, verbose):
        state = "ok" if problem is None else "failed"
        yield Finding(name, state, problem or says, "windrow doctor --verbose")


def findings() -> Iterator[Finding]:
    """Yield what this machine has, from the ground up; nothing is changed."""
    yield Finding("windrow", "ok", f"{VERSION} in {Path(__file__).parents[1]}")
    python = platform.python_version()
    state = "ok" if sys.version_info >= (3, 11) else "missing"
    yield Finding("python", state, f"{python}, {sys.executable}", "install Python 3.11 or newer")
    for package in _CORE:
        yield _package(*package, "pip install windrow", needed=True)
    for extra, packages in EXTRAS.items():
        for package in packages:
            cure = f"pip install 'windrow[{extra}]'"
            yield _package(*package, cure, needed=extra in _NEEDED_BY_DEMO)
    java = find_java()
    if java.serves:
        yield Finding("java", "ok", f"{java.version}, {java.path}")
    else:
        yield Finding("java", "missing", java.problem, java.cure)
    workers = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if Path(workers) != Path(sys.executable):
        says = f"PYSPARK_PYTHON={workers}: it must have windrow as well"
        yield Finding("workers", "optional", says, "unset PYSPARK_PYTHON")
    affinity = getattr(os, "sched_getaffinity", None)
    yield Finding("cores", "ok", str(len(affinity(0)) if affinity else os.cpu_count() or 1))
    yield _memory()
    yield _cache()


def _package(name: str, oldest: str, too_new: str | None, cure: str, needed: bool) -> Finding:
    """Return whether a package is installed in a version that fits."""
    lacking = "missing" if needed else "optional"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, lacking, "not installed", cure)
    if _parts(version) < _parts(oldest):
        return Finding(name, lacking, f"{version}, and {oldest} or newer is needed", f"{cure} -U")
    if too_new is not None and _parts(version) >= _parts(too_new):
        return Finding(name, lacking, f"{version}, and it must be older than {too_new}", cure)
    return Finding(name, "ok", version)


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: 4.1.0.dev3 is (4, 1, 0)."""
    release = re.split(r"[^\d.]", version)[0]
    return tuple(int(part) for part in release.split(".") if part)


def _memory() -> Finding:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):  # Windows
        return Finding("memory", "ok", "unknown")
    if size >= _LEAST_MEMORY:
        return Finding("memory", "ok", f"{size:.0f} GB")
    says = f"{size:.1f} GB; Spark asks for 2 GB here"
    return Finding("memory", "optional", says, "windrow run --conf spark.driver.memory=1g")


def _cache() -> Finding:
    """Return where compiled loops are kept; without it each process compiles them again."""
    from windrow.compiled import cache_dir

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        place = cache_dir()
    if place is None:
        says = str(caught[0].message) if caught else "each process compiles anew"
        return Finding("cache", "optional", says, "export WINDROW_CACHE_DIR=/a/directory")
    return Finding("cache", "ok", str(place))


def _show(report: list[Finding]) -> None:
    """Print the findings, a line each, and what is missing or has failed."""
    for finding in report:
        mark, colour = _MARKS[finding.state]
        cure = f"\n{'':15}{coloured(finding.cure, 'cyan', sys.stdout)}"
        click.echo(
            f"{coloured(mark, colour, sys.stdout)} {finding.name:<12} {finding.says}"
            + (cure if finding.cure and finding.state != "ok" else "")
        )
    for state in ("missing", "failed"):
        names = ", ".join(finding.name for finding in report if finding.state == state)
        if names:
            click.echo(f"\n{state}: {names}")
    if all(finding.state in ("ok", "optional") for finding in report):
        click.echo("\nready: windrow demo")
