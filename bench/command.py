"""`python -m bench`, and `windrow bench` in a checkout. `compare` imports no windrow here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.alone import ROOT
from bench.catalogue import PAPERS, PEERS, experiments
from bench.compare import compare_checkouts
from bench.workloads import AREAS

if TYPE_CHECKING:
    from bench.results import Run

QUICK, FULL = 270.0, 3600.0  # seconds: a quick run ends within five minutes, its report written
INTERRUPTED = 130


class Choices(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    """Some of the known names, between commas."""

    name = "name,…"

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        """Return the names, in the order in which they are known."""
        if isinstance(value, tuple):
            return value
        names = [name.strip() for name in str(value).split(",") if name.strip()]
        for name in names:
            if name not in self.known:
                from windrow.errors import did_you_mean

                self.fail(f"{name!r} is unknown; {did_you_mean(name, self.known)}", param, ctx)
        return tuple(name for name in self.known if name in names)


def _only(known: Sequence[str]) -> Callable[[Any], Any]:
    return click.option(
        "--only", type=Choices(known), default=tuple(known), help=f"Some of {', '.join(known)}."
    )


_QUICK = click.option("--quick", is_flag=True, help="Small sizes, done within five minutes.")
_LARGEST = click.option("--largest", type=int, default=1 << 30, hidden=True)


def _options(known: Sequence[str], output: str) -> Callable[[Any], Any]:
    """Return a decorator with the options that `papers` and `peers` take."""
    options = [
        _only(known),
        _QUICK,
        click.option("--data", multiple=True, type=click.Path(path_type=Path, dir_okay=False),
                     help="A file of values instead of synthetic ones: DEBS 2012, DEBS 2014, CSV "
                     "or Parquet. May be given again."),
        click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=output,
                     show_default=True, help="Where the report and the results go."),
        click.option("--resume", is_flag=True, help="Keep what an earlier run has left in the "
                     "output directory, and measure the rest."),
        click.option("--redis", default="", metavar="URL", help="A server to measure as a store."),
        click.option("--seconds", type=float, hidden=True),
        _LARGEST,
    ]  # fmt: skip

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.group()
def bench() -> None:
    """Measure: the papers' experiments, the peers, and two checkouts against each other.

    Ctrl-C keeps what is done and writes the report of it; the exit code is then 130. It is 1 if
    nothing at all could be measured, and 2 for a wrong call.
    """


@bench.command()
@_options(PAPERS, "build/bench/papers")
def papers(**options: Any) -> None:
    """Each figure and table of the five papers, and whether its shape comes out here."""
    _measure("The papers' experiments", repeats=3, **options)


@bench.command()
@_options(PEERS, "build/bench/peers")
def peers(quick: bool, **options: Any) -> None:
    """Ours against what users would pick instead: a ratio, and who wins."""
    _measure("windrow and its peers", quick=quick, repeats=3 if quick else 5, **options)


@bench.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("--root", type=click.Path(path_type=Path), default=ROOT, hidden=True)
def figures(folder: Path | None, root: Path) -> None:
    """Write the figures in README and docs from the raw results in docs/benchmarks.

    With the FOLDER of a finished run, its results become the raw results first.
    """
    from bench.figures import take_over, write

    if folder:
        try:
            kinds = take_over(folder, root / "docs" / "benchmarks")
        except (OSError, ValueError) as error:
            raise click.UsageError(str(error)) from None
        click.echo(f"taken over: {', '.join(kinds)}", err=True)
    for path in write(root):
        click.echo(str(path))


@bench.command()
@click.option("--before", required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--after", required=True, type=click.Path(path_type=Path, exists=True))
@_only(tuple(AREAS))
@_QUICK
@click.option("--rounds", type=int, help="How often each checkout runs: 2 if quick, or 5.")
@_LARGEST
def compare(
    before: Path, after: Path, only: tuple[str, ...], quick: bool, rounds: int | None, largest: int
) -> None:
    """Run a fixed small set of work with the windrow of two checkouts, and print the ratios."""
    for path in (before, after):
        if not (path / "src" / "windrow").is_dir():
            raise click.UsageError(f"{path} is not a checkout: it has no src/windrow")
    lines = compare_checkouts(before, after, only, quick, rounds or (2 if quick else 5), largest)
    for line in lines:
        click.echo(line)


@bench.command()
@click.option("--rounds", type=int, default=3, show_default=True, help="The least of so many.")
def cold(rounds: int) -> None:
    """Processor seconds of a first query, with nothing compiled and from disk."""
    from bench.cold import cold_starts

    for line in cold_starts(rounds):
        click.echo(line)


@bench.command()
@click.option("--queries", type=click.IntRange(min=1), default=1000, show_default=True)
def growth(queries: int) -> None:
    """The memory of a process that compiles and answers one new query after the other."""
    from bench.growth import memory_after

    first = None
    for done, megabytes in memory_after(queries):
        click.echo(f"{done:6} queries {megabytes:8.1f} MB")
        first = first or (done, megabytes)
    assert first is not None
    if done > first[0]:
        growth = (megabytes - first[1]) / (done - first[0])
        click.echo(f"{growth:.2f} MB more for each query after the first {first[0]}")


@bench.command()
@click.option("--minutes", type=click.FloatRange(min=0), default=30.0, show_default=True)
@click.option(
    "--batches",
    type=click.IntRange(min=3),
    default=1000,
    show_default=True,
    help="Micro-batches, at least; it lasts until the minutes are over as well.",
)
@click.option("--keys", type=click.IntRange(min=1000), default=200_000, show_default=True)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=4000,
    show_default=True,
    help="In an ordinary micro-batch; a burst has ten times as many.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default="build/bench/soak",
    show_default=True,
    help="Where the report goes.",
)
def soak(minutes: float, batches: int, keys: int, rows: int, output: Path) -> None:  # fmt: skip
    """A stream for half an hour: are its state and memory flat, and its results right?

    Ctrl-C ends it in order, with a report of what was done. The exit code is 1 if a result or a
    count was wrong, and 0 if all are right, flat or not.
    """
    import json

    from bench.soak import report
    from bench.soak.rows import Workload
    from bench.soak.run import run_stream
    from windrow.cli.terminal import Steps

    with Steps() as steps, steps.step("soak") as note:
        raw = run_stream(minutes, batches, Workload(keys, rows), note)
    output.mkdir(parents=True, exist_ok=True)
    texts = {"soak.json": json.dumps(raw, separators=(",", ":")) + "\n", **report.documents(raw)}
    for name, text in texts.items():
        (output / name).write_text(text, encoding="utf-8")
    for line in report.summary(raw):
        click.echo(line)
    click.echo(str(output / "soak.md"))
    if not report.is_right(raw):
        sys.exit(1)


def _measure(
    title: str,
    only: tuple[str, ...],
    quick: bool,
    repeats: int,
    data: tuple[Path, ...],
    output: Path,
    resume: bool,
    redis: str,
    seconds: float | None,
    largest: int,
) -> None:
    from bench import debs
    from bench.experiment import Clock, Settings
    from bench.run import run_all
    from windrow.cli.terminal import Steps
    from windrow.errors import WindrowError

    try:
        for path in data:
            debs.readings([path])  # a wrong file is reported before anything runs
    except WindrowError as error:
        raise click.UsageError(str(error)) from None
    chosen = experiments(only)
    settings = Settings(quick, repeats, largest, data, redis)
    clock = Clock(seconds or (QUICK if quick else FULL))
    try:
        with Steps() as steps:
            run = run_all(title, chosen, settings, clock, output, steps, resume=resume)
    except WindrowError as error:
        raise click.UsageError(str(error)) from None
    for line in _summary(run):
        click.echo(line)
    click.echo(str(output / "report.html"))
    if not run.finished:
        click.echo("interrupted; what was done is kept", err=True)
        sys.exit(INTERRUPTED)
    if not any(point.measured for outcome in run.outcomes for point in outcome.points):
        sys.exit(1)


def _summary(run: Run) -> list[str]:
    """Return a line an experiment: whether its rules agree, or how much of it was measured."""
    from bench.report import overall

    lines = []
    for outcome in run.outcomes:
        measured = sum(point.measured for point in outcome.points)
        word = overall(outcome) or f"{measured} of {len(outcome.points)} measured"
        why = f" ({outcome.problem})" if outcome.problem else ""
        lines.append(f"{outcome.experiment.name}: {word}{why}")
    return lines
