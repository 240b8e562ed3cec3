"""`windrow bench`: the papers' experiments and the peers, side by side, with plots."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from windrow.bench import papers as paper_experiments
from windrow.bench import peers as peer_experiments
from windrow.bench import report
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment
from windrow.bench.peers.fragments import fragments
from windrow.bench.progress import progress
from windrow.bench.run import Run, run_all
from windrow.bench.settings import Settings
from windrow.errors import WindrowError, did_you_mean
from windrow.samples import debs

QUICK, FULL = 270.0, 3600.0  # seconds: a quick run ends within five minutes, its report made
INTERRUPTED = 130
PACKAGES = ("numpy", "numba", "pyarrow", "pandas", "pyspark", "rocksdict")
PEERS = ("bottleneck", "numbagg", "polars", "scipy", "duckdb", "river")


class Choices(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    """Some of the known names, between commas."""

    name = "name,…"

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        """The names, in the order in which they are known."""
        if isinstance(value, tuple):
            return value
        given = [name.strip() for name in str(value).split(",") if name.strip()]
        for name in given:
            if name not in self.known:
                self.fail(f"{name!r} is unknown; {did_you_mean(name, self.known)}", param, ctx)
        return tuple(name for name in self.known if name in given)


def _options(known: Sequence[str], output: str) -> Callable[[Any], Any]:
    """What both commands take."""
    made = [
        click.option("--only", type=Choices(known), default=tuple(known),
                     help=f"Some of {', '.join(known)}."),
        click.option("--quick", is_flag=True, help="Small sizes, and done within five minutes."),
        click.option("--data", multiple=True, type=click.Path(path_type=Path, dir_okay=False),
                     help="A file of values instead of synthetic ones: DEBS 2012, DEBS 2014, CSV "
                     "or Parquet. May be given again."),
        click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=output,
                     show_default=True, help="Where the report and the results go."),
        click.option("--seconds", type=float, hidden=True),
        click.option("--largest", type=int, default=1 << 30, hidden=True),
    ]  # fmt: skip

    def decorate(command: Any) -> Any:
        for option in reversed(made):
            command = option(command)
        return command

    return decorate


@click.group()
def bench() -> None:
    """The papers' experiments and the peers, side by side, with plots.

    Ctrl-C keeps what is done and makes the report of it; the exit code is then 130. It is 1 if
    nothing at all could be measured, and 2 for a wrong call.
    """


@bench.command()
@_options(tuple(paper_experiments.PAPERS), "bench-papers")
def papers(
    only: tuple[str, ...],
    quick: bool,
    data: tuple[Path, ...],
    output: Path,
    seconds: float | None,
    largest: int,
) -> None:
    """Each figure and table of the five papers, and whether its shape comes out here."""
    settings = Settings(quick, 3, largest, data, _a_run(quick, largest))
    chosen = paper_experiments.experiments(only)
    _measure("The papers' experiments", chosen, settings, seconds, output, PACKAGES)


@bench.command()
@_options(peer_experiments.KINDS, "bench-peers")
def peers(
    only: tuple[str, ...],
    quick: bool,
    data: tuple[Path, ...],
    output: Path,
    seconds: float | None,
    largest: int,
) -> None:
    """Ours against what users would pick instead: a ratio, and who wins."""
    settings = Settings(quick, 3 if quick else 5, largest, data, _a_run(quick, largest))
    chosen = peer_experiments.experiments(only)
    _measure("windrow and its peers", chosen, settings, seconds, output, (*PACKAGES, *PEERS))


def _a_run(quick: bool, largest: int) -> float:
    """Seconds of a run: in a trial of everything next to none."""
    return 0.002 if largest < 1 << 12 else 0.05 if quick else 0.5


def _measure(
    title: str,
    chosen: list[Experiment],
    settings: Settings,
    seconds: float | None,
    output: Path,
    packages: Sequence[str],
) -> None:
    try:
        for path in settings.data:
            debs.readings([path])  # a wrong file is told before anything runs
    except WindrowError as error:
        raise click.UsageError(str(error)) from None
    clock = Clock(seconds or (QUICK if settings.quick else FULL))
    with progress(len(chosen)) as shown:
        made = run_all(title, chosen, settings, clock, output, packages, shown, _files)
    for name, word in _summary(made):
        click.echo(f"{name}: {word}")
    click.echo(str(output / "report.html"))
    if not made.finished:
        click.echo("interrupted; what was done is kept", err=True)
        sys.exit(INTERRUPTED)
    if not any(point.measured for outcome in made.outcomes for point in outcome.points):
        sys.exit(1)


def _files(run: Run) -> dict[str, str]:
    """What is read of a run, by the names of the files."""
    made = {"report.html": report.html(run), "report.md": report.markdown(run)}
    return made | fragments(run)


def _summary(run: Run) -> list[tuple[str, str]]:
    """A line an experiment: whether its shape agrees, or how much of it was measured."""
    lines = []
    for outcome in run.outcomes:
        done = sum(point.measured for point in outcome.points)
        word = report.overall(outcome) or f"{done} of {len(outcome.points)} measured"
        told = f" ({outcome.problem})" if outcome.problem else ""
        lines.append((outcome.experiment.name, word + told))
    return lines
