"""How far a run is: a bar on a terminal, a line an experiment elsewhere; on stderr."""

from __future__ import annotations

import sys
from types import TracebackType

import click

from windrow.bench.points import Point


class Lines:
    """A line for each experiment: what a log can hold."""

    def __init__(self, count: int) -> None:
        self.count, self.done = count, 0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def begin(self, name: str, title: str) -> None:
        """An experiment begins."""

    def came(self, point: Point) -> None:
        """A point came."""

    def end(self, name: str, seconds: float, problem: str) -> None:
        """An experiment is over."""
        self.done += 1
        told = f" ({problem})" if problem else ""
        click.echo(f"{self.done}/{self.count} {name}: {seconds:.0f} s{told}", err=True)


class Bar:
    """A bar over the experiments, with the latest point beside it."""

    def __init__(self, count: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._bar = Progress(
            TextColumn("[bold]{task.fields[name]}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[latest]}"),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=count, name="", latest="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, name: str, title: str) -> None:
        """An experiment begins."""
        self._bar.update(self._task, name=name, latest=title)

    def came(self, point: Point) -> None:
        """A point came."""
        self._bar.update(self._task, latest=f"{point.figure}: {point.series} at {point.x}"[:60])

    def end(self, name: str, seconds: float, problem: str) -> None:
        """An experiment is over."""
        self._bar.advance(self._task)
        if problem:
            self._bar.console.print(f"{name}: {problem}", markup=False)


def progress(count: int) -> Lines | Bar:
    """What fits where stderr goes."""
    return Bar(count) if sys.stderr.isatty() else Lines(count)
